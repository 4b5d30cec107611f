"""The judge's side of the warm parent: start it once, ask it for workers, end it."""

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from grader.base.course import course
from grader.base.errors import Refused
from grader.judge import sandbox, sandbox_package
from grader.judge.cgroup import Group
from grader.judge.mounts import mounts, unneeded

# Runs in the warm parent before anything else: only the package provides library and grader, even
# where the real ones are installed in the same environment.
START = """
import json, os, sys
controls, unneeded, package, mounts, at, own = json.load(sys.stdin)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
sys.meta_path = [f for f in sys.meta_path if "editable" not in getattr(f, "__module__", "")
                 and "editable" not in getattr(f, "__name__", "")]
sys.path = [p for p in sys.path if p.endswith("-packages")
            or not any(os.path.isdir(os.path.join(p, name)) for name in own)]
enclosed = None, False
if mounts:
    # Not imported: a module remembers where it came from.
    names = {"__name__": "sandbox"}
    with open(package + "/grader/judge/sandbox.py") as file:
        exec(compile(file.read(), "sandbox.py", "exec"), names)
    enclosed, package = names["enclose"](mounts, at), names["KIT"]
    del names, file
del mounts, at, own
sys.path.insert(0, package)
sys.argv = sys.orig_argv = [""]
from grader.judge.forkserver_process import main
main(controls, unneeded, *enclosed)
"""
_START_SECONDS = 180.0

# Slow imports of the warm parent, made once a submission mentions them.
COSTLY = ("matplotlib", "torch.testing")


class WorkerFailed(Refused, RuntimeError):
    """No worker can start here: a fault of the installation, never of a student."""


class ForkServerLost(RuntimeError):
    """The warm parent is gone; a new one has to be started."""


class ForkServer(AbstractContextManager["ForkServer"]):
    """A running warm parent; use it as a context manager.

    The sandbox package lies in ``kits``, and is written there if it does not. Without ``walls``,
    students' processes can read and write whatever the grader's account can.
    """

    def __init__(self, kits: Path, *, judges: int = 1, walls: bool = True) -> None:
        package = sandbox_package.build(kits)
        self.walls = walls
        self.folder = tempfile.TemporaryDirectory(prefix="course-grader-")
        self.own_users = False
        root = Path(self.folder.name, "root")
        root.mkdir()
        self._log = Path(self.folder.name, "start.log")
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(judges)]
        self.controls = [ours for ours, _ in pairs]
        theirs = [other.fileno() for _, other in pairs]
        visible = mounts(package) if walls else []
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-X", "utf8", "-c", START],
                pass_fds=theirs,
                cwd="/",
                env=environment(self.home),
                stdin=subprocess.PIPE,
                text=True,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                # The parent's parent may be killed where nothing can be cleaned up any more.
                preexec_fn=sandbox.die_with_parent,
            )
        for _, other in pairs:
            other.close()
        # Orders here are in no list of processes, and nowhere in a student's.
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self.process.stdin as pipe:
            told = [theirs, unneeded(), str(package), visible, str(root), course().names]
            json.dump(told, pipe)
        self._ready = 0
        self.made = 0
        self.group = Group.create()

    @property
    def home(self) -> str:
        """Where a worker starts: a folder in its own memory, or without walls a shared one."""
        return f"{sandbox.SCRATCH}/home" if self.walls else f"{self.folder.name}/home"

    def ready(self, judge: int = 0) -> None:
        """Wait until workers can be had."""
        if self._ready & (1 << judge):
            return
        control = self.controls[judge]
        control.settimeout(_START_SECONDS)
        try:
            answer = control.recv(4096)
        except (TimeoutError, OSError):
            answer = b""
        if not answer:
            self.process.kill()
            self.process.wait()
            raise WorkerFailed(f"the grading worker did not start\n{self._said()}")
        control.settimeout(None)
        self.own_users = json.loads(answer)["own_users"]
        self._ready |= 1 << judge

    def fork(
        self,
        limits: dict[str, int],
        judge: int = 0,
        needs: Iterable[str] = (),
        without: Iterable[str] = (),
    ) -> tuple[socket.socket, int, int]:
        """Ask for a worker, with ``needs`` and ``without`` as for :class:`.channel.Worker`.

        Returns its socket, the process to kill in order to end it and all that it has started, and
        a descriptor from which its exit status can be read when it has ended.
        """
        self.ready(judge)
        ours, theirs = socket.socketpair()
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ended, ending = os.pipe()
        descriptors = contextlib.ExitStack()
        descriptors.callback(os.close, ended)
        descriptors.callback(ours.close)
        self.made += 1
        home = f"{self.home}/{judge}-{self.made}"
        wanted = {"home": home, "needs": list(needs), "without": list(without)}
        message = json.dumps({**limits, **wanted}).encode()
        try:
            with descriptors:
                try:
                    socket.send_fds(self.controls[judge], [message], [theirs.fileno(), ending])
                finally:
                    theirs.close()
                    os.close(ending)
                ours.settimeout(30)
                greeting, extra, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(12))
                if not greeting and self._gone(judge):
                    raise ForkServerLost("the warm parent ended while it started a worker")
                if not greeting:
                    raise WorkerFailed(f"the grading worker did not start\n{self._said()}")
                pid = struct.unpack("iII", extra[0][2])[0]
                self.group.add(pid)
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
                ours.send(b"g")
                descriptors.pop_all()
        except (BrokenPipeError, ConnectionResetError, TimeoutError) as error:
            raise ForkServerLost(f"the warm parent is gone: {error}") from None
        return ours, pid, ended

    def _gone(self, judge: int) -> bool:
        control = self.controls[judge]
        return bool(select.select([control], [], [], 0.5)[0]) and not control.recv(4096)

    def _said(self) -> str:
        time.sleep(0.05)
        return self._log.read_text(errors="replace").strip()[-4000:]

    def end(self) -> None:
        """End the parent and all workers."""
        for control in self.controls:
            control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.group.remove()
        with contextlib.suppress(OSError):
            self.folder.cleanup()

    def __exit__(self, *_: object) -> None:
        self.end()


def environment(home: str) -> dict[str, str]:
    """The few variables that a worker gets."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    homes = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR", "MPLCONFIGDIR"), home)
    users = dict.fromkeys(("USER", "LOGNAME"), "student")
    return {
        **one,
        **homes,
        **users,
        "PATH": path,
        "MPLBACKEND": "agg",
        "LANG": "C.UTF-8",
        # Few large pages instead of many small ones: a quarter less work for every fork.
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        # A compiled answer runs as it is written: a compiler would take all of its time.
        "TORCHDYNAMO_DISABLE": "1",
        # There is no network: `!pip install` says so at once, what is there is there.
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
