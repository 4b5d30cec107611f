"""Judges side by side: processes that each take one submission at a time.

They are forked from the process that calls :func:`judge_all`, which alone writes anything. A judge
that dies is replaced, and so is the warm parent; what it was at work on is tried again.
"""

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from course_lib.errors import Refused
from course_lib.grading.judging.forkserver import ForkServer, ForkServerLost, WorkerFailed
from course_lib.grading.judging.sandbox import die_with_parent

Task = TypeVar("Task")
Done = TypeVar("Done")

# A submission on which this many judges died is not tried again.
ATTEMPTS = 2


class JudgeDied(Refused, RuntimeError):
    """The process that judged a submission was killed, each time it was tried."""


@dataclass
class _Judge(Generic[Task]):
    process: BaseProcess
    link: Connection
    task: Task | None = None
    tried: int = 0


@dataclass
class _Staff(Generic[Task, Done]):
    """The warm parent and its judges, all of one life."""

    work: Callable[[Task, ForkServer, int], Done]
    start: Callable[[], ForkServer]
    jobs: int
    forkserver: ForkServer = field(init=False)
    judges: list[_Judge[Task]] = field(init=False)

    def __post_init__(self) -> None:
        self.forkserver = self.start()
        self.judges = [self._hire(number) for number in range(self.jobs)]

    def _hire(self, number: int) -> _Judge[Task]:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(
            target=_serve,
            args=(os.getpid(), theirs, ours, self.work, self.forkserver, number),
            daemon=True,
        )
        with held_back(signal.SIGINT):
            process.start()
        theirs.close()
        return _Judge(process, ours)

    def hand_out(self, waiting: deque[tuple[Task, int]]) -> None:
        """Give whoever is idle the next of what waits."""
        for judge in self.judges:
            if judge.task is None and waiting:
                judge.task, judge.tried = waiting.popleft()
                with contextlib.suppress(OSError):
                    judge.link.send(judge.task)

    def replace(self, judge: _Judge[Task]) -> None:
        """Put a new judge in the place of a dead one."""
        judge.link.close()
        judge.process.join()
        self.judges[self.judges.index(judge)] = self._hire(self.judges.index(judge))

    def dismiss(self) -> None:
        """End everybody."""
        for judge in self.judges:
            judge.process.kill()
            judge.process.join()
            judge.link.close()
        self.forkserver.end()


@contextlib.contextmanager
def held_back(number: signal.Signals) -> Iterator[None]:
    """Let a signal wait, so that no process is forked that would handle it as its parent does."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [number])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def judge_all(
    tasks: Sequence[Task],
    work: Callable[[Task, ForkServer, int], Done],
    start: Callable[[], ForkServer],
    jobs: int,
    meanwhile: Callable[[], None] = lambda: None,
) -> Generator[tuple[Task, Done | JudgeDied], None, None]:
    """Judge many submissions, as many at a time as there are judges.

    In a judge's process ``work`` is called with the task, the fork server and the judge's number;
    ``meanwhile`` here, once the judges are at work. Yields each task with what came of it, as they
    finish.
    """
    if jobs < 1:
        raise Refused(f"jobs is {jobs}, wanted at least 1")
    waiting: deque[tuple[Task, int]] = deque((task, 1) for task in tasks)
    if not waiting:
        return
    staff: _Staff[Task, Done] = _Staff(work, start, min(jobs, len(waiting)))
    try:
        staff.hand_out(waiting)
        meanwhile()
        while waiting or any(j.task is not None for j in staff.judges):
            staff.hand_out(waiting)
            busy = {j.link: j for j in staff.judges if j.task is not None}
            for link in wait(list(busy)):
                judge = busy[link]  # type: ignore[index]
                task, tried = judge.task, judge.tried
                assert task is not None
                judge.task = None
                try:
                    kind, content = judge.link.recv()
                except (EOFError, OSError):
                    staff.replace(judge)
                    kind, content = "died", None
                if kind == "done":
                    yield task, content
                elif kind == "failed":
                    raise WorkerFailed(content)
                elif tried >= ATTEMPTS:
                    yield task, JudgeDied(f"the judge ended {tried} times while at work on it")
                else:
                    waiting.appendleft((task, tried + 1))
                if kind == "lost":
                    # All judges of this life are about to notice: what they were at comes again.
                    for other in staff.judges:
                        if other.task is not None:
                            waiting.appendleft((other.task, other.tried))
                    staff.dismiss()
                    staff = _Staff(work, start, staff.jobs)
                    break
    finally:
        staff.dismiss()


def _serve(
    parent: int,
    link: Connection,
    other_end: Connection,
    work: Callable[[Task, ForkServer, int], Done],
    forkserver: ForkServer,
    number: int,
) -> None:
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
            answer = ("done", work(task, forkserver, number))
        except ForkServerLost as lost:
            answer = ("lost", str(lost))  # type: ignore[assignment]
        except WorkerFailed as failed:
            answer = ("failed", str(failed))  # type: ignore[assignment]
        link.send(answer)
