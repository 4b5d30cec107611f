"""A feedback page in a real browser: readable, and nothing on it runs or is fetched."""

import nbformat
import pytest

from course_tests.grader.checks.recognised import recognised
from grader.checks.exercise import find
from grader.judge import feedback
from grader.judge.judge import Judged, Mark

pytestmark = pytest.mark.browser
HOSTILE = (
    "</pre><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)


@pytest.fixture
def page(tmp_path, chromium, serve):
    exercise = find("attention.scaled_dot_product")
    report = recognised(exercise, exercise.mistakes[0].source, "1")
    cell = nbformat.v4.new_code_cell(HOSTILE)
    cell.metadata["nbgrader"] = {"grade_id": f"{exercise.grade_id}-solution"}
    notebook = nbformat.v4.new_notebook(cells=[cell])
    mark = Mark(exercise.grade_id, exercise.points, report.score, report)
    judged = Judged(notebook, [mark], [f"note {HOSTILE}"])
    html = feedback.page("03_attention", HOSTILE, judged, "https://book.example")
    (tmp_path / "feedback.html").write_text(html, encoding="utf-8")
    # The page must hold even where somebody puts a script into it: the policy forbids it.
    spoiled = html.replace("</main>", "<script>document.title='owned'</script></main>")
    (tmp_path / "spoiled.html").write_text(spoiled, encoding="utf-8")
    opened = chromium.new_page(viewport={"width": 390, "height": 800})
    opened.requested = []
    opened.on("request", lambda request: opened.requested.append(request.url))
    opened.address = serve(tmp_path)
    yield opened
    opened.close()


def test_nothing_runs_and_nothing_is_fetched(page):
    page.goto(page.address + "feedback.html")
    page.wait_for_timeout(200)
    assert page.title().startswith("03_attention: feedback")
    assert [url for url in page.requested if "favicon" not in url] == [
        page.address + "feedback.html"
    ]
    page.goto(page.address + "spoiled.html")
    page.wait_for_timeout(200)
    assert page.title().startswith("03_attention: feedback")


def test_no_matrix_is_cut_beside_free_space(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(page.address + "feedback.html")
    for shown in page.locator(".shown details").all():
        shown.evaluate("one => { one.open = true; }")
    cut = page.locator(".pair pre").evaluate_all(
        "all => all.map(one => one.scrollWidth - one.clientWidth)"
    )
    assert cut and not any(cut)


def test_a_student_can_read_it_on_a_telephone(page):
    page.goto(page.address + "feedback.html")
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    assert page.get_by_text("This looks like a known mistake").is_visible()
    assert page.get_by_text("What is the variance of").is_visible()
    page.get_by_text("What you handed in").click()
    assert page.locator("details > pre").first.is_visible()
    # Its own style sheet is admitted by its hash.
    assert page.evaluate("getComputedStyle(document.querySelector('.total')).fontWeight") == "650"
