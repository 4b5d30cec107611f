"""Honest submissions, graded among the attacks: what they are due is known exactly."""

from __future__ import annotations

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader.authoring import Assignment

from . import read

# Where odd code is put, and the code, in which ``@`` is the usual answer; and names of students.
(_, _usual), *_odd = read("honest_odd.txt")
USUAL = f"\n{_usual}\n"
# Where it stands, and code.
ODD = {name: (where, text) for (name, where), text in ((h.split(), t) for h, t in _odd)}
NAMES = (
    "김민수",
    "Łukasz Żółć",
    "O'Brien",
    "two\nlines",
    "-rf",
    "...",
    ".hidden",
    "ñandú",
    "Ångström",
    "a b  c",
    "tab\there",
    "semi;colon",
    "$(reboot)",
    "100%",
    "%s%n",
    "{x}",
    "שלום",
    "مرحبا",
    "emoji 🙂",
    "e\u0301",
    "x" * 180,
    "UPPER",
    "comma,name",
    "=SUM(1)",
    "star*",
    "quest?",
    "[set]",
    "~home",
)
NOISE = """
import logging, os, sys, warnings

logging.basicConfig()

def noisy(function):
    def wrapped(*args, **kwargs):
        warnings.warn("an honest warning")
        logging.getLogger("student").warning("an honest log line")
        print("thinking", file=sys.stderr)
        os.write(2, b"from below")
        return function(*args, **kwargs)

    return wrapped
"""
NOTES = """
import matplotlib.pyplot as plt

table = {n: n * n for n in range(100)}
print(table)
plt.plot(list(table.values()))
help(print)
!echo from the shell
"""


# What the exercise forbids, used beside the answer and not in it.
COMPARED = """
import sys

x = torch.ones(1, 1, 2, 4, requires_grad=True)
print(sys.version, F.scaled_dot_product_attention(x, x, x))
x.sum().backward()

"""


def solved(assignment: Assignment) -> NotebookNode:
    """A fresh copy of the solution, as a student would have written it."""
    notebook = nbformat.from_dict(assignment.solution)
    for cell in notebook.cells:
        lines = cell.source.splitlines()
        kept = [
            line for line in lines if line.strip() not in ("### BEGIN SOLUTION", "### END SOLUTION")
        ]
        cell.source = "\n".join(kept)
    return notebook


def noisy(assignment: Assignment) -> NotebookNode:
    """The solution, with every answer also writing to stderr in four ways."""
    notebook = solved(assignment)
    notebook.cells.insert(1, new_code_cell(NOISE))
    for exercise in assignment.exercises:
        cell = _cell(notebook, f"{exercise.grade_id}-solution")
        cell.source += f"\n\n{exercise.function} = noisy({exercise.function})"
    return notebook


def submissions(
    assignment: Assignment, *, odd: bool = True
) -> dict[str, tuple[NotebookNode, float]]:
    """Notebooks by name, each with the points it is due; the first is solved in full.

    Args:
        assignment: What they hand in.
        odd: Whether those are among them that only look odd.
    """
    whole = assignment.automatic
    exercises = assignment.exercises
    half = exercises[: len(exercises) // 2]
    found: dict[str, tuple[NotebookNode, float]] = {}

    def new(name: str, due: float = whole) -> NotebookNode:
        found[name] = solved(assignment), due
        return found[name][0]

    new("full")
    partial = new("partial", sum(e.points for e in half))
    stubs = {_id(c): c.source for c in assignment.release.cells if _id(c)}
    for exercise in exercises[len(half) :]:
        _cell(partial, f"{exercise.grade_id}-solution").source = stubs[
            f"{exercise.grade_id}-solution"
        ]

    found["noisy"] = noisy(assignment), whole

    ordered = new("answers-first")
    graded = [c for c in ordered.cells if c.metadata.get("nbgrader", {}).get("grade")]
    ordered.cells = [c for c in ordered.cells if c not in graded] + graded[::-1]

    notes = new("with-notes")
    notes.cells.insert(2, new_code_cell(NOTES))
    notes.cells.insert(3, new_markdown_cell("# My thoughts\n\n*a* < *b*, <details>x</details>"))
    notes.cells.append(new_code_cell("1 / 0"))

    helped = new("own-helpers")
    helped.cells.insert(2, new_code_cell("def rescale(x, d):\n    return x / d**0.5"))
    _cell(helped, f"{exercises[0].grade_id}-solution").source = (
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        "    scores = torch.einsum('...td,...sd->...ts', rescale(q, q.shape[-1]), k)\n"
        "    if mask is not None:\n"
        "        scores = torch.where(mask, scores, -torch.inf)\n"
        "    scores = scores - scores.amax(-1, keepdim=True)\n"
        "    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)\n"
        "    return weights @ v, weights"
    )

    compared = new("compares-first")
    cell = _cell(compared, f"{exercises[0].grade_id}-solution")
    cell.source = COMPARED + cell.source

    alternative = new("alternatives")
    for exercise in exercises:
        cell = _cell(alternative, f"{exercise.grade_id}-solution")
        cell.source = exercise.alternatives[0].source

    for name, (where, code) in ODD.items() if odd else ():
        strange = new(f"odd-{name}")
        first = _cell(strange, f"{exercises[0].grade_id}-solution")
        imports = next(cell for cell in strange.cells if cell.cell_type == "code")
        if where == "cell":
            strange.cells.insert(strange.cells.index(imports) + 1, new_code_cell(code))
        elif where == "answer":
            # Where a decorator stands, the usual answer follows it.
            first.source = code.replace("\n@", "\n" + USUAL.strip()) if code.endswith("@") else code
        else:
            cell = imports if where == "top" else first
            cell.source = f"{code}\n{cell.source}"
    for name in NAMES if odd else ():
        found[f"named-{name}"] = nbformat.from_dict(partial), sum(e.points for e in half)

    found["stub"] = nbformat.from_dict(assignment.release), 0.0
    return found


def _id(cell: NotebookNode) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))


def _cell(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    return next(c for c in notebook.cells if _id(c) == grade_id)
