"""Judges side by side: processes that each take one submission at a time.

They are forked from the process that calls :meth:`Pool.judge_all`, which alone writes anything. A
judge that dies is replaced, and so is the warm parent; what it was at work on is tried again.
"""

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Protocol

from grader.base.errors import Refused
from grader.judge import ATTEMPTS
from grader.judge.forkserver import ForkServer, ForkServerLost, WorkerFailed
from grader.judge.sandbox import die_with_parent


class Judging(Protocol):
    """Work of judges on a task."""

    def prepare(self) -> None:
        """Compute what every judge needs, before judges are forked."""

    def judge(self, task: Any, forkserver: ForkServer, judge: int) -> Any:
        """Do it, in a judge's process, whose number is ``judge``."""

    def lost(self, task: Any, why: str) -> Any:
        """The result of a task that nobody could judge; the next run tries it again."""


@dataclass
class _Judge:
    process: BaseProcess
    link: Connection
    task: Any = None
    tried: int = 0


class Pool:
    """The judges of this machine, and the warm parent that gives them workers.

    Entered as a context manager it starts the warm parent at once, which then imports while its
    caller does, and keeps it and the judges for further tasks; otherwise it is started with the
    first task. Before judges are forked, ``examine`` has a look at it.
    """

    def __init__(
        self,
        start: Callable[[], ForkServer],
        jobs: int = 1,
        examine: Callable[[ForkServer], object] = lambda forkserver: None,
    ) -> None:
        if jobs < 1:
            raise Refused(f"jobs is {jobs}, wanted at least 1")
        self.start, self.jobs, self.examine = start, jobs, examine
        self.forkserver: ForkServer | None = None
        self.judges: list[_Judge] = []
        self.work: Judging | None = None
        self.kept = False

    def __enter__(self) -> "Pool":
        self.forkserver, self.kept = self.start(), True
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()

    def judge_all(
        self, work: Judging, tasks: Sequence[Any]
    ) -> Generator[tuple[Any, Any], None, None]:
        """Judge submissions side by side; each task with what came of it, as they finish."""
        waiting = deque((task, 1) for task in tasks)
        try:
            if len(waiting) > 1:
                self._warm()
                work.prepare()
            while waiting or self._busy():
                if not self.judges or self.work is not work:
                    self._end_judges()
                    self.examine(self._warm())
                    self.work = work
                    self.judges = [self._hire(n) for n in range(min(self.jobs, len(waiting)))]
                self._hand_out(waiting)
                ready = wait([judge.link for judge in self._busy()])
                finished = [self._result(j) for j in self._busy() if j.link in ready]
                for kind, content, task, tried in finished:
                    if kind == "failed":
                        raise WorkerFailed(content)
                    if kind in ("died", "lost") and tried < ATTEMPTS:
                        waiting.appendleft((task, tried + 1))
                if "lost" in [kind for kind, *_ in finished]:
                    # All judges of this life are about to notice: what they were at comes again.
                    waiting.extendleft((judge.task, judge.tried) for judge in self._busy())
                    self._dismiss()
                # Before the writer is at work, so that no judge waits for it.
                self._hand_out(waiting)
                for kind, content, task, tried in finished:
                    if kind == "done":
                        yield task, content
                    elif tried >= ATTEMPTS:
                        why = f"the judge ended {tried} times while at work on it"
                        yield task, work.lost(task, why)
        finally:
            if self._busy() or not (self.kept and self.judges):
                self._dismiss()

    def _busy(self) -> list[_Judge]:
        return [judge for judge in self.judges if judge.task is not None]

    def _result(self, judge: _Judge) -> tuple[str, Any, Any, int]:
        task, tried = judge.task, judge.tried
        judge.task = None
        try:
            kind, content = judge.link.recv()
        except (EOFError, OSError):
            kind, content, number = "died", None, self.judges.index(judge)
            judge.link.close()
            judge.process.join()
            self.judges[number] = self._hire(number)
        return kind, content, task, tried

    def _warm(self) -> ForkServer:
        """The warm parent; from now on this process computes in one thread.

        One in which torch has started threads hangs when it is forked, and waits for them while it
        computes what is small.
        """
        self.forkserver = self.forkserver or self.start()
        from grader.base.tensors import torch  # not before the warm parent is at work

        if torch:
            torch.set_num_threads(1)
        return self.forkserver

    def _hire(self, number: int) -> _Judge:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=self._serve, args=(os.getpid(), theirs, ours, number), daemon=True
        )
        # Let the signal wait, so that no process is forked that would handle it as its parent does.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return _Judge(process, ours)

    def _serve(self, parent: int, link: Connection, other_end: Connection, number: int) -> None:
        assert self.work is not None and self.forkserver is not None
        die_with_parent()
        if os.getppid() != parent:
            os._exit(0)  # it was killed before this one could ask to be told
        # Ctrl-C reaches the whole group; the writer decides what becomes of it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        other_end.close()
        while True:
            try:
                task = link.recv()
            except (EOFError, OSError):
                os._exit(0)
            try:
                answer = ("done", self.work.judge(task, self.forkserver, number))
            except ForkServerLost as lost:
                answer = ("lost", str(lost))
            except WorkerFailed as failed:
                answer = ("failed", str(failed))
            except Exception as error:
                # One task never stops a class; whoever grades sees what happened.
                why = f"The grader itself failed: {type(error).__name__}: {error}"
                answer = ("done", self.work.lost(task, why))
            link.send(answer)

    def _hand_out(self, waiting: deque[tuple[Any, int]]) -> None:
        for judge in self.judges:
            if judge.task is None and waiting:
                judge.task, judge.tried = waiting.popleft()
                with contextlib.suppress(OSError):
                    judge.link.send(judge.task)

    def _end_judges(self) -> None:
        for judge in self.judges:
            judge.process.kill()
            judge.process.join()
            judge.link.close()
        self.judges = []

    def _dismiss(self) -> None:
        self._end_judges()
        if self.forkserver:
            self.forkserver.end()
        self.forkserver = None


def of_course(course: Path, jobs: int = 1, *, walls: bool = True) -> Pool:
    """The judges for the hand-ins of a course folder, which workers must not see."""
    return of_kits(course / ".kits", jobs, [course], walls=walls)


def of_kits(kits: Path, jobs: int = 1, places: Sequence[Path] = (), *, walls: bool = True) -> Pool:
    """The judges of any hand-ins, whose workers must not see some places."""

    def examine(forkserver: ForkServer) -> None:
        from grader.judge import doctor

        doctor.behind_walls(forkserver, places)

    return Pool(partial(ForkServer, kits, judges=jobs, walls=walls), jobs, examine)
