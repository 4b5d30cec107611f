"""A student's own notebook as the grader would see it: run afresh, from top to bottom.

Cells are read, restored and put in order by the grader's own rules, so that a deleted check or a
changed locked cell is seen here and not after the deadline. They run in a new kernel beside the
notebook; every check reports there with a seed of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from course_lib.checks.cell import MIME
from course_lib.checks.exercise import find
from course_lib.grading import authoring, intake
from course_lib.grading.causes import beginning

SECONDS = 120
# Runs in the student's kernel in place of a graded cell.
PUBLISH = "from course_lib.checks.cell import publish as _publish\n_publish({identifier!r})\n"


@dataclass
class Rehearsal:
    """What a run came to: a report of each check, and what was noticed on the way."""

    reports: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        """Points earned."""
        return round(sum(r["score"] for r in self.reports), 2)

    @property
    def max_points(self) -> float:
        """Points to be had, without what is graded by hand."""
        return float(sum(r["max_points"] for r in self.reports))

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"points": self.points, "max_points": self.max_points, "notes": self.notes,
                "exercises": self.reports}  # fmt: skip


def read(path: Path) -> intake.Submission:
    """Read a notebook.

    Raises:
        Unreadable: There is none at ``path``; the message is one sentence.
    """
    if not path.exists():
        near = sorted(p.name for p in path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
        beside = f"; there are {', '.join(near)}" if near else ""
        raise intake.Unreadable(f"there is no file {path}{beside}")
    if not path.is_file():
        raise intake.Unreadable(f"{path} is no file: name the notebook itself")
    if path.stat().st_size > intake.MAX_SUBMISSION:
        raise intake.Unreadable(f"{path} is too large to be read: clear its outputs")
    content = path.read_bytes()
    if not content.strip():
        raise intake.Unreadable(f"{path} is empty")
    try:
        return intake.parse(content)
    except intake.Unreadable as error:
        raise intake.Unreadable(f"{path}: {error}") from None


def released(name: str, root: Path | None) -> NotebookNode | None:
    """The release of an assignment, made anew from its source where there is one."""
    if root is None:
        return None
    source = root / "solutions" / name / f"{name}.md"
    if source.is_file():
        return authoring.load(source, root).release
    release = root / "exercises" / name / f"{name}.ipynb"
    return nbformat.read(release, as_version=4) if release.is_file() else None


def rehearse(
    path: Path,
    root: Path | None = None,
    seconds: int = SECONDS,
    say: Callable[[str], None] = lambda text: None,
) -> Rehearsal:
    """Run a notebook in a new kernel and collect what its checks say.

    Args:
        path: The notebook; it is not changed.
        root: A checkout, to know what was released; without one the notebook's own cells count.
        seconds: The longest a cell may run.
        say: Called with each table as it comes, and with each note.

    Raises:
        Unreadable: The file is missing or no notebook, or nothing in it is checked.
        KeyError: It checks an exercise that does not exist.
    """
    submission = read(path)
    release = released(path.stem, root)
    if release is None:
        cells = submission.notebook.cells
    else:
        cells = [cell for cell, _ in intake.align(submission, release)]
    result = Rehearsal(notes=[intake.plain(note) for note in submission.notes])
    code = [nbformat.v4.new_code_cell(c.source) for c in cells if c.cell_type == "code"]
    checks = {n: m[1] for n, c in enumerate(code) if (m := authoring.CHECK.search(c.source))}
    if not checks:
        raise intake.Unreadable(f"{path} has no cell that checks an exercise")
    for number, identifier in checks.items():
        find(identifier)
        code[number].source = PUBLISH.format(identifier=identifier)
    for note in result.notes:
        say(f"note: {note}")
    _run(code, checks, path.resolve().parent, seconds, result, say)
    return result


def _run(
    code: list[NotebookNode],
    checks: dict[int, str],
    folder: Path,
    seconds: int,
    result: Rehearsal,
    say: Callable[[str], None],
) -> None:
    notebook = nbformat.v4.new_notebook(cells=code)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=seconds,
        allow_errors=True,
        # Its advice on transports would stand among the tables.
        extra_arguments=["--IPKernelApp.log_level=40"],
        resources={"metadata": {"path": str(folder)}},
    )

    def note(text: str) -> None:
        result.notes.append(intake.plain(text))
        say(f"note: {result.notes[-1]}")

    def lost(identifier: str, why: str) -> None:
        points = float(find(identifier).points)
        table = f"{identifier}: 0 of {points:g} points\n{why}"
        result.reports.append({"exercise": identifier, "score": 0.0, "max_points": points,
                               "table": table, "rows": []})  # fmt: skip
        say(table)

    gone = ""
    with client.setup_kernel():
        for number, cell in enumerate(code):
            identifier = checks.get(number, "")
            what = f"the check of {identifier}" if identifier else beginning(cell.source)
            if not gone:
                try:
                    client.execute_cell(cell, number)
                except CellTimeoutError:
                    gone = f"{what} did not end within {seconds} seconds"
                except DeadKernelError:
                    gone = f"{what} ended the kernel"
                if gone:
                    note(f"{gone}; nothing after it was run")
            if gone and identifier:
                lost(identifier, f"Not checked: {gone}.")
                continue
            errors = [o for o in cell.outputs if o.output_type == "error"]
            if identifier and (found := _report(cell)):
                result.reports.append(found)
                say(found["table"])
            elif identifier:
                lost(identifier, "Its check did not run: " + (_raised(errors) or "no report came."))
            elif errors:
                note(f"{what} raised {_raised(errors)}")


def _report(cell: NotebookNode) -> dict[str, Any] | None:
    for output in cell.outputs:
        if MIME in output.get("data", {}):
            return dict(output["data"][MIME])
    return None


def _raised(errors: list[NotebookNode]) -> str:
    return f"{errors[0]['ename']}: {errors[0]['evalue']}" if errors else ""
