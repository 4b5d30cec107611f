"""The book in a browser: font, figures, questions, search; `test_page_survey` opens each page."""

import re
from pathlib import Path

import pytest

from course_lib.book.pdf import order

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
LIVE = [
    page
    for _, page in order(ROOT)
    if re.search(r'\bfigure\(\s*"', (ROOT / page).with_suffix(".md").read_text(encoding="utf-8"))
]


def test_figures_are_numbered_within_their_chapter():
    of_chapters = {}
    for _, page in order(ROOT):
        if chapter := re.match(r"book/chapters/(\d\d)_", page):
            built = (ROOT / "_build" / "html" / page).read_text(encoding="utf-8")
            numbers = re.findall(r'caption-number">Fig\. ([\d.]+) ', built)
            of_chapters.setdefault(chapter[1], []).extend(numbers)
    for chapter, numbers in of_chapters.items():
        assert numbers == [f"{int(chapter)}.{k}" for k in range(1, len(numbers) + 1)]
    assert len(of_chapters) > 15 and of_chapters["06"]


class Visit:
    def __init__(self, chromium, address):
        self.outside = []
        self.base = address
        self.context = chromium.new_context(
            color_scheme="light", viewport={"width": 1280, "height": 900}
        )
        self.page = self.context.new_page()
        self.page.on("request", self._request)

    def _request(self, request):
        if not request.url.startswith((self.base, "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, name):
        self.outside.clear()
        self.page.goto(self.base + name)
        self.page.wait_for_load_state("networkidle")
        return self.page


@pytest.fixture(scope="module")
def address(built_book, serve):
    return serve(built_book)


def test_formulas_are_drawn_in_the_course_font(chromium, address):
    visit = Visit(chromium, address)
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


def test_pages_with_figures_are_listed(built_book):
    shown = [p for p in built_book.rglob("*.html") if "data-figure=" in p.read_text("utf-8")]
    assert {p.relative_to(built_book).as_posix() for p in shown} == {*LIVE}


# Each figure is driven alone, by mouse and by keys, in `test_figures_in_browser`.
@pytest.mark.sample("book/chapters/03_scale.html", "book/chapters/05_masks.html")
@pytest.mark.parametrize("name", LIVE)
def test_a_figure_of_the_book_moves(chromium, address, name):
    visit = Visit(chromium, address)
    figures = visit.open(name).locator("figure.course-figure").all()
    assert figures
    for figure in figures:
        if figure.locator(".figure-load").count():  # a trained model, which has to be asked for
            figure.get_by_role("button").click()
            figure.locator(".live-next").wait_for()
        before = figure.evaluate("(f) => f.dataset.state")
        controls = ("input[type=range]", "select", "[role=gridcell][tabindex='0']", "button")
        control = next(f for c in controls if (f := figure.locator(c)).count()).first
        for key in ("ArrowLeft", "ArrowRight", "ArrowDown", "Enter"):
            control.press(key)
            if figure.evaluate("(f) => f.dataset.state") != before:
                break
        assert figure.evaluate("(f) => f.dataset.state") != before
    visit.context.close()


def test_a_question_is_answered_by_keyboard(chromium, address):
    visit = Visit(chromium, address)
    page = visit.open("book/intro.html")
    form = page.locator("form.question").first
    answer = form.locator(".question-answer")
    assert not form.locator(".question-why").first.is_visible()
    form.locator("input").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert answer.inner_text() == "Choose an option first."
    form.locator('[data-right="false"] input').first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert answer.inner_text().startswith("Not quite.") and "Better:" in answer.inner_text()
    form.locator('[data-right="true"] input').check()
    form.locator("button").click()
    assert answer.inner_text().startswith("Right.") and "Better:" not in answer.inner_text()
    visit.context.close()


def test_search_finds_a_word_on_this_host(chromium, address):
    visit = Visit(chromium, address)
    page = visit.open("book/notation.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("equivariant")
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li")
    assert page.url.startswith(f"{address}search.html") and not visit.outside
    visit.context.close()


def test_search_lists_chapters_before_the_reference_of_the_library(chromium, address):
    page = Visit(chromium, address).open("search.html?q=rotary")
    page.wait_for_selector("#search-results li")
    found = page.locator("#search-results li > a").evaluate_all("links => links.map(a => a.href)")
    kinds = [link for link in found if "/chapters/" in link or "/api/" in link]
    assert "/chapters/" in kinds[0] and any("/api/" in link for link in kinds)
    assert kinds == sorted(kinds, key=lambda link: "/api/" in link)
    page.context.close()


def test_a_link_to_a_place_that_has_moved_leads_to_its_new_page(chromium, address):
    page = Visit(chromium, address).open("book/notation.html#attention-by-hand")
    page.wait_for_url("**/book/chapters/03_attention.html#attention-by-hand")
    page.context.close()
