"""Request and verdict of one hand-in: plain data, which is also what is kept of it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grader.intake.exchange import ExchangeFiles

# Texts that a judge sends back beside a verdict, by the folder of nbgrader's layout that they go
# to, ``feedback`` and, where there is a grade, ``autograded``.
Files = dict[str, str]


@dataclass
class Verdict:
    """Verdict on one submission; plain data, kept in ``verdict.json``."""

    student: str
    key: str  # the hash of the hand-in, of the seed, and of what else it was decided from
    score: float | None  # of all that was graded automatically
    max_points: float
    # points by graded cell, None for one that a person grades
    exercises: dict[str, float | None] = field(default_factory=dict)
    worth: dict[str, float] = field(default_factory=dict)  # the most points of each graded cell
    # a hash of what was handed in for each graded cell
    answers: dict[str, str] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)  # solution cells as they were released
    mistakes: dict[str, str] = field(default_factory=dict)  # names by exercise
    # mistakes of hand-ins graded before, the oldest first
    earlier: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what a person should look at
    reason: str = ""  # why it could not be graded
    engine: str = ""  # the hash of the library and the sources that decided it
    penalty: float | None = None  # what nbgrader's plugin last wrote for lateness
    fresh: bool = True  # decided in this run
    unknown: dict[str, Any] = field(default_factory=dict)  # what another version wrote beside

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
    """The verdict in a file; None where there is none, or one that is damaged or too old."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        known = {name: data.pop(name) for name in [*data] if name in Verdict.__dataclass_fields__}
        return Verdict(**{**known, "unknown": data, "fresh": False})
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def as_text(verdict: Verdict) -> str:
    """Kept fields of a verdict."""
    data = asdict(verdict)
    return json.dumps(data.pop("unknown") | data, indent=1, ensure_ascii=False)
