"""Metadata of nbgrader in a notebook's cells."""

from typing import Any

from nbformat import NotebookNode


def marks(cell: NotebookNode) -> dict[str, Any]:
    """All of it; empty where a cell is a student's own."""
    facts: dict[str, Any] = cell.metadata.get("nbgrader", {})
    return facts


def id_of(cell: NotebookNode) -> str:
    """Name that nbgrader gives a cell; None where it is a student's own."""
    return str(marks(cell).get("grade_id", ""))


def locked(cell: NotebookNode) -> bool:
    """Tell whether a released cell is not the student's to change."""
    return bool(cell.metadata["nbgrader"]["locked"])


def graded(cell: NotebookNode) -> bool:
    """Tell whether a released cell is marked."""
    return bool(cell.metadata["nbgrader"]["grade"])
