"""Grading a class: one submission after the other, none able to stop another, nothing done twice.

A course folder has nbgrader's layout: ``submitted/<student>/<assignment>/<assignment>.ipynb`` comes
in; what goes out is written by :mod:`course_lib.grading.records.graded`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from nbgrader.api import Gradebook

from course_lib.checks.report import bank_reports
from course_lib.errors import Refused
from course_lib.grading import lateness
from course_lib.grading.intake import parsing
from course_lib.grading.intake.exchange import read_exchange_files
from course_lib.grading.judging import doctor, sandbox_package
from course_lib.grading.judging.channel import Limits
from course_lib.grading.judging.forkserver import ForkServer
from course_lib.grading.judging.judge_process import request
from course_lib.grading.judging.marking import Marker
from course_lib.grading.judging.pool import JudgeDied, judge_all
from course_lib.grading.judging.results import Task, Verdict
from course_lib.grading.records.folder import grading_seed
from course_lib.grading.records.graded import Records

if TYPE_CHECKING:
    from course_lib.grading.judging.cluster import Cluster


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
    ) -> None:
        self.course, self.root, self.name = course, root, name
        self.seed = seed or grading_seed(course, name)
        self.marker = Marker(root, name, self.seed, limits)
        self.assignment, self.engine = self.marker.assignment, self.marker.engine
        self.records = Records(course, name, self.assignment.release, db, staging)
        self.follow = follow

    def students(self) -> list[str]:
        """Everybody with a folder for this assignment, or with one that cannot be looked into."""
        people = self.course.glob("submitted/*")
        return sorted(p.name for p in people if parsing.is_there(p / self.name) is not False)

    def grade(
        self,
        only: Iterable[str] | None = None,
        say: Callable[[Verdict], None] = lambda v: None,
        *,
        jobs: int = 1,
        walls: bool = True,
        warming: ForkServer | None = None,
        cluster: Cluster | None = None,
    ) -> list[Verdict]:
        """Grade everybody, or those named; what is already graded from the same bytes stays.

        The fork server ``warming`` is for ``jobs`` judges, and the caller ends it; a ``cluster``
        judges in their place.
        """
        # Judges are forked, and a process in which torch has started threads hangs when forked.
        torch.set_num_threads(1)
        chosen = self.choose(only)
        with self.records.alone():
            verdicts, tasks = self.sort_out(chosen)
            for verdict in verdicts.values():
                say(verdict)
            book: Gradebook | None = None
            with contextlib.ExitStack() as stack:

                def open_book() -> None:
                    nonlocal book
                    if not self.records.staged:
                        book = stack.enter_context(self.records.open_gradebook())

                if tasks and cluster:
                    judging = cluster.judge_all(
                        self.name, tasks, lambda t: self.request(t, walls), open_book
                    )
                else:
                    judging = self.judge_here(
                        tasks, self.marker.judge, jobs, lambda: self._know_mistakes(len(tasks)),
                        walls=walls, warming=warming, meanwhile=open_book,
                    )  # fmt: skip
                # Closed whatever happens, so that an interruption ends the judges at once.
                stack.callback(judging.close)
                for task, done in judging:
                    if isinstance(done, JudgeDied):
                        done = self.marker.failed(task, str(done), again=True)
                    verdict, files = done
                    self.records.write(verdict, files, task.came_with, book)
                    verdicts[task.student] = verdict
                    say(verdict)
            if not self.records.staged:
                self.penalise(list(verdicts.values()))
        return [verdicts[student] for student in chosen]

    def judge_here(
        self,
        tasks: list[Task],
        work: Callable[[Task, ForkServer, int], Any],
        jobs: int,
        before: Callable[[], None],
        *,
        walls: bool = True,
        warming: ForkServer | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Generator[tuple[Task, Any], None, None]:
        """Have work done on hand-ins on this machine, as :func:`.pool.judge_all` has it.

        What is done ``before`` the judges are forked no two of them do.
        """
        if not tasks:
            return
        folder = sandbox_package.build(self.course / ".kits")
        started = iter([warming or ForkServer(folder, judges=jobs, walls=walls)])

        def start() -> ForkServer:
            return doctor.behind_walls(
                next(started, None) or ForkServer(folder, judges=jobs, walls=walls), [self.course]
            )

        before()
        yield from judge_all(tasks, work, start, jobs, meanwhile)

    def _know_mistakes(self, hand_ins: int) -> None:
        for exercise in self.assignment.exercises if hand_ins > 1 else ():
            bank_reports(exercise.id)

    def request(self, task: Task, walls: bool) -> bytes:
        """What a worker elsewhere has to know to judge a submission as it is judged here."""
        return request(self.name, task, self.seed, self.engine, self.marker.limits, walls)

    def penalise(self, verdicts: Iterable[Verdict]) -> None:
        """Write what lateness costs, also for what was graded before: an extension came since.

        The caller holds the course's lock.
        """
        plugin = lateness.plugin(self.course, self.root)
        concerned = [v for v in verdicts if v.score is not None]
        if plugin is None and all(v.penalty is None for v in concerned):
            return
        with self.records.open_gradebook() as book:
            for verdict in concerned:
                last = verdict.penalty
                verdict.penalty = lateness.assign(book, self.name, verdict.student, plugin, last)
                if verdict.penalty != last:
                    self.records.remember(verdict)

    def choose(self, only: Iterable[str] | None) -> list[str]:
        """Everybody who has submitted, or those named."""
        everybody = self.students()
        chosen = sorted(set(only)) if only is not None else everybody
        if missing := sorted(set(chosen) - set(everybody)):
            raise Refused(f"{self.name}: nothing submitted by {', '.join(missing)}")
        if not chosen:
            hint = "; `course doctor` says what waits in the exchange"
            raise Refused(f"nothing in {self.course / 'submitted'} for {self.name}{hint}")
        return chosen

    def sort_out(self, chosen: Iterable[str]) -> tuple[dict[str, Verdict], list[Task]]:
        """What is graded already, and what is to be done."""
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
        came_with = read_exchange_files(folder)
        came_with = replace(
            came_with, notes=(*came_with.notes, *parsing.beside(folder, self.name, modules))
        )
        parts = [
            reason,
            self.seed,
            json.dumps(came_with.files),
            *came_with.notes,
            *map(repr, modules.items()),
        ]
        encoded = [part.encode(errors="replace") for part in parts]
        key = hashlib.sha256(b"\0".join([content, *encoded])).hexdigest()
        return Task(student, content, reason, key, came_with, modules)
