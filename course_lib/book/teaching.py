"""What an instructor wants to know of an assignment, read from its exercises and its text."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.checks.exercise import Exercise, find

__all__ = ["Task", "minutes", "misconceptions", "tasks"]

CHECK = re.compile(r"""^check\(["']([\w.]+)["']\)""", re.MULTILINE)
TITLE = re.compile(r"^## (.+)$", re.MULTILINE)
MANUAL = re.compile(r'^\+\+\+ (\{"nbgrader".*\})$', re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """One row: something that a student is asked for.

    Attributes:
        title: Its heading in the notebook, with its number.
        exercise: What checks it; None for an answer in writing, which a person grades.
        points: Maximum points.

    Example:
        >>> Task("4.7 In writing: is no head redundant?", None, 2.0).kind
        'in writing'
    """

    title: str
    exercise: Exercise | None
    points: float

    @property
    def kind(self) -> str:
        """What is asked, as far as the exercise itself shows it."""
        if self.exercise is None:
            return "in writing"
        if any(mistake.name.startswith("colleagues_") for mistake in self.exercise.mistakes):
            return "repair what is given"
        if any("size_probe" in inspect.getsource(p.run) for p in self.exercise.properties):
            return "make cheaper"
        return "without the library's call" if self.exercise.forbidden else "write"


def tasks(name: str, root: Path) -> list[Task]:
    """Everything that an assignment asks for, in order.

    Args:
        name: Such as ``"03_attention"``.
        root: The checkout.

    Raises:
        ValueError: If there is no such assignment, or it asks for nothing.
    """
    source = root / "solutions" / name / f"{name}.md"
    if not source.is_file():
        raise ValueError(f"there is no assignment {name!r}: no {source.relative_to(root)}")
    text = source.read_text(encoding="utf-8")
    headings = [(match.start(), match[1]) for match in TITLE.finditer(text)]

    def title(place: int) -> str:
        return [heading for start, heading in headings if start < place][-1]

    found: list[tuple[int, Exercise | None, float]] = []
    for match in CHECK.finditer(text):
        exercise = find(match[1])
        found.append((match.start(), exercise, float(exercise.points)))
    for match in MANUAL.finditer(text):
        cell = json.loads(match[1])["nbgrader"]
        if cell.get("grade"):
            found.append((match.start(), None, float(cell["points"])))
    if not found:
        raise ValueError(f"assignment {name!r} asks for nothing")
    ordered = sorted(found, key=lambda entry: entry[0])
    return [Task(title(place), exercise, points) for place, exercise, points in ordered]


def minutes(asked: list[Task]) -> int:
    """Minutes that the exercises take together; answers in writing are not counted.

    Example:
        >>> minutes([Task("4.7 In writing", None, 2.0)])
        0
    """
    return sum(task.exercise.minutes for task in asked if task.exercise)


def misconceptions(asked: list[Task]) -> dict[str, list[tuple[str, str]]]:
    """The banked mistakes of each exercise: names and the misconceptions, one sentence each.

    Example:
        >>> from course_lib.checks.exercise import find
        >>> bank = misconceptions([Task("3.1", find("attention.scaled_dot_product"), 6.0)])
        >>> bank["3.1"][0]
        ('unscaled', 'The dot product is a similarity as it is; scaling only changes units.')
    """
    return {
        task.title: [(mistake.name, mistake.says) for mistake in task.exercise.mistakes]
        for task in asked
        if task.exercise
    }
