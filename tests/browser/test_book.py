"""The book in a browser: every page opens cleanly, in light, in dark and on a telephone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course_lib.book.survey import pages

pytestmark = pytest.mark.browser

SHAPES = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "telephone, dark": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}},
}


class Visit:
    """One page in one window, and what it complained about or asked for."""

    def __init__(self, chromium: Any, address: str, shape: dict[str, Any]) -> None:
        self.complaints: list[str] = []
        self.outside: list[str] = []
        self.base = address
        self.context = chromium.new_context(**shape)
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._request)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _request(self, request: Any) -> None:
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, name: str) -> Any:
        self.complaints.clear()
        self.outside.clear()
        self.page.goto(self.base + name)
        self.page.wait_for_load_state("networkidle")
        return self.page


@pytest.fixture(scope="module")
def address(built_book: Path, serve: Callable[[Path], str]) -> str:
    return serve(built_book)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_page_opens_cleanly(
    chromium: Any, built_book: Path, address: str, shape: str
) -> None:
    visit = Visit(chromium, address, SHAPES[shape])
    theme = SHAPES[shape]["color_scheme"]
    wrong: list[str] = []
    for name in pages(built_book):
        page = visit.open(name)
        wrong += [f"{name}: {said}" for said in visit.complaints]
        wrong += [f"{name} asks for {url}" for url in visit.outside]
        widths = page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        if widths[0] > widths[1]:
            wrong.append(f"{name} is {widths[0]} wide in a window of {widths[1]}")
        if page.evaluate("document.documentElement.dataset.theme") != theme:
            wrong.append(f"{name} does not follow the reader's {theme} mode")
        broken = page.evaluate(
            "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
        )
        wrong += [f"{name}: broken picture {source}" for source in broken]
    visit.context.close()
    assert len(pages(built_book)) > 10
    assert not wrong, "\n".join(wrong)


def test_formulas_are_drawn_in_the_course_font(chromium: Any, address: str) -> None:
    visit = Visit(chromium, address, SHAPES["light"])
    page = visit.open("book/notation.html")
    assert page.evaluate("document.fonts.check('16px \"Course Math\"')")
    loaded = page.evaluate(
        "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family)"
    )
    assert any("Course Math" in family for family in loaded)
    width, height = page.evaluate(
        "(() => { const b = document.querySelector('math').getBoundingClientRect();"
        " return [b.width, b.height]; })()"
    )
    assert width > 5 and height > 5
    visit.context.close()


def test_a_figure_of_the_book_moves(chromium: Any, built_book: Path, address: str) -> None:
    """Whatever figure a chapter shows: a key changes its numbers, without a kernel."""
    moved = 0
    visit = Visit(chromium, address, SHAPES["light"])
    for path in sorted(built_book.rglob("*.html")):
        if "data-figure=" not in path.read_text(encoding="utf-8"):
            continue
        page = visit.open(path.relative_to(built_book).as_posix())
        for figure in page.locator("figure.course-figure").all():
            before = figure.evaluate("(f) => f.dataset.state")
            controls = ("input[type=range]", "select", "[role=gridcell][tabindex='0']", "button")
            control = next(f for c in controls if (f := figure.locator(c)).count()).first
            for key in ("ArrowLeft", "ArrowRight", "ArrowDown", "Enter"):
                control.press(key)
                if figure.evaluate("(f) => f.dataset.state") != before:
                    break
            assert figure.evaluate("(f) => f.dataset.state") != before, path
            moved += 1
    visit.context.close()
    assert moved >= 3


def test_a_question_is_answered_by_keyboard(chromium: Any, address: str) -> None:
    visit = Visit(chromium, address, SHAPES["light"])
    page = visit.open("book/intro.html")
    form = page.locator("form.question").first
    answer = form.locator(".question-answer")
    assert not form.locator(".question-why").first.is_visible()
    form.locator("input").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert answer.inner_text() == "Choose an option first."
    form.locator("input").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert answer.inner_text().startswith("Not quite.") and "Better:" in answer.inner_text()
    form.locator('[data-right="true"] input').check()
    form.locator("button").click()
    assert answer.inner_text().startswith("Right.") and "Better:" not in answer.inner_text()
    visit.context.close()


def test_search_finds_a_word_on_this_host(chromium: Any, address: str) -> None:
    visit = Visit(chromium, address, SHAPES["light"])
    page = visit.open("book/notation.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("equivariant")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li")
    assert page.url.startswith(f"{address}search.html") and not visit.outside
    visit.context.close()
