"""One class of all attacks and of honest students, graded as any other; then a look at the harm."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader import authoring
from grader.authoring import Assignment
from grader.checks.exercise import Exercise
from grader.classroom import Classroom
from grader.intake.parsing import plain
from grader.judge.bare import PLEASE
from grader.judge.channel import Limits
from grader.judge.pool import of_course
from grader.judge.results import Verdict
from grader.records import gradebook

from . import honest
from .catalogue import ATTACKS, Attack, Must
from .tampering import Desk

NAME = "03_attention"
# Tight, because a dozen attacks use up whatever they are given.
LIMITS = Limits(cell=8, call=4, whole=60)
SECRET = "COURSE_ATTACKS_SECRET"
# Words that no attacker's outputs or feedback may hold, and what no feedback may hold.
SECRETS = ("BEGIN SOLUTION", "OUTSIDE-REACHED", "def grade(exercise", "@exercise.prop")
LIVE = ("<script", "<img", "<iframe", "<svg", '<meta http-equiv="refresh')


@dataclass
class Line:
    """What came of one attack, or of one honest student."""

    name: str
    tries: str
    points: float | None
    due: float | None
    verdict: str
    look: str = ""
    flagged: bool = False

    def text(self) -> str:
        """One line for a terminal."""
        points = "     -" if self.points is None else f"{self.points:6.2f}"
        due = "     -" if self.due is None else f"{self.due:6.2f}"
        return f"{points} of {due}  {self.verdict:10} {self.name:28} {self.tries}"


@dataclass
class Outcome:
    """What came of a whole class."""

    attacks: list[Line]
    honest: list[Line]
    harm: list[str] = field(default_factory=list)

    def count(self, verdict: str) -> int:
        """How many attacks ended with this verdict."""
        return sum(line.verdict == verdict for line in self.attacks)

    @property
    def good(self) -> bool:
        """Whether nothing is wrong at all."""
        flagged = sum(line.flagged for line in self.honest)
        return (
            not self.harm
            and flagged * 50 <= len(self.honest)
            and all(line.verdict == "held" for line in [*self.attacks, *self.honest])
        )

    def summary(self) -> str:
        """The last line; what should never be there is only named when it is."""
        well = sum(line.verdict == "held" for line in self.honest)
        words = [f"attacks {len(self.attacks)}"]
        words += [f"{name} {self.count(name)}" for name in ("unflagged", "undeserved", "aborted")]
        flagged = sum(line.flagged for line in self.honest)
        words += [f"honest {well}/{len(self.honest)}", f"flagged {flagged}"]
        words += [f"{name} {n}" for name in ("robbed", "untold") if (n := self.count(name))]
        words += [f"harm: {'; '.join(self.harm)}"] if self.harm else []
        return ", ".join(words)

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "attacks": [vars(line) for line in self.attacks],
            "unflagged": self.count("unflagged"),
            "undeserved": self.count("undeserved"),
            "aborted": self.count("aborted"),
            "honest": [vars(line) for line in self.honest],
            "harm": self.harm,
        }


def run(
    root: Path,
    course: Path,
    *,
    attacks: Sequence[Attack] = ATTACKS,
    jobs: int = 2,
    odd: bool = False,
    say: Callable[[Verdict], None] = lambda verdict: None,
) -> Outcome:
    """Grade the class in a new course folder.

    Args:
        root: The checkout.
        course: An empty folder, or one to make, which becomes the course's.
        attacks: Which ones.
        jobs: How many submissions are judged at the same time.
        odd: Whether all honest students hand in, as they do where all attacks are tried.
        say: Called with each verdict.
    """
    course.mkdir(parents=True, exist_ok=True)
    room = Classroom(course, root, NAME, LIMITS)
    assignment = room.assignment
    marker = f"{SECRET}-{secrets.token_hex(8)}"
    well = honest.submissions(assignment, odd=len(attacks) == len(ATTACKS) or odd)
    students: dict[str, Attack | float] = {}
    victim = course / "submitted" / "000-honest-full" / NAME / f"{NAME}.ipynb"
    for number, (name, (notebook, due)) in enumerate(well.items()):
        # Some before, some among and some after the attacks.
        student = f"{round(number * (len(attacks) + 1) / (len(well) - 1)):03d}-honest-{name}"
        notebook.cells.append(nbformat.v4.new_markdown_cell(marker))
        path = course / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook), encoding="utf-8")
        students[student] = due
    assert victim.is_file()
    rooms = {NAME: room}
    for number, attack in enumerate(attacks, 1):
        called = getattr(attack.where, "student", attack.name)
        student = f"{number:03d}-{called}"
        name = place(attack, root)
        if name not in rooms:
            rooms[name] = Classroom(course, root, name, LIMITS)
        its = rooms[name].assignment
        folder = course / "submitted" / student / name
        folder.mkdir(parents=True)
        desk = Desk(
            folder, name, nbformat.from_dict(its.release), honest.solved(its), victim, course
        )
        lay_out(attack, desk, its, root)
        students[student] = attack
    before = state(root, course)
    aborted = ""
    verdicts: dict[str, Verdict] = {}

    def keep(verdict: Verdict) -> None:
        verdicts[verdict.student] = verdict
        say(verdict)

    with planted(marker):
        try:
            for each in rooms.values():
                each.grade(of_course(course, jobs), say=keep)
        except Exception as error:
            aborted = f"{type(error).__name__}: {plain(str(error))}"
    outcome = Outcome([], [])
    for student, row in students.items():
        found = verdicts.get(student)
        if isinstance(row, Attack):
            points = sum(e.points for e in attacked(row, assignment)[:1])
            outcome.attacks.append(judge(row, found, assignment.automatic, points))
        else:
            outcome.honest.append(judge_honest(student, found, row))
    outcome.harm = [
        *([f"the class was aborted, {aborted}"] if aborted else []),
        *harm(rooms, verdicts, before, state(root, course)),
        *leaks(course, students, marker, root),
    ]
    return outcome


def place(attack: Attack, root: Path) -> str:
    """The assignment that an attack is handed in for."""
    if not attack.alone:
        return NAME
    wanted = f"{{{{ exercise: {attack.alone} }}}}"
    return next(s.stem for s in authoring.sources(root) if wanted in s.read_text(encoding="utf-8"))


def lay_out(attack: Attack, desk: Desk, assignment: Assignment, root: Path) -> None:
    """Write one attack's submission."""
    if not isinstance(attack.where, str):
        attack.where(desk)
        return
    paths = {
        "@COURSE@": desk.course,
        "@VICTIM@": desk.victim,
        "@ROOT@": root,
        "@NAME@": NAME,
        "@GRADEBOOK@": desk.course / "gradebook.db",
        "@SOURCE@": root / "solutions" / NAME / f"{NAME}.md",
    }
    code = attack.code
    for word, path in paths.items():
        code = code.replace(word, str(path))
    stubs = attack.where == "stubs" or attack.alone
    notebook = desk.stubs if stubs else desk.solved
    if attack.where in ("stubs", "beside"):
        notebook.cells.insert(2, nbformat.v4.new_code_cell(code))
    elif attack.where == "text":
        notebook.cells.insert(2, nbformat.v4.new_markdown_cell(code))
    else:
        for exercise in attacked(attack, assignment):
            names = {
                "FUNCTION": exercise.function,
                "MODULE": exercise.reference.__module__,
                "REFERENCE": exercise.reference.__name__,
            }
            own = code
            for word, name in names.items():
                own = own.replace(word, name)
            answer(notebook, f"{exercise.grade_id}-solution").source = own
    desk.put(notebook)


def attacked(attack: Attack, assignment: Assignment) -> Sequence[Exercise]:
    """The exercises whose answers an attack replaces: the first, one by its id, or all."""
    if attack.where in ("first", "each"):
        return assignment.exercises[: 1 if attack.where == "first" else None]
    return [e for e in assignment.exercises if e.id == attack.where] or assignment.exercises[:1]


def answer(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """A cell by its id."""
    return next(
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def judge(attack: Attack, found: Verdict | None, whole: float, first: float) -> Line:
    """Whether an attack got what is due."""
    due = {
        Must.NOTHING: 0.0,
        Must.REFUSED: None,
        Must.REST: whole - first,
        Must.ALL: whole,
        Must.UP_TO_REST: whole - first,
        Must.UP_TO_ALL: whole,
        Must.SEEN: attack.due,
        Must.PART: attack.due,
    }[attack.must]
    points = found.score if found else None
    line = Line(attack.name, attack.tries, points, due, "held", found.look if found else "")
    refused = found is not None and points is None and bool(found.reason)
    if found is None or "The grader itself failed" in found.reason or "judge ended" in found.reason:
        line.verdict = "aborted"
    elif attack.must is Must.SEEN and points and points > attack.due:
        line.verdict = "held" if PLEASE in line.look else "unflagged"
    elif (points or 0.0) > (due or 0.0):
        line.verdict = "undeserved"
    elif (attack.must is Must.REFUSED) != refused or (
        attack.must in (Must.REST, Must.ALL) and points != due
    ):
        line.verdict = "robbed"
    elif attack.told and not found.look:
        line.verdict = "untold"
    return line


def judge_honest(student: str, found: Verdict | None, due: float) -> Line:
    """Whether an honest student got exactly what is due."""
    points = found.score if found else None
    verdict = "held" if points == due else "robbed"
    look = found.look if found else ""
    return Line(plain(student[4:]), "", points, due, verdict, look, PLEASE in look)


# Harm.


@contextlib.contextmanager
def planted(marker: str) -> Iterator[None]:
    """A secret in the grader's environment."""
    os.environ[SECRET] = marker
    try:
        yield
    finally:
        del os.environ[SECRET]


def state(root: Path, course: Path) -> dict[str, str]:
    """Hashes of everything that no submission may change."""
    found: dict[str, str] = {}
    here = [root / "solutions" / NAME, root / "exercises" / NAME, course / "submitted"]
    for folder in here:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink():
                found[os.fsdecode(path)] = os.readlink(path)
            elif path.is_file() and path.stat().st_size < 64 * 2**20:
                found[os.fsdecode(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
            else:
                found[os.fsdecode(path)] = "there"
    return found


def harm(
    rooms: dict[str, Classroom],
    verdicts: dict[str, Verdict],
    before: dict[str, str],
    after: dict[str, str],
) -> list[str]:
    """What is not as it was, and whatever the gradebook holds that was not decided."""
    course = rooms[NAME].course
    changed = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
    found = [f"changed {plain(path)}" for path in changed]
    allowed = {"submitted", "autograded", "feedback", "gradebook.db"}
    found += [
        f"left behind {plain(path.name)}"
        for path in course.iterdir()
        if path.name not in allowed and not path.name.startswith(".")
    ]
    with contextlib.closing(sqlite3.connect(course / "gradebook.db")) as book:
        if book.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            found.append("the gradebook is damaged")
        query = "SELECT count(*) FROM grade WHERE manual_score IS NOT NULL OR extra_credit > 0"
        if book.execute(query).fetchone() != (0,):
            found.append("the gradebook holds scores that nobody gave")
    for name in rooms:
        decided = {
            s: v.exercises
            for s, v in verdicts.items()
            if v.score is not None and (course / "submitted" / s / name).exists()
        }
        if gradebook.scores(course, name) != decided:
            found.append(f"the gradebook is not what was decided of {name}")
    return found


def leaks(course: Path, students: dict[str, Any], marker: str, root: Path) -> list[str]:
    """Attackers whose outputs or feedback hold a secret, a test's source or live markup."""
    found = []
    for student, row in students.items():
        if not isinstance(row, Attack):
            continue
        pages = list((course / "feedback" / student).rglob("*.html"))
        notebooks = list((course / "autograded" / student).rglob("*.ipynb"))
        outputs = ""
        for path in notebooks:
            cells = nbformat.read(path, as_version=4).cells
            outputs += "".join(str(c.get("outputs", "")) for c in cells)
        text = outputs + "".join(page.read_text(encoding="utf-8") for page in pages)
        found += [
            f"{plain(student)} got hold of {word}" for word in (marker, *SECRETS) if word in text
        ]
        shown = "".join(page.read_text(encoding="utf-8") for page in pages)
        found += [f"{plain(student)} has {word} in its feedback" for word in LIVE if word in shown]
        names = {p.name for p in (course / "autograded" / student).rglob("*") if p.is_file()}
        odd = names - {f"{place(row, root)}.ipynb", "verdict.json", "timestamp.txt"}
        found += [f"{plain(student)} brought {plain(str(odd))} into autograded"] if odd else []
    return found
