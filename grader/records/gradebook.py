"""Writing into nbgrader's own gradebook, so that Formgrader and export go on from there.

Only what nbgrader's autograder would write is written: automatic scores, automatic comments, the
time of submission, and whether a person has to look. Manual scores and comments, extra credit and
penalties belong to people.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import (
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.preprocessors import SaveCells

from grader.base.errors import Refused
from grader.records import database

# Seconds for which another program, such as Formgrader, may hold the database.
PATIENCE = 60


def open_gradebook(course: Path, db: str = "") -> AbstractContextManager[Gradebook]:
    """A course's gradebook, created when it is not there."""
    return database.opened(url(course, db))


@contextlib.contextmanager
def transaction(gradebook: Gradebook) -> Iterator[None]:
    """Transaction: what is done inside reaches the database whole or not at all."""
    try:
        yield
        gradebook.db.commit()
    except BaseException:
        gradebook.db.rollback()
        raise


def url(course: Path, db: str = "") -> str:
    """The address of a course's gradebook: ``db``, else ``gradebook.db`` in the course folder.

    Example:
        >>> url(Path("/srv/attention"))
        'sqlite:////srv/attention/gradebook.db?timeout=60'
    """
    if db and "://" not in db:
        raise Refused(
            f"{db!r} is no database address: wanted one such as sqlite:////folder/gradebook.db or"
            " postgresql://user@host/database"
        )
    return db or f"sqlite:///{(course / 'gradebook.db').resolve()}?timeout={PATIENCE}"


@contextlib.contextmanager
def prepared(course: Path, name: str, release: NotebookNode, db: str = "") -> Iterator[Gradebook]:
    """A course's gradebook, to which the assignment and its cells are known as by a release."""
    address = url(course, db)
    with open_gradebook(course, db) as gradebook:
        gradebook.update_or_create_assignment(name)
        resources = {"nbgrader": {"notebook": name, "assignment": name, "db_url": address}}
        try:
            SaveCells().preprocess(release.copy(), resources)
        except RuntimeError as error:
            raise Refused(
                f"{course / 'gradebook.db'}: {name} has submissions, and its cells have changed"
                " since they were graded. Cells of a released assignment must not; give the changed"
                f" one a new name, or grade in another course folder. (nbgrader: {error})"
            ) from None
        yield gradebook


def set_due(course: Path, due: Mapping[str, datetime], db: str = "") -> None:
    """Set due dates, in UTC, as Formgrader does; extensions of single students stay."""
    with open_gradebook(course, db) as gradebook:
        for name, when in due.items():
            gradebook.update_or_create_assignment(name, duedate=f"{when:%Y-%m-%d %H:%M:%S}")


def write(
    gradebook: Gradebook,
    name: str,
    student: str,
    scores: Mapping[str, float | None],
    changed: Collection[str],
    *,
    unanswered: Collection[str] = (),
    submitted: datetime | None = None,
) -> None:
    """Write what grading says about a submission: all of it or nothing, and any number of times.

    A score that a person gave stays; a cell of ``changed``, whose answer is not the one that was
    graded last, is flagged for another look. A score is None where a person has to grade. Penalties
    for lateness follow from ``submitted``, if that is known.
    """
    with transaction(gradebook):
        notebook = _notebook(gradebook, name, student)
        if submitted is not None:
            notebook.assignment.timestamp = submitted
        grades = {grade.cell.name: grade for grade in notebook.grades}
        for cell, score in scores.items():
            grade = grades[cell]
            grade.auto_score = score
            if grade.manual_score is None:
                grade.needs_manual_grade = score is None
            elif cell in changed:
                grade.needs_manual_grade = True
        for comment in notebook.comments:
            comment.auto_comment = "No response." if comment.cell.name in unanswered else None


def _notebook(gradebook: Gradebook, name: str, student: str) -> SubmittedNotebook:
    db = gradebook.db
    released = gradebook.find_notebook(name, name)
    try:
        submission = gradebook.find_submission(name, student)
    except MissingEntry:
        person = db.get(Student, student) or Student(id=student)
        submission = SubmittedAssignment(assignment=released.assignment, student=person)
        db.add(submission)
    notebook = next((n for n in submission.notebooks if n.notebook is released), None)
    if notebook is None:
        notebook = SubmittedNotebook(notebook=released, assignment=submission)
        db.add(notebook)
    graded = [*released.grade_cells, *released.task_cells]
    answered = [*released.solution_cells, *released.task_cells]
    for kind, cells, rows in (
        (Grade, graded, notebook.grades),
        (Comment, answered, notebook.comments),
    ):
        names = {row.cell.name for row in rows}
        for cell in cells:
            if cell.name not in names:
                db.add(kind(cell=cell, notebook=notebook))
    return notebook


def scores(course: Path, name: str, db: str = "") -> dict[str, dict[str, float | None]]:
    """Automatic scores by student and cell, as the gradebook has them."""
    with open_gradebook(course, db) as gradebook:
        try:
            submissions = gradebook.assignment_submissions(name)
        except MissingEntry:
            return {}
        return {
            s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
            for s in submissions
        }
