"""The course that is graded, as its ``course.toml`` describes it.

The file lies beside the package ``grader``, or inside a package beside it; where the grader is
installed apart from the course, upwards of the working folder. ``COURSE_TOML`` names another one.
"""

import importlib
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any

from grader.base.errors import Refused

FILE, VARIABLE = "course.toml", "COURSE_TOML"
HERE = Path(__file__).resolve().parents[2]
"""The folder that holds the grader."""


@dataclass(frozen=True)
class Course:
    """A course.

    ``README.md`` says what each line of the file is for. ``root`` is the folder that holds the
    package, ``solutions`` and ``exercises``.
    """

    file: Path
    root: Path
    package: str
    distribution: str
    bank: str
    prelude: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    check: str = ""
    packages: tuple[str, ...] = ()
    pages: str = "book"
    rubrics: str = "book/rubrics.yml"
    outcomes: str = "book/outcomes.yml"
    experiment: str = ""
    handout: tuple[str, ...] = ("__init__.py",)

    @property
    def library(self) -> Path:
        """The folder of the package."""
        return self.root / self.package

    @property
    def names(self) -> tuple[str, str]:
        """The packages of which an answer sees next to nothing."""
        return self.package, "grader"

    @property
    def folders(self) -> dict[str, str]:
        """Where modules lie, of the grader too."""
        return {self.package: self.package, "grader": "grader", **self.sources}

    def experiments(self) -> Any:
        """The module of the class's experiment: ``of_class``, ``lines``, ``publish``; or None."""
        return importlib.import_module(self.experiment) if self.experiment else None


@cache
def course() -> Course:
    """The course that is graded in this process."""
    file = next(_places(), None)
    if file is None:
        raise Refused(f"no {FILE}: change into the folder of a course, or let {VARIABLE} name one")
    file = file.resolve()
    try:
        facts = tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Refused(f"{file}: {error}") from None
    if unknown := sorted(facts.keys() - (Course.__dataclass_fields__.keys() - {"file", "root"})):
        raise Refused(f"{file}: unknown keys: {', '.join(unknown)}")
    if missing := [name for name in ("package", "distribution", "bank") if name not in facts]:
        raise Refused(f"{file}: {', '.join(missing)} is missing")
    facts |= {name: tuple(facts[name]) for name in ("packages", "handout") if name in facts}
    root = file.parent if (file.parent / facts["package"]).is_dir() else file.parents[1]
    if util.find_spec(facts["package"]) is None:
        sys.path.append(str(root))
    return Course(file, root, **facts)


def _places() -> Iterator[Path]:
    if named := os.environ.get(VARIABLE):
        yield Path(named)
    beside = (HERE / FILE, *sorted(HERE.glob(f"*/{FILE}")))
    for place in (*beside, *(folder / FILE for folder in (Path.cwd(), *Path.cwd().parents))):
        if place.is_file():
            # Processes that are started elsewhere grade the same course.
            os.environ[VARIABLE] = str(place.resolve())
            yield place
