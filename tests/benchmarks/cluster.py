"""How fast 1, 2 and 4 workers grade a class, and when the command that writes is the limit.

Scheduler and workers are commands of their own, as on machines of their own; here they share one.
One command writes what all of them judge. What it spends on a submission is what no further worker
can save.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter

from course_lib.cli.common import say
from course_lib.errors import Refused
from course_lib.experiments.provenance import Clock
from course_lib.experiments.record import DataUse, Record, write_record
from course_lib.experiments.source import digest as digest_of
from course_lib.grading import authoring
from course_lib.grading.classroom import Classroom
from course_lib.grading.judging import judge_process
from course_lib.grading.judging.cluster import Cluster
from course_lib.grading.judging.forkserver import JudgeDied
from course_lib.grading.judging.results import Verdict
from course_lib.grading.judging.sandbox import die_with_parent
from course_lib.grading.records import gradebook
from course_tests.benchmarks.recording import Report, speed_record
from course_tests.benchmarks.submissions import make

EXPERIMENT = "cluster-speed"
ASSIGNMENT = "03_attention"
_SEED = "c0ffee"
HOUR = 3600.0


@dataclass(frozen=True)
class Load:
    """A class graded by so many workers that were warm.

    Attributes:
        workers: How many processes judged.
        each: Seconds a submission, from handing out the first to writing the last.
        driver: Seconds for which the writing command was busy with one, not waiting for answers.
        driver_cpu: Its processor seconds a submission; less, where others keep the machine busy.
    """

    workers: int
    each: float
    driver: float
    driver_cpu: float


@dataclass(frozen=True)
class Measured:
    """What was measured, and what follows from it on paper.

    Attributes:
        students: How many submissions.
        cores: Of the machine, shared by scheduler, workers and the command that writes.
        loads: By the number of workers.
        others: How many other processes wanted to run in the minute before.

    Example:
        >>> measured = Measured(60, 2, [Load(1, 0.5, 0.01, 0.01), Load(2, 0.25, 0.01, 0.01)])
        >>> measured.most_workers, measured.largest_class()
        (50, 360000)
    """

    students: int
    cores: int
    loads: list[Load] = field(default_factory=list)
    others: float = 0.0

    @classmethod
    def of(cls, record: Record) -> Measured:
        """What a record of such a measurement holds."""
        return TypeAdapter(cls).validate_python(record.results)

    @property
    def driver(self) -> float:
        """Seconds a submission of the writing command: the most that was measured."""
        return max(load.driver for load in self.loads)

    @property
    def most_workers(self) -> int:
        """So many workers keep the writing command busy; more would wait for it."""
        return max(1, round(self.loads[0].each * self.loads[0].workers / self.driver))

    def largest_class(self, seconds: float = HOUR) -> int:
        """So many submissions it writes in a given time, however many judge."""
        return int(seconds / self.driver)

    def table(self) -> str:
        """A line for each number of workers."""
        heads = f"{'workers':>7}{'s/sub':>9}{'sub/s':>8}{'speed-up':>10}"
        lines = [heads + f"{'writer ms/sub':>15}{'CPU-ms':>8}"]
        for load in self.loads:
            gain = self.loads[0].each / load.each
            lines.append(
                f"{load.workers:7d}{load.each:9.3f}{1 / load.each:8.2f}{gain:10.2f}"
                f"{1000 * load.driver:15.1f}{1000 * load.driver_cpu:8.1f}"
            )
        return "\n".join(lines)

    def line(self) -> str:
        """The last line of a report."""
        busy = f", busy with {self.others:.0f} other processes" if self.others >= 0.5 else ""
        return (
            f"class of {self.students}, {self.cores} cores{busy}: the writing command needs"
            f" {1000 * self.driver:.1f} ms a submission; on paper it is the limit from"
            f" {self.most_workers} workers on, and of a class of more than"
            f" {self.largest_class()} if all is to be done within an hour"
        )

    def data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            **asdict(self),
            "seconds": {f"by {load.workers}": load.each for load in self.loads},
            "driver_seconds": self.driver,
            "most_workers": self.most_workers,
            "largest_class_in_an_hour": self.largest_class(),
        }


@contextlib.contextmanager
def machines(workers: int, folder: Path) -> Iterator[str]:
    """A scheduler and so many workers on loopback, each a command; the scheduler's address.

    Args:
        workers: How many.
        folder: For what they say.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    dask = str(Path(sys.executable).with_name("dask"))
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
    worker = [dask, "worker", address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
    commands = [[dask, "scheduler", "--host", "127.0.0.1", "--port", str(port)]]
    running = []
    try:
        for number, command in enumerate(commands + [worker] * workers):
            with Path(folder, f"said-{number}").open("wb") as said:
                running.append(
                    subprocess.Popen(
                        [*command, "--no-dashboard"],
                        cwd=folder,
                        env={**os.environ, **one},
                        stdin=subprocess.DEVNULL,
                        stdout=said,
                        stderr=said,
                        preexec_fn=die_with_parent,
                    )
                )
        yield address
    finally:
        for process in running:
            process.kill()
            process.wait()


def bench(
    root: Path,
    students: int = 60,
    *,
    workers: Sequence[int] = (1, 2, 4),
    results_dir: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Measured:
    """Grade one class by clusters of several sizes.

    Args:
        root: The checkout.
        students: How many submissions.
        workers: How many workers, in turn.
        results_dir: Folder of the records; nothing is written without it.
        say: Called with a line as each run ends.

    Raises:
        ValueError: If fewer than two students or no workers are asked for, or ``distributed`` is
            not installed.
        Refused: If two clusters disagree on a score; their times are not worth comparing.
    """
    if students < 2 or not workers or min(workers) < 1:
        raise Refused(f"students {students}, workers {list(workers)}: wanted 2 and 1 at least")
    clock = Clock(torch.device("cpu"))
    measured = Measured(students, len(os.sched_getaffinity(0)), others=os.getloadavg()[0])
    first: dict[str, dict[str, float | None]] = {}
    with tempfile.TemporaryDirectory(prefix="course-bench-") as place:
        folder = Path(place)
        assignment = authoring.named(root, ASSIGNMENT)
        make(folder / "class", assignment, students)
        for count in workers:
            course = folder / f"by-{count}"
            shutil.copytree(folder / "class", course)
            room = Classroom(course, root, ASSIGNMENT, seed=_SEED)
            with machines(count, folder) as address:
                cluster = Cluster(address)
                _warm(address, count, room)
                measured.loads.append(_graded(room, cluster, count))
            say(f"{count} workers: {measured.loads[-1].each * students:.1f} s")
            scores = gradebook.scores(course, ASSIGNMENT)
            if first and scores != first:
                raise Refused(f"{count} workers gave other scores than {workers[0]}")
            first = scores
    if results_dir is not None:
        digest = hashlib.sha256(repr(first).encode()).hexdigest()
        record = speed_record(
            EXPERIMENT,
            f"class-{students}",
            {"assignment": ASSIGNMENT, "students": students, "workers": list(workers)},
            DataUse("class", "generated", digest),
            measured.data(),
            digest_of([("course_lib.grading.judging.cluster", "*")]),
            clock,
            {"distributed": version("distributed")},
        )
        write_record(record, results_dir)
    return measured


def _warm(address: str, count: int, room: Classroom) -> None:
    """Have every worker judge one submission, so that none has to import anything any more."""
    import distributed

    with distributed.Client(address, timeout=120) as client:
        client.wait_for_workers(count, timeout=300)
        task = room.take_in(room.students()[0])
        request = judge_process.request(room.marker, task, walls=True)
        warm = [
            client.submit(judge_process.judge, request, workers=[worker], pure=False)
            for worker in client.nthreads()
        ]
        for future in warm:
            if isinstance(done := judge_process.answer(future.result()), JudgeDied):
                raise done


def _graded(room: Classroom, cluster: Cluster, workers: int) -> Load:
    marks: list[tuple[float, float, float]] = []

    def mark(verdict: Verdict) -> None:
        marks.append((time.perf_counter(), cluster.idle, time.process_time()))

    room.grade(cluster, say=mark)
    elapsed, idle, cpu = (then - now for now, then in zip(marks[0], marks[-1], strict=True))
    many = len(marks) - 1
    each = (marks[-1][0] - cluster.began) / len(marks)
    return Load(workers, each, (elapsed - idle) / many, cpu / many)


def report(asked: argparse.Namespace, root: Path, results: Path) -> Report:
    """What ``course bench`` prints: each run as it ends, the table, and what follows from it."""
    measured = bench(root, asked.students, results_dir=results, say=say)
    return measured.data(), [measured.table(), measured.line()], False
