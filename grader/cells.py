"""What nbgrader says of a notebook's cell, in the cell's own metadata."""

from typing import Any

from nbformat import NotebookNode


def marks(cell: NotebookNode) -> dict[str, Any]:
    """All of it; empty where a cell is a student's own."""
    facts: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return facts


def id_of(cell: NotebookNode) -> str:
    """What nbgrader calls a cell; nothing where it is a student's own."""
    return str(marks(cell).get("grade_id", ""))


def locked(cell: NotebookNode) -> bool:
    """Whether a released cell is not the student's to change."""
    return bool(cell.metadata["nbgrader"]["locked"])


def graded(cell: NotebookNode) -> bool:
    """Whether a released cell is marked."""
    return bool(cell.metadata["nbgrader"]["grade"])
