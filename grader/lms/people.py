"""Matching of rows and names to students: by keys first, never by a guess."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.lms.csv_table import fold
from grader.lms.formats import KEYS, NOBODY
from grader.records import roster


def squeezed(name: str) -> str:
    """A name without all that systems drop, replace or put between its parts.

    Example:
        >>> squeezed("M\u00fcller-L\u00fcdenscheidt, Zo\u00eb")
        'm\u00fcllerl\u00fcdenscheidtzo\u00eb'
    """
    return re.sub(r"[\W_]", "", fold(name))


def endings(text: str) -> list[str]:
    """A text, and what is left of it after each `_`, longest first."""
    parts = text.split("_")
    return ["_".join(parts[n:]) for n in range(len(parts))]


def sections(titles: str) -> dict[str, list[str]]:
    """Report of a command: lines below titles, in the order in which they are read."""
    return {title: [] for title in titles.split()}


class People:
    """The students of a course, to be found as a system calls them."""

    def __init__(self, course: Path, system: str, db: str = "") -> None:
        self.system = system
        self.students: dict[str, dict[str, Any]] = roster.facts(course)["students"]
        self.gradebook = roster.people(course, db)
        self.by: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.groups: dict[str, set[str]] = defaultdict(set)
        for student in {*self.students, *self.gradebook}:
            person, row = self.students.get(student, {}), self.gradebook.get(student, {})
            keys = self.keys(student)
            if not keys:
                # Somebody whom the system has not named yet may be called there as here.
                keys = {"login": student, "key": "" if person else row.get("lms_user_id", "")}
            email = person.get("email") or row.get("email", "")
            for field, value in {**keys, "email": email}.items():
                if value:
                    self.by[field, fold(value)].add(student)
            for name in self._names(person, row):
                self.by["name", squeezed(name)].add(student)
            for group in person.get("groups", ()):
                self.groups[squeezed(group)].add(student)

    def keys(self, student: str) -> dict[str, str]:
        """Name of a student in the system, as far as it was imported."""
        return dict(self.students.get(student, {}).get("keys", {}).get(self.system, {}))

    @staticmethod
    def _names(person: Mapping[str, Any], row: Mapping[str, str]) -> set[str]:
        last, first = person.get("last", ""), person.get("first", "")
        words = person.get("name", "").split()
        # One system has the last name first, another last.
        turned = {"".join(words[n:] + words[:n]) for n in (0, 1, -1)}
        names = {last + first, first + last, *turned}
        if not person:
            names = {row["last_name"] + row["first_name"], row["first_name"] + row["last_name"]}
        return {name for name in names if squeezed(name)}

    def called(self, student: str) -> str:
        """A student's id and name, for a list that a person reads."""
        person = self.students.get(student, {})
        parts = filter(None, (person.get("first"), person.get("last")))
        name = person.get("name") or " ".join(parts)
        return f"{student} ({name})" if name and fold(name) != fold(student) else student

    def find(self, said: Mapping[str, str], *, by_name: bool = True) -> tuple[str, str]:
        """The student whom fields describe, and the field that decides; or nobody, and why."""
        by_field = {f: self.by.get((f, fold(said[f])), set()) for f in KEYS if said.get(f)}
        for field, ids in by_field.items():
            if len(ids) == 1 and all(ids <= others for others in by_field.values() if others):
                return next(iter(ids)), field
        if any(by_field.values()):
            says = (
                f"by {f} it is {' or '.join(sorted(ids))}" for f, ids in by_field.items() if ids
            )
            return "", "; ".join(says)
        names = {said.get("name", ""), said.get("last", "") + said.get("first", "")}
        alike = (self.by.get(("name", squeezed(n)), set()) for n in names if squeezed(n))
        same: set[str] = set().union(*alike)
        if not by_name or not same:
            return "", NOBODY
        if len(same) > 1:
            return "", f"{' and '.join(sorted(same))} have this name"
        student = same.pop()
        if any(said.get(field) and value for field, value in self.keys(student).items()):
            return "", f"{NOBODY}; {student} has the same name, and another key"
        return student, "name"
