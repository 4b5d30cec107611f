"""Formats of learning management systems: a table; nothing else knows them.

Headers and names of files are those of the systems' source code (Canvas, Moodle, ILIAS) and of
published files (Blackboard, Brightspace). What is marked "unsure" was recalled or deduced.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.base.errors import Refused
from grader.intake.parsing import plain
from grader.lms.csv_table import CsvTable, fold


@dataclass(frozen=True)
class System:
    """The files of one system.

    Students choose a part of a path, so that several equal marks may be in it.
    """

    title: str
    marks: tuple[tuple[str, ...], ...]  # a file that has all headers of one set is this system's
    headers: Mapping[str, tuple[str, ...]]  # under which headers a field stands
    before: re.Pattern[str]  # what stands before a mark in a path of its archive of submissions
    entry: re.Pattern[str]  # the mark, empty itself, and what stands behind it
    column: str = ""  # that of the scores, where it is always the same
    # a header: its title, and perhaps how many points there are
    score: re.Pattern[str] = re.compile("(?P<title>.+)")
    points: bool = False  # whether rows below the header say how many points there are
    kept: tuple[str, ...] = ()  # cells that are a decision, which no score replaces
    waits: re.Pattern[str] = re.compile("-?")  # what stands in cells without a score
    page: str = ""  # by which a page of feedback finds its way back

    def readings(self, path: str) -> list[dict[str, str]]:
        """All ways to take a path apart: one too many, where there are more than anybody reads.

        Example:
            >>> [one["name"] for one in SYSTEMS["canvas"].readings("a_1_2_x_3_4_y.ipynb")]
            ['a', 'a_1_2_x']
        """
        readings = []
        for mark in self.entry.finditer(path):
            if before := self.before.fullmatch(path, 0, mark.start()):
                parts = {**before.groupdict(""), **mark.groupdict("")}
                readings.append({"head": path[: mark.start("file")], **parts})
            if len(readings) > READINGS:
                break
        return readings


# Ways to read a path.
READINGS = 12
# By these a person is known, the most telling first; a name is none of them.
KEYS = ("key", "number", "login", "email")
NOBODY = "not known here"
# Numbers of points, by any locale.
_MOST = r"(?P<most>\d(?:[\d.,'’\s]*\d)?)"
# No id begins with a zero, as names of assignments do.
_ID = r"[1-9]\d*"

SYSTEMS = {
    "canvas": System(
        title="Canvas",
        # The second are the lists of groups (unsure).
        marks=(("ID", "Section"), ("canvas_user_id",)),
        headers={
            "key": ("ID", "canvas_user_id"),
            "number": ("SIS User ID", "user_id"),
            "login": ("SIS Login ID", "login_id"),
            "name": ("Student", "name"),
            "last": ("LastName",),
            "first": ("FirstName",),
            "section": ("Section", "sections"),
            "group": ("group_name",),
        },
        before=re.compile("(?P<name>.*)"),
        entry=re.compile(rf"(?=(?P<late>_LATE)?_(?P<key>{_ID})_(?P<order>{_ID})_(?P<file>[^/]+)$)"),
        # Totals end without a number, and are read-only.
        score=re.compile(r"(?P<title>.*) \(\d+\)"),
        points=True,
        kept=("EX", "N/A"),
        page="{home}{assignment}.html",
    ),
    "moodle": System(
        title="Moodle",
        marks=(("Identifier", "Grade"), ("Email address",)),
        headers={
            "participant": ("Identifier",),
            "number": ("ID number",),
            "login": ("Username",),
            "email": ("Email address",),
            "name": ("Full name",),
            "last": ("Last name", "Surname"),
            "first": ("First name",),
            "group": ("Group", "Groups"),
            "when": ("Last modified (submission)",),
            "most": ("Maximum grade",),
        },
        # The folder's name ended in `_` before Moodle 4.1; without folders a file follows it.
        before=re.compile(r"(?P<name>[^/]*?)(?:_(?P<participant>\d+))?"),
        entry=re.compile(r"(?=_assignsubmission_[a-z]+(?:_?/|_)(?:.*/)?(?P<file>[^/]+)$)"),
        column="Grade",
        page="{name}_{participant}_assignsubmission_file/{assignment}.html",
    ),
    "blackboard": System(
        title="Blackboard",
        marks=(("Username", "Student ID"), ("Username", "Last Name", "Availability")),
        headers={
            "number": ("Student ID",),
            "login": ("Username",),
            "last": ("Last Name",),
            "first": ("First Name",),
            "section": ("Child Course ID",),
        },
        # `attempt` is translated. The receipt of an attempt has no file's name.
        before=re.compile("(?P<name>[^/]+)"),
        entry=re.compile(r"(?=_[^\W\d_]+_(?P<when>\d{4}(?:-\d\d){5})(?:_(?P<file>[^/]+)|\.txt)$)"),
        score=re.compile(r"(?P<title>.*?) \[(?:[^\]\d]*)" + _MOST + r"[^\]]*\] ?\|\d+"),
        # `Needs Grading(3.00)`, in any language, but no grade such as `A-`.
        waits=re.compile(r"-?|\D{3,}(?:\([\d.,]*\))?"),
    ),
    "brightspace": System(
        title="Brightspace",
        marks=(("OrgDefinedId",), ("End-of-Line Indicator",)),
        headers={
            "number": ("OrgDefinedId",),
            "login": ("Username",),
            "email": ("Email",),
            "last": ("Last Name",),
            "first": ("First Name",),
            "section": ("Sections",),
        },
        before=re.compile(r"(?:.*/)?\d+-\d+ - (?:(?P<group>[^/]+) - )?"),
        entry=re.compile(
            r"(?<= - )(?=(?P<name>[^/]+) - (?P<when>(?:(?! - )[^/])+)/(?:.*/)?(?P<file>[^/]+)$)"
        ),
        score=re.compile(r"(?P<title>.*) Points Grade(?: <.*?MaxPoints:" + _MOST + r".*>)?"),
        # A file that the student did not hand in may come through or not.
        page="{home}/{assignment}.html",
    ),
    "ilias": System(
        title="ILIAS",
        marks=(("usr_id",), ("login", "lastname")),
        headers={
            "key": ("usr_id",),
            "login": ("login",),
            "email": ("E-Mail", "email"),
            "last": ("lastname", "Last Name"),
            "first": ("firstname", "First Name"),
            "update": ("update",),
        },
        # Marks of a late file are translated; other languages' words stay part of its name.
        before=re.compile(r"(?:.*?/)??(?:(?P<group>Team \d+)/)?"),
        entry=re.compile(
            r"(?<![^/])(?=(?P<name>[^/]+)_(?P<key>\d+)/(?:.*/)?"
            r"(?P<late>(?i:late|verspät)[^/]*? - )?(?P<file>[^/]+)$)"
        ),
        # ILIAS itself takes no scores back; this is the list of a plugin, ExerciseStatusFile.
        column="mark",
        page="multi_feedback_{assignment}/{leaf}/{assignment}.html",
    ),
}


def system_of(table: CsvTable) -> str:
    """The system that writes such a table."""
    there = {fold(name) for name in table.header}
    systems = [
        name
        for name, system in SYSTEMS.items()
        if any(there.issuperset(map(fold, mark)) for mark in system.marks)
    ]
    if len(systems) != 1:
        named = " or ".join(systems) or "no known system"
        raise Refused(
            f"{table.path}: the columns {plain(', '.join(table.header))} are those of {named}: name"
            " the system with --from, and translated headers with --column FIELD=HEADER"
        )
    return systems[0]


def headers(
    system: str, own: Mapping[str, str], header: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Under which headers fields stand, with those that the instructor has named."""
    table = dict(SYSTEMS[system].headers)
    if unknown := sorted(set(own) - set(table)):
        raise Refused(f"no field {', '.join(unknown)} of {system}; there are {', '.join(table)}")
    if absent := [f"{f}={n}" for f, n in own.items() if fold(n) not in map(fold, header)]:
        raise Refused(f"no column {', '.join(absent)}; there are {plain(', '.join(header), 500)}")
    return {**table, **{field: (name,) for field, name in own.items()}}
