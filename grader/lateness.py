"""Penalty for lateness: by nbgrader's own plugin, and never against a person's word.

The plugin is that of ``c.AssignLatePenalties.plugin_class``, as for nbgrader's autograder, with the
same due dates and extensions. A penalty that differs from what was remembered is somebody's
decision, and stays.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import Float, TraitError

from grader.authoring import nbgrader_config
from grader.base.errors import Refused
from grader.judge.results import Verdict
from grader.records.verdict_store import VerdictStore

DAY, HOUR, MINUTE = 24 * 60 * 60, 60 * 60, 60


class DailyPenalty(LateSubmissionPlugin):  # type: ignore[misc]
    """A share of the score for each day begun, after some minutes of grace."""

    share = Float(0.1, min=0.0, max=1.0, help="Share of the score for each day begun.").tag(
        config=True
    )
    grace = Float(15.0, min=0.0, help="Minutes that cost nothing.").tag(config=True)
    most = Float(1.0, min=0.0, max=1.0, help="The largest share, however late.").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float:
        """Penalty of a score; nbgrader's name and arguments."""
        if total_seconds_late <= self.grace * MINUTE:
            return 0.0
        # A day ends an hour late: clocks may have been put back, and nbgrader tells seconds only.
        days = max(1, math.ceil((total_seconds_late - HOUR) / DAY))
        return score * min(self.most, self.share * days)


def plugin(course: Path, root: Path) -> Any:
    """The plugin that the configuration of the course folder asks for, else the checkout's."""
    folder = course if (course / "nbgrader_config.py").is_file() else root
    try:
        step = AssignLatePenalties(config=nbgrader_config(folder))
        step.init_plugin()
    except (TraitError, ImportError, SyntaxError, NameError, AttributeError) as error:
        raise Refused(
            f"{folder / 'nbgrader_config.py'}: no plugin for late submissions: {error}. Correct"
            " AssignLatePenalties.plugin_class or the plugin's settings; scores are written already"
        ) from None
    penalties = step.plugin_inst
    # nbgrader's own class with its own default gives no penalty to anybody.
    if type(penalties) is LateSubmissionPlugin and penalties.penalty_method == "none":
        return None
    return penalties


def penalise(records: VerdictStore, root: Path, verdicts: Iterable[Verdict]) -> None:
    """Write what lateness costs, of old verdicts too; the caller holds the course's lock."""
    penalties = plugin(records.course, root)
    concerned = [v for v in verdicts if v.score is not None]
    if penalties is None and all(v.penalty is None for v in concerned):
        return
    book = records.gradebook()
    for verdict in concerned:
        last = verdict.penalty
        verdict.penalty = assign(book, records.name, verdict.student, penalties, last)
        if verdict.penalty != last:
            records.remember(verdict)


def seconds_late(submission: SubmittedAssignment) -> float:
    """Seconds after the due date and the student's extension; 0 where no date is set."""
    return float(submission.total_seconds_late) if submission.assignment.duedate else 0.0


def assign(book: Gradebook, name: str, student: str, plugin: Any, last: float | None) -> Any:
    """Write what lateness costs, unless a person has said something else; what to remember.

    Without a plugin, what was written here ``last`` is taken back.
    """
    submission = book.find_submission(name, student)
    notebook = book.find_submission_notebook(name, name, student)
    late, due = seconds_late(submission), None
    if plugin is not None and late > 0:
        try:
            asked = plugin.late_submission_penalty(student, notebook.score, late)
            due = None if asked is None else float(asked)
        except Exception as error:
            raise Refused(
                f"{type(plugin).__name__}, the plugin for late submissions, failed for {student} in"
                f" {name}: {type(error).__name__}: {error}. Scores are written; correct it and run"
                " the same command again"
            ) from None
        if due is not None and not math.isfinite(due):
            raise Refused(
                f"{type(plugin).__name__}, the plugin for late submissions, says {due} for"
                f" {student} in {name}: wanted a number of points. Scores are written"
            )
        if due is not None:
            due = min(max(due, 0.0), notebook.score)
    stands = notebook.late_submission_penalty
    if not same(stands, last) and not same(stands, due):
        return last  # A person's word: also that there shall be none.
    if not same(stands, due):
        notebook.late_submission_penalty = due
        book.db.commit()
    return due


def same(one: float | None, other: float | None) -> bool:
    """Tell whether two numbers of points are the same, or neither is there."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, abs_tol=1e-9)
