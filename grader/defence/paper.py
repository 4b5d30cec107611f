"""The sheets of a class: drawn side by side, chosen so that neighbours differ, written at once.

``defence/<assignment>/`` holds ``sheets.html`` and ``keys.html`` of everybody, to print, the same
for each student in ``students/`` and ``keys/``, and what they are made from in ``sheets.json``.
"""

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from grader import authoring
from grader.base.files import read_json, recover, replaced, write_whole
from grader.checks import seeds
from grader.classroom import Classroom
from grader.defence.asking import MAKERS, Question, pool
from grader.defence.bench import benches
from grader.defence.inputs import inputs
from grader.intake import parsing
from grader.judge.feedback import inert_page
from grader.judge.forkserver import ForkServer
from grader.judge.pool import of_course
from grader.judge.results import Task
from grader.records import summary
from grader.records.course_folder import lock

QUESTIONS = 5
# Exercises that are looked at together; more only where these do not give enough.
AT_ONCE = 3
# From here on an exercise is asked about first.
HARD = 3


@dataclass
class Sheet:
    """One sheet and its key; plain data."""

    student: str
    key: str  # the hash of the hand-in that it asks about
    questions: list[Question] = field(default_factory=list)  # at most five
    codes: dict[str, str] = field(default_factory=dict)  # the text of each answer, by exercise
    reason: str = ""  # why there are not five


def drawn(
    task: Task,
    assignment: authoring.Assignment,
    secret: str,
    forkserver: ForkServer,
    judge: int = 0,
) -> Sheet:
    """All that can be asked about a hand-in, of which a sheet takes five.

    Without the course's ``secret`` of this assignment nobody can draw a sheet before.
    """
    sheet = Sheet(task.student, task.key, reason=task.reason)
    if task.reason:
        return sheet
    seed = seeds.of_hand_in(secret, f"defence {task.student}", task.handed_in)
    order = [*assignment.exercises]
    random.Random(seed).shuffle(order)
    order.sort(key=lambda exercise: exercise.difficulty < HARD)
    refused: list[str] = []
    for start in range(0, len(order), AT_ONCE):
        some = [exercise.id for exercise in order[start : start + AT_ONCE]]
        try:
            submission = parsing.parse(task.content)
        except parsing.Unreadable as unreadable:
            return replace(sheet, reason=str(unreadable))
        submission.modules = task.modules
        for bench, why in benches(submission, assignment, some, forkserver, judge):
            if bench is None:
                refused.append(why)
                continue
            questions, no = pool(bench, seed)
            sheet.questions += questions
            sheet.codes[bench.exercise.id] = bench.unit.text
            refused += no
        kinds = {question.kind for question in sheet.questions}
        if len(choose(sheet.questions)) == QUESTIONS and len(kinds) == len(MAKERS):
            break
    sheet.reason = "; ".join(refused)
    return sheet


def choose(found: Sequence[Question], taken: Iterable[tuple[str, ...]] = ()) -> list[Question]:
    """One of every kind, then more, about as many exercises as there are; none that is taken."""
    free = [question for question in found if question.name not in {*taken}]
    chosen: list[Question] = []
    # Questions of other kinds fill up what one kind lacks.
    for kinds in [*({kind} for kind in MAKERS), *[{*MAKERS}] * QUESTIONS]:
        able = [q for q in free if q.kind in kinds and q not in chosen]
        if able and len(chosen) < QUESTIONS:
            asked, used = Counter(q.exercise for q in chosen), Counter(q.kind for q in chosen)
            chosen.append(min(able, key=lambda q: asked[q.exercise] + used[q.kind]))
    return chosen


class Defence:
    """The sheets of one assignment of one course folder."""

    def __init__(
        self,
        course: Path,
        root: Path,
        name: str,
        *,
        only: Sequence[str] | None = None,
        dry_run: bool = False,
    ) -> None:
        self.room = Classroom(course, root, name, keep_seed=not dry_run)
        self.course, self.assignment = course, self.room.assignment
        self.tasks = {s: self.room.take_in(s) for s in self.room.choose(only)}
        self.folder = course / "defence" / name
        self.standing = self._read()

    def _read(self) -> dict[str, Sheet]:
        recover(self.folder)
        path = self.folder / "sheets.json"
        remedy = f"remove {self.folder}, and all sheets are made again"
        here = {*self.room.students()}

        def sheets(data: dict[str, Any]) -> dict[str, Sheet]:
            return {
                name: Sheet(**{**one, "questions": [Question(**q) for q in one["questions"]]})
                for name, one in data.items()
                if name in here
            }

        return read_json(path, remedy, sheets, {})

    def todo(self) -> list[str]:
        """Students whose sheets are to be made: of a new hand-in, or one that has changed."""
        return [
            name
            for name, task in self.tasks.items()
            if name not in self.standing or self.standing[name].key != task.key
        ]

    def make(self, jobs: int, say: Callable[[], None] = lambda: None) -> dict[str, Sheet]:
        """Draw what is to be made, and write everything; all sheets, those that stood included."""
        todo = self.todo()
        with lock(self.course):
            pools: dict[str, Sheet] = {}
            judges, tasks = of_course(self.course, jobs), [self.tasks[name] for name in todo]
            with contextlib.closing(judges.judge_all(self, tasks)) as judging:
                for task, sheet in judging:
                    pools[task.student] = sheet
                    say()
            sheets = dict(sorted({**self.standing, **{name: pools[name] for name in todo}}.items()))
            names = [*sheets]
            for n, name in enumerate(names):
                if name in todo:
                    # Students without questions are no neighbours; who is still to choose looks.
                    before = [other for other in names[:n] if sheets[other].questions][-1:]
                    after = [other for other in names[n + 1 :] if sheets[other].questions][:1]
                    beside = [sheets[m] for m in [*before, *after] if m not in todo or m in before]
                    sheets[name] = self._chosen(pools[name], beside)
            if todo or len(sheets) != len(self.standing) or not self.folder.exists():
                self._write(sheets)
        return sheets

    def prepare(self) -> None:
        """Draw the inputs once, so that no judge has to."""
        for exercise in self.assignment.exercises:
            inputs(exercise.id)

    def judge(self, task: Task, forkserver: ForkServer, judge: int) -> Sheet:
        """In a judge's process: all that can be asked about a hand-in."""
        return drawn(task, self.assignment, self.room.seed, forkserver, judge)

    def lost(self, task: Task, why: str) -> Sheet:
        """An empty sheet, which the next run makes again."""
        return Sheet(task.student, "", reason=why)

    def _chosen(self, sheet: Sheet, beside: Iterable[Sheet]) -> Sheet:
        order = [exercise.id for exercise in self.assignment.exercises]
        taken = {question.name for other in beside for question in other.questions}
        chosen = sorted(choose(sheet.questions, taken), key=lambda q: order.index(q.exercise))
        codes = {q.exercise: sheet.codes[q.exercise] for q in chosen}
        reason = sheet.reason if len(chosen) < QUESTIONS else ""
        return replace(sheet, questions=chosen, codes=codes, reason=reason)

    def _write(self, sheets: Mapping[str, Sheet]) -> None:
        data = {name: asdict(sheet) for name, sheet in sheets.items()}
        with replaced(self.folder) as fresh:
            write_whole(fresh / "sheets.json", json.dumps(data, indent=1), private=True)
            for name in ("sheets", "keys"):
                write_whole(fresh / f"{name}.html", self.page(sheets.values(), key=name == "keys"))
            for name, sheet in sheets.items():
                if sheet.questions:
                    write_whole(fresh / "students" / f"{name}.html", self.page([sheet], key=False))
                    write_whole(fresh / "keys" / f"{name}.html", self.page([sheet], key=True))

    def page(self, sheets: Iterable[Sheet], *, key: bool) -> str:
        """A page of sheets, or of their keys, each on a new sheet of paper."""
        # The share of the class with full marks, of those who were graded.
        verdicts = [v for s in self.room.students() if (v := self.room.records.verdict(s))]
        rows = summary.data(self.assignment.name, verdicts)["exercises"]
        solved = {row["exercise"]: row["full"] for row in rows if row["full"] is not None}
        exercises = {
            e.id: {
                "title": e.id.partition(".")[2].replace("_", " "),
                "difficulty": e.difficulty,
                "solved": solved.get(e.grade_id),
            }
            for e in self.assignment.exercises
        }
        return inert_page(
            "defence.html",
            "defence.css",
            name=self.assignment.name,
            sheets=[sheet for sheet in sheets if sheet.questions],
            exercises=exercises,
            key=key,
        )
