"""A class of any size to time graders on: honest, partial, and faulty in ways stock survives."""

from collections import Counter
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from grader.authoring import Assignment, text
from grader.base.files import write_whole
from grader.sample import with_answers

# Of every ten: seven, two and one.
_KINDS = ("honest", "honest", "partial", "honest", "honest", "faulty", "honest", "partial",
          "honest", "honest")  # fmt: skip
# Own cells and answers that fail without harm; {function} is what was asked for.
_CELLS = ("1 / 0", "import a_module_that_is_not_there", "for n in range(300):\n    print(n)")
_ANSWERS = (
    "def {function}(*args, **kwargs)\n    return 0",
    "def {function}(*args, **kwargs):\n    import sys\n\n    sys.exit(1)",
    "def another_name(*args, **kwargs):\n    return 0",
    "def {function}(*args, **kwargs):\n    pass",
)


def kind_of(number: int) -> str:
    return _KINDS[number % len(_KINDS)]


def submission(assignment: Assignment, number: int) -> NotebookNode:
    """The notebook with this number; the same one each time."""
    exercises, kind, turn = assignment.exercises, kind_of(number), number // 2
    if kind == "honest":
        # Every third is the solution itself; the others have one answer in another way.
        if number % 3 == 0:
            return nbformat.from_dict(assignment.solution)
        chosen = exercises[turn % len(exercises)]
        other = chosen.alternatives[turn % len(chosen.alternatives)]
        return with_answers(assignment, {chosen: other.source})
    if kind == "partial":
        stubs = dict.fromkeys(exercises[len(exercises) - 1 - turn % len(exercises) :])
        wrong = exercises[turn % len(exercises)]
        mistake = wrong.mistakes[turn % len(wrong.mistakes)].source
        return with_answers(assignment, {wrong: mistake, **stubs})
    chosen = exercises[turn % len(exercises)]
    answer = _ANSWERS[turn % len(_ANSWERS)].format(function=chosen.function)
    notebook = with_answers(assignment, {chosen: answer})
    cell = new_code_cell(_CELLS[turn % len(_CELLS)])
    cell.id = "own"
    notebook.cells.insert(1, cell)
    return notebook


def make(course: Path, assignment: Assignment, students: int) -> Counter[str]:
    """Write a class into a course folder; how many there are of each kind."""
    for number in range(students):
        name = f"{'ab'[number % 2]}{number:03d}"
        path = course / "submitted" / name / assignment.name / f"{assignment.name}.ipynb"
        write_whole(path, text(submission(assignment, number)))
    return Counter(map(kind_of, range(students)))
