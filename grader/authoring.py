"""Text sources to notebooks: ``solutions/NN_slug/NN_slug.md`` to solution and release.

The source is MyST Markdown. Its code cells need no nbgrader metadata, because what they are shows:

- a cell with ``### BEGIN SOLUTION`` is a solution; the release has a stub in its place,
- a cell whose last line is ``check("topic.name")`` is graded, with the exercise's points,
- a cell that begins with ``# given: course_lib.module.name`` is locked and gets that source,
- ``{{ exercise: topic.name }}`` in the text becomes what is asked: points, minutes, requirements.

A manually graded cell states its nbgrader metadata itself (``+++ {"nbgrader": {...}}``).
"""

import ast
import contextlib
import hashlib
import importlib
import io
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import nbformat
from nbformat import NotebookNode
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    InstantiateTests,
    LockCells,
)
from nbgrader.utils import find_all_files
from traitlets.config.loader import PyFileConfigLoader

from grader import assistants
from grader.base.errors import Refused
from grader.base.files import write_changed
from grader.card import book_url, card
from grader.cells import marks
from grader.checks.exercise import Exercise, find, given_source
from grader.checks.import_stubs import RULE

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
CHECK = re.compile(r"""check\(\s*["']([\w.]+)["']\s*\)\s*;?\s*$""")
CARD = re.compile(r"\{\{\s*exercise:\s*([\w.]+)\s*\}\}")
GIVEN = re.compile(r"^# given: *([\w.]+) *$", re.MULTILINE)
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


class Model(NamedTuple):
    """A model answer, what stands above it, and the functions of the library that it is given."""

    before: str
    source: str
    given: tuple[str, ...] = ()


class AuthoringError(Refused):
    """A source that cannot become an assignment; the message says where and why."""


@dataclass(frozen=True)
class Assignment:
    """One assignment."""

    name: str
    solution: NotebookNode
    release: NotebookNode
    exercises: tuple[Exercise, ...]  # graded by a check
    rule: str = "tutor"  # what coding assistants may do

    @property
    def points(self) -> float:
        """Maximum points of all graded cells, manual ones too."""
        return float(sum(m["points"] for m in map(marks, self.release.cells) if m.get("grade")))

    def files(self) -> dict[str, str]:
        """Files of it that students get, by path in the folder of the assignment."""
        title = next((c.source for c in self.release.cells if c.cell_type == "markdown"), self.name)
        title = title.partition("\n")[0].strip("# ")
        beside = assistants.files(self.rule, title, self.exercises)
        return {f"{self.name}.ipynb": text(self.release), **beside}

    @property
    def automatic(self) -> float:
        """Maximum points of the cells that no human has to grade."""
        return float(sum(exercise.points for exercise in self.exercises))


def sources(root: Path) -> list[Path]:
    """The text sources of all assignments, in order."""
    return sorted(root.glob("solutions/[0-9][0-9]_*/[0-9][0-9]_*.md"))


def named(root: Path, name: str) -> Assignment:
    """The assignment of that name."""
    return load(known(root, [name])[name], root)


def known(root: Path, names: Iterable[str] = ()) -> dict[str, Path]:
    """The sources of all assignments by name, among which are those named."""
    known = {source.stem: source for source in sources(root)}
    if unknown := ", ".join(sorted({*names} - {*known})):
        raise Refused(f"no assignment {unknown}; there are {', '.join(known) or 'none'}")
    return known


def load(source: Path, root: Path) -> Assignment:
    """Make both notebooks from one text source; errors name file, cell and remedy."""
    name = source.stem
    if source.parent.name != name:
        raise AuthoringError(f"{source}: wanted {name}/{name}.md, so that file and folder agree")
    notebook = _read(source)
    _hides(notebook, name, nbgrader_config(root))
    notebook.metadata = NotebookNode(
        kernelspec=NotebookNode(KERNEL), language_info=NotebookNode(name="python")
    )
    rule = assistants.rule(nbgrader_config(root))
    exercises = _mark(notebook, name, book_url(root), assistants.SENTENCES[rule])
    solution = _finish(notebook, name)
    release = _release(solution, root)
    _signatures_survive(solution, release, exercises, name)
    return Assignment(name, solution, release, exercises, rule)


def _read(source: Path) -> NotebookNode:
    # Some editors write a mark before the first letter.
    return jupytext.reads(source.read_text(encoding="utf-8-sig"), fmt="md:myst")


def _hides(notebook: NotebookNode, name: str, config: Any) -> None:
    """Refuse what nbgrader takes out of a release, and this does not: here nothing is hidden."""
    steps = (step(config=config) for step in (ClearHiddenTests, ClearMarkScheme, InstantiateTests))
    # `HASHED` stands beside the sign for an autotest only.
    signs = {
        getattr(step, name)
        for step in steps
        for name in step.trait_names()
        if "delim" in name and not name.startswith("hashed")
    }
    for number, cell in enumerate(notebook.cells, 1):
        if hidden := sorted(sign for sign in signs if sign in cell.source):
            raise AuthoringError(
                f"{name}, cell {number}: `{hidden[0]}` would reach students as it is. Put checks"
                " into the exercise's bank, and what a written answer earns points for into the"
                " rubrics"
            )


def _mark(notebook: NotebookNode, name: str, url: str, sentence: str) -> tuple[Exercise, ...]:
    exercises: list[Exercise] = []
    pending: list[NotebookNode] = []
    for number, cell in enumerate(notebook.cells, 1):
        where = f"{name}, cell {number}"
        if cell.cell_type == "markdown":
            cell.source = CARD.sub(partial(_card, where=where, url=url), cell.source)
            continue
        if cell.cell_type != "code":
            continue
        cell.metadata = NotebookNode({k: v for k, v in cell.metadata.items() if k == "nbgrader"})
        if (BEGIN in cell.source) != (END in cell.source):
            raise AuthoringError(f"{where}: `{BEGIN}` and `{END}` belong together")
        if GIVEN.search(cell.source):
            first = GIVEN.findall(cell.source)[0].rpartition(".")[2]
            cell.source = GIVEN.sub(partial(_given, where=where), cell.source).strip()
            _tag(cell, f"given-{first}", locked=True)
        elif match := CHECK.search(cell.source):
            exercise = _known(match[1], where)
            if not pending:
                raise AuthoringError(f"{where}: no solution cell comes before `{match[0].strip()}`")
            stated = marks(cell).get("points", exercise.points)
            if stated != exercise.points:
                raise AuthoringError(
                    f"{where}: {stated} points, but the properties of {exercise.id} are worth"
                    f" {exercise.points:g}; leave the points out or correct them"
                )
            _tag(cell, exercise.grade_id, grade=True, locked=True, points=exercise.points)
            for part, solved in enumerate(pending):
                suffix = f"-{part + 1}" if part else ""
                _tag(solved, f"{exercise.grade_id}-solution{suffix}", solution=True)
            exercises.append(exercise)
            pending = []
        elif BEGIN in cell.source:
            pending.append(cell)
    head = next((cell for cell in notebook.cells if cell.cell_type == "markdown"), None)
    if head is not None:
        # A cell without an id of nbgrader's: no checksum changes with what is said here.
        head.source += f"\n\n{RULE}\n\n{sentence}" if exercises else f"\n\n{sentence}"
    if pending:
        raise AuthoringError(f"{name}: the last solution cell is not followed by a check")
    if twice := [e.id for n, e in enumerate(exercises) if e in exercises[:n]]:
        raise AuthoringError(f"{name}: {twice[0]} is checked twice")
    return tuple(exercises)


def _known(identifier: str, where: str) -> Exercise:
    try:
        exercise = find(identifier)
        exercise.validate()
    except ValueError as error:
        raise AuthoringError(f"{where}: {error}") from None
    return exercise


def _card(match: re.Match[str], where: str, url: str) -> str:
    return card(_known(match[1], where), url)


def _given(match: re.Match[str], where: str) -> str:
    path = match[1]
    module, _, name = path.rpartition(".")
    try:
        return given_source(getattr(importlib.import_module(module), name))
    except (ImportError, AttributeError, ValueError) as error:
        raise AuthoringError(f"{where}: `# given: {path}`: {error}") from None


def _tag(cell: NotebookNode, grade_id: str, **flags: Any) -> None:
    known = {"grade": False, "solution": False, "locked": False, "task": False, "schema_version": 3}
    cell.metadata.nbgrader = NotebookNode({**known, **flags, "grade_id": grade_id})


def _finish(notebook: NotebookNode, name: str) -> NotebookNode:
    for ordinal, cell in enumerate(notebook.cells):
        digest = hashlib.sha256(f"{name}/{ordinal}".encode()).hexdigest()[:12]
        cell.id = marks(cell).get("grade_id", digest)[:64]
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        else:
            cell.metadata.pop("lines_to_next_cell", None)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return notebook


def _release(solution: NotebookNode, root: Path) -> NotebookNode:
    config = nbgrader_config(root)
    notebook = nbformat.reads(nbformat.writes(solution), as_version=4)
    resources: dict[str, Any] = {}
    steps = (LockCells, ClearSolutions, ClearOutput, CheckCellMetadata, ComputeChecksums)
    for step in (*steps, CheckCellMetadata):
        notebook, resources = step(config=config).preprocess(notebook, resources)
    return notebook


def nbgrader_config(root: Path) -> Any:
    """The checkout's own nbgrader configuration, so that both ways to a release agree."""
    return PyFileConfigLoader("nbgrader_config.py", path=str(root)).load_config()


def _signatures_survive(
    solution: NotebookNode, release: NotebookNode, exercises: tuple[Exercise, ...], name: str
) -> None:
    def signatures(notebook: NotebookNode) -> dict[str, str]:
        arguments = {}
        for number, cell in enumerate(notebook.cells, 1):
            if not marks(cell).get("solution") or cell.cell_type != "code":
                continue
            try:
                tree = ast.parse(cell.source)
            except SyntaxError as error:
                raise AuthoringError(f"{name}, cell {number}: {error}") from None
            for node in tree.body:
                if isinstance(node, ast.FunctionDef):
                    arguments[node.name] = ast.dump(node.args)
                elif isinstance(node, ast.ClassDef):
                    arguments[node.name] = "class"
        return arguments

    before, after = signatures(solution), signatures(release)
    for exercise in exercises:
        if exercise.function not in before:
            raise AuthoringError(f"{name}: no solution cell defines `{exercise.function}`")
        if after.get(exercise.function) != before[exercise.function]:
            raise AuthoringError(
                f"{name}: the stub of `{exercise.function}` does not have its solution's signature;"
                f" put `def` and docstring above `{BEGIN}`"
            )


def answers(root: Path) -> dict[str, Model]:
    """The model answers by exercise id, as students would hand them in."""
    models: dict[str, Model] = {}
    for source in sources(root):
        before: list[str] = []
        parts: list[str] = []
        given: list[str] = []
        notebook = _read(source)
        for cell in (c for c in notebook.cells if c.cell_type == "code"):
            if BEGIN in cell.source:
                parts.append(cell.source)
            elif match := CHECK.search(cell.source):
                models[match[1]] = Model("\n\n".join(before), "\n\n".join(parts), tuple(given))
                before, parts, given = before + parts, [], []
            else:
                given += GIVEN.findall(cell.source)
    return models


def code(source: Path) -> list[str]:
    """The code cells of a source, as Python reads them."""
    return [_python(cell.source) for cell in _read(source).cells if cell.cell_type == "code"]


def _python(cell: str) -> str:
    return "\n".join(line for line in cell.splitlines() if not line.startswith(("%", "!")))


def run_solution(assignment: Assignment) -> None:
    """Execute a solution's cells in this process and expect full points of every check."""
    from grader.checks.answer_proxy import AnswerProxy
    from grader.checks.grading import grade

    names: dict[str, Any] = {"__name__": "__solution__"}
    for number, cell in enumerate(assignment.solution.cells, 1):
        if cell.cell_type != "code":
            continue
        match = CHECK.search(cell.source)
        if match and marks(cell).get("grade"):
            report = grade(find(match[1]), AnswerProxy.local(names), "0")
            if not report.full:
                raise AuthoringError(f"{assignment.name}: its solution fails\n{report.table()}")
            continue
        # A picture of a first draft may fail in silence; one of the solution may not.
        source = _python(cell.source).replace("suppress(Exception)", "suppress()")
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(source, f"<{assignment.name}, cell {number}>", "exec"), names)
        except Exception as error:
            raise AuthoringError(
                f"{assignment.name}, cell {number}: {type(error).__name__}: {error}"
            ) from error


def text(notebook: NotebookNode) -> str:
    """The bytes of a notebook file, with a final newline."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def generate(
    root: Path, into: Path, say: Callable[[str], None] = print, chosen: Sequence[str] = ()
) -> list[str]:
    """Write releases, and solutions beside sources; the files that differ from ``exercises/``."""
    stale, every = [], known(root, chosen)
    for name in chosen or every:
        assignment, source = named(root, name), every[name]
        if more := released_beside(assignment, source, root):
            raise AuthoringError(
                f"{more[0]}: nbgrader would copy it to students; move it, or name"
                " it in c.CourseDirectory.ignore"
            )
        run_solution(assignment)
        write_changed(source.with_suffix(".ipynb"), text(assignment.solution))
        for file, released in assignment.files().items():
            committed = root / "exercises" / name / file
            if not committed.exists() or committed.read_text(encoding="utf-8") != released:
                stale.append(str(committed.relative_to(root)))
            write_changed(into / name / file, released)
        count = len(assignment.exercises)
        say(f"{name}: {count} exercises, {assignment.points:g} points")
    return stale


def orphans(root: Path) -> list[str]:
    """The released folders whose source is gone."""
    released = {path.name for path in root.glob("exercises/[0-9][0-9]_*") if path.is_dir()}
    return [f"exercises/{name} (has no source)" for name in sorted(released - {*known(root)})]


def released_beside(assignment: Assignment, source: Path, root: Path) -> list[Path]:
    """Files beside a source that nbgrader copies, by its own rules, and no student gets."""
    ignored = CourseDirectory(config=nbgrader_config(root)).ignore
    copies = map(Path, find_all_files(str(source.parent), ignored))
    return sorted(path for path in copies if path.name != f"{assignment.name}.ipynb")
