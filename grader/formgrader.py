"""This course's judge behind nbgrader's own Autograde, in Formgrader and on the command line.

nbgrader runs a submission in a kernel of whoever grades, beside the answers and the gradebook.
``formgrader.use(c)`` in ``nbgrader_config.py`` puts the judge in the place of that. What nbgrader
does before and after stays. Formgrader shows a rubric below each answer in writing.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import AssignLatePenalties, NbGraderPreprocessor, SaveAutoGrades
from traitlets import Bool

from grader import rubrics
from grader.base.course import course
from grader.base.errors import Refused
from grader.cells import id_of


class NotJudged(Refused, RuntimeError):
    """A submission could not be judged; nbgrader logs this and goes on with the next."""


class Judge(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Gives back the submission as a process of its own has judged it, with tables and scores."""

    unsafe = Bool(False, help="Judge where students' code cannot be enclosed.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Judge what was handed in."""
        # Here, because nbgrader reads its configuration for every command, and this loads torch.
        from grader.classroom import Classroom
        from grader.judge import judge_process
        from grader.judge.forkserver import WorkerFailed

        facts = resources["nbgrader"]
        folder = Path(CourseDirectory(parent=self).root)
        room = Classroom(folder, judge_process.checkout(), facts["assignment"])
        task = room.take_in(facts["student"])
        request = judge_process.request(room.marker, task, walls=not self.unsafe)
        who = f"{facts['assignment']} of {facts['student']}"
        try:
            answer = judge_process.judge(request)
            verdict, files = judge_process.answer(answer, room.marker, task)
        except WorkerFailed as failed:
            raise NotJudged(f"{who}: {failed}") from None
        for note in verdict.notes:
            self.log.warning("%s: %s", facts["student"], note)
        if verdict.reason:
            raise NotJudged(f"{who}: {verdict.reason}")
        return nbformat.reads(files["autograded"], as_version=4), resources


class ShowRubrics(NbGraderPreprocessor):  # type: ignore[misc]  # nbgrader has no types
    """Puts the rubric below an answer in writing where Formgrader shows it, and in no file."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Add a cell after each answer that has a rubric, unless it is for feedback."""
        if "submission_id" not in resources:
            return nb, resources
        root = course().root
        try:
            by_cell = rubrics.load(root, resources["assignment_id"])
        except Refused as refused:
            self.log.error("%s", refused)
            return nb, resources
        cells = []
        for cell in nb.cells:
            cells.append(cell)
            if rubric := by_cell.get(id_of(cell)):
                text = f"**What this earns points for** ({rubric.points:g})"
                cells.append(nbformat.v4.new_markdown_cell(f"{text}\n\n{rubric.markdown()}"))
        nb.cells = cells
        return nb, resources


def use(config: Any) -> None:
    """Let nbgrader's Autograde judge with this course's judge, and Formgrader show rubrics."""
    config.Autograde.sanitize_preprocessors = [Judge]
    config.Autograde.autograde_preprocessors = [SaveAutoGrades, AssignLatePenalties]
    config.HTMLExporter.preprocessors = [ShowRubrics]
