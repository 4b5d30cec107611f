"""Names that modules of the grader had while they lay in this package.

Configurations of nbgrader, class folders and people's own scripts say ``course_lib.grading`` and
its like.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

NOW = {
    "course_lib.checks": "grader.checks",
    "course_lib.grading.judging": "grader.judge",
    "course_lib.grading": "grader",
    "course_lib.handout": "grader.student",
    "course_lib.hub": "grader.hub",
    "course_lib.errors": "grader.base.errors",
    "course_lib.files": "grader.base.files",
}


def now(name: str) -> str:
    """The name that a module has now; empty for one that lies where it lay.

    Example:
        >>> now("course_lib.grading.judging.results"), now("course_lib.checks"), now("course_lib")
        ('grader.judge.results', '', '')
    """
    # Of `course_lib.checks` there is still a module: it has the `check` of released notebooks.
    moved = (old for old in NOW if f"{name}.".startswith(f"{old}.") and name != "course_lib.checks")
    old = next(moved, "")
    return NOW[old] + name[len(old) :] if old else ""


class OldNames(MetaPathFinder, Loader):
    """Finds the module itself under its old name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find only what has moved."""
        return ModuleSpec(name, self) if now(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Give the module that is there."""
        module = importlib.import_module(now(spec.name))
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it was."""
        module.__spec__ = self.spec


# Before all others: those would make a second copy of what lies in a moved package.
sys.meta_path.insert(0, OldNames())
