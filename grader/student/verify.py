"""Judging a proof again: nothing in it is believed, and its code is a stranger's."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat

from grader import authoring
from grader.cells import id_of
from grader.checks import seeds
from grader.checks.report import Report
from grader.defence.asking import Question
from grader.defence.paper import choose, drawn
from grader.engine import engine_hash
from grader.intake import parsing
from grader.judge import sandbox
from grader.judge.channel import Limits
from grader.judge.forkserver import ForkServer
from grader.judge.judge import Judged, judge_notebook
from grader.judge.marking import MOST_MEMORY
from grader.judge.results import Task
from grader.review.similarity import fingerprints, solution_cells
from grader.student.proof import Packed, Proof, Step

# Number of a path's steps that are run again, and of questions on one notebook.
AGAIN, QUESTIONS = 5, 2
# From here on an answer is said to be the course's own; shorter ones everybody writes.
ALIKE, LONG = 0.9, 20


@dataclass
class Verified:
    """One notebook, judged again. ``faults`` are what the file says and the judge does not see."""

    name: str
    claimed: float
    judged: Judged
    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Points, what fell in each exercise with the mistake's name, and what was noticed."""
        automatic = sum(mark.max_points for mark in self.judged.marks if mark.report)
        yield f"{self.name}: {self.judged.score:g} of {automatic:g} points, judged again"
        for mark in self.judged.marks:
            if mark.report is None:
                yield f"  {mark.grade_id}: {mark.reason}"
                continue
            fallen = [row.name for row in mark.report.rows if not row.passed]
            why = f"; not: {', '.join(fallen)}" if fallen else ""
            why += f"; known mistake: {mark.report.named}" if mark.report.named else ""
            yield f"  {mark.report.exercise} {mark.score:g} of {mark.max_points:g}{why}"
        yield from (f"  look at: {text}" for text in self.remarks)
        yield from (f"  FAULT: {text}" for text in self.faults)

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "name": self.name,
            "points": self.judged.score,
            "claimed": self.claimed,
            "exercises": [
                [mark.report.exercise, row.name, row.passed, row.points, row.why]
                for mark in self.judged.marks
                if mark.report
                for row in mark.report.rows
            ],
            "faults": self.faults,
            "remarks": self.remarks,
            "questions": [asdict(question) for question in self.questions],
        }


def verify(
    proof: Proof,
    root: Path,
    forkserver: ForkServer,
    say: Callable[[str], None] = lambda text: None,
    *,
    limits: Limits | None = None,
    questions: int = QUESTIONS,
) -> list[Verified]:
    """Judge each notebook again, run steps of the path again, and draw questions on each."""
    now = datetime.now(UTC) + timedelta(days=1)
    verified = []
    for one in proof.notebooks:
        say(f"{one.name} is judged again")
        assignment = authoring.named(root, one.name)
        seed = seeds.fresh()
        judged = _judged(one.content, one.modules, assignment, seed, forkserver, limits)
        result = Verified(one.name, sum(one.points.values()), judged, remarks=[*judged.notes])
        verified.append(result)
        if one.engine not in ("", engine_hash(root, one.name)):
            result.remarks.append("made with another version of the course; this one judged it")
        reports = {mark.report.exercise: mark.report for mark in judged.marks if mark.report}
        for exercise, points in sorted(one.points.items()):
            earned = reports[exercise].score if exercise in reports else 0.0
            if points > earned:
                result.faults.append(f"{exercise}: the file claims {points:g}, it earns {earned:g}")
        if own := [*_published(judged, assignment)]:
            result.remarks.append(
                f"{', '.join(own)}: as in the published solutions, but for names and layout"
            )
        steps = [step for step in proof.path if step.exercise in reports]
        result.faults += _out_of_order(steps, now)
        # Drawn anew each time, so that none can be forged in safety.
        for step in random.SystemRandom().sample(steps, min(AGAIN, len(steps))):
            say(f"a check of {step.exercise} is run again")
            result.faults += _forged(step, one, assignment, forkserver)
        if questions:
            say(f"questions on {one.name} are drawn")
            content = one.content.encode(errors="replace")
            task = Task("proof", content, "", "", modules=one.modules)
            every = choose(drawn(task, assignment, seed, forkserver).questions)
            result.questions = every[:questions]
    return verified


def _judged(
    content: str,
    modules: dict[str, str],
    assignment: authoring.Assignment,
    seed: str,
    forkserver: ForkServer,
    limits: Limits | None = None,
) -> Judged:
    submission = parsing.parse(content.encode(errors="replace"))
    submission.modules = modules
    with sandbox.capped(MOST_MEMORY):
        return judge_notebook(submission, assignment.release, seed, forkserver, limits)


def _published(judged: Judged, assignment: authoring.Assignment) -> Iterator[str]:
    """Answers that are the course's own, names and layout aside."""
    own = fingerprints(assignment)
    notebooks = judged.notebook, assignment.solution
    answers, solution = (own(solution_cells(notebook)) for notebook in notebooks)
    for name, answer in answers.items():
        runs, exercise = answer.print_.hashes, name.removesuffix("-solution")
        if exercise == name or name not in solution or len(runs) < LONG:
            continue
        if len(runs & solution[name].print_.hashes) >= ALIKE * len(runs):
            yield exercise


def _out_of_order(steps: Sequence[Step], now: datetime) -> Iterator[str]:
    try:
        times = [step.when for step in steps]
    except (ValueError, OverflowError):
        yield "the path has an invalid time"
        return
    if times != sorted(times) or any(time > now for time in times):
        yield "the path's times do not go forwards"


def _forged(
    step: Step, one: Packed, assignment: authoring.Assignment, forkserver: ForkServer
) -> Iterator[str]:
    """Claims of a step that a run of its source on its samples does not show."""
    exercise = next(e for e in assignment.exercises if e.id == step.exercise)
    notebook = nbformat.from_dict(json.loads(one.content))
    for cell in notebook.cells:
        if id_of(cell) == f"{exercise.grade_id}-solution":
            cell.source = step.source
    judged = _judged(nbformat.writes(notebook), one.modules, assignment, step.seed, forkserver)
    report: Report | None = next(
        (m.report for m in judged.marks if m.report and m.report.exercise == step.exercise), None
    )
    fallen = [row.name for row in report.rows if not row.passed] if report else None
    if report is None or fallen != step.fallen or abs(report.score - step.points) > 1e-9:
        yield f"{step.on[:16]}: the path's check of {step.exercise} comes out otherwise when run"
