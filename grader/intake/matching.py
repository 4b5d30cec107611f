"""Matching of a hand-in's cells to the release, whatever was edited, copied or deleted."""

import re
from collections import defaultdict

import nbformat
from nbformat import NotebookNode

from grader.cells import graded, id_of, locked
from grader.intake.parsing import Submission, inert, plain

_DEFINES = re.compile(r"^(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|^(\w+)[ \t]*=(?!=)", re.MULTILINE)


def align(submission: Submission, release: NotebookNode) -> list[tuple[NotebookNode, bool]]:
    """Put the submitted cells in order for the judge, each marked with the release's own metadata.

    Locked and graded cells get the release's source back; what a student wrote into one is run
    before it. Of two copies of a graded cell the last counts, as in a notebook run from top to
    bottom. An answer that has lost its mark is known by the function it defines. What is missing is
    put back: given cells first, graded ones at the end.
    """
    wanted = {id_of(c): c for c in release.cells if id_of(c)}
    notes = submission.notes
    pairs = _identify(submission, wanted)
    _adopt(pairs, wanted, notes)
    places: dict[str, list[int]] = defaultdict(list)
    for index, (_, grade_id) in enumerate(pairs):
        if grade_id is not None:
            places[grade_id].append(index)
    counts = {i: _which(at, [pairs[n][0] for n in at], wanted[i]) for i, at in places.items()}
    for grade_id, at in places.items():
        if len(at) > 1:
            times = "twice" if len(at) == 2 else f"{len(at)} times"
            notes.append(
                f"The cell `{grade_id}` is there {times}; it counts once."
                if locked(wanted[grade_id])
                else f"A copy of the cell `{grade_id}` was run as a new cell: it is there {times}."
            )
    cells: list[tuple[NotebookNode, bool]] = []
    for index, (cell, grade_id) in enumerate(pairs):
        if grade_id is None:
            cells.append((cell, False))
        elif counts[grade_id] == index:
            cells.append((_restored(cell, wanted[grade_id], notes), True))
        elif not locked(wanted[grade_id]):
            cells.append((cell, False))
    absent = [i for i in wanted if i not in places]
    for grade_id in (name for name in absent if name not in submission.left_out):
        notes.append(f"The cell `{grade_id}` was missing; it was put back.")
    given = [i for i in absent if locked(wanted[i]) and not graded(wanted[i])]
    first = [(nbformat.from_dict(wanted[i]), True) for i in given]
    last = [(nbformat.from_dict(wanted[i]), True) for i in absent if i not in given]
    for cell, _ in last:
        if not locked(cell):  # an answer's stub would undo what is defined elsewhere
            cell.source = "# This cell was not in the submission."
    return [*first, *cells, *last]


def _identify(
    submission: Submission, wanted: dict[str, NotebookNode]
) -> list[tuple[NotebookNode, str | None]]:
    by_source = {_text(c): i for i, c in wanted.items() if locked(c)}
    pairs: list[tuple[NotebookNode, str | None]] = []
    notes_of: dict[str, list[str]] = defaultdict(list)
    for cell in submission.notebook.cells:
        grade_id = cell.metadata.pop("submitted_id", None)
        claims = cell.metadata.pop("claims", {})
        if grade_id in wanted:
            own = {"tags": "", **wanted[grade_id].metadata["nbgrader"]}
            for name, value in claims.items():
                if value != own.get(name, value):
                    notes_of[f"`{name}` is {plain(repr(value), 40)}"].append(grade_id)
        retagged = by_source.get(_text(cell))
        if grade_id not in wanted or (retagged and not locked(wanted[grade_id])):
            grade_id = retagged
        if grade_id and locked(wanted[grade_id]) and _text(cell) != _text(wanted[grade_id]):
            submission.notes.append(
                f"The locked cell `{grade_id}` had been changed; it was reset, and what was in it"
                " was run before it."
            )
            pairs.append((cell, None))
        pairs.append((cell, grade_id))
    for claim, ids in notes_of.items():
        of = f"`{ids[0]}`" if len(ids) == 1 else f"{len(ids)} cells, `{ids[0]}` among them"
        submission.notes.append(f"The notebook says {claim} for {of}; that was ignored.")
    return pairs


def _adopt(
    found: list[tuple[NotebookNode, str | None]], wanted: dict[str, NotebookNode], notes: list[str]
) -> None:
    """Give an answer that is absent the last code cell without a mark that defines its function."""
    present = {grade_id for _, grade_id in found}
    for grade_id, own in wanted.items():
        names = defines(own)
        if grade_id in present or locked(own) or not names:
            continue
        for index in reversed(range(len(found))):
            cell, tag = found[index]
            if tag is None and cell.cell_type == "code" and names & defines(cell):
                found[index] = (cell, grade_id)
                notes.append(f"The cell `{grade_id}` had lost its id; its function identified it.")
                break


def _which(places: list[int], cells: list[NotebookNode], own: NotebookNode) -> int:
    if locked(own):
        return places[-1] if graded(own) else places[0]
    names = defines(own)
    defining = [n for n, cell in zip(places, cells, strict=True) if names & defines(cell)]
    return defining[-1] if defining else places[0]


def _restored(cell: NotebookNode, own: NotebookNode, notes: list[str]) -> NotebookNode:
    clean = nbformat.from_dict(own)
    if cell.cell_type != own.cell_type:
        notes.append(f"The cell `{id_of(own)}` had become {cell.cell_type}.")
    if not locked(own):
        clean.source = cell.source
    return clean


def defines(cell: NotebookNode) -> set[str]:
    """The names that a cell gives by a definition or an assignment at the margin."""
    return {name for pair in _DEFINES.findall(cell.source) for name in pair if name}


def _text(cell: NotebookNode) -> str:
    text = cell.source.strip()
    return inert(text) if cell.cell_type == "markdown" else text
