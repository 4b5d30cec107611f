"""Grading our own source code over a real worker: what the matrix's sampled test uses."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from course_tests.grader.checks.matrix import Grader, reference_source
from grader.checks.exercise import PRELUDE, Exercise, given_source
from grader.checks.grading import grade, grade_source
from grader.checks.report import Report
from grader.judge.channel import Limits, Worker
from grader.judge.forkserver import ForkServer

# Seconds of processor time: one worker takes a thousand times as many answers as a submission has.
LONG = 24 * 60 * 60


@contextlib.contextmanager
def worker_grader(folder: Path) -> Iterator[Grader]:
    """A grader for ``matrix`` that sends answers to one worker.

    The library's own implementation cannot be imported there, which is the point of a worker: it is
    graded in this process.
    """
    limits = Limits(cpu=LONG)
    with ForkServer(folder) as forkserver, Worker(forkserver, limits) as worker:

        def grader(exercise: Exercise, source: str, seed: str) -> Report:
            if source == reference_source(exercise):
                return grade_source(exercise, source, seed)
            given = [given_source(function) for function in exercise.given]
            outputs = worker.run("\n\n".join(["%reset -f", PRELUDE, *given, source]))
            failed = [o for o in outputs if o["output_type"] == "error"]
            if failed:
                raise RuntimeError(f"{exercise.id}: banked source fails: {failed[0]['evalue']}")
            return grade(exercise, worker.proxy(), seed, examples=False)

        yield grader
