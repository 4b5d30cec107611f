"""Who the gradebook knows, and giving somebody another name in the middle of a term.

An account that is renamed hands in under its new name, and nbgrader takes that for another person.
What other systems call a student, and what came from there and went back, is in ``roster.json``.
"""

import json
from pathlib import Path
from typing import Any

from nbgrader.api import Student
from sqlalchemy import create_engine, inspect, select

from course_lib.errors import Refused
from course_lib.grading.intake.parsing import plain
from course_lib.grading.records import database, gradebook
from course_lib.grading.records.folder import lock, save

# What a course keeps of a student, in nbgrader's layout.
FOLDERS = ("submitted", "autograded", "feedback")
# What the gradebook says of a person.
ABOUT = ("first_name", "last_name", "email", "lms_user_id")
FILE = "roster.json"
Facts = dict[str, dict[str, Any]]


def students(course: Path, db: str = "") -> set[str]:
    """The students in a gradebook; nobody where there is none. Nothing is made."""
    return set(people(course, db))


def people(course: Path, db: str = "") -> dict[str, dict[str, str]]:
    """What a gradebook says of each student; nothing is made."""
    address = gradebook.url(course, db)
    if (file := database.file_of(address)) and not file.is_file():
        return {}
    with database.explained(address):
        engine = create_engine(address)
        try:
            with engine.connect() as connection:
                if not inspect(connection).has_table(Student.__tablename__):
                    return {}
                columns = [getattr(Student, name) for name in ABOUT]
                rows = connection.execute(select(Student.id, *columns))
                return {
                    row[0]: {n: value or "" for n, value in zip(ABOUT, row[1:], strict=True)}
                    for row in rows
                }
        finally:
            engine.dispose()


def facts(course: Path) -> Facts:
    """What a course keeps of other systems: ``students``, ``collected`` and ``sent``.

    The first by student; the others by assignment, or by system and assignment, and then by
    student.

    Raises:
        ValueError: The file is damaged.
    """
    path = course / FILE
    try:
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return {part: dict(known.get(part, {})) for part in ("students", "collected", "sent")}
    except (ValueError, AttributeError, TypeError) as error:
        raise Refused(
            f"{path}: {error}. The file is damaged: put a copy of it back from a backup; without"
            " one, move it away, and import the roster again"
        ) from None


def keep(course: Path, known: Facts) -> None:
    """Write down what :func:`facts` reads."""
    save(course / FILE, json.dumps(known, indent=1, ensure_ascii=False) + "\n")


def rename(course: Path, old: str, new: str, db: str = "") -> tuple[list[str], int]:
    """Put all that a course has of a student under another name.

    Names, scores, comments and penalties go along. Broken off at any point, it goes on when asked
    again.

    Args:
        course: The course folder.
        old: The name that folders and gradebook have.
        new: The name from now on; it may have handed in already, but nothing that ``old`` has.
        db: The gradebook's address, if it is not in the course folder.

    Returns:
        The folders that were moved, and how many of the gradebook's submissions.

    Raises:
        ValueError: A name is no folder's, nobody is called ``old``, or both have the same
            assignment; nothing was changed.
    """
    for name in (old, new):
        if not name or name in (".", "..") or "/" in name or "\0" in name:
            raise Refused(f"{name!r} is no student's name: wanted that of a folder")
    if old == new:
        raise Refused(f"{old!r} is called so already")
    with lock(course), database.alone(gradebook.url(course, db), course):
        known = old in students(course, db)
        there = [course / kind / old for kind in FOLDERS if (course / kind / old).is_dir()]
        if not known and not there:
            raise Refused(
                f"neither {course} nor its gradebook knows a student {plain(old)!r}: the old name"
                " comes first"
            )
        if both := sorted(_assignments(course, old, db) & _assignments(course, new, db)):
            raise Refused(
                f"{plain(old)} and {plain(new)} both have {', '.join(both)}: which one counts?"
                f" Move the other folder out of {course / 'submitted'}, and delete its row in"
                " Formgrader. Nothing was renamed"
            )
        moved = _move(course, old, new)
        known_there = facts(course)
        tables = [known_there["students"], *known_there["collected"].values(),
                  *known_there["sent"].values()]  # fmt: skip
        if any(old in table for table in tables):
            for table in tables:
                if old in table:
                    table[new] = {**table.pop(old), **table.get(new, {})}
            keep(course, known_there)
        return moved, _rewrite(course, old, new, db) if known else 0


def _assignments(course: Path, student: str, db: str) -> set[str]:
    """All that a student has handed in, by folders and gradebook."""
    found = {p.name for kind in FOLDERS for p in course.glob(f"{kind}/*/*")
             if p.parent.name == student and p.is_dir()}  # fmt: skip
    if student in students(course, db):
        with gradebook.open_gradebook(course, db) as book:
            found |= {s.assignment.name for s in book.find_student(student).submissions}
    return found


def _move(course: Path, old: str, new: str) -> list[str]:
    moved = []
    for kind in FOLDERS:
        source, target = course / kind / old, course / kind / new
        if not source.is_dir():
            continue
        target.mkdir(exist_ok=True)
        for folder in sorted(source.iterdir()):
            verdict = folder / "verdict.json"
            if verdict.is_file():
                facts = json.loads(verdict.read_text(encoding="utf-8"))
                facts["student"] = new
                save(verdict, json.dumps(facts, indent=1, ensure_ascii=False))
            folder.rename(target / folder.name)
            moved.append(str((target / folder.name).relative_to(course)))
        source.rmdir()
    return moved


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
