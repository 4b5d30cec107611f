"""Grading an answer to one exercise: every property is tried, and the verdicts become a report."""

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from tqdm import tqdm

from grader.checks.answer_proxy import AnswerProxy, Failure
from grader.checks.constant_answer import idle
from grader.checks.exercise import Exercise, Property, namespace
from grader.checks.probe import End
from grader.checks.recorded import Unrecorded
from grader.checks.report import ALONE, WITH, Report, Row, missing_file
from grader.checks.seeds import sample_seed
from grader.checks.trial import Came, Trial, attempt

# Seconds: most checks are done by then.
BEFORE_IT_SHOWS = 5
UNTRIED = "not tried on this system; the grader will"
SLOW = (
    "This requirement limits memory, and a call that is not finished does not show how much it"
    " needs. In grading it keeps its points and a person looks at it. Whole tensors at a time take"
    " a tenth of the time."
)


def grade(
    exercise: Exercise,
    proxy: AnswerProxy,
    seed: str,
    *,
    examples: bool = True,
    reveal: bool = True,
    progress: bool = False,
) -> Report:
    """Try every property of an exercise on an answer; each draws samples from a seed of its own.

    With ``examples`` the report holds a call that went wrong, for who reads it. With ``reveal`` it
    says what was expected of samples that may come again.
    """
    rows, transcript, calls = [], [], []
    came: dict[str, Came] = {}
    if exercise.records is not None:
        seed = exercise.records.seed(seed)
    bar = partial(tqdm, leave=False, delay=BEFORE_IT_SHOWS, disable=not progress, file=sys.stdout)
    for prop in bar(exercise.properties, "properties tried"):
        trial = Trial(exercise, proxy, sample_seed(seed, exercise.id, prop.name))
        row = _tried(exercise, prop, trial, examples, reveal)
        rows.append(row)
        came[prop.name] = trial.came_to(row.why)
        transcript += [*trial.transcript, prop.name]
        calls += trial.calls
    rows = _with_others(_paid_once(rows, came), came)
    passed = {row.passed for row in rows}
    if len(passed) == 2 and (nothing := idle(calls, exercise.reference)):
        shown = next((row.example for row in rows if row.example), None)
        rows = [
            replace(row, passed=False, why=nothing, open="", example=row.example or shown)
            for row in rows
        ]
    report = Report(exercise.id, rows, exercise.points, (), transcript)
    given = {function.__name__ for function in exercise.given}.intersection(report.undefined())
    report.cause = " ".join(
        f"`{name}` is given: run the cell further up that defines it." for name in sorted(given)
    ) or missing_file(" ".join(row.why for row in rows))
    return report


def _paid_once(rows: list[Row], came: Mapping[str, Came]) -> list[Row]:
    """The rows, of which those beside others don't fail for what has cost as much elsewhere.

    Where it has not, only a sample of theirs is wrong, such as a size probe's: that fails.
    """
    others = [row for row in rows if row.failed and came[row.name] is not Came.BESIDE]
    paid = sum(row.points for row in others)
    if not any(row.passed for row in rows if came[row.name] is Came.ALONE):
        return rows
    return [
        replace(row, passed=True, why=WITH.format(others[0].name), example=None)
        if row.failed and came[row.name] is Came.BESIDE and 0 < row.points <= paid
        else row
        for row in rows
    ]


def _with_others(rows: list[Row], came: Mapping[str, Came]) -> list[Row]:
    """The rows, of which to harm nothing or to cost little is nothing where nothing else holds."""
    others = [row for row in rows if came[row.name] is Came.ALONE]
    if not others or any(row.passed for row in others):
        return rows
    return [
        replace(row, passed=False, why=ALONE) if row.passed and row not in others else row
        for row in rows
    ]


def _tried(exercise: Exercise, prop: Property, trial: Trial, examples: bool, reveal: bool) -> Row:
    with trial.proxy.refusing(exercise.forbidden, exercise.id):
        try:
            why = attempt(prop.run, trial)[1]
        except Unrecorded:
            trial.open, why = Failure(End.UNCAPPED, "no right value is at hand"), None
    shown = trial.failing() if why and examples else None
    if why and not reveal:
        why, shown = trial.concealed(why)
    passed, hint, reason = why is None, prop.hint, ""
    if passed and trial.open is not None:
        passed = trial.open.type != End.UNCAPPED
        hint = SLOW if passed else UNTRIED
        reason = f"{trial.open.message}; not judged" if passed else UNTRIED
    return Row(prop.name, prop.says, passed, prop.points, why or "", hint, reason, shown)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Drop what answers print and warn about."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def grade_source(exercise: Exercise, source: str, seed: str) -> Report:
    """Grade an answer given as source code, in this process and silently: for our own code only."""
    with quiet():
        proxy = AnswerProxy.local(namespace(exercise, source))
        return grade(exercise, proxy, seed, examples=False)
