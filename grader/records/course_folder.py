"""Files of a course folder beside students' work: one lock, the seeds, files that are whole."""

import contextlib
import fcntl
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from grader.base.errors import Refused
from grader.base.files import read_json, write_whole
from grader.checks import seeds

SEEDS = ".grading-seeds.json"
# Old and new name of a student, while they are being changed.
RENAMING = ".renaming.json"


@contextlib.contextmanager
def lock(course: Path, *, renaming: bool = False) -> Iterator[None]:
    """One grader at a time for a course folder."""
    course.mkdir(parents=True, exist_ok=True)
    # Appended to, so that its time stays that of the first command here.
    with (course / ".grading.lock").open("a") as file:
        try:
            # A lock of this process alone, which nothing that is forked from it keeps.
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(
                f"{course}: another `course` command is at work here; wait for it, or end it"
            ) from None
        if not renaming and (names := half_renamed(course)):
            raise Refused(
                f"{course}: `course rename {shlex.join(names)}` broke off, and some files have"
                " one name and some the other: run it again to finish it"
            )
        yield


def half_renamed(course: Path) -> list[str]:
    """The old and the new name of a student, if changing it broke off."""
    return read_json(course / RENAMING, "put a copy of it back", lambda d: [*map(str, d)], [])


def known_seeds(course: Path) -> dict[str, str]:
    """The grading seeds that a course keeps, by assignment."""
    remedy = (
        "put a copy of it back from a backup; without one, move it away, and the next run draws new"
        " samples and grades everybody again"
    )
    # One object with a text for each assignment.
    return read_json(course / SEEDS, remedy, lambda d: {n: str.strip(s) for n, s in d.items()}, {})


def grading_seed(course: Path, name: str, *, keep: bool = True) -> str:
    """The seed of an assignment in a course: ``COURSE_SEED``, else drawn once and kept."""
    if not course.is_dir():
        raise Refused(f"{course}: no such folder; it should contain submitted/")
    if given := os.environ.get(seeds.ENVIRONMENT):
        return given
    kept_seeds = known_seeds(course)
    if name not in kept_seeds:
        kept_seeds[name] = seeds.fresh()
        if keep:
            write_whole(course / SEEDS, json.dumps(kept_seeds, indent=1), private=True)
    return kept_seeds[name]
