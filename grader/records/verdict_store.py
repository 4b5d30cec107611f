"""Verdicts of an assignment's hand-ins: files of nbgrader's layout, and gradebook.

Beside each autograded notebook lies ``verdict.json``: what was decided, and the hash of what it was
decided from.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook

from grader.base.files import write_whole
from grader.intake.exchange import ExchangeFiles, placeholder_files
from grader.judge.results import Files, Verdict, as_text, read_verdict
from grader.records import database, gradebook
from grader.records.course_folder import lock

ENDINGS = {"autograded": ".ipynb", "feedback": ".html"}


class VerdictStore:
    """The records of one assignment of one course folder, whose cells are those of ``release``.

    With a folder ``staging`` all is written there, in place of the course folder and the gradebook.
    """

    def __init__(
        self,
        course: Path,
        name: str,
        release: NotebookNode,
        db: str = "",
        staging: Path | None = None,
    ) -> None:
        self.course, self.name, self.release, self.db = course, name, release, db
        self.staged, self.place = staging is not None, staging or course
        self.address = gradebook.url(course, db)
        self._opened = contextlib.ExitStack()
        self._book: Gradebook | None = None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else grades in this folder, or, unless all is staged, into this gradebook."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock(self.course))
            if not self.staged:
                stack.enter_context(database.alone(self.address, self.course))
            try:
                with self._opened:
                    yield
            finally:
                self._book = None

    def gradebook(self) -> Gradebook:
        """The course's gradebook, to which this assignment is known; open while :meth:`alone`."""
        if self._book is None:
            opened = gradebook.prepared(self.course, self.name, self.release, self.db)
            self._book = self._opened.enter_context(opened)
        return self._book

    def path(self, folder: str, student: str) -> Path:
        """Where a student's file in ``autograded`` or in ``feedback`` lies."""
        return self.place / folder / student / self.name / f"{self.name}{ENDINGS[folder]}"

    def verdict(self, student: str) -> Verdict | None:
        """Last verdict, if there is one."""
        return read_verdict(self.path("autograded", student).with_name("verdict.json"))

    def files(self, verdict: Verdict) -> Files:
        """Files of a verdict, to be written elsewhere."""
        folders = ["feedback"] if verdict.reason else [*ENDINGS]
        return {f: self.path(f, verdict.student).read_text(encoding="utf-8") for f in folders}

    def write(self, verdict: Verdict, files: Files, came_with: ExchangeFiles) -> None:
        """Write down what came of a submission; broken off at any point, it is done again."""
        student, old = verdict.student, self.verdict(verdict.student)
        for folder, text in files.items():
            write_whole(self.path(folder, student), text)
        if verdict.reason:
            if old and old.answers:
                # Scores by people are still compared with what they had seen.
                verdict.answers, verdict.mistakes = old.answers, old.mistakes
        elif not self.staged:
            answers = old.answers if old else {}
            changed = [i for i, digest in verdict.answers.items() if answers.get(i) != digest]
            gradebook.write(
                self.gradebook(),
                self.name,
                student,
                verdict.exercises,
                changed,
                unanswered=verdict.unanswered,
                submitted=came_with.submitted,
            )
        graded, page = (self.path(folder, student).parent for folder in ENDINGS)
        for name, content in came_with.files.items():
            for place in (graded, page):
                write_whole(place / name, content)
        for name, content in placeholder_files().items():
            if not (page / name).exists():
                write_whole(page / name, content)
        if old:
            verdict.penalty, verdict.unknown = old.penalty, old.unknown
            # The same hand-in, graded again, is none of its own.
            again = bool(old.answers) and old.answers != verdict.answers
            verdict.earlier = [*old.earlier, *([old.mistakes] if again else [])]
        # Last, so that a run that was broken off does this submission again.
        self.remember(verdict)

    def remember(self, verdict: Verdict) -> None:
        """Keep a verdict beside its notebook."""
        path = self.path("autograded", verdict.student).with_name("verdict.json")
        write_whole(path, as_text(verdict))
