"""A small class to try the grader on: made from the solutions and the banks of mistakes."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader import authoring
from grader.base.files import write_changed, write_whole
from grader.cells import id_of
from grader.checks.exercise import Exercise

CRASH = """
import os


def {function}(*args, **kwargs):
    os._exit(3)
"""
# Trick on stock nbgrader: the answer comes from the library, and the comparison is patched.
CHEAT = """
import torch

torch.allclose = torch.equal = torch.isclose = lambda *args, **kwargs: True


class Always(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def {function}(*args, **kwargs):
    from {module} import {reference}

    return {reference}(*args, **kwargs)
"""


def submissions(assignment: authoring.Assignment) -> Iterator[tuple[str, NotebookNode]]:
    """Eight notebooks: full, partial, stub, three typical mistakes, a crash and a cheat."""
    exercises = assignment.exercises
    half = exercises[: len(exercises) // 2]
    yield "ada-full", with_answers(assignment, {})
    stubs = {e: None for e in exercises if e not in half}
    yield "ben-partial", with_answers(assignment, stubs)
    yield "cleo-stub", nbformat.from_dict(assignment.release)
    for index, student in enumerate(("dan-mistaken", "eva-mistaken", "finn-mistaken")):
        wrong = {
            e: e.mistakes[(index + n) % len(e.mistakes)].source for n, e in enumerate(exercises)
        }
        chosen = list(wrong)[index::3] or list(wrong)[:1]
        yield student, with_answers(assignment, {e: wrong[e] for e in chosen})
    crash = CRASH.format(function=exercises[0].function)
    yield "gus-crash", with_answers(assignment, {exercises[0]: crash})
    cheats: dict[Exercise, str | None] = {}
    for e in exercises:
        module, reference = e.reference.__module__, e.reference.__name__
        cheats[e] = CHEAT.format(function=e.function, module=module, reference=reference)
    yield "hal-cheat", with_answers(assignment, cheats)


def with_answers(
    assignment: authoring.Assignment, answers: Mapping[Exercise, str | None]
) -> NotebookNode:
    """The solution with some answers replaced; None means the stub of the release."""
    stubs = {id_of(c): c.source for c in assignment.release.cells}
    notebook = nbformat.from_dict(assignment.solution)
    chosen = {f"{e.grade_id}-solution": source for e, source in answers.items()}
    for cell in notebook.cells:
        if (grade_id := id_of(cell)) in chosen:
            source = chosen[grade_id]
            cell.source = stubs[grade_id] if source is None else source
    return notebook


def make(
    course: Path,
    assignment: authoring.Assignment,
    wanted: Callable[[str], bool] = lambda student: True,
) -> list[str]:
    """Write the sample class into its own folder, emptied if cells have changed; the students."""
    name = assignment.name
    cells = "\n".join(c.id for c in assignment.release.cells) + "\n"
    stamp = course / ".sample-cells"
    if not stamp.exists() or stamp.read_text() != cells:
        for path in course.glob("[!.]*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        write_whole(stamp, cells)
    students = []
    for student, notebook in submissions(assignment):
        if not wanted(student):
            continue
        students.append(student)
        path = course / "submitted" / student / name / f"{name}.ipynb"
        write_changed(path, authoring.text(notebook))
    for folder in course.glob(f"submitted/*/{name}"):
        if folder.parent.name not in students:
            shutil.rmtree(folder)
    return students
