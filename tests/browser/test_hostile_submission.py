"""Pages of a hostile submission in a real browser: no dialog, no request, no script.

The submission is judged by a real worker. Then come all pages on which its text and outputs are
shown: our feedback, and the autograded notebook as nbconvert renders it for nbgrader's Formgrader
and feedback, which do not clean anything themselves.
"""

import base64
from pathlib import Path

import nbconvert
import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from course_tests.grader.attacks import snippets
from grader import authoring
from grader.intake import parsing
from grader.judge import feedback
from grader.judge.channel import Limits
from grader.judge.forkserver import ForkServer
from grader.judge.judge import judge_notebook

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
NAME = "03_attention"
STUDENT = "<img src=x onerror=\"alert('owned')\"><script>alert('owned')</script>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The notebook of a submission with every kind of live content, judged."""
    assignment = authoring.load(ROOT / f"solutions/{NAME}/{NAME}.md", ROOT)
    notebook = nbformat.from_dict(assignment.solution)
    first = assignment.exercises[0]
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == f"{first.grade_id}-solution":
            cell.source = snippets.LIVE_ANSWER.replace("FUNCTION", first.function)
    notebook.cells[2:2] = [
        new_code_cell(snippets.LIVE_OUTPUT),
        new_markdown_cell(snippets.LIVE_TEXT),
        new_markdown_cell(
            "<script>alert('owned')</script",
            attachments={
                "a.svg": {"image/svg+xml": base64.b64encode(b"<svg onload=alert(1)>").decode()}
            },
        ),
    ]
    notebook.cells.append(new_code_cell(snippets.FORGED_OUTPUTS))
    submission = parsing.parse(nbformat.writes(notebook).encode())
    with ForkServer(tmp_path_factory.mktemp("kits")) as forkserver:
        return judge_notebook(submission, assignment.release, "1", forkserver, Limits(call=10))


@pytest.fixture
def opened(tmp_path, chromium, serve):
    pages = []

    def go(html):
        (tmp_path / "page.html").write_text(html, encoding="utf-8")
        page = chromium.new_page()
        pages.append(page)
        page.dialogs, page.requested = [], []
        page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.requested.append(request.url))
        # What a template loads from elsewhere is not there on a closed network.
        page.route(lambda url: "127.0.0.1" not in url, lambda route: route.abort())
        page.goto(serve(tmp_path) + "page.html")
        page.wait_for_timeout(300)
        return page

    yield go
    for page in pages:
        page.close()


def test_feedback_is_dead(hostile, opened):
    page = opened(feedback.page(NAME, STUDENT, hostile, "https://book.example"))
    assert page.dialogs == []
    assert [url.rsplit("/", 1)[1] for url in page.requested if "favicon" not in url] == [
        "page.html"
    ]
    assert page.locator("script, iframe, img[src='x'], svg[onload], object, embed").count() == 0
    assert page.get_by_text("alert('owned')").count() > 0


def test_the_reason_why_nothing_was_graded_is_dead(opened):
    page = opened(feedback.page(NAME, STUDENT, None, "https://book.example", reason=STUDENT))
    assert page.dialogs == [] and page.locator("script, img[src='x']").count() == 0


def test_the_autograded_notebook_is_dead_where_nbgrader_shows_it(hostile, opened):
    """Formgrader renders it by nbconvert, with the instructor's rights."""
    html, _ = nbconvert.HTMLExporter(template_name="classic").from_notebook_node(hostile.notebook)
    page = opened(html)
    assert page.dialogs == []
    assert page.locator("iframe, img[src='x'], svg[onload]").count() == 0
    assert page.get_by_text("alert('owned')").count() > 0


def test_the_same_page_is_alive_without_intake_and_judge(opened):
    """The positive control: what a student submits would run if it were shown as it is."""
    alive = nbformat.v4.new_notebook(cells=[new_markdown_cell("<script>alert('owned')</script>")])
    html, _ = nbconvert.HTMLExporter(template_name="classic").from_notebook_node(alive)
    assert opened(html).dialogs == ["owned"]
