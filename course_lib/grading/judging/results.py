"""What is asked and answered about one hand-in: plain data, which is also what is kept of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading.intake.exchange import ExchangeFiles

# What a judge sends back beside a verdict: texts by the folder of nbgrader's layout that they go
# to, ``feedback`` and, where there is a grade, ``autograded``.
Files = dict[str, str]


@dataclass
class Verdict:
    """What was decided about one submission; plain data, kept in ``verdict.json``.

    Args:
        student: The student's id.
        key: The hash of what was submitted, of the seed, and of what else it was decided from.
        score: Points of all that was graded automatically; None if nothing could be.
        max_points: Points to be had.
        exercises: Points by graded cell; None for one that a person grades.
        worth: The most points of each graded cell.
        answers: A hash of what was handed in for each graded cell.
        unanswered: Solution cells that are as they were released.
        mistakes: Named mistakes by exercise.
        earlier: The same of each earlier hand-in that was graded, the oldest first.
        notes: What a person should look at.
        reason: Why it could not be graded; empty if it was.
        engine: The hash of the library and the sources that decided it.
        penalty: What was last written for lateness by nbgrader's plugin; None if nothing was.
        fresh: Whether it was decided in this run.
    """

    student: str
    key: str
    score: float | None
    max_points: float
    exercises: dict[str, float | None] = field(default_factory=dict)
    worth: dict[str, float] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)
    mistakes: dict[str, str] = field(default_factory=dict)
    earlier: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reason: str = ""
    engine: str = ""
    penalty: float | None = None
    fresh: bool = True

    @property
    def look(self) -> str:
        """Why a person should look at it; empty when nobody needs to."""
        return self.reason or "; ".join(self.notes)


@dataclass(frozen=True)
class Task:
    """A submission to be judged: its bytes, or why there are none, and the hash of all of that.

    ``modules`` are the files of Python beside the notebook: their text by name.
    """

    student: str
    content: bytes
    reason: str
    key: str
    came_with: ExchangeFiles = field(default_factory=ExchangeFiles)
    modules: dict[str, str] = field(default_factory=dict)

    @property
    def handed_in(self) -> bytes:
        """All that a sample's seed depends on: the notebook and what it may import."""
        return self.content + "".join(map(repr, self.modules.items())).encode()


def read_verdict(path: Path) -> Verdict | None:
    """The verdict in a file; None where there is none, or one of an older form."""
    try:
        return Verdict(**{**json.loads(path.read_text(encoding="utf-8")), "fresh": False})
    except (OSError, ValueError, TypeError):
        return None
