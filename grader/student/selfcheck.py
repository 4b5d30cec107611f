"""A student's own notebook as the grader would see it: run afresh, from top to bottom.

Cells are read, restored and put in order by the grader's own rules, so that a deleted check or a
changed locked cell is seen here and not after the deadline. They run in a new kernel, in a folder
that holds what is graded and nothing else; every check reports there with a seed of its own.
"""

import contextlib
import math
import os
import signal
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from grader import authoring
from grader.base.course import HERE, course
from grader.cells import id_of, marks
from grader.checks.answer_proxy import AnswerLost
from grader.checks.cell import MIME
from grader.checks.exercise import find
from grader.checks.report import Report, Row
from grader.intake import matching, parsing
from grader.judge import packages
from grader.judge.causes import Raised, beginning, explain, raised, worth_a_note
from grader.judge.session import Session

# For a cell, for the first, which is ours and imports torch, and for the whole notebook.
SECONDS, START, WHOLE = 120, 300, 3600
# Runs in the student's kernel before the first cell.
BEGIN = (
    "from grader.checks import cell as _cell, shell as _shell\n"
    "_shell.count(get_ipython())\n_shell.alone({others!r})\n_cell.rehearse()\ndel _cell, _shell\n"
)
# Runs in the student's kernel in place of a graded cell.
PUBLISH = (
    "from grader.checks import cell as _cell\n"
    "_cell.publish({identifier!r})\n_cell.rehearse()\ndel _cell\n"
)


@dataclass
class Rehearsal:
    """Result of a run: a report of each check, and what was noticed on the way."""

    reports: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Points that a person gives, by the id of the cell, and those that nobody has written.
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
        """Tell whether no check misses a point and nothing is left to write."""
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
        return {
            "points": self.points,
            "max_points": self.max_points,
            "notes": self.notes,
            "exercises": self.reports,
            "by_hand": self.by_hand,
            "unwritten": self.unwritten,
        }


def read(path: Path) -> parsing.Submission:
    """Read a notebook."""
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


def source_of(name: str, root: Path | None, submission: parsing.Submission) -> Path | None:
    """Source of an assignment, else its release; a renamed notebook is told by its cells' marks."""
    cells = submission.notebook.cells
    topics = {cell.metadata.get("submitted_id", "").partition("-")[0] for cell in cells}
    handed = sorted((course().library / "released").glob("*.ipynb"))
    releases = sorted(root.glob("exercises/*/*.ipynb")) if root else []
    for source in [*(authoring.sources(root) if root else ()), *handed, *releases]:
        if source.stem == name or source.stem.partition("_")[2] in topics:
            return source
    return None


def released(name: str, root: Path | None, submission: parsing.Submission) -> NotebookNode | None:
    """The release of an assignment: made anew from its source, or as a handout holds it."""
    source = source_of(name, root, submission)
    if source is None or source.suffix == ".ipynb":
        return nbformat.read(source, as_version=4) if source else None
    return authoring.load(source, root or source.parent).release


def rehearse(
    path: Path,
    root: Path | None = None,
    seconds: int = SECONDS,
    say: Callable[[str], None] = lambda text: None,
) -> Rehearsal:
    """Run a notebook in a new kernel, unchanged on the disk, and collect what its checks say."""
    submission = read(path)
    result = Rehearsal()
    cells = submission.notebook.cells
    if (release := released(path.stem, root, submission)) is not None:
        cells = [cell for cell, _ in matching.align(submission, release)]
        result.take_writing(cells, release)
    result.notes = [parsing.plain(note) for note in [*submission.notes, *result.notes]]
    code = [nbformat.from_dict(c) for c in cells if c.cell_type == "code"]
    checks = {n: m[1] for n, c in enumerate(code) if (m := authoring.CHECK.search(c.source))}
    if not checks:
        raise parsing.Unreadable(f"{path} has no cell that checks an exercise")
    for identifier in checks.values():
        find(identifier)
    for note in result.notes:
        say(f"note: {note}")
    modules = parsing.modules(path.resolve().parent)
    session = Session(lambda: _Kernel(seconds, modules), WHOLE)
    try:
        _run(session, code, checks, result, say)
    finally:
        session.end()
    return result


class _Kernel:
    until = float("inf")

    def __init__(self, seconds: float, modules: Mapping[str, str]) -> None:
        self.seconds = max(seconds, START)
        self.stack = contextlib.ExitStack()
        with self.stack:
            folder = self.stack.enter_context(
                tempfile.TemporaryDirectory(prefix="course-check-", ignore_cleanup_errors=True)
            )
            for name, text in modules.items():
                Path(folder, name).write_text(text, encoding="utf-8")
            self.client = NotebookClient(
                nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell()]),
                kernel_name="python3",
                allow_errors=True,
                shutdown_kernel="immediate",
                # Its advice on transports would stand among the tables.
                extra_arguments=["--IPKernelApp.log_level=40"],
                resources={"metadata": {"path": folder}},
            )
            # Where the library lies beside the notebook, it is found all the same.
            paths = [str(HERE), str(course().root)]
            paths += filter(None, [os.environ.get("PYTHONPATH")])
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
            # Nor is an answer compiled while it is graded.
            environment |= {"TORCHDYNAMO_DISABLE": "1"}
            self.stack.enter_context(self.client.setup_kernel(env=environment))
            self.stack.callback(self._kill)
            self.run(BEGIN.format(others=packages.others()), ours=True)
            self.stack = self.stack.pop_all()
        self.seconds = seconds

    def run(self, source: str, *, ours: bool = False) -> list[dict[str, Any]]:
        """A cell's outputs; one of ours leaves no trace among the student's."""
        cell = nbformat.v4.new_code_cell(source)
        seconds = min(self.seconds, self.until - time.monotonic())
        if seconds <= 0:
            raise AnswerLost("came too late: all time was used up")
        self.client.timeout = math.ceil(seconds)
        try:
            self.client.execute_cell(cell, 0, store_history=not ours)
        except CellTimeoutError:
            raise AnswerLost(f"did not end within {self.seconds} seconds") from None
        except DeadKernelError:
            raise AnswerLost("ended the kernel") from None
        return list(cell.outputs)

    def _kill(self) -> None:
        # With all that it has started and not ended.
        manager: Any = self.client.km
        with contextlib.suppress(AttributeError, TypeError, ProcessLookupError):
            os.killpg(manager.provisioner.pgid, signal.SIGKILL)

    def end(self) -> None:
        """End the kernel and what it has started."""
        self.stack.close()


def _run(
    session: Session,
    code: Sequence[NotebookNode],
    checks: Mapping[int, str],
    result: Rehearsal,
    say: Callable[[str], None],
) -> None:
    def note(text: str) -> None:
        result.notes.append(parsing.plain(f"{text[0].upper()}{text[1:]}"))
        say(f"note: {result.notes[-1]}")

    def lost(identifier: str, why: str) -> None:
        points = float(find(identifier).points)
        table = f"{identifier}: 0 of {points:g} points\n{why}"
        facts = {"exercise": identifier, "score": 0.0, "max_points": points, "table": table}
        result.reports.append({**facts, "rows": []})
        say(table)

    failed: list[Raised] = []
    for number, cell in enumerate(code):
        if not (identifier := checks.get(number, "")):
            cell.outputs, why = session.run(cell.source)
            if why:
                note(f"{beginning(cell.source)} {why}; the rest went on without it.")
            elif error := raised(cell.source, cell.outputs):
                if worth_a_note(error, failed):
                    note(error.note)
                failed.append(error)
            continue
        try:
            outputs = session.worker.run(PUBLISH.format(identifier=identifier), ours=True)
        except AnswerLost as ended:
            note(f"the check of {identifier} {ended}; the rest went on without it.")
            lost(identifier, f"Not checked: it {ended}.")
            session.replay(ended)
            continue
        if reports := [o["data"][MIME] for o in outputs if MIME in o.get("data", {})]:
            facts = dict(reports[0])
            _explain(facts, failed, code[number + 1 :])
            result.reports.append(facts)
            say(facts["table"])
        else:
            errors = [f"{o['ename']}: {o['evalue']}" for o in outputs if "ename" in o]
            lost(identifier, f"Its check did not run: {[*errors, 'no report came.'][0]}")


def _explain(
    found: dict[str, Any], failed: Sequence[Raised], later: Sequence[NotebookNode]
) -> None:
    """Put before a table where a name is lost that was not defined."""
    rows = [Row(**row) for row in found["rows"]]
    report = Report(found["exercise"], rows, found["max_points"])
    if report.undefined():
        explain(report, failed, later)
        found["table"] = report.table()
