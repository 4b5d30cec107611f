"""Reading what a student submitted, trusting nothing: a clean notebook, or a reason.

Only what a cell is (code or text), its source and its ``grade_id`` are taken over. Outputs,
attachments and every other metadata are dropped, so none of them can do anything.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

MAX_SUBMISSION = 20 * 2**20
MAX_SOURCE = 2**20
MAX_CELLS = 2000
# Built as data: nbformat's constructors validate each cell, where the whole is validated once.
KINDS: dict[str, dict[str, Any]] = {
    "code": {"outputs": [], "execution_count": None},
    "markdown": {},
    "raw": {},
}


class Unreadable(ValueError):
    """A submission that cannot be graded; the message is the reason told to the student."""


@dataclass
class Submission:
    """A student's notebook, rebuilt; ``notes`` say what was repaired on the way."""

    notebook: NotebookNode
    notes: list[str] = field(default_factory=list)


def read(folder: Path, name: str) -> bytes:
    """The bytes of ``folder/name.ipynb``.

    Raises:
        Unreadable: It is missing, not a regular file, empty or too large.
    """
    wanted = f"{name}.ipynb"
    path = folder / wanted
    if not os.path.lexists(path):
        others = sorted(p.name for p in folder.glob("*.ipynb"))
        found = f"; found {', '.join(others[:5])}: rename it and submit again" if others else ""
        raise Unreadable(f"There is no file `{wanted}` in the submission{found}.")
    # Opened without following links, and judged by what was opened: no race, no way out.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise Unreadable(f"`{wanted}` is a link, not a file.") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unreadable(f"`{wanted}` is not a file.")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MAX_SUBMISSION:
            raise Unreadable(
                f"`{wanted}` has {status.st_size / 2**20:.0f} MB, at most"
                f" {MAX_SUBMISSION // 2**20} are read. Clear all outputs, save, submit again."
            )
        content = file.read(MAX_SUBMISSION + 1)
    if not content.strip():
        raise Unreadable(f"`{wanted}` is empty.")
    return content


def parse(content: bytes) -> Submission:
    """Rebuild the notebook from its bytes.

    Raises:
        Unreadable: The bytes are not UTF-8 JSON, or not a notebook.
    """
    try:
        data = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unreadable("The file is not UTF-8 text.") from None
    except RecursionError:
        raise Unreadable("The file is nested too deeply to be a notebook.") from None
    except ValueError as error:
        raise Unreadable(
            f"The file is not a whole notebook, it breaks off or is damaged: {error}."
        ) from None
    notes: list[str] = []
    if isinstance(data, dict) and "worksheets" in data:
        data = _upgrade(data)
        notes.append("The notebook was in an old format (nbformat 3) and has been converted.")
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise Unreadable("The file is JSON but not a notebook: it has no list of cells.")
    if len(data["cells"]) > MAX_CELLS:
        raise Unreadable(
            f"The notebook has {len(data['cells'])} cells, at most {MAX_CELLS} are read."
        )
    notebook = new_notebook()
    for number, cell in enumerate(data["cells"], 1):
        clean, problem = _cell(cell, number)
        if problem:
            notes.append(problem)
        if clean is not None:
            notebook.cells.append(clean)
    return Submission(notebook, notes)


def _upgrade(data: dict[str, Any]) -> Any:
    try:
        return nbformat.convert(nbformat.from_dict(data), 4)
    except Exception:
        raise Unreadable("The notebook is in an old format that cannot be converted.") from None


def _cell(cell: Any, number: int) -> tuple[NotebookNode | None, str]:
    if not isinstance(cell, dict) or cell.get("cell_type") not in KINDS:
        return None, f"Cell {number} is not a cell; it was left out."
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        return None, f"Cell {number} has no text; it was left out."
    if len(source) > MAX_SOURCE:
        return None, f"Cell {number} has more than {MAX_SOURCE:,} characters; it was left out."
    readable = source.encode("utf-8", errors="replace").decode("utf-8")
    kind = cell["cell_type"]
    fields = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": readable}
    clean = nbformat.from_dict({**fields, **KINDS[kind]})
    metadata = cell.get("metadata")
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    if isinstance(grade_id, str):
        clean.metadata["submitted_id"] = grade_id[:200]
    return clean, "" if readable == source else f"Cell {number} held broken text; it was repaired."


def align(submission: Submission, release: NotebookNode) -> list[tuple[NotebookNode, bool]]:
    """Put the submitted cells in order for the judge, each marked with the release's own metadata.

    Locked and graded cells get the release's source back. A cell that is there twice counts once, a
    missing one is put back: given cells first, the rest at the end.

    Returns:
        The cells, and for each whether it belongs to the release.
    """
    wanted = {
        c.metadata["nbgrader"]["grade_id"]: c
        for c in release.cells
        if c.metadata.get("nbgrader", {}).get("grade_id")
    }
    by_source = {c.source.strip(): i for i, c in wanted.items() if c.metadata["nbgrader"]["locked"]}
    placed: dict[str, NotebookNode] = {}
    cells: list[tuple[NotebookNode, bool]] = []
    for cell in submission.notebook.cells:
        grade_id = cell.metadata.pop("submitted_id", None)
        retagged = by_source.get(cell.source.strip())
        if grade_id not in wanted or (retagged and not _locked(wanted[grade_id])):
            grade_id = retagged
        if grade_id is None:
            cells.append((cell, False))
            continue
        own = wanted[grade_id]
        if grade_id in placed:
            if _locked(own):
                submission.notes.append(f"The cell `{grade_id}` is there twice; it counts once.")
            else:
                submission.notes.append(f"A copy of the cell `{grade_id}` was run as an own cell.")
                cells.append((cell, False))
            continue
        placed[grade_id] = own
        clean = nbformat.from_dict(own)
        if not _locked(own):
            if cell.cell_type != own.cell_type:
                submission.notes.append(f"The cell `{grade_id}` had become {cell.cell_type}.")
            clean.source = cell.source
        elif cell.source.strip() != own.source.strip():
            submission.notes.append(f"The locked cell `{grade_id}` had been changed; it was reset.")
        cells.append((clean, True))
    absent = [i for i in wanted if i not in placed]
    for grade_id in absent:
        submission.notes.append(f"The cell `{grade_id}` was missing; it was put back.")
    given = [
        i for i in absent if _locked(wanted[i]) and not wanted[i].metadata["nbgrader"]["grade"]
    ]
    first = [(nbformat.from_dict(wanted[i]), True) for i in given]
    last = [(nbformat.from_dict(wanted[i]), True) for i in absent if i not in given]
    return [*first, *cells, *last]


def _locked(cell: NotebookNode) -> bool:
    return bool(cell.metadata["nbgrader"]["locked"])
