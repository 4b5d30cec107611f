"""Attacks on files and notebooks: each lays out a submission's folder.

A function gets a :class:`Desk` with fresh notebooks, and writes into ``desk.folder``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode


@dataclass
class Desk:
    """What an attack works with.

    Args:
        folder: The submission's folder, which is there and empty.
        name: The assignment.
        stubs: A fresh copy of the release.
        solved: A fresh copy of the solution.
        victim: Somebody else's notebook.
        course: The course folder.
    """

    folder: Path
    name: str
    stubs: NotebookNode
    solved: NotebookNode
    victim: Path
    course: Path

    @property
    def path(self) -> Path:
        """Where the notebook belongs."""
        return self.folder / f"{self.name}.ipynb"

    def put(self, notebook: NotebookNode) -> None:
        """Hand in a notebook."""
        self.path.write_text(json.dumps(notebook), encoding="utf-8")


Change = Callable[[Desk], None]


def marks(cell: NotebookNode) -> dict[str, Any]:
    """nbgrader's metadata of a cell."""
    return cell.metadata.get("nbgrader", {})


def tests(notebook: NotebookNode) -> list[NotebookNode]:
    """The graded cells."""
    return [c for c in notebook.cells if marks(c).get("grade")]


# Test cells.


def skip_tags(desk: Desk) -> None:
    for cell in tests(desk.stubs):
        cell.metadata["tags"] = ["skip-execution"]
    desk.put(desk.stubs)


def edited_tests(desk: Desk) -> None:
    for cell in tests(desk.stubs):
        cell.source, cell.cell_type, cell.id = "6.0", "markdown", "same"
        cell.metadata["tags"] = ["raises-exception"]
        cell.metadata["nbgrader"]["points"] = 100
    desk.put(desk.stubs)


def unlocked_tests(desk: Desk) -> None:
    for cell in tests(desk.stubs):
        cell.metadata["nbgrader"].update(grade=False, solution=True, locked=False)
        cell.source = "6.0"
    desk.put(desk.stubs)


def more_points(desk: Desk) -> None:
    for cell in desk.stubs.cells:
        if marks(cell):
            cell.metadata["nbgrader"].update(points=100, grade=True)
    desk.put(desk.stubs)


def schema(version: Any) -> Change:
    def change(desk: Desk) -> None:
        for cell in desk.solved.cells:
            if marks(cell):
                cell.metadata["nbgrader"]["schema_version"] = version
        desk.put(desk.solved)

    return change


# Links, pipes and names.


def link_to_victim(desk: Desk) -> None:
    desk.path.symlink_to(desk.victim)


def linked_folder(desk: Desk) -> None:
    desk.folder.rmdir()
    desk.folder.symlink_to(desk.victim.parent)


def dangling_link(desk: Desk) -> None:
    desk.path.symlink_to("/nowhere/at/all")


def device_link(desk: Desk) -> None:
    desk.path.symlink_to("/dev/zero")


def fifo(desk: Desk) -> None:
    os.mkfifo(desk.path)


def extra_fifo(desk: Desk) -> None:
    desk.put(desk.solved)
    os.mkfifo(desk.folder / "pipe.csv")


def extra_links(desk: Desk) -> None:
    desk.put(desk.solved)
    (desk.folder / "book.db").symlink_to(desk.course / "gradebook.db")
    (desk.folder / "victim.txt").symlink_to(desk.victim)


def extra(name: str, content: bytes) -> Change:
    def change(desk: Desk) -> None:
        desk.put(desk.solved)
        (desk.folder / name).write_bytes(content)

    return change


def shadow_library(desk: Desk) -> None:
    desk.put(desk.stubs)
    for name in ("course_lib.py", "grader.py", "torch.py", "sitecustomize.py"):
        (desk.folder / name).write_text("def check(*args):\n    return 6.0\n")


def module_beside(name: str, text: str, code: str) -> Change:
    """An answer to the first exercise, and a module beside the notebook."""

    def change(desk: Desk) -> None:
        cell = next(
            c for c in desk.stubs.cells if str(marks(c).get("grade_id")).endswith("-solution")
        )
        cell.source = code
        desk.put(desk.stubs)
        (desk.folder / f"{name}.py").write_text(text)

    return change


def copy_beside(desk: Desk) -> None:
    desk.put(desk.solved)
    shutil.copy(desk.path, desk.folder / f"{desk.name} (1).ipynb")


def renamed(name: str | bytes) -> Change:
    def change(desk: Desk) -> None:
        desk.put(desk.solved)
        os.rename(os.fsencode(desk.path), os.path.join(os.fsencode(desk.folder), os.fsencode(name)))

    return change


def named(name: str | bytes) -> Change:
    """The student's own folder gets this name; the runner reads it from the function."""

    def change(desk: Desk) -> None:
        desk.put(desk.solved)

    change.student = os.fsdecode(name)  # type: ignore[attr-defined]
    return change


# Bytes.


def file(content: bytes) -> Change:
    def change(desk: Desk) -> None:
        desk.path.write_bytes(content)

    return change


def half(desk: Desk) -> None:
    text = json.dumps(desk.solved)
    desk.path.write_text(text[: len(text) // 2])


def byte_order_mark(desk: Desk) -> None:
    desk.path.write_text(json.dumps(desk.solved), encoding="utf-8-sig")


def odd_cells(desk: Desk) -> None:
    odd: list[Any] = [3, None, [], {}, {"cell_type": []}, {"cell_type": "code", "source": {"a": 1}}]
    odd += [{"cell_type": "code", "metadata": 7, "source": "1"}]
    odd += [{"cell_type": "raw", "metadata": {"nbgrader": [1]}, "source": ["a", "b"]}]
    odd += [{"cell_type": "code", "metadata": {"nbgrader": {"grade_id": {}}}, "source": "2"}]
    desk.path.write_text(json.dumps({"cells": [*odd, *desk.solved.cells]}))


def large_outputs(desk: Desk) -> None:
    text = "x" * (20 * 2**20)
    desk.solved.cells[1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": text}]
    desk.put(desk.solved)


def old_format(desk: Desk) -> None:
    desk.put(nbformat.convert(desk.solved, 3))


def other_kernel(desk: Desk) -> None:
    desk.solved.metadata["kernelspec"] = {"name": "../../evil", "display_name": "", "language": 3}
    for cell in desk.solved.cells:
        del cell["id"]
    desk.put(desk.solved)


def equal_ids(desk: Desk) -> None:
    for cell in desk.solved.cells:
        cell["id"] = "same"
    desk.put(desk.solved)
