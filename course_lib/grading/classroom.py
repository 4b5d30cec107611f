"""Grading a class: one submission after the other, none able to stop another, nothing done twice.

A course folder has nbgrader's layout: ``submitted/<student>/<assignment>/<assignment>.ipynb`` comes
in, ``autograded/``, ``feedback/`` and ``gradebook.db`` go out. Beside each autograded notebook lies
``verdict.json``: what was decided, and the hash of what it was decided from.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import course_lib
from course_lib.checks import seeds
from course_lib.grading import authoring, feedback, gradebook, intake, kit
from course_lib.grading.channel import Limits
from course_lib.grading.judge import Judged, judge_notebook
from course_lib.grading.nursery import Nursery, NurseryLost, WorkerFailed


@dataclass
class Verdict:
    """What was decided about one submission; plain data, kept in ``verdict.json``."""

    student: str
    key: str
    score: float | None
    max_points: float
    exercises: dict[str, float | None] = field(default_factory=dict)
    mistakes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    reason: str = ""
    fresh: bool = True

    @property
    def look(self) -> str:
        """Why a person should look at it; empty when nobody needs to."""
        return self.reason or "; ".join(self.notes)


class Classroom:
    """One assignment of one course folder.

    Args:
        course: The course folder.
        root: The checkout, for the sources of the assignments.
        name: The assignment, such as ``03_attention``.
        limits: Caps for one submission.

    Raises:
        ValueError: There is no such assignment, or nothing was submitted.
    """

    def __init__(self, course: Path, root: Path, name: str, limits: Limits | None = None) -> None:
        """Load the assignment's source."""
        known = {s.stem: s for s in authoring.sources(root)}
        if name not in known:
            raise ValueError(f"no assignment {name!r}; there are {', '.join(known) or 'none'}")
        self.course, self.name, self.limits = course, name, limits or Limits()
        self.assignment = authoring.load(known[name], root)
        self.url = authoring.book_url(root)
        self.seed = grading_seed(course, name)
        self.engine = engine_hash(root)

    def students(self) -> list[str]:
        """Everybody with a folder for this assignment."""
        return sorted(p.parent.name for p in self.course.glob(f"submitted/*/{self.name}"))

    def grade(
        self, only: Iterable[str] | None = None, say: Callable[[Verdict], None] = lambda v: None
    ) -> list[Verdict]:
        """Grade everybody, or those named; what is already graded from the same bytes stays.

        Raises:
            ValueError: A named student has submitted nothing, or nobody has.
            WorkerFailed: Nothing can be graded on this machine.
        """
        everybody = self.students()
        chosen = sorted(set(only)) if only is not None else everybody
        if missing := sorted(set(chosen) - set(everybody)):
            raise ValueError(f"{self.name}: nothing submitted by {', '.join(missing)}")
        if not chosen:
            raise ValueError(f"nothing in {self.course / 'submitted'} for {self.name}")
        gradebook.prepare(self.course, self.name, self.assignment.release)
        verdicts = []
        with Nursery(kit.build(self.course / ".kits")) as nursery:
            for student in chosen:
                verdict = self._one(student, nursery)
                say(verdict)
                verdicts.append(verdict)
        return verdicts

    def _one(self, student: str, nursery: Nursery) -> Verdict:
        out = self.course / "autograded" / student / self.name
        page = self.course / "feedback" / student / self.name / f"{self.name}.html"
        reason, content = "", b""
        try:
            content = intake.read(self.course / "submitted" / student / self.name, self.name)
        except intake.Unreadable as unreadable:
            reason = str(unreadable)
        key = hashlib.sha256(
            b"\0".join([content, reason.encode(), self.engine.encode(), self.seed.encode()])
        ).hexdigest()
        done = out / "verdict.json"
        if page.exists() and (old := _read_verdict(done)) and old.key == key:
            return old
        judged: Judged | None = None
        if not reason:
            try:
                submission = intake.parse(content)
                judged = judge_notebook(
                    submission, self.assignment.release, self.seed, nursery, self.limits
                )
            except intake.Unreadable as unreadable:
                reason = str(unreadable)
            except (WorkerFailed, NurseryLost):
                raise
            except Exception as error:
                # One submission never stops a class; the instructor sees what happened.
                reason = f"The grader itself failed: {type(error).__name__}: {error}"
        verdict = _verdict(student, key, judged, reason, self.assignment.points)
        html = feedback.page(self.name, student, judged, self.url, reason=reason)
        if judged is not None:
            save(out / f"{self.name}.ipynb", authoring.text(judged.notebook))
            gradebook.write(self.course, self.name, student, judged.marks)
        save(page, html)
        # Last, so that a run that was broken off does this submission again.
        save(done, json.dumps(asdict(verdict), indent=1, ensure_ascii=False))
        return verdict


def _verdict(
    student: str, key: str, judged: Judged | None, reason: str, max_points: float
) -> Verdict:
    if judged is None:
        return Verdict(student, key, None, max_points, reason=reason)
    mistakes = {
        m.report.exercise: m.report.mistake.name
        for m in judged.marks
        if m.report and m.report.mistake
    }
    exercises = {m.grade_id: m.score for m in judged.marks}
    return Verdict(student, key, judged.score, judged.max_points, exercises, mistakes, judged.notes)


def _read_verdict(path: Path) -> Verdict | None:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Verdict(**{**data, "fresh": False})
    except (OSError, ValueError, TypeError):
        return None


def save(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8", errors="replace")
    os.replace(part, path)


def grading_seed(course: Path, name: str) -> str:
    """The seed of an assignment in a course: ``COURSE_SEED``, else drawn once and kept."""
    if given := os.environ.get(seeds.ENVIRONMENT):
        return given
    path = course / ".grading-seeds.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    if name not in known:
        known[name] = seeds.fresh()
        save(path, json.dumps(known, indent=1))
        path.chmod(0o600)
    return str(known[name])


def engine_hash(root: Path, *more: Path) -> str:
    """A hash of all that decides a grade: the library, the sources of the assignments, and more."""
    digest = hashlib.sha256()
    library = Path(course_lib.__file__).parent
    for path in sorted([*library.rglob("*.py"), *library.rglob("*.html"), *library.rglob("*.css"),
                        *root.glob("solutions/*/*.md"), *more]):  # fmt: skip
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
