"""Rubrics: points for written answers, the one file of the course that says so."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from grader.base.course import course
from grader.base.errors import Refused

FILE = Path(course().rubrics)
HALF = 0.5


@dataclass(frozen=True)
class Criterion:
    """One thing that an answer gets points for."""

    says: str  # in Markdown
    points: float = HALF  # in halves


@dataclass(frozen=True)
class Rubric:
    """Rubric of the answer in one cell.

    Example:
        >>> rubric = Rubric("why", (Criterion("independence"), Criterion("the clamp", 1.0)))
        >>> rubric.given(rubric.remark((0.5, 0.0), "Which clamp?"))
        ((0.5, 0.0), 'Which clamp?')
    """

    cell: str
    criteria: tuple[Criterion, ...]  # in the order of the file
    note: str = ""  # what whoever marks should know, in Markdown

    @property
    def points(self) -> float:
        """Maximum points."""
        return sum(criterion.points for criterion in self.criteria)

    def markdown(self) -> str:
        """The rubric as a text."""
        lines = "\n".join(f"- {c.points:g}: {c.says}" for c in self.criteria)
        return "\n\n".join(filter(None, [lines, self.note]))

    def remark(self, given: Sequence[float], comment: str = "") -> str:
        """Remark for a student: the points of each criterion, then the marker's own words."""
        rows = zip(given, self.criteria, strict=True)
        lines = "\n".join(f"{points:g} of {c.points:g}: {c.says}" for points, c in rows)
        return f"{lines}\n\n{comment}" if comment else lines

    def given(self, remark: str) -> tuple[tuple[float, ...] | None, str]:
        """Points that :meth:`remark` was made from; none if somebody else wrote it."""
        lines = "\n".join(rf"([\d.]+) of {c.points:g}: {re.escape(c.says)}" for c in self.criteria)
        match = re.fullmatch(rf"{lines}(?:\n\n(.*))?", remark, re.DOTALL)
        if match is None:
            return None, remark
        *points, comment = match.groups()
        return tuple(map(float, points)), comment or ""

    def fault(self, given: Sequence[float]) -> str:
        """Fault of these points; empty if there is none."""
        if len(given) != len(self.criteria):
            return f"points for {len(given)} criteria, and there are {len(self.criteria)}"
        for number, (points, criterion) in enumerate(zip(given, self.criteria, strict=True), 1):
            if not 0 <= points <= criterion.points or points % HALF:
                return (
                    f"{points:g} points for {number}, {criterion.says!r}: wanted 0 to"
                    f" {criterion.points:g} in halves"
                )
        return ""


def load(root: Path, name: str) -> dict[str, Rubric]:
    """The rubrics of an assignment by cell; none where nothing is answered in writing."""
    path = root / FILE
    if not path.exists():
        return {}
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return {cell: _rubric(cell, facts) for cell, facts in (data.get(name) or {}).items()}
    except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise Refused(
            f"{path}, {name}: {error}. Each cell needs a list `for` of texts or"
            " `text: points`, and may have a `note`"
        ) from None


def _rubric(cell: str, facts: dict[str, object]) -> Rubric:
    if unknown := set(facts) - {"for", "note"}:
        raise ValueError(f"{cell} has unknown {', '.join(map(repr, sorted(unknown)))}")
    criteria = []
    for line in facts["for"]:  # type: ignore[attr-defined]  # a TypeError says what is wrong
        says, points = (line, HALF) if isinstance(line, str) else next(iter(line.items()))
        if float(points) <= 0 or float(points) % HALF:
            raise ValueError(f"{cell}: {says!r} has {points} points, expected halves above 0")
        criteria.append(Criterion(str(says), float(points)))
    return Rubric(cell, tuple(criteria), str(facts.get("note", "")))
