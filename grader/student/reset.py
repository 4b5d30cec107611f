"""Giving a student cells back as they were handed out, and keeping all the rest of the notebook."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader.base.errors import Refused
from grader.base.files import write_whole
from grader.cells import graded, id_of, locked
from grader.intake.matching import defines
from grader.intake.parsing import document, plain
from grader.student.selfcheck import read, released

# Beside the notebook, where a hand-in takes no notice of it.
KEPT = "before-reset"


@dataclass
class Reset:
    """Restored notebook."""

    path: Path
    notebook: NotebookNode
    done: list[str] = field(default_factory=list)  # a sentence for each cell that changes

    def write(self) -> Path | None:
        """Write it, after a copy of what was there; where that lies, None if nothing changes."""
        if not self.done:
            return None
        folder = self.path.resolve().parent / KEPT
        folder.mkdir(exist_ok=True)
        number = 1
        while (copy := folder / f"{self.path.stem}-{number}.ipynb").exists():
            number += 1
        write_whole(copy, self.path.read_bytes())
        text = nbformat.writes(self.notebook).rstrip("\n") + "\n"
        write_whole(self.path.resolve(), text)
        return copy


def plan(path: Path, root: Path | None, asked: str = "", *, every: bool = False) -> Reset:
    """Find out what to put back; nothing is written.

    What is ``asked`` (an exercise's id, a cell's, or the name of a function) comes back whole, the
    answer too, with ``every`` all released cells do. Else it is what is missing, and locked cells
    that were changed; answers stay.
    """
    release = released(path.stem, root, read(path))
    if release is None:
        raise Refused(f"{path} belongs to no assignment that is known here")
    try:
        notebook = document(path.read_bytes())
    except Exception as error:
        raise Refused(f"{path} is damaged: {plain(str(error), 200)}") from None
    cells = {id_of(cell): cell for cell in release.cells if id_of(cell)}
    chosen = _chosen(asked, cells) if asked else [m for m in cells if every or locked(cells[m])]
    result = Reset(path, notebook)
    for number, own in enumerate(release.cells):
        places = [n for n, cell in enumerate(notebook.cells) if id_of(cell) == id_of(own)]
        if places and id_of(own) in chosen:
            _give_back(result, places, own)
        elif not places and (id_of(own) in chosen or not asked):
            _insert(result, own, release.cells[:number])
    return result


def _chosen(asked: str, wanted: Mapping[str, NotebookNode]) -> list[str]:
    exercise = asked.replace(".", "-")
    parts = [m for m in wanted if m == exercise or m.startswith(f"{exercise}-solution")]
    if found := [asked] * (asked in wanted and "." not in asked) or parts:
        return parts if asked not in wanted or graded(wanted[asked]) else found
    if found := [mark for mark, own in wanted.items() if asked in defines(own)]:
        return found
    known = [m.replace("-", ".", 1) for m, own in wanted.items() if graded(own)]
    raise Refused(f"no cell is called {plain(asked, 60)!r}; exercises are {', '.join(known)}")


def _give_back(result: Reset, places: Sequence[int], own: NotebookNode) -> None:
    """The first cell of this mark as it was released; further ones become the student's own."""
    cells = result.notebook.cells
    first, *copies = places
    if _content(cells[first]) != _content(own):
        cells[first] = _fresh(own, result.notebook, cells[first].get("id"))
        result.done.append(f"`{id_of(own)}` is as it was handed out")
    for place in copies:
        cells[place].metadata.pop("nbgrader")
        result.done.append(f"a copy of `{id_of(own)}` is a cell of your own now")


def _insert(result: Reset, own: NotebookNode, before: Sequence[NotebookNode]) -> None:
    cells = result.notebook.cells
    if not locked(own):
        for cell in reversed(cells):
            if cell.cell_type == "code" and not id_of(cell) and defines(own) & defines(cell):
                cell.metadata["nbgrader"] = nbformat.from_dict(own.metadata["nbgrader"])
                result.done.append(f"`{id_of(own)}` has its mark again")
                return
    place = 0
    for earlier in reversed(before):
        # By its mark, a text by its id.
        key = id_of if id_of(earlier) else lambda cell: cell.get("id")
        known = [n for n, c in enumerate(cells) if key(c) == key(earlier)]
        if known:
            place = known[0] + 1
            break
    cells.insert(place, _fresh(own, result.notebook))
    result.done.append(f"`{id_of(own)}` was missing and is back")


def _fresh(own: NotebookNode, notebook: NotebookNode, key: str | None = None) -> NotebookNode:
    cell = nbformat.from_dict(own)
    taken = {other.get("id") for other in notebook.cells}
    if notebook.nbformat_minor < 5:
        cell.pop("id")
    elif key is not None or own.id in taken:
        cell.id = key or uuid.uuid4().hex[:8]
    return cell


def _content(cell: NotebookNode) -> tuple[Any, ...]:
    return cell.cell_type, cell.source.strip(), cell.metadata.get("nbgrader")
