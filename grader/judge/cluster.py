"""Judges on other machines: the same work as :mod:`.pool`, over dask.distributed.

The command that grades is the only one that writes. What it has handed out and not got back, it
hands out again, whatever became of workers, scheduler or network; a submission may so be judged
twice, and is written once. An answer is let go as soon as it is there: the scheduler would have a
dead worker's answers made again for as long as somebody holds on to them.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import queue
import sys
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from grader.base.errors import Refused
from grader.judge import judge_process
from grader.judge.forkserver import WorkerFailed
from grader.judge.results import Files, Task, Verdict

if TYPE_CHECKING:
    from grader.judge.marking import Marker

# Submissions that are handed out at the same time; more would only lie in the scheduler's memory.
WINDOW = 256
# State of an answer on its way when the connection breaks.
_CUT = (OSError, concurrent.futures.CancelledError, asyncio.CancelledError)
# Seconds between looks at whether scheduler and workers are still there.
LOOK = 1.0


class _Lost(Exception):
    """There is no scheduler any more, or no way to it."""


class Cluster:
    """A scheduler's address, and for how many seconds to wait where nobody answers.

    An address is ``tcp://host:8786``, or ``tls://`` with dask's own configuration.
    """

    def __init__(self, address: str, patience: float, *, walls: bool = True) -> None:
        try:
            import distributed
        except ModuleNotFoundError:
            raise Refused(
                "grading on a cluster needs dask.distributed: pip install -e '.[cluster]'"
            ) from None
        self._dask, self._closed = distributed, distributed.client.ClosedClientError
        self.address, self.patience, self.walls = address, patience, walls
        # It reports what is handled here; each part of it has a level of its own.
        for name in [n for n in logging.root.manager.loggerDict if n.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)

    def _tell(self, text: str) -> None:
        print(f"course: {text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def _client(self) -> Iterator[Any]:
        until, announced = time.monotonic() + self.patience, False
        while True:
            try:
                client = self._dask.Client(self.address, timeout=min(10.0, self.patience))
                break
            except (ValueError, TypeError, RuntimeError) as error:
                if not isinstance(error.__cause__ or error, OSError):
                    raise Refused(f"--scheduler {self.address}: {error}") from None
                failed: Exception = error
            except OSError as error:
                failed = error
            if time.monotonic() > until:
                raise Refused(
                    f"no scheduler at {self.address} ({failed}): start `dask scheduler` there."
                    " Nothing is lost; run the same command again to resume"
                )
            if not announced:
                self._tell(f"waiting for a scheduler at {self.address}")
                announced = True
            time.sleep(LOOK)
        try:
            yield client
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=5)

    def judge_all(
        self, marker: Marker, tasks: Sequence[Task]
    ) -> Generator[tuple[Task, tuple[Verdict, Files]], None, None]:
        """Judge submissions on all workers; each task with what came of it, as they finish."""
        waiting = {task.student: task for task in tasks}
        while waiting:
            with self._client() as client:
                answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
                out: dict[Any, Task] = {}
                # Another name in every life, or a scheduler would answer with what failed before.
                submit = partial(self._submit, client, marker, uuid.uuid4().hex, answers.put)
                self._hand_out(submit, waiting, out)
                while waiting:
                    try:
                        future = self._next(client, answers)
                        done = self._answer(future, marker, out[future])
                    except _Lost:
                        # The scheduler is gone, and with it all that it knew.
                        self._tell(
                            f"lost the scheduler at {self.address}; ungraded work is sent out again"
                        )
                        break
                    task = out.pop(future)
                    future.release()
                    if waiting.pop(task.student, None):
                        with contextlib.suppress(self._closed):  # seen at the next look
                            self._hand_out(submit, waiting, out)
                        yield task, done

    def _submit(
        self, client: Any, marker: Marker, life: str, done: Callable[[Any], None], task: Task
    ) -> Any:
        # Named by whom it is about, so that an answer is never taken for another's.
        key = f"{marker.assignment.name}-{task.key[:16]}-{task.student}-{life}"
        request = judge_process.request(marker, task, walls=self.walls)
        future = client.submit(judge_process.judge, request, key=key, pure=False)
        future.add_done_callback(done)
        return future

    def _hand_out(
        self, submit: Callable[[Task], Any], waiting: Mapping[str, Task], out: dict[Any, Task]
    ) -> None:
        held = {task.student for task in out.values()}
        for student, task in waiting.items():
            if student not in held and len(out) < WINDOW:
                out[submit(task)] = task

    def _next(self, client: Any, answers: queue.SimpleQueue[Any]) -> Any:
        since, announced = time.monotonic(), False
        while True:
            with contextlib.suppress(queue.Empty):
                return answers.get(timeout=LOOK)
            if client.status != "running":
                raise _Lost
            # `scheduler_info` leaves workers out now and then.
            try:
                staffed = bool(client.nthreads())
            except _CUT:
                staffed = True  # That the scheduler is gone is seen at the next look.
            if staffed:
                since, announced = time.monotonic(), False
            elif not announced:
                self._tell(f"waiting for a worker at {self.address}: `dask worker {self.address}`")
                announced = True
            if time.monotonic() - since > self.patience:
                raise Refused(
                    f"no worker at {self.address} for {self.patience:.0f} seconds: start"
                    f" `dask worker {self.address} --nthreads 1`. Nothing is lost; run the same"
                    " command again to resume"
                )

    def _answer(self, future: Any, marker: Marker, task: Task) -> tuple[Verdict, Files]:
        try:
            if future.status not in ("finished", "error"):
                raise _Lost
            error = future.exception() if future.status == "error" else None
            answer = b"" if error else future.result()
        except _CUT:
            raise _Lost from None  # It was on its way here.
        if error:
            if isinstance(error, self._dask.KilledWorker):
                return marker.lost(task, "worker after worker ended while at work on it")
            raise WorkerFailed(
                f"a worker at {self.address} cannot judge: {type(error).__name__}: {error}."
                " Scheduler and workers need the same installation as this command"
            )
        return judge_process.answer(answer, marker, task)
