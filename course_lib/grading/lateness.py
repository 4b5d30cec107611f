"""What lateness costs: by nbgrader's own plugin, and never against a person's word.

nbgrader's autograder asks the plugin that ``c.AssignLatePenalties.plugin_class`` names; so does
this grader, with the same due dates and extensions. What is remembered is what the plugin was
written down with: a penalty that differs from it is somebody's decision, and stays.
"""

import math
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, SubmittedAssignment
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties
from traitlets import Float, TraitError

from course_lib.errors import Refused
from course_lib.grading.authoring import nbgrader_config

DAY, HOUR, MINUTE = 24 * 60 * 60, 60 * 60, 60


class DailyPenalty(LateSubmissionPlugin):  # type: ignore[misc]
    """A share of the score for each day begun, after some minutes of grace.

    A day ends an hour later than the clock says: so much is added when clocks are put back, and
    nbgrader tells how many seconds it is late and not since when.

    In ``nbgrader_config.py``::

        c.AssignLatePenalties.plugin_class = "course_lib.grading.lateness.DailyPenalty"
        c.DailyPenalty.share = 0.1

    Example:
        >>> plugin = DailyPenalty(share=0.1, most=0.5)
        >>> round(plugin.late_submission_penalty("ada", 8.0, 26 * 60 * 60), 6)
        1.6
        >>> plugin.late_submission_penalty("ada", 8.0, 60)  # within the grace
        0.0
    """

    share = Float(0.1, min=0.0, max=1.0, help="Share of the score for each day begun.").tag(
        config=True
    )
    grace = Float(15.0, min=0.0, help="Minutes that cost nothing.").tag(config=True)
    most = Float(1.0, min=0.0, max=1.0, help="The largest share, however late.").tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float:
        """What is taken from a score; nbgrader's name and arguments."""
        if total_seconds_late <= self.grace * MINUTE:
            return 0.0
        days = max(1, math.ceil((total_seconds_late - HOUR) / DAY))
        return score * min(self.most, self.share * days)


def plugin(course: Path, root: Path) -> Any:
    """The plugin that nbgrader's configuration asks for; None where lateness costs nothing.

    Args:
        course: The course folder; its own ``nbgrader_config.py`` counts, if it has one.
        root: The checkout, whose configuration counts otherwise.

    Raises:
        ValueError: The configuration names a plugin that is not there, or cannot be read.
    """
    folder = course if (course / "nbgrader_config.py").is_file() else root
    try:
        step = AssignLatePenalties(config=nbgrader_config(folder))
        step.init_plugin()
    except (TraitError, ImportError, SyntaxError, NameError, AttributeError) as error:
        raise Refused(
            f"{folder / 'nbgrader_config.py'}: no plugin for late submissions: {error}. Correct"
            " AssignLatePenalties.plugin_class or the plugin's settings; scores are written already"
        ) from None
    found = step.plugin_inst
    # nbgrader's own class with its own default gives no penalty to anybody.
    if type(found) is LateSubmissionPlugin and found.penalty_method == "none":
        return None
    return found


def seconds_late(submission: SubmittedAssignment) -> float:
    """Seconds after the due date and the student's extension; 0 where no date is set.

    nbgrader's own property fails on an extension of an assignment without a due date.
    """
    return float(submission.total_seconds_late) if submission.assignment.duedate else 0.0


def assign(book: Gradebook, name: str, student: str, plugin: Any, last: float | None) -> Any:
    """Write what a submission's lateness costs, unless a person has said something else.

    Args:
        book: An open gradebook that knows the submission.
        name: The assignment.
        student: The student's id.
        plugin: What :func:`plugin` returned; None takes back what an earlier one has written.
        last: What was written here last time.

    Returns:
        What is to be remembered as written here: a number, or None.

    Raises:
        ValueError: The plugin fails, or returns what is no number.
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
                f" {name}: {type(error).__name__}: {error}. Scores are written; after a correction"
                " the same command goes on"
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
    """Whether two numbers of points are the same, or neither is there."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, abs_tol=1e-9)
