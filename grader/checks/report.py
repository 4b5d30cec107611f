"""Report on an answer to one exercise: verdicts, points, hints, and the table shown."""

import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

from grader.checks.answer_proxy import Failure
from grader.checks.example import Example
from grader.checks.exercise import Answer, find
from grader.checks.forbidden import NotAllowed
from grader.checks.naming import AND

_UNDEFINED = re.compile(r"NameError: (?:name )?['`](\w+)['`] is not defined")
# Fits a page of the book without scrolling.
WIDTH = 76
ALONE = "counts only once another requirement holds"
WITH = "wrong here too, but `{}` has cost points for it already"
UNWRITTEN = "Not written yet"
FILES = (
    "Only the notebook and Python files (`.py`) beside it are handed in: write what you need of"
    " another file into a cell."
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
        """Tell whether the property does not hold."""
        return not self.passed and not self.open

    @property
    def mark(self) -> str:
        """The verdict in a word of four letters."""
        if self.open or not self.passed:
            return "open" if self.open else "FAIL"
        return "with" if self.why else "pass"


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
    title: str = ""  # the heading of the task in its notebook, with its number

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
        """Tell whether no property fails, also of those worth no points."""
        return not any(row.failed for row in self.rows)

    def undefined(self) -> list[str]:
        """The names that were not defined when the answer ran."""
        return undefined("\n".join(row.why for row in self.rows))

    def outcomes(self) -> tuple[list[bool | None], list[list[Any]]]:
        """Of each property the verdict, None where it is open, and what was returned to it."""
        transcript, returned = list(self.transcript), []
        for row in self.rows:
            end = next(n for n, v in enumerate(transcript) if type(v) is str and v == row.name)
            returned.append(transcript[:end])
            transcript = transcript[end + 1 :]
        judged = (None if row.open or row.why == ALONE else row.passed for row in self.rows)
        return list(judged), returned

    @property
    def written(self) -> bool:
        """Tell whether there is an answer at all."""
        return not self.one_reason.startswith("raised NotImplementedError")

    def data(self) -> dict[str, Any]:
        """Counts for a class: verdicts by requirement, None if open, and mistakes."""
        held = {row.name: None if row.open else bool(row.passed) for row in self.rows}
        return {"held": held, "mistakes": self.named, "written": self.written}

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
        repeated = first is not row and row.why.startswith("raised")
        return f"the same as in {first.name}" if repeated else row.why

    @property
    def headline(self) -> str:
        """One sentence in place of a reason in every row; empty when the rows differ."""
        if not self.written:
            failures = (e.function for e in self.transcript if isinstance(e, Failure))
            by = next(failures, "")
            other = by.isidentifier() and by != self.function
            return UNWRITTEN + (f": `{by}` still raises NotImplementedError." if other else ".")
        if self.one_reason:
            return f"Every requirement fails for one reason: {self.one_reason}"
        return ""

    def hints(self) -> list[str]:
        """The mistakes' hints, else those of the failing properties, and what is left open."""
        others = list(dict.fromkeys(row.hint for row in self.rows if row.open))
        if self.mistakes:
            return [*(mistake.hint for mistake in self.mistakes), *others]
        if self.one_reason.startswith("raised"):
            return others
        return list(dict.fromkeys(row.hint for row in self.rows if row.failed))[:2] + others

    def table(self) -> str:
        """The report as plain text, for a terminal or the output of a cell.

        What is wrong and what to do comes first; rows that all say the same are left out.
        """
        named = f"{self.title} ({self.exercise})" if self.title else self.exercise
        score = f"{named}: {self.score:g} of {self.max_points:g} points"
        if self.headline.startswith(UNWRITTEN) and not self.cause:
            return f"{score}. {self.headline}"
        lines = [score, *map(_fill, filter(None, (self.cause, self.headline)))]
        for mistake, kind in zip(self.mistakes, ("a", "another"), strict=False):
            name = mistake.name.replace("_", " ")
            lines.append(f"This looks like {kind} known mistake: {name}.")
            lines.append(_fill(f"It assumes: {mistake.says}"))
        lines += [_fill(f"Hint: {hint}") for hint in self.hints()]
        for row in self.rows if not self.headline else ():
            line = f"  {row.mark}  {row.points:4g}  {row.name}: {row.says}"
            lines.append(_fill(line, subsequent_indent=" " * 14))
            if row.open or row.why:
                lines.append(_fill(row.open or self.why(row), " " * 14, " " * 14))
        if self.note and not self.one_reason:
            lines.append(_fill(self.note))
        return "\n".join(lines)


def _apart_from_sizes(why: str) -> str:
    """The same reason for every sample, where it is a crash."""
    return re.sub(r"\d+", "0", why) if why.startswith("raised") else why


def undefined(said: str) -> list[str]:
    """The names that errors in a text say are not defined."""
    return list({m[1]: None for m in _UNDEFINED.finditer(said)})


def missing_file(said: str) -> str:
    """Advice where an error in a text is that a file is missing; else empty."""
    return FILES if "FileNotFoundError" in said else ""


def _fill(text: str, initial_indent: str = "", subsequent_indent: str = " " * 4) -> str:
    # An answer's own words may wrap; they begin no line as the table does.
    # An anchor or a name with a hyphen stays whole, so that it can be copied.
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=initial_indent,
        subsequent_indent=subsequent_indent,
        break_on_hyphens=False,
    )


def refused(report: Report) -> bool:
    """Tell whether the answer was refused something at least once while it was checked."""
    calls = [entry for entry in report.transcript if isinstance(entry, Failure)]
    return any(call.type == NotAllowed.__name__ for call in calls)
