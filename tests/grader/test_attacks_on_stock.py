"""The positive control of the catalogue: on stock nbgrader, attacks earn full points.

An ordinary assignment with an ordinary assertion, autograded by nbgrader itself. The code of the
attacks is the catalogue's own, so what holds against our grader is known to work elsewhere.
"""

import warnings

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from course_tests.grader.attacks.catalogue import ATTACKS
from grader.records import gradebook

NAME = "ps1"
POINTS = 6.0
FUNCTION = "softmax_gradient"
SOLVED = """
def softmax_gradient(weights, grad_weights):
    ### BEGIN SOLUTION
    inner = (weights * grad_weights).sum(-1, keepdim=True)
    return weights * (grad_weights - inner)
    ### END SOLUTION
"""
TEST = """
from REFERENCE_MODULE import REFERENCE_NAME as wanted
weights = torch.randn(3, 4).softmax(-1)
gradient = torch.randn(3, 4)
assert torch.allclose(softmax_gradient(weights, gradient), wanted(weights, gradient), atol=1e-6)
"""
EARN_POINTS = (
    "skip-execution", "patched-comparison-answers", "ast-strip-asserts", "patched-shell",
    "tensor-subclass", "library-reference", "gradebook-points",
)  # fmt: skip


def cell(source, grade_id, **more):
    marks = {"grade_id": grade_id, "schema_version": 3, "grade": False, "solution": False,
             "locked": False, "task": False, **more}  # fmt: skip
    return new_code_cell(source.strip(), metadata={"nbgrader": marks})


def notebook(answer, test):
    return new_notebook(
        cells=[
            new_code_cell("import torch"),
            cell(answer, "answer", solution=True),
            cell(test, "test", grade=True, locked=True, points=POINTS),
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )


@pytest.mark.slow
def test_attacks_of_the_catalogue_earn_points_on_stock_nbgrader(tmp_path, root):
    from grader.checks.exercise import find

    attacks = {a.name: a for a in ATTACKS}
    reference = find("attention.softmax_gradient").reference
    words = {"REFERENCE_MODULE": reference.__module__, "REFERENCE_NAME": reference.__name__,
             "FUNCTION": FUNCTION, "MODULE": reference.__module__, "REFERENCE": reference.__name__,
             "@GRADEBOOK@": str(tmp_path / "gradebook.db")}  # fmt: skip

    def filled(code):
        for word, value in words.items():
            code = code.replace(word, value)
        return code

    test = filled(TEST)
    stub = "def softmax_gradient(weights, grad_weights):\n    raise NotImplementedError"
    handed_in = {"00-solved": notebook(SOLVED, test), "01-stub": notebook(stub, test)}
    for number, name in enumerate(EARN_POINTS, 10):
        attack = attacks[name]
        book = notebook(stub, test)
        if attack.where == "each":
            book.cells[1].source = filled(attack.code).strip()
        elif attack.where == "stubs":
            book.cells.insert(1, new_code_cell(filled(attack.code).strip()))
        else:
            book.cells[2].metadata["tags"] = ["skip-execution"]
        handed_in[f"{number}-{name}"] = book
    for folder, book in [(f"source/{NAME}", notebook(SOLVED, test))] + [
        (f"submitted/{student}/{NAME}", book) for student, book in handed_in.items()
    ]:
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{NAME}.ipynb").write_text(nbformat.writes(book), encoding="utf-8")
    config = Config()
    config.CourseDirectory.root = str(tmp_path)
    config.ExecutePreprocessor.shutdown_kernel = "immediate"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api = NbGraderAPI(config=config)
        with gradebook.open_gradebook(tmp_path):
            pass
        assert api.generate_assignment(NAME)["success"]
        *others, last = handed_in
        before = graded(api, tmp_path, others)
        after = graded(api, tmp_path, [last])
    assert before["00-solved"] == POINTS and before["01-stub"] == 0
    fooled = {name[3:] for name, score in before.items() if score == POINTS} - {"solved"}
    assert fooled == set(EARN_POINTS[:-1])
    # The last one writes into the gradebook, and not only its own line.
    assert after[last] > POINTS and after["01-stub"] > POINTS


def graded(api, course, students):
    """Autograde some students; everybody's score afterwards."""
    for student in students:
        result = api.autograde(NAME, student)
        assert result["success"], result.get("log", "")[-2000:]
    with gradebook.open_gradebook(course) as book:
        return {s.student.id: s.score for s in book.assignment_submissions(NAME)}
