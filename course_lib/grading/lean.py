"""Imports what grading needs of nbgrader and jsonschema, and not what else they bring along.

Before its first class, ``import nbgrader`` loads the web server and all its extensions, and
``import jsonschema`` builds a grammar of international web addresses: two seconds together, for
things that no notebook's schema and no gradebook uses. Whoever imports them later gets them whole.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from unittest.mock import Mock

_EXTENSIONS = ("assignment_list", "course_list", "validate_assignment", "formgrader")


def lean() -> None:
    """Import ``jsonschema`` and ``nbgrader`` without the parts that grading never calls."""
    if "jsonschema" not in sys.modules:
        _import_without("jsonschema", {"rfc3987_syntax": None})
    if "nbgrader" not in sys.modules:
        names = [f"nbgrader.server_extensions.{name}" for name in _EXTENSIONS]
        _import_without("nbgrader", {name: Mock() for name in names})


def _import_without(module: str, absent: dict[str, ModuleType | Mock | None]) -> None:
    absent = {name: stand_in for name, stand_in in absent.items() if name not in sys.modules}
    sys.modules.update(absent)  # type: ignore[arg-type]
    try:
        importlib.import_module(module)
    finally:
        for name in absent:
            del sys.modules[name]


lean()
