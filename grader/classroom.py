"""Grading a class: one submission after the other, none able to stop another, nothing done twice.

A course folder has nbgrader's layout: ``submitted/<student>/<assignment>/<assignment>.ipynb`` comes
in; what goes out is written by :mod:`grader.records.verdict_store`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader import lateness
from grader.base.errors import Refused
from grader.intake import parsing
from grader.intake.exchange import read_exchange_files
from grader.judge.channel import Limits
from grader.judge.marking import Marker
from grader.judge.results import Task, Verdict
from grader.records.course_folder import grading_seed
from grader.records.verdict_store import VerdictStore

if TYPE_CHECKING:
    from grader.judge.cluster import Cluster
    from grader.judge.pool import Pool


class Classroom:
    """One assignment of one course folder.

    The gradebook is ``db``, else ``gradebook.db`` in the course folder; with ``staging`` all is
    written there, in place of both. Without ``follow`` a submission is graded again only when it,
    its time or the seed have changed, and not when the library or the sources of the assignments
    have.
    """

    def __init__(
        self,
        course: Path,
        root: Path,
        name: str,
        limits: Limits | None = None,
        *,
        db: str = "",
        staging: Path | None = None,
        seed: str = "",
        follow: bool = False,
        keep_seed: bool = True,
    ) -> None:
        self.course, self.root, self.name = course, root, name
        self.seed = seed or grading_seed(course, name, keep=keep_seed)
        self.marker = Marker(root, name, self.seed, limits)
        self.assignment, self.engine = self.marker.assignment, self.marker.engine
        self.records = VerdictStore(course, name, self.assignment.release, db, staging)
        self.follow = follow

    def students(self) -> list[str]:
        """Everybody with a folder for this assignment, or with one that cannot be looked into."""
        people = self.course.glob("submitted/*")
        return sorted(p.name for p in people if parsing.is_there(p / self.name) is not False)

    def grade(
        self,
        judges: Pool | Cluster,
        only: Iterable[str] | None = None,
        say: Callable[[Verdict], None] = lambda v: None,
    ) -> list[Verdict]:
        """Grade everybody, or those named; what is already graded from the same bytes stays."""
        chosen = self.choose(only)
        with self.records.alone():
            verdicts, tasks = self.sort_out(chosen)
            for verdict in verdicts.values():
                say(verdict)
            # Closed whatever happens, so that an interruption ends the judges at once.
            with contextlib.closing(judges.judge_all(self.marker, tasks)) as judging:
                for task, (verdict, files) in judging:
                    self.records.write(verdict, files, task.came_with)
                    verdicts[task.student] = verdict
                    say(verdict)
            if not self.records.staged:
                lateness.penalise(self.records, self.root, verdicts.values())
        return [verdicts[student] for student in chosen]

    def choose(self, only: Iterable[str] | None) -> list[str]:
        """Everybody who has submitted, or those named."""
        everybody = self.students()
        chosen = sorted(set(only)) if only is not None else everybody
        if missing := sorted(set(chosen) - set(everybody)):
            raise Refused(f"{self.name}: nothing submitted by {', '.join(missing)}")
        if not chosen:
            hint = "; is it the right folder? `course doctor` says what waits in the exchange"
            raise Refused(f"nothing in {self.course / 'submitted'} for {self.name}{hint}")
        return chosen

    def sort_out(self, chosen: Iterable[str]) -> tuple[dict[str, Verdict], list[Task]]:
        """Graded work, and work to be done."""
        verdicts, tasks = {}, []
        for student in chosen:
            task = self.take_in(student)
            old = self.records.verdict(student)
            stands = old and old.key == task.key and self.records.path("feedback", student).exists()
            if old and stands and (old.engine == self.engine or not self.follow):
                verdicts[student] = old
            else:
                tasks.append(task)
        return verdicts, tasks

    def take_in(self, student: str) -> Task:
        """Read what a student has submitted."""
        folder = self.course / "submitted" / student / self.name
        reason, content = "", b""
        modules: dict[str, str] = {}
        try:
            parsing.nameable(student)
            content = parsing.read(folder, self.name)
            modules = parsing.modules(folder)
        except parsing.Unreadable as unreadable:
            reason = str(unreadable)
        beside = parsing.beside(folder, self.name, modules)
        came_with = read_exchange_files(folder)
        came_with = replace(came_with, notes=(*came_with.notes, *beside))
        parts = [reason, self.seed, json.dumps(came_with.files), *came_with.notes]
        parts += map(repr, modules.items())
        encoded = [part.encode(errors="replace") for part in parts]
        key = hashlib.sha256(b"\0".join([content, *encoded])).hexdigest()
        return Task(student, content, reason, key, came_with, modules)
