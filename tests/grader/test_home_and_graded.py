"""Odd notebooks come to the same at home, by `course check`, and graded: exercise by exercise."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell

from course_tests.grader.attacks import honest, odd_cells
from grader import authoring
from grader.checks import seeds
from grader.intake import parsing
from grader.judge.channel import Limits
from grader.judge.judge import judge_notebook
from grader.student.selfcheck import rehearse

ROOT = Path(__file__).resolve().parents[2]
NAME = "03_attention"
BESIDE = {
    "my_helpers.py": "def rescale(x, d):\n    return x / d**0.5\n",
    "data.csv": "1,2\n",
    "notebook.py": "HALF = 0.5\n",
    "helpers/more.py": "from my_helpers import rescale\n",
}
# Those of a notebook must not depend on each other.
ANSWERED = "scaled_dot_product layer_cost score_moments softmax_gradient saturation_lead".split()
CELLS = odd_cells.CELLS | {
    f"usual-{name}": (code, "@") for name, (where, code) in honest.ODD.items() if where != "answer"
}
QUICK = [name for names in odd_cells.QUICK for name in names]
# An answer that is lost is none that another one uses.
REST = sorted((name for name in CELLS if name not in QUICK), key=odd_cells.LOST.__contains__)
COUNT = -(-len(REST) // len(ANSWERED))
NOTEBOOKS = [
    *(pytest.param(names, id=names[0]) for names in odd_cells.QUICK),
    *(pytest.param(REST[n::COUNT], id=REST[n], marks=pytest.mark.slow) for n in range(COUNT)),
]


@pytest.fixture(scope="module")
def assignment(root):
    return authoring.named(root, NAME)


def odd(assignment, names):
    """A notebook in which each of the answers stands in one of the odd ways; what it is due."""
    notebook, due = honest.solved(assignment), assignment.automatic
    for name, topic in zip(names, ANSWERED, strict=False):
        exercise = next(e for e in assignment.exercises if e.id.endswith(topic))
        cells = notebook.cells
        place = next(n for n, c in enumerate(cells) if c.id == f"{exercise.grade_id}-solution")
        filled = [
            code.replace("@", cells[place].source).replace("NAME", exercise.function)
            for code in CELLS[name]
        ]
        below = [new_code_cell(filled.pop())] if name in odd_cells.BELOW else []
        cells[place].source = filled.pop()
        # The last of all is below the check as well.
        cells[place:place] = [new_code_cell(code) for code in filled]
        cells += below
        due -= exercise.points * (name in odd_cells.LOST)
    return notebook, due


@pytest.mark.parametrize("names", NOTEBOOKS)
def test_an_odd_notebook_has_the_same_points_at_home_and_graded(
    names, assignment, forkserver, root, tmp_path, monkeypatch
):
    monkeypatch.setenv(seeds.ENVIRONMENT, "07")
    # A kernel that sees it gives its output no number of a file.
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    notebook, due = odd(assignment, names)
    path = tmp_path / f"{NAME}.ipynb"
    path.write_text(nbformat.writes(notebook), encoding="utf-8")
    for name, text in BESIDE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    submission = parsing.parse(path.read_bytes())
    submission.modules = parsing.modules(tmp_path)
    graded = judge_notebook(submission, assignment.release, "07", forkserver, Limits(cell=20))
    home = rehearse(path, root, 20)
    told = {m.report.exercise: m.score for m in graded.marks if m.report}
    assert {r["exercise"]: r["score"] for r in home.reports} == told, (names, graded.notes)
    assert home.points == graded.score == due, (names, told, graded.notes)
    said = " ".join([*graded.notes, *home.notes])
    assert not any(word in said for word in ("_pathlib", "_sys", "write_text", "run_ast_nodes"))
