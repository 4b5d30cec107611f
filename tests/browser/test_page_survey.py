"""Each page once: what it loads, what axe says, light, dark, on paper, on a telephone."""

import re
from pathlib import Path

import pytest
from pypdf import PdfReader

from course_lib.book.pdf import order, pdf
from course_tests.browser.page_survey import (
    DRAWN_AGAIN,
    EXCEPTED,
    MAX_FIRST_LOAD,
    MAX_SCREENS,
    MIN_LETTERS,
    pages,
    survey,
)

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
MADE = ("genindex.html", "index.html", "search.html")
PAGES = sorted({page for _, page in order(ROOT)}.union(MADE))
# One of each kind: an interface, a chapter with drawings (whose picture the readme shows), one with
# a live figure and a wide table, tables of prose, a list of words, the first page, long code, and
# what Sphinx makes.
KINDS = "api/masks chapters/03_attention chapters/05_masks choosing glossary intro whole".split()
KINDS = (*(f"book/{name}.html" for name in KINDS), *MADE)


WIDTHS = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
BROKEN = "[...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src)"
TOO_WIDE = """[...document.querySelectorAll(".bd-article pre, .bd-article table, .bd-article img,"
    + " .bd-article math[display=block], figure.course-figure")]
    .filter((e) => e.getBoundingClientRect().width
        && (e.getBoundingClientRect().right > innerWidth + 1
            || (e.localName === "pre" && e.scrollWidth > e.clientWidth + 1)))
    .map((e) => e.localName + " " + e.textContent.slice(0, 60))"""


class Visits:
    """A browser that keeps what is wrong with each page, as it is, on paper and on a telephone."""

    def __init__(self, chromium, html):
        self.chromium, self.html = chromium, html
        self.heard = []
        self.wrong = {}

    def new_context(self, **shape):
        context = self.chromium.new_context(**shape)
        self.heard = []
        context.on("console", self._console)
        context.on("weberror", lambda error: self.heard.append(str(error.error)))
        context.on("request", self._request)
        return context

    def _console(self, message):
        # What a style sheet imports, axe looks for beside the page, too.
        of_axe = message.location["url"].endswith("/basic.css")
        of_axe &= "/_static/" not in message.location["url"]
        if message.type in ("error", "warning") and not of_axe:
            self.heard.append(f"{message.text} ({message.location['url']})")

    def _request(self, request):
        if not request.url.startswith(("http://127.0.0.1:", "data:", "blob:")):
            self.heard.append(f"asks for {request.url}")

    def look(self, name, page):
        """See one page in three shapes; it is loaded once."""
        wrong = self.wrong[name] = self.heard
        if name == "book/chapters/03_attention.html":
            picture = self.html.parent / "readme" / "page.png"
            picture.parent.mkdir(exist_ok=True)
            page.screenshot(path=picture)
        self._shown(page, "light", 1280)
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 890, "height": 1200})  # of A4, three quarters
        wrong += [f"runs out of the paper: {element}" for element in page.evaluate(TOO_WIDE)]
        page.emulate_media(media="screen", color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        self._shown(page, "dark", 390)

    def _shown(self, page, theme, width):
        page.evaluate(DRAWN_AGAIN)
        widths = page.evaluate(WIDTHS)
        if widths[0] > widths[1] or widths[1] > width:
            self.heard.append(f"is {widths[0]} wide in a window of {widths[1]}")
        if page.evaluate("document.documentElement.dataset.theme") != theme:
            self.heard.append(f"does not follow the reader's {theme} mode")
        self.heard.extend(f"broken picture {source}" for source in page.evaluate(BROKEN))


@pytest.fixture(scope="module")
def visited(request, chromium, built_book):
    """The pages of this run's cases, each opened once; what contrast is measured of, they share."""
    here = [item for item in request.session.items if item.path == request.path]
    chosen = [i.callspec.params["name"] for i in here if i.get_closest_marker("sample")]
    visits = Visits(chromium, built_book)
    found = survey(built_book, chosen or KINDS, browser=visits, schemes=["light"], look=visits.look)
    return found, visits.wrong


def test_every_page_is_listed(built_book):
    assert pages(built_book) == PAGES


@pytest.mark.sample(*KINDS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light_and_opens_cleanly_for_everybody(visited, name):
    found, wrong = visited
    assert 0 < found["first_load_bytes"][name] <= MAX_FIRST_LOAD
    assert found["screens"][name] <= MAX_SCREENS or "/chapters/" not in name
    assert found["smallest_text"][name] >= MIN_LETTERS
    axe = {rule: entry["elements"].get(name, []) for rule, entry in found["axe"].items()}
    assert not {rule: axe[rule] for rule in axe if axe[rule] and not found["axe"][rule]["excepted"]}
    assert wrong[name] == []


def test_an_exception_that_is_needed_no_more_is_taken_out_of_the_list(visited):
    assert set(EXCEPTED) <= set(visited[0]["axe"])


def test_a_page_that_shuts_people_out_is_found(chromium, tmp_path):
    (tmp_path / "a.html").write_text(
        '<!doctype html><html lang="en"><title>t</title><main><h1>h</h1><img src="x.png"></main>'
    )
    (tmp_path / "x.png").write_bytes(b"x" * 1000)
    found = survey(tmp_path, browser=chromium)
    assert found["axe"]["image-alt"]["elements"] == {"a.html": ["img"]}
    assert not found["axe"]["image-alt"]["excepted"]
    assert found["screens"]["a.html"] == 0  # it has no article
    assert found["first_load_bytes"]["a.html"] == 1000 + (tmp_path / "a.html").stat().st_size


def test_the_book_on_paper(chromium, built_book, tmp_path):
    """Two pages of it: bookmarks, and a link that stays inside the file."""
    entries = [
        e for e in order(ROOT) if e[1] in ("book/notation.html", "book/chapters/05_masks.html")
    ]
    target = tmp_path / "book.pdf"
    sheets = pdf(ROOT, target, only=[page for _, page in entries], browser=chromium)
    read = PdfReader(target)
    assert len(read.pages) == sheets > 4
    titles = [item.title for item in read.outline if not isinstance(item, list)]
    assert titles == [part for part, _ in entries]
    goals = [
        a.get_object().get("/A", {}).get("/S") for p in read.pages for a in p.get("/Annots") or []
    ]
    assert "/GoTo" in goals
    text = [page.extract_text() for page in read.pages]
    assert "may attend" in "".join(text)
    # Every sheet has its number, counted through; reasons that the page hides are printed.
    assert all(re.search(rf"\b{n} / {sheets}\b", said) for n, said in enumerate(text, start=1))
    assert "Not quite." in "".join(text) and "Check my prediction" not in "".join(text)
