"""The experiment of a class, where the course has one: ``course.toml`` names its module.

That has the functions ``of_class``, ``lines`` and ``publish``.
"""

import importlib
from typing import Any

from grader.base.course import course


def of_class(*arguments: Any, **more: Any) -> dict[str, Any] | None:
    """The experiment of an assignment, pooled; None where none is asked or handed in."""
    if not (name := course().experiment):
        return None
    found: dict[str, Any] | None = importlib.import_module(name).of_class(*arguments, **more)
    return found


def lines(facts: dict[str, Any]) -> list[str]:
    """Lines for a terminal about what :func:`of_class` has returned."""
    said: list[str] = importlib.import_module(course().experiment).lines(facts)
    return said


def publish(*arguments: Any) -> None:
    """Let the course's pages say that a class has run a question."""
    importlib.import_module(course().experiment).publish(*arguments)
