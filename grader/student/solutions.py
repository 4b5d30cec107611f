"""Publishing the solution of an assignment, once nobody can hand it in any more."""

from datetime import UTC, datetime
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader import authoring
from grader.base.files import write_changed
from grader.records.gradebook import open_gradebook


def last_date(course: Path, name: str, db: str = "") -> tuple[datetime, str] | None:
    """The due date of an assignment or the latest extension, and whose; None without either."""
    if not db and not (course / "gradebook.db").exists():
        return None
    with open_gradebook(course, db) as book:
        assignment = next((a for a in book.assignments if a.name == name), None)
        if assignment is None or assignment.duedate is None:
            return None
        later = [(s.duedate, s.student_id) for s in assignment.submissions if s.extension]
        when, by = max([(assignment.duedate, ""), *later], key=lambda date: date[0])
    return when.replace(tzinfo=UTC), by


def may_release(name: str, last: tuple[datetime, str] | None, now: datetime) -> str:
    """Why a solution is not to be released yet; empty where nothing speaks against it."""
    if last is None:
        return f"the gradebook has no due date for {name}"
    when, by = last
    whose = f", the extension of {by}" if by else ""
    return f"{name} may be handed in until {when:%Y-%m-%d %H:%M} UTC{whose}" if now <= when else ""


def readable(solution: NotebookNode) -> NotebookNode:
    """A solution as students read it: without the marks that would make it a hand-in."""
    notebook = nbformat.from_dict(solution)
    marks = (authoring.BEGIN, authoring.END)
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)
        lines = cell.source.splitlines()
        cell.source = "\n".join(line for line in lines if line.strip() not in marks)
    return notebook


def write(root: Path, name: str, path: Path) -> bool:
    """Write the solution, whole or not at all; whether it was not there already."""
    return write_changed(path, authoring.text(readable(authoring.named(root, name).solution)))
