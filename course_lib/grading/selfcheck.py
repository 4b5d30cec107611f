"""A student's own notebook as the grader would see it: run afresh, from top to bottom.

Cells are read, restored and put in order by the grader's own rules, so that a deleted check or a
changed locked cell is seen here and not after the deadline. They run in a new kernel beside the
notebook; every check reports there with a seed of its own.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

import course_lib
from course_lib.checks.cell import MIME
from course_lib.checks.exercise import find
from course_lib.checks.report import Report, Row
from course_lib.grading import authoring
from course_lib.grading.cells import id_of, marks
from course_lib.grading.intake import matching, parsing
from course_lib.grading.judging.causes import Raised, beginning, explain, raised, worth_a_note

SECONDS, START = 120, 300
# Runs in the student's kernel before the first cell.
BEGIN = "from course_lib.checks.cell import rehearse as _r\n_r()\ndel _r\n"
# Runs in the student's kernel in place of a graded cell.
PUBLISH = (
    "from course_lib.checks import cell as _cell\n"
    "_cell.publish({identifier!r})\n_cell.rehearse()\ndel _cell\n"
)


@dataclass
class Rehearsal:
    """What a run came to: a report of each check, and what was noticed on the way."""

    reports: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # What a person grades: points by the id of the cell, and which of them nobody has written.
    by_hand: dict[str, float] = field(default_factory=dict)
    unwritten: list[str] = field(default_factory=list)

    @property
    def points(self) -> float:
        """Points earned."""
        return round(sum(r["score"] for r in self.reports), 2)

    @property
    def max_points(self) -> float:
        """Points to be had, those that a person gives included: the grader's total."""
        return float(sum(r["max_points"] for r in self.reports) + sum(self.by_hand.values()))

    @property
    def ready(self) -> bool:
        """Whether no check misses a point and nothing is left to write."""
        return not self.unwritten and all(r["score"] >= r["max_points"] for r in self.reports)

    @property
    def line(self) -> str:
        """The sum in one line."""
        line = f"points {self.points:g} of {self.max_points:g}"
        if self.by_hand:
            line += f"; {sum(self.by_hand.values()):g} of them are for a person to give"
        return line

    def take_writing(self, cells: Sequence[NotebookNode], release: NotebookNode) -> None:
        """Count what a person grades, and tell what of it is still as it was released."""
        blank = {id_of(c): c.source for c in release.cells}
        for cell in cells:
            if not marks(cell).get("grade") or authoring.CHECK.search(cell.source):
                continue
            name, points = id_of(cell), float(marks(cell)["points"])
            self.by_hand[name] = points
            if cell.source.strip() == blank[name].strip():
                self.unwritten.append(name)
                self.notes.append(f"`{name}` is not written yet: {points:g} points.")

    def data(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"points": self.points, "max_points": self.max_points, "notes": self.notes,
                "exercises": self.reports, "by_hand": self.by_hand,
                "unwritten": self.unwritten}  # fmt: skip


def read(path: Path) -> parsing.Submission:
    """Read a notebook.

    Raises:
        Unreadable: There is none at ``path``; the message is one sentence.
    """
    if not path.exists():
        near = sorted(p.name for p in path.parent.glob("*.ipynb")) if path.parent.is_dir() else []
        beside = f"; there are {', '.join(near)}" if near else ""
        raise parsing.Unreadable(f"there is no file {path}{beside}")
    if not path.is_file():
        raise parsing.Unreadable(f"{path} is no file: name the notebook itself")
    if path.stat().st_size > parsing.MAX_SUBMISSION:
        raise parsing.Unreadable(f"{path} is too large to be read: clear its outputs")
    content = path.read_bytes()
    if not content.strip():
        raise parsing.Unreadable(f"{path} is empty")
    try:
        return parsing.parse(content)
    except parsing.Unreadable as error:
        raise parsing.Unreadable(f"{path}: {error}") from None


def released(name: str, root: Path | None, ids: Collection[str]) -> NotebookNode | None:
    """The release of an assignment: made anew from its source, or as a handout holds it.

    Args:
        name: The notebook's name without its ending.
        root: The checkout.
        ids: The marks of its cells, which tell a notebook that has been renamed.
    """
    topics = {i.partition("-")[0] for i in ids}
    handed = sorted((Path(course_lib.__file__).parent / "released").glob("*.ipynb"))
    for source in [*(authoring.sources(root) if root else ()), *handed]:
        if source.stem == name or source.stem.partition("_")[2] in topics:
            if source in handed:
                return nbformat.read(source, as_version=4)
            return authoring.load(source, root or source.parent).release
    release = (root or Path()) / "exercises" / name / f"{name}.ipynb"
    return nbformat.read(release, as_version=4) if root and release.is_file() else None


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
        Refused: It checks an exercise that does not exist.
    """
    submission = read(path)
    result = Rehearsal()
    cells = submission.notebook.cells
    release = released(path.stem, root, [c.metadata.get("submitted_id", "") for c in cells])
    if release is not None:
        cells = [cell for cell, _ in matching.align(submission, release)]
        result.take_writing(cells, release)
    result.notes = [parsing.plain(note) for note in [*submission.notes, *result.notes]]
    sources = [BEGIN, *(c.source for c in cells if c.cell_type == "code")]
    code = [nbformat.v4.new_code_cell(source) for source in sources]
    checks = {n: m[1] for n, c in enumerate(code) if (m := authoring.CHECK.search(c.source))}
    if not checks:
        raise parsing.Unreadable(f"{path} has no cell that checks an exercise")
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
        result.notes.append(parsing.plain(text))
        say(f"note: {result.notes[-1]}")

    def lost(identifier: str, why: str) -> None:
        points = float(find(identifier).points)
        table = f"{identifier}: 0 of {points:g} points\n{why}"
        result.reports.append({"exercise": identifier, "score": 0.0, "max_points": points,
                               "table": table, "rows": []})  # fmt: skip
        say(table)

    gone = ""
    failed: list[Raised] = []
    with client.setup_kernel():
        for number, cell in enumerate(code):
            identifier = checks.get(number, "")
            what = f"the check of {identifier}" if identifier else beginning(cell.source)
            if not gone:
                # The first cell is ours and imports torch: no time of the student's.
                client.timeout = seconds if number else max(seconds, START)
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
            reports = [o["data"][MIME] for o in cell.outputs if MIME in o.get("data", {})]
            if identifier and reports:
                found = dict(reports[0])
                _explain(found, failed, code[number + 1 :])
                result.reports.append(found)
                say(found["table"])
            elif identifier:
                why = [f"{o['ename']}: {o['evalue']}" for o in errors] or ["no report came."]
                lost(identifier, f"Its check did not run: {why[0]}")
            elif error := raised(cell.source, errors):
                if worth_a_note(error, failed):
                    note(f"{str(error)[0].upper()}{str(error)[1:]}.")
                failed.append(error)


def _explain(
    found: dict[str, Any], failed: Sequence[Raised], later: Sequence[NotebookNode]
) -> None:
    """Put before a table where a name is lost that was not defined."""
    rows = [Row(**row) for row in found["rows"]]
    report = Report(found["exercise"], rows, found["max_points"])
    if report.undefined():
        explain(report, failed, later)
        found["table"] = report.table()
