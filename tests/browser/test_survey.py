"""How much a page loads, what axe says, and the book on paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from course_lib.book.printing import order, pdf
from course_lib.book.survey import EXCEPTED, MAX_FIRST_LOAD, survey

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


def test_every_page_is_light_and_open_to_everybody(chromium: Any, built_book: Path) -> None:
    found = survey(built_book, browser=chromium, schemes=["light"])
    heavy = {p: n for p, n in found["first_load_bytes"].items() if n > MAX_FIRST_LOAD}
    assert len(found["first_load_bytes"]) > 10 and not heavy
    wrong = {rule: entry["elements"] for rule, entry in found["axe"].items()}
    assert not {rule: wrong[rule] for rule in wrong if not found["axe"][rule]["excepted"]}
    # An exception that is needed no more is taken out of the list.
    assert set(EXCEPTED) == set(wrong)


def test_a_page_that_shuts_people_out_is_found(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<!doctype html><html lang="en"><title>t</title><main><h1>h</h1><img src="x.png"></main>'
    )
    (tmp_path / "x.png").write_bytes(b"x" * 1000)
    found = survey(tmp_path, browser=chromium)
    assert found["axe"]["image-alt"]["elements"] == {"a.html": ["img"]}
    assert not found["axe"]["image-alt"]["excepted"]
    assert found["first_load_bytes"]["a.html"] == 1000 + (tmp_path / "a.html").stat().st_size


def test_the_book_on_paper(chromium: Any, built_book: Path, tmp_path: Path) -> None:
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


def test_nothing_runs_out_of_the_paper(
    chromium: Any, built_book: Path, serve: Callable[[Path], str]
) -> None:
    window = chromium.new_page(viewport={"width": 890, "height": 1200})  # of A4, three quarters
    window.emulate_media(media="print", color_scheme="light")
    address = serve(built_book)
    wide = """[...document.querySelectorAll(".bd-article pre, .bd-article table, .bd-article img,"
        + " .bd-article math[display=block], figure.course-figure")]
        .filter((e) => e.getBoundingClientRect().width
            && (e.getBoundingClientRect().right > innerWidth + 1
                || (e.localName === "pre" && e.scrollWidth > e.clientWidth + 1)))
        .map((e) => e.localName + " " + e.textContent.slice(0, 60))"""
    found = {}
    for _, page in order(ROOT):
        window.goto(address + page)
        window.wait_for_load_state("networkidle")
        found[page] = window.evaluate(wide)
    window.close()
    assert not {page: elements for page, elements in found.items() if elements}
