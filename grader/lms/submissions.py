"""Owners of the files in a system's archive, as far as their names and the roster say."""

import contextlib
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from grader.base.errors import Refused
from grader.intake.parsing import plain
from grader.lms import archive as archives
from grader.lms import csv_table, formats
from grader.lms.csv_table import fold
from grader.lms.formats import NOBODY, READINGS, SYSTEMS
from grader.lms.people import People, endings, sections, squeezed

# Systems number names that are there already.
_AGAIN = re.compile(r"(?:-| \()(\d+)\)?$")


@dataclass(frozen=True)
class ArchiveFile:
    """A file that was handed in."""

    path: str  # in the archive
    file: str  # its own name
    attempt: str  # where the system keeps several
    late: bool  # marked as late
    order: int  # a later one has a higher number
    home: str  # its folder, or what stands before its own name
    group: str  # that handed it in
    number: str  # the system's, of who did, for this assignment
    said: str  # when it was handed in, in the system's words

    @property
    def stem(self) -> str:
        """Its own name, without ending and without the number of a repeated name."""
        return _AGAIN.sub("", PurePosixPath(self.file).stem)

    @property
    def title(self) -> str:
        """The same, as it is compared."""
        return fold(self.stem.replace("_", " "))

    @property
    def turn(self) -> tuple[bool, int, int]:
        """Where it stands among files of the same name."""
        again = _AGAIN.search(PurePosixPath(self.file).stem)
        return self.late, self.order, int(again[1]) if again else 0


class Owners(NamedTuple):
    """Authors of a file: students, as which group, what may be an unknown one, why nobody."""

    students: set[str]
    group: str
    guess: str
    why: str


class Submissions:
    """An archive, file by file.

    Moodle's ``worksheet`` says who a participant is, and when work came; ``headers`` are by field,
    where it is in another language.
    """

    def __init__(
        self,
        path: Path,
        course: Path,
        system: str = "",
        worksheet: csv_table.CsvTable | None = None,
        headers: Mapping[str, str] | None = None,
        db: str = "",
    ) -> None:
        self.path = path
        self.report = sections("collected kept_in_replaced look_at not_collected")
        self.archive = archives.opened(path)
        self.files, self.report["not_collected"] = archives.entries(self.archive)
        self.system = system or self._system()
        self.people = People(course, self.system, db)
        if not self.people.students and not self.people.gradebook:
            raise Refused(f"{course}: no student is known here; run `course roster import` first")
        self.rows = self._participants(worksheet, headers or {})
        self.receipts = self._receipts() if self.system == "blackboard" else {}
        self.entries: dict[str, list[ArchiveFile]] = defaultdict(list)
        self.titles: set[str] = set()
        for name in sorted(self.files):
            self._take(name)

    def _system(self) -> str:
        count = {n: sum(map(bool, map(s.readings, self.files))) for n, s in SYSTEMS.items()}
        most = [name for name in count if count[name] == max(count.values())]
        if len(most) != 1:
            raise Refused(
                f"{self.path}: its files, such as {plain(next(iter(self.files), 'none'))}, do"
                f" not show which of {', '.join(SYSTEMS)} it is from; name it with --from"
            )
        return most[0]

    def _participants(
        self, worksheet: csv_table.CsvTable | None, own: Mapping[str, str]
    ) -> dict[str, dict[str, str]]:
        """Moodle's worksheet by participant; the word before the number is translated."""
        if worksheet is None:
            return {}
        headers = formats.headers(self.system, own, worksheet.header)
        if worksheet.find(headers.get("participant", ())) is None:
            raise Refused(
                f"{worksheet.path}: no column Identifier, as Moodle's worksheets have; if it is"
                " called otherwise, say --column participant=HEADER"
            )
        rows = (csv_table.fields(worksheet, n, headers) for n in range(1, len(worksheet.rows)))
        return {re.sub(r"\D", "", row["participant"]): row for row in rows}

    def _receipts(self) -> dict[tuple[str, str], str]:
        """Student of an attempt, by the first line that Blackboard writes for it."""
        logins = {}
        for path, info in self.files.items():
            readings = SYSTEMS[self.system].readings(path)
            # A file of a student's has the mark of its attempt before its own.
            if len(readings) != 1 or readings[0]["file"]:
                continue
            # Without a receipt the file's name has to do.
            with contextlib.suppress(Refused):
                text = archives.content(self.archive, info)[:4096].decode("utf-8-sig", "replace")
                if login := re.search(r"\(([^()\n]+)\)\s*$", text.partition("\n")[0]):
                    logins[readings[0]["name"], readings[0]["when"]] = login[1]
        return logins

    def _take(self, path: str) -> None:
        system = SYSTEMS[self.system]
        readings = system.readings(path)
        left_out = self.report["not_collected"]
        if not readings and path.endswith(".ipynb"):
            left_out.append(f"{path}: not named as {system.title} names files")
        elif len(readings) > READINGS:
            left_out.append(f"{plain(path)}: its name can be read in more than {READINGS} ways")
        elif readings and readings[0]["file"]:
            receipts = [one for one in readings if self._receipt(one)] or readings
            # Moodle's number of a participant stands behind a name that they have chosen.
            if len(numbers := sorted({one.get("participant", "") for one in receipts})) > 1:
                which = " or ".join(number or "nobody" for number in numbers)
                left_out.append(f"{path}: its name can be read as that of participant {which}")
                return
            owners = [self._owners(one) for one in receipts]
            # A student may be called by numbers, and may call a file as the system calls files.
            sure = [n for n, one in enumerate(owners) if one.students and not one.guess]
            pairs = [
                (told, one) for told, one in zip(receipts, owners, strict=True) if one.students
            ]
            meant = {(*sorted(one.students), told.get("when", "")) for told, one in pairs}
            if len(meant) > 1:
                meanings = " or ".join(sorted(" ".join(filter(None, parts)) for parts in meant))
                left_out.append(f"{path}: its name can be read as that of {meanings}")
            else:
                at = sure[0] if sure else 0
                self._keep(path, receipts[at], owners[at])

    def _keep(self, path: str, told: Mapping[str, str], owners: Owners) -> None:
        students, group, guess, why = owners
        if students and guess and not told.get("key"):
            # A name alone may be chosen so that it ends in somebody else's.
            students, why = set(), f"if {plain(guess)} is a group, import a list of its members"
        if not students:
            self.report["not_collected"].append(f"{path}: {why}")
        elif guess and not students.isdisjoint(self.people.students):
            self.report["look_at"].append(
                f"{path}: if {plain(guess)} is a group, the roster does not name its members;"
                f" collected for {' and '.join(sorted(students))} alone"
            )
        parent = str(PurePosixPath(path).parent)
        row = self.rows.get(told.get("participant", ""), {})
        entry = ArchiveFile(
            path=path,
            file=told["file"],
            attempt=told.get("when", ""),
            late=bool(told.get("late")),
            order=int(told.get("order") or 0),
            home=parent if parent != "." else told["head"],
            group=group,
            number=told.get("participant", ""),
            said=told.get("when") or row.get("when", ""),
        )
        self.titles.add(entry.title)
        for student in students:
            self.entries[student].append(entry)

    def _receipt(self, told: Mapping[str, str]) -> str:
        return self.receipts.get((told["name"], told.get("when", "")), "")

    def _owners(self, told: Mapping[str, str]) -> Owners:
        name = told["name"]
        row = self.rows.get(told.get("participant", ""), {})
        receipt = self._receipt(told)
        names = map(squeezed, (row.get("name", ""), row.get("first", "") + row.get("last", "")))
        candidates: list[Mapping[str, str]] = [{"name": one} for one in endings(name)]
        if self.system == "blackboard":
            candidates = [{"login": one} for one in ([receipt] if receipt else endings(name))]
        elif told.get("key"):
            candidates = [{"key": told["key"]}]
        elif row and {*map(squeezed, endings(name))} & {*names, "participant"}:
            # A team's folder has a number, too, and it is another participant's.
            candidates = [row]
        owners = [self.people.find(candidate) for candidate in candidates]
        students = {student for student, _ in owners if student}
        why = next((how for student, how in owners if not student and how != NOBODY), NOBODY)
        if len(students) > 1:
            # The title of an assignment, or a group's name, may end in a name.
            return Owners(set(), "", "", f"it may be {' or '.join(sorted(students))}'s")
        named = [guess] if (guess := told.get("group", "")) else []
        if self.system == "canvas":
            # Canvas has a group's name in the place of the student's.
            guess = "" if students & self.people.by.get(("name", squeezed(name)), set()) else name
            named = [guess]
        elif not students and not told.get("key"):
            named += [receipt] if receipt else endings(name)
        group = next((g for g in named if squeezed(g) in self.people.groups), "")
        if group:
            return Owners(students | self.people.groups[squeezed(group)], group, "", why)
        return Owners(students, "", guess, why)
