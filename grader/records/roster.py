"""Students of the gradebook, and renaming one in the middle of a term.

An account that is renamed hands in under its new name, and nbgrader takes that for another person.
What other systems call a student, and what came from there and went back, is in ``roster.json``.
"""

import json
import os
import shlex
from pathlib import Path
from typing import Any

from nbgrader.api import Student
from sqlalchemy import NullPool, create_engine, inspect, select

from grader.base.errors import Refused
from grader.base.files import read_json, write_whole
from grader.intake.parsing import plain, unmarked
from grader.judge.results import as_text, read_verdict
from grader.records import database, gradebook
from grader.records.course_folder import RENAMING, half_renamed, lock
from grader.records.summary import cell

# Folders of a student in nbgrader's layout.
FOLDERS = ("submitted", "autograded", "feedback")
# Hand-ins that others have taken the place of, by assignment and student.
REPLACED = "replaced"
# Fields of a person in the gradebook.
ABOUT = ("first_name", "last_name", "email", "lms_user_id")
FILE = "roster.json"
LONGEST = 128
Facts = dict[str, dict[str, Any]]


def people(course: Path, db: str = "") -> dict[str, dict[str, str]]:
    """The students in a gradebook; nobody where there is none. Nothing is made."""
    address = gradebook.url(course, db)
    if (file := database.file_of(address)) and not file.is_file():
        return {}
    with database.explained(address), create_engine(address, poolclass=NullPool).connect() as book:
        if not inspect(book).has_table(Student.__tablename__):
            return {}
        rows = book.execute(select(Student.id, *(getattr(Student, name) for name in ABOUT)))
        return {
            row[0]: {n: value or "" for n, value in zip(ABOUT, row[1:], strict=True)}
            for row in rows
        }


def facts(course: Path) -> Facts:
    """Records of other systems: ``students``, ``collected`` and ``sent``.

    The first by student; the others by assignment, perhaps with a system, and then by student.
    """
    remedy = (
        "put a copy of it back from a backup; without one, move it away, and import the roster"
        " again"
    )
    parts = ("students", "collected", "sent")
    return read_json(
        course / FILE,
        remedy,
        lambda facts: {p: {k: {**row} for k, row in facts.get(p, {}).items()} for p in parts},
        {},
    )


def keep(course: Path, known: Facts) -> None:
    """Write down what :func:`facts` reads."""
    write_whole(course / FILE, json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def unfit(student: str) -> str:
    """Why nobody's folder can be called so; empty if it can."""
    if student in (".", "..") or "/" in student or not student.isprintable():
        return "cannot be a folder's name"
    if len(student.encode(errors="replace")) > LONGEST:
        return f"is longer than {LONGEST} bytes"
    if unmarked(student) != student:
        return "has signs that a page takes for markup"
    return "is a formula to a spreadsheet" if cell(student) != student else ""


def rename(course: Path, old: str, new: str, db: str = "") -> tuple[list[str], int]:
    """Put all that a course has of a student under another name.

    Names, scores, comments and penalties go along. Broken off at any point, it goes on when asked
    again, and nothing else is done in the course folder until then. Who is called ``new`` may have
    handed in already, but nothing that ``old`` has.

    Returns the folders that were moved, and how many of the gradebook's submissions.
    """
    for name in (old, new):
        if not name or name in (".", "..") or "/" in name or "\0" in name:
            raise Refused(f"{name!r} cannot be a student's name, because no folder can have it")
    if why := unfit(new):
        raise Refused(f"{plain(new)!r} {why}: choose another name")
    if old == new:
        raise Refused(f"{old!r} has this name already")
    journal = course / RENAMING
    with lock(course, renaming=True), database.alone(gradebook.url(course, db), course):
        if (names := half_renamed(course)) and names != [old, new]:
            raise Refused(f"`course rename {shlex.join(names)}` broke off: run it again first")
        if not names:
            _may_rename(course, old, new, db)
            write_whole(journal, json.dumps([old, new]))
        moved = _move(course, old, new)
        known_there = facts(course)
        tables = [
            known_there["students"],
            *known_there["collected"].values(),
            *known_there["sent"].values(),
        ]
        for table in tables:
            if old in table:
                table[new] = {**table.pop(old), **table.get(new, {})}
        if any(new in table for table in tables):
            keep(course, known_there)
        changed = _rewrite(course, old, new, db) if old in people(course, db) else 0
        journal.unlink()
    return moved, changed


def _may_rename(course: Path, old: str, new: str, db: str) -> None:
    there = [kind for kind in FOLDERS if (course / kind / old).is_dir()]
    if not there and old not in people(course, db):
        raise Refused(
            f"neither {course} nor its gradebook knows a student {plain(old)!r}: the old name"
            " comes first"
        )
    if both := sorted(_assignments(course, old, db) & _assignments(course, new, db)):
        raise Refused(
            f"{plain(old)} and {plain(new)} both have {', '.join(both)}: which one counts? Give the"
            f" other a name of its own first, such as `course rename {shlex.quote(new)}"
            f" {shlex.quote(new + '-2')}`; nothing of either is lost. Nothing was renamed"
        )


def _assignments(course: Path, student: str, db: str) -> set[str]:
    folders = [path for kind in FOLDERS for path in (course / kind / student).glob("*")]
    names = {path.name for path in folders if path.is_dir()}
    if student in people(course, db):
        with gradebook.open_gradebook(course, db) as book:
            names |= {s.assignment.name for s in book.find_student(student).submissions}
    return names


def _move(course: Path, old: str, new: str) -> list[str]:
    moved = []
    for kind in FOLDERS:
        source = course / kind / old
        for folder in sorted(source.iterdir()) if source.is_dir() else ():
            # A damaged one is none: what it was about is graded again.
            if verdict := read_verdict(folder / "verdict.json"):
                verdict.student = new
                write_whole(folder / "verdict.json", as_text(verdict))
            moved.append(_into(folder, course / kind / new / folder.name, course))
        if source.is_dir():
            source.rmdir()
    for source in sorted(course.glob(f"{REPLACED}/*/*")):
        for folder in sorted(source.iterdir()) if source.name == old else ():
            target = source.with_name(new)
            number = 1 + (len(list(target.iterdir())) if target.is_dir() else 0)
            moved.append(_into(folder, target / str(number), course))
        if source.name == old:
            source.rmdir()
    for path in sorted(course.glob("defence/*/sheets.json")):
        sheets = read_json(path, f"remove {path.parent}", dict)
        for page in path.parent.glob("*/*.html"):
            if page.stem == old:
                moved.append(_into(page, page.with_name(f"{new}.html"), course))
        if old in sheets:
            sheets = {new if name == old else name: sheet for name, sheet in sheets.items()}
            sheets[new]["student"] = new
            write_whole(path, json.dumps(sheets, indent=1), private=True)
    return moved


def _into(source: Path, target: Path, course: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Folders that are no assignment may be there twice, and both stay.
    while os.path.lexists(target):
        target = target.with_name(f"{target.name}-2")
    source.rename(target)
    return str(target.relative_to(course))


def _rewrite(course: Path, old: str, new: str, db: str) -> int:
    """In one transaction: the name is a key that other rows refer to."""
    with gradebook.open_gradebook(course, db) as book:
        before = book.find_student(old)
        person = book.db.get(Student, new)
        if person is None:
            person = Student(id=new, **{name: getattr(before, name) for name in ABOUT})
            book.db.add(person)
        submissions = list(before.submissions)
        with gradebook.transaction(book):
            for submission in submissions:
                submission.student = person
            book.db.flush()
            book.db.expire(before)
            book.db.delete(before)
    return len(submissions)
