"""Running a hub in the foreground, with nothing left of it afterwards."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil

from grader.base.errors import Refused
from grader.hub.settings import HubSettings
from grader.judge.sandbox import die_with_parent

# A loaded machine takes half a minute to start, and as long to stop every server in peace.
START_SECONDS, STOP_SECONDS = 300, 90
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


class HubEnded(Refused, RuntimeError):
    """The hub ended by itself, or did not start; the message says what it said last."""


def answers(place: HubSettings) -> bool:
    """Tell whether the hub is up, Formgrader included."""
    try:
        with urllib.request.urlopen(f"{place.url}/hub/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


@contextlib.contextmanager
def running(place: HubSettings, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A hub that answers; it ends with the block, and everything that it has started with it.

    Nothing else should be started from this process meanwhile: it would be ended, too.
    """
    # Whatever loses its parent below this process becomes its child, so that none is forgotten.
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    others = set(psutil.Process().children(recursive=True))
    names = {"LANG", "HOME"}
    env = {name: value for name, value in os.environ.items() if name in names}
    env |= {"PATH": place.path, "COURSE_HUB_SETTINGS": str(place.file)}
    config = root / "deploy" / "local" / "jupyterhub_config.py"
    with contextlib.ExitStack() as stack:
        output = stack.enter_context(log_of(place).open("wb"))
        hub = subprocess.Popen(
            [place.bin / "jupyterhub", "--config", config],
            cwd=place.hub,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # It ends in peace when the one who started it is killed.
            preexec_fn=partial(die_with_parent, signal.SIGTERM),
        )
        stack.callback(_end, hub, others)
        _wait(place, hub)
        yield hub


def log_of(place: HubSettings) -> Path:
    """Log of the hub, its proxy and its servers since its start."""
    return place.hub / "hub.log"


def _wait(place: HubSettings, hub: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while not answers(place):
        if hub.poll() is not None or time.monotonic() > until:
            what = "ended while it started" if hub.poll() is not None else "did not answer in time"
            log = log_of(place).read_text(errors="replace")[-2000:].strip()
            raise HubEnded(f"the hub {what}; it said last, in {log_of(place)}:\n{log}")
        time.sleep(1)


def _end(hub: subprocess.Popen[bytes], others: set[psutil.Process]) -> None:
    if hub.poll() is None:
        hub.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            hub.wait(STOP_SECONDS)
    # Children of a killed process turn up below this one only then.
    while children := set(psutil.Process().children(recursive=True)) - others:
        for process in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if psutil.wait_procs(children, timeout=10)[1]:
            break  # The system holds one that cannot be ended; nothing more can be done here.
    hub.wait()


def wait(hub: subprocess.Popen[bytes], check: Callable[[], None]) -> None:
    """Stay until the hub ends."""
    while hub.poll() is None:
        check()
        with contextlib.suppress(subprocess.TimeoutExpired):
            hub.wait(1)
    raise HubEnded(
        f"the hub ended by itself, with exit code {hub.returncode}; what it had started was ended,"
        " too. The reason is in its log"
    )
