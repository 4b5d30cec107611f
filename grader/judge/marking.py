"""Marking one hand-in: from its bytes to a verdict, a page and an autograded notebook.

Knows no course folder and no gradebook, so that a process elsewhere can do it as well.
"""

import hashlib
import time
from dataclasses import replace
from pathlib import Path

from grader import authoring
from grader.card import book_url
from grader.cells import id_of, marks
from grader.checks import seeds
from grader.checks.probe import out_of_memory
from grader.checks.recognition import bank_reports
from grader.engine import engine_hash
from grader.intake import parsing
from grader.judge import feedback, sandbox
from grader.judge.channel import Limits
from grader.judge.forkserver import ForkServer, ForkServerLost, WorkerFailed
from grader.judge.judge import Judged, judge_notebook
from grader.judge.results import Files, Task, Verdict

# Bytes that judging one hand-in may take beyond what a judge has already.
MOST_MEMORY = 2**30
# Tries of a submission whose worker was killed: by somebody, or by its own doing?
TRIES = 2


class Marker:
    """Marks hand-ins of one assignment of a checkout."""

    def __init__(self, root: Path, name: str, seed: str, limits: Limits | None = None) -> None:
        self.assignment, self.seed = authoring.named(root, name), seed
        # A verdict keeps by what it was decided; the page links to where the book is published.
        self.engine, self.url = engine_hash(root, name), book_url(root)
        self.limits = limits or Limits()
        released = self.assignment.release.cells
        self.answered = {id_of(c) for c in released if marks(c).get("solution")}

    def prepare(self) -> None:
        """Find out the reports of known mistakes, so that no two judges do."""
        for exercise in self.assignment.exercises:
            bank_reports(exercise)

    def judge(self, task: Task, forkserver: ForkServer, judge: int) -> tuple[Verdict, Files]:
        """In a judge's process: everything but writing, within a cap on memory."""
        reason = task.reason
        try:
            if not reason:
                with sandbox.capped(MOST_MEMORY):
                    return self._judge(task, forkserver, judge)
        except parsing.Unreadable as unreadable:
            reason = str(unreadable)
        except (WorkerFailed, ForkServerLost):
            raise
        except Exception as error:
            if not out_of_memory(error):
                raise
            reason = (
                f"Judging it takes more than {MOST_MEMORY // 2**20:,} MiB of memory. Clear all"
                " outputs, save, submit again."
            )
        return self.failed(task, reason)

    def _judge(self, task: Task, forkserver: ForkServer, judge: int) -> tuple[Verdict, Files]:
        seed = seeds.of_hand_in(self.seed, task.student, task.handed_in)
        tries: list[Judged] = []
        release = self.assignment.release
        until = time.monotonic() + self.limits.whole
        while len(tries) < TRIES and (seconds := until - time.monotonic()) > 0:
            submission = parsing.parse(task.content)
            submission.modules = task.modules
            judged = judge_notebook(
                submission, release, seed, forkserver, self.limits, judge, seconds=seconds
            )
            tries.append(judged)
            if not judged.killed:
                break
        judged = max(tries, key=lambda one: (one.score, not one.killed))
        verdict = self._verdict(task, judged)
        page = feedback.page(self.assignment.name, task.student, judged, self.url)
        # Writing it takes memory, too.
        return verdict, {"autograded": authoring.text(judged.notebook), "feedback": page}

    def lost(self, task: Task, why: str) -> tuple[Verdict, Files]:
        """No grade, and not the student's fault: with another key, the next run tries again."""
        return self.failed(replace(task, key=""), why)

    def failed(self, task: Task, reason: str) -> tuple[Verdict, Files]:
        """No grade."""
        notes = list(task.came_with.notes)
        verdict = Verdict(
            task.student,
            task.key,
            None,
            self.assignment.points,
            notes=notes,
            reason=reason,
            engine=self.engine,
        )
        page = feedback.page(self.assignment.name, task.student, None, self.url, reason=reason)
        return verdict, {"feedback": page}

    def _verdict(self, task: Task, judged: Judged) -> Verdict:
        notebooks = self.assignment.release, judged.notebook
        released, handed_in = (
            {id_of(c): c.source.strip() for c in notebook.cells if id_of(c)}
            for notebook in notebooks
        )
        unanswered = [i for i, c in handed_in.items() if i in self.answered and c == released[i]]
        reports = [mark.report for mark in judged.marks if mark.report]
        answers = {}
        for mark in judged.marks:
            own = feedback.answer_of(judged, mark)
            answers[mark.grade_id] = hashlib.sha256(own.encode(errors="replace")).hexdigest()
            if mark.score is not None or mark.grade_id not in unanswered:
                continue
            if feedback.written_beside(judged.notebook, self.assignment.release, mark.grade_id):
                unanswered.remove(mark.grade_id)
                judged.notes.append(
                    f"The place for `{mark.grade_id}` is as it was released, but there is text"
                    " beside it: a person should read that."
                )
            else:
                # As nbgrader does: nobody has to read what nobody has written.
                mark.score, mark.reason = 0.0, "nothing was written here"
        return Verdict(
            task.student,
            task.key,
            judged.score,
            judged.max_points,
            exercises={m.grade_id: m.score for m in judged.marks},
            worth={m.grade_id: m.max_points for m in judged.marks},
            answers=answers,
            unanswered=unanswered,
            mistakes={report.exercise: report.named for report in reports if report.named},
            notes=[*judged.notes, *task.came_with.notes],
            engine=self.engine,
        )
