"""Grading mutants of the model answers: which keep full marks, and which get a false name.

Survivors that no input tells from the model answer stand, with the reason, in ``equivalent.toml``:

    [["attention.scaled_dot_product"]]
    was = "the line that the mutant lacks"
    now = "the line that it has instead"
    why = "what makes the two the same"
"""

import contextlib
import itertools
import signal
import threading
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType

import course_lib
from grader.authoring import Model
from grader.base.errors import Refused
from grader.checks.exercise import Exercise
from grader.checks.grading import grade_source
from grader.checks.mutants import mutants
from grader.checks.naming import AND, merged
from grader.checks.recognition import recognise
from grader.checks.report import Report

EXPLAINED = Path(course_lib.__file__).parent / "bank/equivalent.toml"
# CPU time for one mutant, in seconds and in times of the model answer. A loop that lost its end
# has to be ended.
LEAST, TIMES = 1.5, 20
# A name given under one seed has to be true under another one.
SEED, OTHER_SEED = "0" * 31 + "a", "0" * 31 + "b"


class Endless(KeyboardInterrupt):
    """A mutant that used up its time; of this kind, because answers may not swallow it."""


@dataclass
class Survey:
    """What became of the mutants; ``faults`` are the survivors and false names nobody explains."""

    mutants: int = 0
    rejected: int = 0
    equivalent: int = 0
    pairs: int = 0
    told: int = 0  # that are called by both names
    misnamed: int = 0  # counts pairs of mistakes, too
    faults: list[str] = field(default_factory=list)

    @property
    def unexplained(self) -> int:
        """Survivors that ``equivalent.toml`` does not list."""
        return self.mutants - self.rejected - self.equivalent

    def line(self) -> str:
        share = 100 * self.rejected / max(1, self.mutants)
        return (
            f"mutants {self.rejected}/{self.mutants} rejected ({share:.1f} %),"
            f" equivalent {self.equivalent}, unexplained {self.unexplained},"
            f" pairs {self.told}/{self.pairs} named"
        )


def survey(exercise: Exercise, model: Model, tally: Survey, every: int = 1) -> None:
    """Grade once, and count, the mutants of a model answer, and pairs of its mistakes.

    Take only one in ``every``, for a quick look; 1 also reports explanations that explain nothing.
    """
    reasons = explained().get(exercise.id, {})
    unused = set(reasons)
    limit = _limit(exercise, model)
    for mutant in mutants(model.source)[::every]:
        tally.mutants += 1
        changed = f"{model.before}\n\n{mutant.source}"
        report = verdict(exercise, changed, SEED, limit)
        key = (mutant.was, mutant.now)
        # What is not finished in time is listed for a person: it is not taken for right, either.
        if report is None or report.score < report.max_points or any(r.open for r in report.rows):
            tally.rejected += 1
            if name := false_name(exercise, changed, report, limit):
                tally.misnamed += 1
                tally.faults.append(f"{exercise.id}, a mutant is called {name}\n{mutant}")
        elif key in reasons:
            tally.equivalent += 1
            unused.discard(key)
        else:
            tally.faults.append(f"{exercise.id}, a mutant keeps full marks\n{mutant}")
    _pairs(exercise, model, tally, limit, every)
    if every == 1:
        tally.faults += [
            f"{exercise.id}: equivalent.toml explains what does not survive: {now!r}"
            for _, now in sorted(unused)
        ]


def _pairs(exercise: Exercise, model: Model, tally: Survey, limit: float, every: int) -> None:
    pairs = list(itertools.combinations(exercise.mistakes, 2))[::every]
    for one, other in pairs:
        # What the two have in common may be written as in any other answer.
        peers = [a for a in exercise.mistakes + exercise.alternatives if a not in (one, other)]
        found = (
            merged(base, one.source, other.source)
            for base in [model.source, *(peer.source for peer in peers)]
        )
        both = next(filter(None, found), None)
        if both is None:
            continue
        tally.pairs += 1
        report = verdict(exercise, both, SEED, limit)
        tally.told += report is not None and recognise(exercise, report, SEED) == (one, other)
        if name := false_name(exercise, both, report, limit):
            tally.misnamed += 1
            tally.faults.append(
                f"{exercise.id}, {one.name} and {other.name} together are called {name}\n{both}"
            )


def _limit(exercise: Exercise, model: Model) -> float:
    """CPU seconds for one mutant, from what the model answer takes."""
    start = time.process_time()
    report = grade_source(exercise, f"{model.before}\n\n{model.source}", SEED)
    if not report.full:
        raise Refused(f"{exercise.id}: the model answer fails\n{report.table()}")
    return max(LEAST, TIMES * (time.process_time() - start))


def verdict(exercise: Exercise, source: str, seed: str, limit: float) -> Report | None:
    """The report on an answer; None when it does not even define one, or does not end."""
    try:
        with at_most(limit):
            return grade_source(exercise, source, seed)
    except (Exception, Endless):
        return None


def false_name(exercise: Exercise, source: str, report: Report | None, limit: float) -> str:
    named = recognise(exercise, report, SEED) if report is not None else ()
    again = verdict(exercise, source, OTHER_SEED, limit) if named else None
    same = again is not None and recognise(exercise, again, OTHER_SEED) == named
    return "" if same else AND.join(mistake.name for mistake in named)


@cache
def explained() -> Mapping[str, Mapping[tuple[str, str], str]]:
    """Why survivors are equivalent: by exercise, then by the lines gone and come."""
    with EXPLAINED.open("rb") as file:
        table = tomllib.load(file)
    return {
        identifier: {(e["was"].strip(), e["now"].strip()): e["why"] for e in entries}
        for identifier, entries in table.items()
    }


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise :class:`Endless` in the main thread once so much CPU time is used up.

    CPU time, because a busy machine is no fault of a mutant. Other threads get no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    # Again and again: the first may fall into code that drops what is raised, such as __del__.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
