"""Where a worker of a cluster judges: a process of its own, one submission after the other.

A worker runs threads, and a process with threads cannot be forked as the grader forks. So it keeps
a judge process with a :class:`~grader.judge.pool.Pool` of one judge. This module imports next to
nothing, because every worker and the scheduler load it; what is said crosses them as bytes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from grader.base.course import course
from grader.base.errors import Refused
from grader.judge import ATTEMPTS

if TYPE_CHECKING:
    from grader.judge.channel import Limits
    from grader.judge.marking import Marker
    from grader.judge.pool import Pool
    from grader.judge.results import Files, Task, Verdict

_here = threading.local()


def request(marker: Marker, task: Task, *, walls: bool) -> bytes:
    """A submission to be judged, and all that its grade is decided from, as bytes.

    A worker whose library and sources have another hash than the marker's judges nothing.
    """
    name, seed, engine = marker.assignment.name, marker.seed, marker.engine
    return pickle.dumps((name, task, seed, engine, marker.limits, walls))


def answer(content: bytes, marker: Marker, task: Task) -> tuple[Verdict, Files]:
    """Result of :func:`judge`, read; WorkerFailed if the worker cannot judge anything."""
    from grader.judge.forkserver import WorkerFailed

    kind, result = pickle.loads(content)
    if kind == "failed":
        raise WorkerFailed(result)
    return result if kind == "done" else marker.lost(task, result)


def judge(request: bytes) -> bytes:
    """Judge what :func:`request` returned, any number of times; :func:`answer` reads the rest."""
    if not hasattr(_here, "process"):
        _here.process = JudgeProcess()
    process: JudgeProcess = _here.process
    return process.ask(request)


class JudgeProcess:
    """A worker's side of it; started when it is first wanted, and again when it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection | None = None

    def ask(self, request: bytes) -> bytes:
        """Hand over a request and wait for the answer."""
        for _ in range(ATTEMPTS):
            try:
                link = self._link or self._start()
                link.send_bytes(request)
                return link.recv_bytes()
            except (EOFError, OSError):
                self.end()
        return pickle.dumps(("died", f"the judge ended {ATTEMPTS} times while at work on it"))

    def _start(self) -> Connection:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", __name__, str(theirs.fileno()), str(os.getpid())]
        one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
        # Behind Formgrader's button the caller holds a hub's token; who judges needs none.
        env = {n: v for n, v in os.environ.items() if not n.startswith(("JUPYTERHUB_", "JPY_"))}
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], env=env | one, stdin=subprocess.DEVNULL
        )
        theirs.close()
        self._link = Connection(ours.detach())
        return self._link

    def end(self) -> None:
        """End the process and all that it has started."""
        if self._link:
            self._link.close()
        if self._process:
            self._process.kill()
            self._process.wait()
        self._process = self._link = None


class _JudgeServer(contextlib.ExitStack):
    pool: tuple[bool, Pool] | None = None

    def handle(
        self, assignment: str, task: Task, seed: str, engine: str, limits: Limits, walls: bool
    ) -> tuple[str, tuple[Verdict, Files] | str]:
        """Judge; arguments are what :func:`request` packs."""
        from grader.judge import pool
        from grader.judge.forkserver import WorkerFailed

        try:
            marker = _marker(assignment, seed, limits)
            if marker.engine != engine:
                return "failed", (
                    f"the worker on {socket.gethostname()} has another version of the course than"
                    " the command that asks it. Nothing was mixed: update both and start the worker"
                    " again"
                )
            if self.pool is None or self.pool[0] != walls:
                self.close()
                kits = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="course-judge-")))
                self.pool = walls, self.enter_context(pool.of_kits(kits, walls=walls))
            [(_, done)] = self.pool[1].judge_all(marker, [task])
            return "done", done
        except (WorkerFailed, ValueError, OSError) as error:
            return "failed", f"the worker on {socket.gethostname()}: {error}"


@lru_cache(maxsize=1)
def _marker(assignment: str, seed: str, limits: Limits) -> Marker:
    from grader.judge.marking import Marker

    return Marker(checkout(), assignment, seed, limits)


def checkout() -> Path:
    """The checkout that this installation of the library belongs to, with its assignments."""
    root = course().root
    if not (root / "solutions").is_dir():
        raise Refused(
            f"{root} holds no assignments: install the course on a worker from a checkout, with"
            " `pip install -e .`"
        )
    return root


def main(descriptor: int, parent: int) -> None:
    """The process's life: read a request, judge it, answer."""
    from grader.judge import fast_imports, sandbox

    sandbox.die_with_parent()
    if os.getppid() != parent:
        return  # It was killed before this one could ask to be told.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fast_imports.load("grader.judge.marking")
    link = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError), link, _JudgeServer() as server:
        while True:
            request = pickle.loads(link.recv_bytes())
            link.send_bytes(pickle.dumps(server.handle(*request)))


if __name__ == "__main__":
    # By its own name, because pickled orders name the module.
    from grader.judge.judge_process import main as live

    live(int(sys.argv[1]), int(sys.argv[2]))
