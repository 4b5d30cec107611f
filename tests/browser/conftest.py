"""Figures alone on a page, as the browser tests show them."""

from importlib.resources import files
from pathlib import Path

import pytest

from course_lib.figures import figure
from course_lib.figures.models import write_models

STYLE = Path(__file__).parents[2] / "book" / "_static" / "course.css"
FIGURES = files("course_lib.figures") / "figures.css"


@pytest.fixture(scope="module", autouse=True)
def small_networks():
    """Train small networks for the picture that scripts replace: `tests/figures` looks at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course_lib.figures.live_training.BLOCKS", (1, 1))
        yield


@pytest.fixture
def shown(browser, serve, tmp_path, monkeypatch):
    """Shows a figure alone on a page, with its model; any error of theirs fails the test."""
    monkeypatch.setenv("COURSE_BOOK", "1")
    errors = []
    context = browser.new_context(viewport={"width": 900, "height": 900})

    def show(name, *, within=None, **options):
        style = FIGURES.read_text(encoding="utf-8") + STYLE.read_text(encoding="utf-8")
        body = figure(name, **options)._repr_html_()
        (tmp_path / "page.html").write_text(
            "<!doctype html><meta charset=utf-8>"
            "<meta name=viewport content='width=device-width, initial-scale=1'>"
            f"<link rel=icon href=data:,><title>t</title>"
            f"<style>{style}</style><main>{body}</main>",
            encoding="utf-8",
        )
        page = (within or context).new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        write_models(tmp_path / "_static" / "live")
        page.goto(serve(tmp_path) + "page.html")
        if page.locator(".figure-load").count():
            page.get_by_role("button", name="Load the trained model").click()
            page.wait_for_function("document.querySelector('figure').dataset.state")
        return page

    yield show
    context.close()
    assert not errors
