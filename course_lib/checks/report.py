"""Grading one exercise: verdicts, points, the mistake that was recognised, and the table shown."""

from __future__ import annotations

import contextlib
import io
import re
import sys
import textwrap
import warnings
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, TypeVar

from tqdm import tqdm

from course_lib.checks.answer_proxy import AnswerProxy, Failure
from course_lib.checks.compare import alike
from course_lib.checks.example import Example
from course_lib.checks.exercise import Answer, Exercise, Property, find, namespace, source_as
from course_lib.checks.forbidden import NotAllowed
from course_lib.checks.idle import idle
from course_lib.checks.naming import AND, Seen, covers, explained, merged, together
from course_lib.checks.probe import CannotCap
from course_lib.checks.recorded import Unrecorded
from course_lib.checks.seeds import sample_seed
from course_lib.checks.trial import Trial, attempt

_T = TypeVar("_T")
# What one line of a table says; reasons and hints are set in further, or not at all.
_ROW = re.compile(r"^  (pass|FAIL|open) +\S+  (.+?):(?: |$)", re.M)
_NAMED = re.compile(r"^This looks like (?:a|another) known mistake: (.+)\.$", re.M)
_UNDEFINED = re.compile(r"NameError: (?:name )?['`](\w+)['`] is not defined")
# Fits a page of the book without scrolling.
WIDTH = 76
# Seconds: most checks are done by then.
BEFORE_IT_SHOWS = 5
UNTRIED = "not tried on this system; the grader will"
ALONE = "nothing else of it holds yet"
SLOW = (
    "What is asked is how much memory it takes, and that cannot be told of a call that is not"
    " finished. In grading it keeps its points and a person looks at it. Whole tensors at a time"
    " take a tenth of the time."
)


@dataclass(frozen=True)
class Row:
    """The verdict on one property; ``open`` says that there is none, and why.

    A property that was not tried earns nothing yet; one whose time was over keeps its points.
    """

    name: str
    says: str
    passed: bool
    points: float
    why: str = ""
    hint: str = ""
    open: str = ""
    example: Example | None = field(default=None, compare=False, repr=False)

    @property
    def failed(self) -> bool:
        """Whether the property does not hold."""
        return not self.passed and not self.open

    @property
    def mark(self) -> str:
        """The verdict in a word of four letters."""
        return "open" if self.open else "pass" if self.passed else "FAIL"


@dataclass
class Report:
    """The verdict on one exercise."""

    exercise: str
    rows: list[Row]
    max_points: float
    mistakes: tuple[Answer, ...] = ()
    transcript: list[Any] = field(default_factory=list, repr=False)
    note: str = ""
    # Where a name is lost that was not defined; said before anything else.
    cause: str = ""

    @property
    def function(self) -> str:
        """The name of the function that was asked for."""
        return find(self.exercise).function

    @property
    def score(self) -> float:
        """Points earned: a builtin float between 0 and the maximum, rounded to a hundredth."""
        earned = sum(row.points for row in self.rows if row.passed)
        return float(min(self.max_points, round(earned, 2)))

    @property
    def full(self) -> bool:
        """Whether no property fails, also of those worth no points."""
        return not any(row.failed for row in self.rows)

    def undefined(self) -> list[str]:
        """The names that were not defined when the answer ran."""
        return undefined("\n".join(row.why for row in self.rows))

    def fingerprint_of(self, other: Report) -> bool:
        """Whether verdicts and every value returned are those of ``other``."""
        return (
            [r.passed for r in self.rows] == [r.passed for r in other.rows]
            and len(self.transcript) == len(other.transcript)
            and all(map(alike, self.transcript, other.transcript))
        )

    def outcomes(self) -> tuple[list[bool | None], list[list[Any]]]:
        """Of each property the verdict, None where it is open, and what was returned to it."""
        left, returned = list(self.transcript), []
        for row in self.rows:
            end = next(n for n, v in enumerate(left) if type(v) is str and v == row.name)
            returned.append(left[:end])
            left = left[end + 1 :]
        judged = (None if row.open or row.why == ALONE else row.passed for row in self.rows)
        return list(judged), returned

    @property
    def named(self) -> str:
        """The names of the mistakes in it as one word; empty if there are none."""
        return AND.join(mistake.name for mistake in self.mistakes)

    @property
    def one_reason(self) -> str:
        """Why everything failed, when there is a single reason for it; else empty."""
        reasons = {_apart_from_sizes(row.why): row.why for row in self.rows if not row.open}
        return min(reasons.values()) if len(reasons) == 1 else ""

    def why(self, row: Row) -> str:
        """Why a requirement does not hold; a crash that has been told is not told again."""
        first = next(r for r in self.rows if _apart_from_sizes(r.why) == _apart_from_sizes(row.why))
        told = first is not row and row.why.startswith("raised")
        return f"the same as in {first.name}" if told else row.why

    @property
    def headline(self) -> str:
        """One sentence in place of a reason in every row; empty when the rows differ."""
        if self.one_reason.startswith("raised NotImplementedError"):
            failures = (e.function for e in self.transcript if isinstance(e, Failure))
            by = next(failures, "")
            who = f"`{by}`" if by.isidentifier() and by != self.function else "the stub"
            return f"Not written yet: {who} still raises NotImplementedError."
        if self.one_reason:
            return f"Every requirement fails for one reason: {self.one_reason}"
        return ""

    def hints(self) -> list[str]:
        """The mistakes' hints, else those of the failing properties, and what is left open."""
        left = list(dict.fromkeys(row.hint for row in self.rows if row.open))
        if self.mistakes:
            return [*(mistake.hint for mistake in self.mistakes), *left]
        if self.one_reason.startswith("raised"):
            return left
        return list(dict.fromkeys(row.hint for row in self.rows if row.failed))[:2] + left

    def table(self) -> str:
        """The report as plain text, for a terminal or the output of a cell."""
        lines = [f"{self.exercise}: {self.score:g} of {self.max_points:g} points"]
        if self.cause:
            lines.append(_fill(self.cause))
        for row in self.rows:
            line = f"  {row.mark}  {row.points:4g}  {row.name}: {row.says}"
            lines.append(_fill(line, subsequent_indent=" " * 14))
            if row.open or (row.why and not self.one_reason):
                lines.append(_fill(row.open or self.why(row), " " * 14, " " * 14))
        if self.headline:
            lines.append(_fill(self.headline))
        for mistake, kind in zip(self.mistakes, ("a", "another"), strict=False):
            name = mistake.name.replace("_", " ")
            lines.append(f"This looks like {kind} known mistake: {name}.")
            lines.append(_fill(f"It assumes: {mistake.says}"))
        lines += [_fill(f"Hint: {hint}") for hint in self.hints()]
        if self.note and not self.one_reason:
            lines.append(_fill(self.note))
        return "\n".join(lines)


def _apart_from_sizes(why: str) -> str:
    """The same reason for every sample, where it is a crash."""
    return re.sub(r"\d+", "0", why) if why.startswith("raised") else why


def read_table(text: str) -> tuple[dict[str, bool | None], str]:
    """What :meth:`Report.table` says: each property's verdict, None if open, and what it named."""
    verdicts = {"pass": True, "FAIL": False, "open": None}
    held = {name: verdicts[mark] for mark, name in _ROW.findall(text)}
    return held, AND.join(_NAMED.findall(text)).replace(" ", "_")


def undefined(said: str) -> list[str]:
    """The names that errors in a text say are not defined."""
    return list({m[1]: None for m in _UNDEFINED.finditer(said)})


def _fill(text: str, initial_indent: str = "", subsequent_indent: str = "") -> str:
    # An anchor or a name with a hyphen stays whole, so that it can be copied.
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=initial_indent,
        subsequent_indent=subsequent_indent,
        break_on_hyphens=False,
    )


def grade(
    exercise: Exercise,
    proxy: AnswerProxy,
    seed: str,
    *,
    name_mistake: bool = True,
    reveal: bool = True,
    progress: bool = False,
) -> Report:
    """Try every property of an exercise on an answer; each draws samples from a seed of its own.

    With ``reveal`` it says what was wanted of samples that may come again. :class:`AnswerLost`: the
    answer's process died.
    """
    rows, transcript, calls = [], [], []
    affordable: set[str] = set()
    harmless: set[str] = set()
    if exercise.records is not None:
        seed = exercise.records.seed(seed)
    for prop in _counted(exercise.properties, "properties tried", progress):
        trial = Trial(exercise, proxy, sample_seed(seed, exercise.id, prop.name))
        with proxy.refusing(exercise.forbidden, exercise.id):
            why = _why(prop, trial)
        # Not of the bank's own mistakes: nobody reads those.
        shown = trial.failing() if why and name_mistake else None
        if why and not reveal:
            why, shown = trial.concealed(why)
        rows.append(_row(prop, trial, why, shown))
        if trial.affordable and (why or trial.measured == len(trial.transcript)):
            affordable.add(prop.name)
        if not why and 0 < trial.untouched == len(trial.transcript):
            harmless.add(prop.name)
        transcript += [*trial.transcript, prop.name]
        calls += trial.calls
    rows = _with_others(_paid_once(rows, affordable), harmless | affordable)
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
    )
    if name_mistake and not report.full:
        report.mistakes = recognise(exercise, report, seed, progress=progress)
    return report


def _paid_once(rows: list[Row], affordable: Container[str]) -> list[Row]:
    """The rows, of which those on cost don't fail for values that have cost as much elsewhere.

    Where they have not, only the sample of a size probe is wrong: that fails.
    """
    paid = sum(row.points for row in rows if row.failed and row.name not in affordable)
    return [
        replace(row, passed=True, why="", example=None)
        if row.name in affordable and paid >= row.points
        else row
        for row in rows
    ]


def _with_others(rows: list[Row], harmless: Container[str]) -> list[Row]:
    """The rows, of which to harm nothing or to cost little is nothing where nothing else holds."""
    if any(row.passed for row in rows if row.name not in harmless):
        return rows
    return [
        replace(row, passed=False, why=ALONE) if row.passed and row.name in harmless else row
        for row in rows
    ]


def _counted(things: Sequence[_T], what: str, progress: bool) -> Iterable[_T]:
    """The same; what takes long shows a bar meanwhile, which leaves nothing behind."""
    return tqdm(
        things, what, leave=False, delay=BEFORE_IT_SHOWS, disable=not progress, file=sys.stdout
    )


def _why(prop: Property, trial: Trial) -> str | None:
    """Why a property does not hold; None, too, where nobody can tell."""
    try:
        return attempt(prop.run, trial)[1]
    except Unrecorded:
        trial.open = Failure(CannotCap.__name__, "no right value is at hand")
        return None


def _row(prop: Property, trial: Trial, why: str | None, shown: Example | None) -> Row:
    passed, hint, left = why is None, prop.hint, ""
    if passed and trial.open is not None:
        passed = trial.open.type != CannotCap.__name__
        hint = SLOW if passed else UNTRIED
        left = f"{trial.open.message}; not judged" if passed else UNTRIED
    return Row(prop.name, prop.says, passed, prop.points, why or "", hint, left, shown)


def refused(report: Report) -> bool:
    """Whether the answer was refused something at least once while it was checked."""
    calls = [entry for entry in report.transcript if isinstance(entry, Failure)]
    return any(call.type == NotAllowed.__name__ for call in calls)


def recognise(
    exercise: Exercise, report: Report, seed: str, *, progress: bool = False
) -> tuple[Answer, ...]:
    """The banked mistake with this fingerprint, if exactly one has it, or the two that make it."""
    verdicts, returned = report.outcomes()
    if exercise.records is not None:
        known: dict[str, Seen] = {**exercise.records.seen(seed, returned)}
    else:
        known = {
            mistake.name: [(own, False) for own in banked.outcomes()[0]]
            for mistake, banked in bank_reports(exercise.id, progress=progress)
        }
        # Every hand-in has a seed of its own. Most mistakes are told by their verdicts, which
        # hardly depend on it; so few of them are graded once more.
        for name in list(_near(exercise.id, verdicts, known)):
            owns, theirs = _banked(exercise.id, name, seed).outcomes()
            known[name] = list(zip(owns, map(alike, returned, theirs), strict=False))
    names = explained(verdicts, known)
    return tuple(mistake for mistake in exercise.mistakes if mistake.name in names)


def _near(
    identifier: str, verdicts: Sequence[bool | None], known: Mapping[str, Seen]
) -> Iterator[str]:
    """The mistakes that by their verdicts may be the answer's, alone or with another one."""
    assumed = {name: [(own, True) for own, _ in seen] for name, seen in known.items()}
    pairs = [p for p in combinations(known, 2) if together(verdicts, *(assumed[n] for n in p))]
    for name, seen in known.items():
        judged = ((own, v) for (own, _), v in zip(seen, verdicts, strict=False))
        unlike = sum(own != v for own, v in judged if None not in (own, v))
        if unlike <= 1 or any(name in pair for pair in pairs):
            yield name
    for pair in composed(identifier):
        if covers(verdicts, *(known[name] for name in pair.split(AND))):
            yield pair


@cache
def composed(identifier: str) -> Mapping[str, str]:
    """Two mistakes of an exercise in one answer, by both names, where their code allows it."""
    exercise, found = find(identifier), {}
    for one, other in combinations(exercise.mistakes, 2):
        # What the two have in common may be written as in any other answer.
        bases = [a.source for a in (*exercise.alternatives, *exercise.mistakes)]
        bases.append(source_as(exercise.reference, exercise.function))
        sources = (merged(base, one.source, other.source) for base in bases)
        both = next(filter(None, sources), None)
        # Two loops with an end each may have none together.
        if both and "while" not in both:
            found[f"{one.name}{AND}{other.name}"] = both
    return found


def bank_reports(
    identifier: str, seed: str = "0" * 32, *, progress: bool = False
) -> tuple[tuple[Answer, Report], ...]:
    """Every banked mistake of an exercise, graded with this seed in this process."""
    mistakes = _counted(find(identifier).mistakes, "known mistakes compared", progress)
    return tuple((m, _banked(identifier, m.name, seed)) for m in mistakes)


@lru_cache(maxsize=256)
def _banked(identifier: str, mistake: str, seed: str) -> Report:
    exercise = find(identifier)
    single = {m.name: m.source for m in exercise.mistakes}
    sources = composed(identifier) if AND in mistake else single
    return grade_source(exercise, sources[mistake], seed)


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


def grade_source(exercise: Exercise, source: str, seed: str, *, named: bool = False) -> Report:
    """Grade an answer given as source code, in this process and silently: for our own code only."""
    with quiet():
        proxy = AnswerProxy.local(namespace(exercise, source))
        return grade(exercise, proxy, seed, name_mistake=named)
