"""The page a student gets: says what to do, and nothing on it is alive."""

import dataclasses
import re

import nbformat
import pytest

from grader.checks.exercise import find
from grader.judge import feedback
from grader.judge.bare import PLEASE
from grader.judge.judge import Judged, Mark

URL = "https://book.example"


@pytest.fixture(scope="module")
def wrong(assignment, forkserver):
    from grader.intake import parsing
    from grader.judge.judge import judge_notebook

    notebook = nbformat.from_dict(assignment.solution)
    first = assignment.exercises[0]
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"{first.grade_id}-solution":
            cell.source = first.mistakes[0].source + "\n# </pre><script>alert(1)</script>"
    submission = parsing.parse(nbformat.writes(notebook).encode())
    submission.notes.append("<img src=x onerror=alert(1)>")
    return judge_notebook(submission, assignment.release, "1", forkserver)


def test_the_mistake_its_hint_and_the_example_are_there(wrong, assignment):
    page = feedback.page("03_attention", "dan", wrong, URL)
    mistake = assignment.exercises[0].mistakes[0]
    assert mistake.name in page and "This looks like a known mistake" in page
    row = next(r for r in wrong.marks[0].report.rows if not r.passed)
    assert row.why.split(" is ")[0] in page.replace("&#39;", "'")
    assert row.example.call in page and "came back:" in page and "expected:" in page
    assert page.count("<details open>") == 1
    assert f'href="{URL}/book/chapters/{assignment.exercises[0].chapter}"' in page


def test_nothing_is_alive(wrong):
    page = feedback.page("03_attention", "<script>x</script>", wrong, URL)
    assert (
        "<script" not in page
        and "<img" not in page
        and "onerror=" not in re.sub(r"&lt;.*?&gt;", "", page)
    )
    assert "default-src 'none'" in page
    assert "http" not in re.sub(r'href="https://book\.example[^"]*"', "", page).replace(
        'http-equiv="', ""
    )


def test_no_test_source_no_reference_no_seed(wrong):
    page = feedback.page("03_attention", "dan", wrong, URL)
    for secret in ("t.randn", "@exercise", "COURSE_SEED", "Trial", "course_lib.attention"):
        assert secret not in page


def test_reasons_and_manual_cells():
    page = feedback.page("a", "s", None, URL, reason="`a<b>.ipynb` is empty, <b>too.")
    assert "<code>a&lt;b&gt;.ipynb</code> is empty, &lt;b&gt;too." in page
    marks = [Mark("essay-thoughts", 3, None, reason="to be graded by hand")]
    judged = Judged(nbformat.v4.new_notebook(), marks)
    assert "for a person to grade" in feedback.page("a", "s", judged, URL)


def test_remarks_for_the_instructor_are_the_instructors(assignment, wrong):
    notes = ["A cell was moved.", f"The answer of a.b names layer_norm; {PLEASE}."]
    judged = dataclasses.replace(wrong, notes=notes)
    page = feedback.page("03_attention", "dan", judged, URL)
    assert notes[0] in page and PLEASE not in page and notes[1] in judged.notes


def test_exercises_have_the_numbers_of_the_notebook(assignment, wrong):
    page = feedback.page("03_attention", "dan", wrong, URL)
    first, last = (feedback.title_of(wrong.notebook, m.grade_id) for m in wrong.marks[::3][:2])
    assert re.match(r"3\.1 \w", first) and re.match(r"3\.\d \w", last) and first != last
    assert f"<h2>{first} " in page
    assert feedback.title_of(nbformat.v4.new_notebook(), "essay-own_thoughts") == "own thoughts"


def test_stub_and_crash_have_one_line_instead_of_a_row_of_errors(assignment):
    from grader.checks.grading import grade_source

    exercise = find("attention.scaled_dot_product")
    stub = "def scaled_dot_product_attention(*a):\n    raise NotImplementedError"
    report = grade_source(exercise, stub, "1")
    judged = Judged(nbformat.v4.new_notebook(), [Mark(exercise.grade_id, 6, 0.0, report)])
    page = feedback.page("a", "s", judged, URL)
    assert page.count("Not written yet") == 1 and "Hint" not in page
