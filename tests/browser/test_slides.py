"""Slides of chapters as a presenter and a room see them, without a network."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from pypdf import PdfReader

from course_lib.book.slides import chapters, deck, print_deck

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
SMALLEST = 18
# What leaves its slide, covers the heading, scrolls, or is too small to read; formulas have their
# own small signs, and pictures are as large as the slide allows.
WRONG = """() => {
  const slide = Reveal.getCurrentSlide();
  const edge = slide.getBoundingClientRect();
  const heading = slide.querySelector("h1, h2");
  const below = heading.getBoundingClientRect().bottom;
  const found = [];
  for (const e of slide.querySelectorAll(":not(aside, aside *, svg *, math *, noscript, option)")) {
    const box = e.getBoundingClientRect();
    if (!e.checkVisibility() || !box.width || e.matches(".for-readers-aloud")) continue;
    const name = `${e.localName}.${e.className} ${e.textContent.trim().slice(0, 30)}`;
    if (box.left < edge.left || box.right > edge.right || box.top < edge.top
        || box.bottom > edge.bottom - 16)
      found.push(`leaves the slide: ${name}`);
    if (slide.querySelector(".room").contains(e) && box.top < below - 1)
      found.push(`covers the heading: ${name}`);
    if (e.scrollWidth > e.clientWidth + 1 && e.localName !== "select"
        && getComputedStyle(e).overflowX !== "visible")
      found.push(`scrolls: ${name}`);
    const said = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (said && parseFloat(getComputedStyle(e).fontSize) < SMALLEST) found.push(`small: ${name}`);
  }
  if (!heading.textContent.trim()) found.push("no heading");
  if (!slide.matches(".opening") && !slide.querySelector(".room").textContent.trim()
      && !slide.querySelector(".room img")) found.push("shows nothing");
  return found;
}""".replace("SMALLEST", str(SMALLEST))


class Room:
    """A window on the slides of a chapter, which hears all that goes wrong."""

    def __init__(self, browser, folder, chapter, scheme="light"):
        page, self.slides = deck(ROOT, chapter)
        self.file = folder / f"{chapter}.html"
        self.file.write_text(page, encoding="utf-8")
        self.heard = []
        self.context = browser.new_context(
            viewport={"width": 1280, "height": 720}, color_scheme=scheme, offline=True
        )
        self.window = self.context.new_page()
        self.window.on("console", lambda message: self.heard.append(message.text))
        self.window.on("pageerror", lambda error: self.heard.append(str(error)))
        self.window.on("request", self._request)
        self.window.goto(self.file.as_uri())
        self.window.wait_for_function("window.Reveal?.isReady()")

    def _request(self, request):
        if request.url.partition("#")[0] != self.file.as_uri() and request.url[:5] != "data:":
            self.heard.append(f"asks for {request.url[:80]}")

    def show(self, number, step=9):
        self.window.evaluate(f"Reveal.slide({number}, 0, {step})")

    def votes(self):
        return list(self.window.locator(".present .votes").all_text_contents())


@pytest.mark.sample("03")
@pytest.mark.parametrize("chapter", chapters(ROOT))
def test_every_slide_fits_and_can_be_read(chromium, built_book, tmp_path, chapter):
    room = Room(chromium, tmp_path, chapter)
    assert room.slides == room.window.evaluate("Reveal.getTotalSlides()")
    wrong = {}
    for number in range(room.slides):
        room.show(number)
        if found := room.window.evaluate(WRONG):
            wrong[number] = found
    assert not wrong and not room.heard
    assert room.file.stat().st_size < 1_500_000
    room.context.close()


@pytest.mark.sample("03")
@pytest.mark.parametrize("chapter", chapters(ROOT))
def test_nobody_is_shut_out(chromium, built_book, tmp_path, chapter):
    for scheme in ("light", "dark"):
        room = Room(chromium, tmp_path, chapter, scheme)
        room.show(room.window.evaluate("Reveal.getSlides().findIndex((s) => s.matches('.vote'))"))
        broken = Axe().run(room.window).response["violations"]
        room.window.goto(room.file.as_uri() + "?print-pdf")
        room.window.wait_for_selector("html.deck-printable", state="attached")
        broken += Axe().run(room.window).response["violations"]
        assert [(rule["id"], rule["nodes"][:3]) for rule in broken] == []
        room.context.close()


def test_a_question_is_voted_on_and_answered(chromium, built_book, tmp_path):
    room = Room(chromium, tmp_path, "03")
    place = room.window.evaluate("Reveal.getSlides().findIndex((s) => s.matches('.vote'))")
    room.show(place, -1)
    why = room.window.locator(".present .why")
    assert not any(why.nth(n).is_visible() for n in range(why.count()))
    for key in "1131":
        room.window.keyboard.press(key)
    assert room.votes()[:3] == ["3", "0", "1"]
    room.window.locator(".present .votes").first.click(modifiers=["Shift"])
    assert room.votes()[:3] == ["2", "0", "1"]
    shares = room.window.locator(".present .options > li").evaluate_all(
        "(all) => all.map((li) => Number(li.style.getPropertyValue('--share')))"
    )
    assert shares == pytest.approx([2 / 3, 0, 1 / 3])
    room.window.keyboard.press("ArrowRight")
    assert room.window.evaluate("Reveal.getIndices().h") == place, "the answer comes first"
    assert all(why.nth(n).is_visible() for n in range(why.count()))
    assert room.window.locator(".present .right .why").inner_text().startswith("Right.")
    room.window.keyboard.press("t")
    assert room.window.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_live_figure_keeps_its_keys_until_escape(chromium, built_book, tmp_path):
    room = Room(chromium, tmp_path, "03")
    place = room.window.evaluate("Reveal.getSlides().findIndex((s) => s.matches('.live'))")
    room.show(place)
    figure = room.window.locator(".present .course-figure")
    before = figure.get_attribute("data-state")
    figure.locator("[role=slider]").first.focus()
    room.window.keyboard.press("ArrowRight")
    assert room.window.evaluate("Reveal.getIndices().h") == place
    assert figure.get_attribute("data-state") != before
    room.window.keyboard.press("Escape")
    assert not room.window.evaluate("Reveal.isOverview()")
    room.window.keyboard.press("ArrowRight")
    assert room.window.evaluate("Reveal.getIndices().h") == place + 1


def test_a_click_with_alt_enlarges_a_drawing(chromium, built_book, tmp_path):
    room = Room(chromium, tmp_path, "09")
    room.show(1)
    drawing = room.window.locator(".present .drawing svg.wide")
    before = drawing.bounding_box()
    drawing.click(modifiers=["Alt", "Control"])  # on Linux it is Control
    room.window.wait_for_function(
        """(width) => width <
            document.querySelector(".present svg.wide").getBoundingClientRect().width""",
        arg=1.5 * before["width"],
    )


def test_notes_open_in_a_window_of_their_own(chromium, built_book, tmp_path):
    room = Room(chromium, tmp_path, "03")
    with room.context.expect_page() as opened:
        room.window.keyboard.press("s")
    notes = opened.value.locator(".speaker-controls-notes")
    notes.get_by_text("Goals.").wait_for()
    opened.value.keyboard.press("ArrowRight")
    room.window.wait_for_function("Reveal.getIndices().h === 1")


def test_the_pdf_has_a_sheet_for_each_slide(chromium, built_book, tmp_path):
    page, slides = deck(ROOT, "03")
    (tmp_path / "03.html").write_text(page, encoding="utf-8")
    print_deck(tmp_path / "03.html", tmp_path / "03.pdf", browser=chromium)
    sheets = PdfReader(tmp_path / "03.pdf").pages
    assert len(sheets) == slides
    assert all(
        float(sheet.mediabox.width) / float(sheet.mediabox.height) == 16 / 9 for sheet in sheets
    )
    assert "Not quite." in "".join(sheet.extract_text() for sheet in sheets)
