"""Writing into nbgrader's own gradebook, so that Formgrader and export go on from there.

Only automatic scores are ever written. Manual scores, comments, extra credit and penalties belong
to people.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import SaveCells


@contextlib.contextmanager
def open_gradebook(course: Path) -> Iterator[Gradebook]:
    """The gradebook ``gradebook.db`` of a course folder, created when it is not there."""
    # nbgrader stamps a new database by calling `alembic`, which sits beside this interpreter.
    here = str(Path(sys.executable).parent)
    if here not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = here + os.pathsep + os.environ.get("PATH", "")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Gradebook(url(course)) as gradebook:
            yield gradebook


def url(course: Path) -> str:
    """The database address of a course folder's gradebook."""
    return f"sqlite:///{(course / 'gradebook.db').resolve()}"


def prepare(course: Path, name: str, release: NotebookNode) -> None:
    """Make the assignment and its cells known to the gradebook, as nbgrader's release does.

    Raises:
        ValueError: It is known already, with other cells, and has submissions.
    """
    with open_gradebook(course) as gradebook:
        gradebook.update_or_create_assignment(name)
        resources = {"nbgrader": {"notebook": name, "assignment": name, "db_url": url(course)}}
        try:
            SaveCells().preprocess(release.copy(), resources)
        except RuntimeError as error:
            raise ValueError(
                f"{course / 'gradebook.db'}: {name} has submissions, and its cells have changed"
                " since they were graded. Cells of a released assignment stay; give the changed"
                f" one a new name, or grade in another course folder. (nbgrader: {error})"
            ) from None


def write(
    gradebook: Gradebook, name: str, student: str, marks: list[tuple[str, float | None]]
) -> None:
    """Write a student's automatic scores, all of them or none.

    Args:
        gradebook: An open one.
        name: The assignment.
        student: The student's id.
        marks: Graded cells and their scores; None for a cell that a person grades.
    """
    try:
        gradebook.update_or_create_student(student)
        gradebook.update_or_create_submission(name, student)
        for grade_id, score in marks:
            grade = gradebook.find_grade(grade_id, name, name, student)
            grade.auto_score = score
            grade.needs_manual_grade = score is None and grade.manual_score is None
        gradebook.db.commit()
    except Exception:
        gradebook.db.rollback()
        raise


def scores(course: Path, name: str) -> dict[str, dict[str, float | None]]:
    """Automatic scores by student and cell, as the gradebook has them."""
    with open_gradebook(course) as gradebook:
        return {
            s.student.id: {g.name: g.auto_score for n in s.notebooks for g in n.grades}
            for s in gradebook.assignment_submissions(name)
        }
