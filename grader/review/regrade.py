"""Grading a class again, beside what stands: who would move, and by how much.

Everything is graded into ``.regrade/<assignment>`` in the course folder. Nothing that students or
nbgrader see changes before :meth:`Regrade.publish`, which then writes exactly what was shown.
"""

import json
import os
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader import lateness
from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.checks import seeds
from grader.classroom import Classroom
from grader.judge.channel import Limits
from grader.judge.results import Verdict
from grader.records import gradebook
from grader.records.course_folder import SEEDS, grading_seed, known_seeds


@dataclass(frozen=True)
class Move:
    """A cell whose automatic score would change."""

    student: str
    exercise: str
    before: float | None
    after: float | None

    @property
    def by(self) -> float:
        """By how much."""
        return (self.after or 0.0) - (self.before or 0.0)


class Regrade:
    """One assignment, graded again, with ``new_seed`` on other samples, as after a deadline."""

    def __init__(
        self,
        course: Path,
        root: Path,
        name: str,
        limits: Limits | None = None,
        *,
        db: str = "",
        new_seed: bool = False,
    ) -> None:
        self.course, self.name, self.folder = course, name, course / ".regrade" / name
        drawn = self.folder / "seed"
        seed = grading_seed(course, name)
        if new_seed:
            if os.environ.get(seeds.ENVIRONMENT):
                raise Refused(f"{seeds.ENVIRONMENT} states the seed: unset it for a new one")
            if not drawn.exists():
                write_whole(drawn, seeds.fresh(), private=True)
            seed = drawn.read_text()
        self.standing = Classroom(course, root, name, limits, db=db, seed=seed)
        self.staged = Classroom(
            course, root, name, limits, db=db, seed=seed, staging=self.folder, follow=True
        )

    def moves(self, verdicts: Sequence[Verdict]) -> list[Move]:
        """Changes to the gradebook."""
        standing = gradebook.scores(self.course, self.name, self.standing.records.db)
        return [
            Move(verdict.student, exercise, before.get(exercise), after)
            for verdict in verdicts
            if verdict.score is not None
            for before in [standing.get(verdict.student, {})]
            for exercise, after in verdict.exercises.items()
            if exercise not in before or not lateness.same(before[exercise], after)
        ]

    def publish(self, verdicts: Sequence[Verdict]) -> list[str]:
        """Put what was graded again in the place of what stands.

        Broken off at any point, it is done again by the next call. People's scores and comments
        stay, as in all grading. Returns the students whose verdict was left alone: they have
        submitted something else meanwhile, or could be graded before and not now.
        """
        alone = []
        standing, staged = self.standing.records, self.staged.records
        with standing.alone():
            if self.staged.seed != grading_seed(self.course, self.name):
                # First, so that a run that is broken off goes on with the new one.
                course_seeds = {**known_seeds(self.course), self.name: self.staged.seed}
                write_whole(self.course / SEEDS, json.dumps(course_seeds, indent=1), private=True)
            for verdict in verdicts:
                task = self.standing.take_in(verdict.student)
                new, old = staged.verdict(verdict.student), standing.verdict(verdict.student)
                failed = verdict.score is None and old is not None and old.score is not None
                if new is None or new.key != task.key or failed:
                    alone.append(verdict.student)
                    continue
                standing.write(new, staged.files(new), task.came_with)
            written = [standing.verdict(verdict.student) for verdict in verdicts]
            lateness.penalise(standing, self.standing.root, filter(None, written))
            shutil.rmtree(self.folder)
        return alone


def table(moves: Sequence[Move]) -> str:
    """Moves as a text table, and how many students move up and down."""
    wide = max(map(len, ["student", *(m.student for m in moves)]))
    long = max(map(len, ["exercise", *(m.exercise for m in moves)]))
    lines = [f"{'student':{wide}}  {'exercise':{long}}  before  after"]
    totals: dict[str, float] = defaultdict(float)
    for m in moves:
        before, after = (f"{s:.2f}" if s is not None else "-" for s in (m.before, m.after))
        row = f"{m.student:{wide}}  {m.exercise:{long}}  {before:>6} {after:>6}  {m.by:+.2f}"
        lines.append(row)
        totals[m.student] += m.by
    up, down = sum(t > 0 for t in totals.values()), sum(t < 0 for t in totals.values())
    who = "1 student moves" if len(totals) == 1 else f"{len(totals)} students move"
    return "\n".join([*lines, "", f"{who}: {up} up, {down} down"])
