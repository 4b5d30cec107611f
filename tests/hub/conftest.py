"""A hub's settings for tests: other accounts, folders and ports than a real one's."""

from __future__ import annotations

import contextlib
import fcntl
import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from course_lib.hub import accounts
from course_lib.hub.settings import Place, read

ROOT = Path(__file__).resolve().parents[2]


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def settings() -> Callable[..., Place]:
    """The repository's settings with some changed, written to a file and read."""

    def write(file: Path, **changes: object) -> Place:
        said = tomllib.loads((ROOT / "deploy/local/hub.toml").read_text()) | changes
        # A list of texts, a text and a number are the same in JSON and TOML.
        file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in said.items()))
        return read(file)

    return write


_PORTS = ("port", "hub_port", "proxy_port", "service_port")
_GROUPS = {
    "grader": "hubtest-grader",
    "instructors": "hubtest-instructors",
    "students": "hubtest-students",
}


@pytest.fixture
def place(tmp_path: Path, settings: Callable[..., Place]) -> Place:
    """A hub that nobody has made."""
    return settings(
        tmp_path / "hub.toml",
        state=str(tmp_path / "state"),
        software=str(tmp_path / "software"),
        **_GROUPS,
        **dict(zip(_PORTS, free_ports(4), strict=True)),
    )


@dataclass(frozen=True)
class Hub:
    """A hub that runs.

    Args:
        place: Where it lives.
        passwords: Of its accounts, the instructor's first.
        process: The command that runs it.
    """

    place: Place
    passwords: dict[str, str]
    process: subprocess.Popen[str]

    def as_grader(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the grader's account, as an instructor would."""
        course = [COURSE, "hub", "--settings", str(self.place.file), "grader"]
        return subprocess.run([*course, *command], cwd=ROOT, capture_output=True, text=True)


COURSE = str(Path(sys.executable).with_name("course"))


@pytest.fixture(scope="module")
def hub(
    request: pytest.FixtureRequest,
    settings: Callable[..., Place],
    missing: Callable[[str], None],
) -> Iterator[Hub]:
    """A hub with an instructor and the students that the module names as ``STUDENTS``."""
    if not accounts.is_root():
        missing("a hub makes accounts, which takes root")
    for program in ("node", "npm", "useradd"):
        if not shutil.which(program):
            missing(f"{program} is not there")
    # Two modules at a time would make the same accounts.
    with Path("/var/tmp/course-hub-test.lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        # Students' accounts must reach it, which the folders of pytest do not allow.
        folder = Path(tempfile.mkdtemp(prefix="course-hub-", dir="/var/tmp"))
        folder.chmod(0o755)
        place = settings(
            folder / "hub.toml",
            state=str(folder / "state"),
            **_GROUPS,
            **dict(zip(_PORTS, free_ports(4), strict=True)),
            demo_instructor="hubtest-ira",
            demo_students=request.module.STUDENTS,
        )
        try:
            with _running(place) as running:
                yield running
        finally:
            names = (place.grader, place.demo_instructor, *place.demo_students)
            accounts.remove(place, names)
            for group in (place.instructors, place.students):
                subprocess.run(["groupdel", group], check=False)
            shutil.rmtree(folder)


@contextlib.contextmanager
def _running(place: Place) -> Iterator[Hub]:
    process = subprocess.Popen(
        [COURSE, "hub", "--settings", str(place.file), "demo"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    said: list[str] = []
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if line.startswith("Formgrader"):
                break
        words = [line.split() for line in said if line.startswith("  ")]
        assert words, f"the hub did not start:\n{''.join(said)}"
        yield Hub(place, {name: password for name, password in words}, process)
    finally:
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        process.wait(180)
        left = [each for each in started if each.is_running()]
        for each in left:
            each.kill()
    assert process.returncode == 0, "Ctrl-C ends a hub in peace"
    assert not left, f"left behind: {left}"
