"""Grading a class: one submission after the other, none able to stop another, nothing done twice.

A course folder has nbgrader's layout: ``submitted/<student>/<assignment>/<assignment>.ipynb`` comes
in, ``autograded/``, ``feedback/`` and ``gradebook.db`` go out. Beside each autograded notebook lies
``verdict.json``: what was decided, and the hash of what it was decided from.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from nbgrader.api import Gradebook

import course_lib
from course_lib.checks import seeds
from course_lib.checks.report import bank_reports
from course_lib.grading import authoring, doctor, feedback, gradebook, intake, kit
from course_lib.grading.channel import Limits
from course_lib.grading.judge import Judged, judge_notebook
from course_lib.grading.nursery import Nursery, NurseryLost, WorkerFailed
from course_lib.grading.pool import JudgeDied, judge_all


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


@dataclass(frozen=True)
class Task:
    """A submission to be judged: its bytes, or why there are none, and the hash of all of that."""

    student: str
    content: bytes
    reason: str
    key: str


@dataclass
class Result:
    """What a judge sends back: plain data, for the one process that writes."""

    verdict: Verdict
    page: str
    notebook: str = ""
    marks: list[tuple[str, float | None]] = field(default_factory=list)


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
        self,
        only: Iterable[str] | None = None,
        say: Callable[[Verdict], None] = lambda v: None,
        *,
        jobs: int = 1,
        walls: bool = True,
        warming: Nursery | None = None,
    ) -> list[Verdict]:
        """Grade everybody, or those named; what is already graded from the same bytes stays.

        Args:
            only: Names of students; everybody if not given.
            say: Called with each verdict as soon as it is written down.
            jobs: How many submissions are judged at the same time.
            walls: Whether students' processes are enclosed.
            warming: A nursery for that many judges that has been started already; the caller
                ends it.

        Raises:
            ValueError: A named student has submitted nothing, or nobody has.
            WorkerFailed: Nothing can be graded on this machine.
        """
        # Judges are forked, and a process in which torch has started threads hangs when forked.
        torch.set_num_threads(1)
        chosen = self.choose(only)
        with lock(self.course):
            verdicts, tasks = self.sort_out(chosen)
            for verdict in verdicts.values():
                say(verdict)
            if tasks:
                folder = kit.build(self.course / ".kits")
                started = iter([warming or Nursery(folder, judges=jobs, walls=walls)])

                def start() -> Nursery:
                    return behind_walls(
                        next(started, None) or Nursery(folder, judges=jobs, walls=walls)
                    )

                gradebook.prepare(self.course, self.name, self.assignment.release)
                with gradebook.open_gradebook(self.course) as book:
                    if len(tasks) > 1:
                        # Before the judges are forked, so that no two of them do it.
                        for exercise in self.assignment.exercises:
                            bank_reports(exercise.id, self.seed)
                    for task, done in judge_all(tasks, self._judge, start, jobs):
                        result = (
                            self._failed(task, str(done)) if isinstance(done, JudgeDied) else done
                        )
                        self._write(task, result, book)
                        verdicts[task.student] = result.verdict
                        say(result.verdict)
        return [verdicts[student] for student in chosen]

    def choose(self, only: Iterable[str] | None) -> list[str]:
        """Everybody who has submitted, or those named.

        Raises:
            ValueError: A named student has submitted nothing, or nobody has.
        """
        everybody = self.students()
        chosen = sorted(set(only)) if only is not None else everybody
        if missing := sorted(set(chosen) - set(everybody)):
            raise ValueError(f"{self.name}: nothing submitted by {', '.join(missing)}")
        if not chosen:
            raise ValueError(f"nothing in {self.course / 'submitted'} for {self.name}")
        return chosen

    def sort_out(self, chosen: Iterable[str]) -> tuple[dict[str, Verdict], list[Task]]:
        """What is graded already, and what is to be done."""
        verdicts, tasks = {}, []
        for student in chosen:
            reason, content = "", b""
            try:
                content = intake.read(self.course / "submitted" / student / self.name, self.name)
            except intake.Unreadable as unreadable:
                reason = str(unreadable)
            key = hashlib.sha256(
                b"\0".join([content, reason.encode(), self.engine.encode(), self.seed.encode()])
            ).hexdigest()
            old = _read_verdict(self._out(student) / "verdict.json")
            if old and old.key == key and self._page(student).exists():
                verdicts[student] = old
            else:
                tasks.append(Task(student, content, reason, key))
        return verdicts, tasks

    def _out(self, student: str) -> Path:
        return self.course / "autograded" / student / self.name

    def _page(self, student: str) -> Path:
        return self.course / "feedback" / student / self.name / f"{self.name}.html"

    def _judge(self, task: Task, nursery: Nursery, judge: int) -> Result:
        """In a judge's process: everything but writing."""
        if task.reason:
            return self._failed(task, task.reason)
        try:
            submission = intake.parse(task.content)
            judged = judge_notebook(
                submission, self.assignment.release, self.seed, nursery, self.limits, judge
            )
        except intake.Unreadable as unreadable:
            return self._failed(task, str(unreadable))
        except (WorkerFailed, NurseryLost):
            raise
        except Exception as error:
            # One submission never stops a class; the instructor sees what happened.
            return self._failed(task, f"The grader itself failed: {type(error).__name__}: {error}")
        verdict = _verdict(task.student, task.key, judged, "", self.assignment.points)
        page = feedback.page(self.name, task.student, judged, self.url)
        # Reports hold functions of the checks, which need not travel.
        marks = [(m.grade_id, m.score) for m in judged.marks]
        return Result(verdict, page, authoring.text(judged.notebook), marks)

    def _failed(self, task: Task, reason: str) -> Result:
        verdict = _verdict(task.student, task.key, None, reason, self.assignment.points)
        page = feedback.page(self.name, task.student, None, self.url, reason=reason)
        return Result(verdict, page)

    def _write(self, task: Task, result: Result, book: Gradebook) -> None:
        out = self._out(task.student)
        if result.notebook:
            save(out / f"{self.name}.ipynb", result.notebook)
            gradebook.write(book, self.name, task.student, result.marks)
        save(self._page(task.student), result.page)
        # Last, so that a run that was broken off does this submission again.
        save(out / "verdict.json", json.dumps(asdict(result.verdict), indent=1, ensure_ascii=False))


def behind_walls(nursery: Nursery) -> Nursery:
    """The nursery, if its workers cannot escape or have been allowed to.

    Raises:
        WorkerFailed: They can; nothing should be graded.
    """
    try:
        if nursery.walls:
            doctor.refuse_escapes(nursery)
    except BaseException:
        nursery.end()
        raise
    return nursery


@contextlib.contextmanager
def lock(course: Path) -> Iterator[None]:
    """One grader at a time for a course folder.

    Raises:
        ValueError: Another one is at work.
    """
    course.mkdir(parents=True, exist_ok=True)
    with (course / ".grading.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ValueError(
                f"{course}: another `course grade` is at work here; wait for it, or end it"
            ) from None
        yield


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
