"""Facts about an assignment for instructors, read from its exercises and its text."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import Refused
from grader.checks.exercise import Exercise, find

CHECK = re.compile(r"""^check\(["']([\w.]+)["']\)""", re.MULTILINE)
TITLE = re.compile(r"^## (.+)$", re.MULTILINE)
GIVEN = re.compile(r"^# given: *[\w.]+\.(\w+) *$", re.MULTILINE)
MANUAL = re.compile(r'^\+\+\+ (\{"nbgrader".*\})$', re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """One row: something that a student is asked for, in writing where no exercise checks it."""

    title: str
    exercise: Exercise | None
    points: float  # maximum points
    given: tuple[str, ...] = ()  # names of the functions that its section hands out
    cell: str = ""  # the id of the cell for an answer in writing

    @property
    def kind(self) -> str:
        """Kind of question, as far as the exercise itself shows it."""
        if self.exercise is None:
            return "in writing"
        names = {mistake.name for mistake in self.exercise.mistakes}
        if names & set(self.given) or "as_it_came" in names:
            return "repair what is given"
        if any("size_probe" in inspect.getsource(p.run) for p in self.exercise.properties):
            return "make cheaper"
        return "without the library's call" if self.exercise.forbidden else "write"


def tasks(name: str, root: Path) -> list[Task]:
    """Everything that an assignment asks for, in order."""
    source = root / "solutions" / name / f"{name}.md"
    if not source.is_file():
        raise Refused(f"there is no assignment {name!r}: no {source.relative_to(root)}")
    text = source.read_text(encoding="utf-8")
    starts = [match.start() for match in TITLE.finditer(text)]
    entries = []
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        section = text[start:end]
        title, given = TITLE.findall(section)[0], tuple(GIVEN.findall(section))
        for identifier in CHECK.findall(section):
            exercise = find(identifier)
            entries.append(Task(title, exercise, float(exercise.points), given))
        for written in MANUAL.findall(section):
            cell = json.loads(written)["nbgrader"]
            if cell.get("grade"):
                entries.append(Task(title, None, float(cell["points"]), cell=cell["grade_id"]))
    if not entries:
        raise Refused(f"assignment {name!r} asks for nothing")
    return entries


def minutes(asked: list[Task]) -> int:
    """Minutes that the exercises take together; answers in writing are not counted."""
    return sum(task.exercise.minutes for task in asked if task.exercise)


def misconceptions(asked: list[Task]) -> dict[str, list[tuple[str, str]]]:
    """The banked mistakes of each exercise: names and the misconceptions, one sentence each."""
    return {
        task.title: [(mistake.name, mistake.says) for mistake in task.exercise.mistakes]
        for task in asked
        if task.exercise
    }
