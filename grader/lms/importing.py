"""A system's list of a class into the gradebook: names, ids, sections, groups."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbgrader.api import Student

from grader.base.errors import Refused
from grader.intake.parsing import plain, unmarked
from grader.lms import csv_table, formats
from grader.lms.csv_table import fold
from grader.lms.formats import KEYS, NOBODY
from grader.lms.people import People, sections, squeezed
from grader.records import database, gradebook, roster
from grader.records.course_folder import lock
from grader.records.summary import cell

# A student's folder is called by the first of these that the list has.
IDS = ("login", "email", "number", "key")
TEST_STUDENT = "student, test"


@dataclass
class Import:
    """A list that was read: its system, everybody on it by id, and what it would change."""

    system: str
    students: dict[str, dict[str, Any]]
    report: dict[str, list[str]]


def plan(
    course: Path,
    path: Path,
    system: str = "",
    *,
    named: str = "",
    columns: Mapping[str, str] | None = None,
    encoding: str = "",
    db: str = "",
) -> Import:
    """Read a list and compare it with what is known; the field ``named`` names new folders."""
    table = csv_table.read(path, encoding)
    system = system or formats.system_of(table)
    headers = formats.headers(system, columns or {}, table.header)
    people = People(course, system, db)
    report = sections("new changed known_here_and_not_on_the_list look_at")
    result = Import(system, {}, report)
    lines: dict[str, int] = {}
    taken = {fold(student) for student in {**people.students, **people.gradebook}}
    for line, fields in _rows(table, headers).items():
        student, how = people.find(fields, by_name=False)
        if not student and how != NOBODY:
            raise Refused(f"{path}, row {line + 1}: {how}. Nothing was imported")
        if not student:
            student = _folder(path, line, fields, named)
            if fold(student) in taken:
                raise Refused(
                    f"{path}, row {line + 1}: {plain(student)} is already another student here;"
                    " name new folders by another field, such as --id email"
                )
        if student in result.students:
            raise Refused(
                f"{path}, rows {lines[student] + 1} and {line + 1} are both {plain(student)}."
                " Nothing was imported"
            )
        lines[student] = line
        taken.add(fold(student))
        old = people.students.get(student, {})
        result.students[student] = person = _person(old, fields, system)
        if old != person:
            new = student not in people.students and student not in people.gradebook
            report["new" if new else "changed"].append(f"{student}: {summary(person)}")
    report["known_here_and_not_on_the_list"] = sorted(
        student
        for student, person in people.students.items()
        if system in person.get("keys", {}) and student not in result.students
    )
    report["look_at"] = _remarks({**people.students, **result.students})
    return result


def _rows(
    table: csv_table.CsvTable, headers: Mapping[str, tuple[str, ...]]
) -> dict[int, dict[str, Any]]:
    """Everybody on a list, once: some systems write a line for each section or group."""
    merged: dict[int, dict[str, Any]] = {}
    first: dict[tuple[str, str], int] = {}
    for line in range(1, len(table.rows)):
        fields: dict[str, Any] = csv_table.fields(table, line, headers)
        key = next(((f, fold(fields[f])) for f in KEYS if fields.get(f)), None)
        if key is None or fold(fields.get("name", "")) == TEST_STUDENT:
            # Canvas's rows of points, and its own test student.
            continue
        for several, one in (("sections", "section"), ("groups", "group")):
            if one in fields:
                parts = [fields[one]] if one == "section" else re.split(r"\s*[,;]\s*", fields[one])
                fields[several] = [part for part in parts if part]
        at = first.setdefault(key, line)
        before = merged.setdefault(at, fields)
        for name in ("name", "last", "first", *KEYS):
            if fold(before.get(name, "")) != fold(fields.get(name, "")):
                raise Refused(
                    f"{table.path}, rows {at + 1} and {line + 1}: the same {key[0]}, and different"
                    f" in {name}: {plain(before[name])}, {plain(fields[name])}."
                    " Nothing was imported"
                )
        for several in ("sections", "groups"):
            if several in fields:
                before[several] = list(dict.fromkeys([*before[several], *fields[several]]))
    if not merged:
        columns = ", ".join(h for f in KEYS for h in headers.get(f, ()))
        raise Refused(
            f"{table.path}: nobody in it has an id; wanted one of the columns {columns};"
            f" it has {plain(', '.join(table.header))}"
        )
    return merged


def _folder(path: Path, line: int, said: Mapping[str, Any], named: str) -> str:
    student = next((said[f] for f in ([named] if named else IDS) if said.get(f)), "")
    called = plain(student, 40) or named or "id"
    if why := roster.unfit(student) if student else "is missing":
        raise Refused(
            f"{path}, row {line + 1}: {called!r} {why}; choose another --id: {', '.join(IDS)}"
        )
    return str(student)


def _person(old: Mapping[str, Any], said: Mapping[str, Any], system: str) -> dict[str, Any]:
    about = {
        f: said[f]
        for f in ("name", "last", "first", "email", "sections", "groups")
        if f in said and (said[f] or f == "groups")
    }
    keys = old.get("keys", {})
    own = {f: said[f] for f in KEYS if f != "email" and said.get(f)}
    return {**old, **about, "keys": {**keys, system: {**keys.get(system, {}), **own}}}


def _remarks(students: Mapping[str, Mapping[str, Any]]) -> list[str]:
    names = defaultdict(list)
    for student, person in students.items():
        last, first = _parts(person)
        names[squeezed(last + first)].append(student)
    return [
        f"{' and '.join(same)} have the same name: where a file has names alone, they are left out"
        for name, same in sorted(names.items())
        if name and len(same) > 1
    ] + [
        f"{student} is in several groups: {', '.join(person['groups'])}"
        for student, person in sorted(students.items())
        if len(person.get("groups", ())) > 1
    ]


def _parts(person: Mapping[str, Any]) -> tuple[str, str]:
    """Last and first name, for a table; nothing is matched by how a name was taken apart."""
    if person.get("last") or person.get("first"):
        return person.get("last", ""), person.get("first", "")
    name = person.get("name", "")
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    return last.strip(), first.strip()


def summary(person: Mapping[str, Any]) -> str:
    """Description of a person, in a line."""
    last, first = _parts(person)
    more = (*person.get("sections", ()), *person.get("groups", ()))
    return "; ".join(filter(None, (f"{first} {last}".strip(), *more)))


def apply(course: Path, found: Import, db: str = "") -> None:
    """Write a list down: gradebook first, in one transaction; again does the same."""
    with lock(course), database.alone(gradebook.url(course, db), course):
        facts = roster.facts(course)
        with gradebook.open_gradebook(course, db) as book, gradebook.transaction(book):
            for student, person in found.students.items():
                row = book.db.get(Student, student) or Student(id=student)
                book.db.add(row)
                last, first = _parts(person)
                own = person["keys"][found.system]
                about = (
                    first,
                    last,
                    person.get("email", ""),
                    own.get("key") or own.get("number", ""),
                )
                for column, value in zip(roster.ABOUT, about, strict=True):
                    if value:
                        # nbgrader writes tables without quotes, and spreadsheets run formulas;
                        # Formgrader writes names into its pages as they are.
                        setattr(row, column, unmarked(cell(value))[: roster.LONGEST])
        facts["students"].update(found.students)
        roster.keep(course, facts)
