"""Judging one notebook: cells run in a worker, checks run here, and only data passes between.

``judge_notebook`` is the unit that the command line calls for every submission. It holds the checks
and the references and never executes anything a student wrote.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from grader.authoring import CHECK
from grader.cells import marks
from grader.checks.answer_proxy import AnswerLost
from grader.checks.cell import MIME
from grader.checks.exercise import find
from grader.checks.import_stubs import ABSENT
from grader.checks.report import Report, refused
from grader.intake.matching import align
from grader.intake.parsing import Submission, plain_notes
from grader.judge.bare import PLEASE, Grader
from grader.judge.causes import Raised, explain, raised, worth_a_note
from grader.judge.channel import Limits, Worker
from grader.judge.forkserver import COSTLY, ForkServer
from grader.judge.outputs import error_of, output_of
from grader.judge.session import Session

# Characters of all outputs of a notebook together.
MAX_KEPT = 16 * 2**20
FULL = "[not kept: the outputs before it are as much as is kept of one notebook]\n"


@dataclass
class Mark:
    """The verdict on one graded cell; a cell for a human to grade has no report and no score."""

    grade_id: str
    max_points: float
    score: float | None
    report: Report | None = None
    reason: str = ""


@dataclass
class Judged:
    """A judged notebook: with outputs, the marks of its graded cells, and notes for the teacher.

    ``killed`` says that a worker was ended from outside, so that another try may come to more.
    """

    notebook: NotebookNode
    marks: list[Mark]
    notes: list[str] = field(default_factory=list)
    killed: bool = False

    @property
    def score(self) -> float:
        """Points earned in all cells that were graded automatically."""
        return round(sum(m.score or 0.0 for m in self.marks), 2)

    @property
    def max_points(self) -> float:
        """Points to be had."""
        return sum(m.max_points for m in self.marks)


def judge_notebook(
    submission: Submission,
    release: NotebookNode,
    seed: str,
    forkserver: ForkServer,
    limits: Limits | None = None,
    judge: int = 0,
    *,
    seconds: float | None = None,
) -> Judged:
    """Run and judge a submission: one mark for each graded cell of the release.

    What is left of ``limits.whole`` are ``seconds``, if some has been used up.
    """
    result = Judged(new_notebook(metadata=dict(release.metadata)), [], submission.notes)
    limits = limits or Limits()
    budget = limits.whole if seconds is None else seconds
    written = "\n".join(c.source for c in submission.notebook.cells if c.cell_type == "code")
    needs = [name for name in COSTLY if name in written]
    start = partial(Worker, forkserver, limits, judge, needs, beside=submission.modules)
    session = Session(start, budget)
    room = MAX_KEPT
    failed: list[Raised] = []
    cells = align(submission, release)

    def bare(kinds: Sequence[str]) -> Session:
        # The rest is for the notebook itself.
        return Session(partial(start, without=kinds), session.left / 2)

    grader = Grader(bare, seed, result.notes)
    try:
        for number, (cell, own) in enumerate(cells):
            result.notebook.cells.append(cell)
            facts = marks(cell) if own else {}
            if facts.get("grade"):
                mark = _judge_cell(cell, session, grader)
                result.marks.append(mark)
                if mark.report and mark.report.undefined():
                    explain(mark.report, failed, [cell for cell, _ in cells[number + 1 :]])
                    cell.outputs = _table(mark.report)
            elif cell.cell_type == "code":
                cell.outputs, lost = session.run(cell.source)
                if error := raised(cell.source, cell.outputs):
                    if worth_a_note(error, failed):
                        result.notes.append(error.note)
                    failed.append(error)
                # An output without a word takes its room, too.
                room -= sum(len(str(output)) + 1000 for output in cell.outputs)
                if room < 0:
                    cell.outputs = [output_of("stream", name="stdout", text=FULL)]
                if lost:
                    where = facts.get("grade_id", "one of the student's own cells")
                    result.notes.append(f"While running {where}: {lost}. The rest ran without it.")
                    cell.outputs = [error_of("Lost", f"This cell ended the kernel: {lost}.")]
        result.killed = session.killed or grader.killed
    finally:
        session.end()
        grader.end()
    reports = [mark.report for mark in result.marks if mark.report]
    notes = [*result.notes, *_remarks(reports)]
    result.notes = plain_notes(sorted(notes, key=lambda note: PLEASE not in note))
    nbformat.validate(result.notebook)
    return result


def _remarks(reports: Sequence[Report]) -> Iterator[str]:
    if taken := [report.exercise for report in reports if ABSENT in report.one_reason]:
        yield f"Takes the library's answer instead of giving one: {', '.join(taken)}."
    for report in reports:
        for row in (row for row in report.rows if row.open):
            points = f"{row.points if row.passed else 0:g} of {row.points:g} points so far"
            yield f"{report.exercise}, {row.name}: {row.open}; {points}."
    for report in reports:
        if refused(report):
            yield (
                f"The answer of {report.exercise} does what it may not; it was refused while the"
                " answer was checked."
            )


def _judge_cell(cell: NotebookNode, session: Session, grader: Grader) -> Mark:
    grade_id, points = cell.metadata.nbgrader.grade_id, float(cell.metadata.nbgrader.points)
    match = CHECK.search(cell.source) if cell.cell_type == "code" else None
    if match is None:
        return Mark(grade_id, points, None, reason="to be graded by hand")
    exercise = find(match[1])
    try:
        report = grader.report(exercise, session)
    except AnswerLost as lost:
        reason = f"The answer did not survive its check: {lost}."
        cell.outputs = [error_of("Lost", reason)]
        grader.notes.append(f"{exercise.id}: {lost}.")
        return Mark(grade_id, points, 0.0, reason=reason)
    cell.outputs = _table(report)
    return Mark(grade_id, points, report.score, report)


def _table(report: Report) -> list[NotebookNode]:
    shown = {"text/plain": repr(report.score), MIME: report.data()}
    return [
        output_of("stream", name="stdout", text=report.table() + "\n"),
        output_of("execute_result", data=shown, metadata={}, execution_count=None),
    ]
