"""The order of the book on paper, and what is missing for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.book.pdf import order, pdf

ROOT = Path(__file__).parents[2]


def test_the_order_is_that_of_the_table_of_contents() -> None:
    pages = [page for _, page in order(ROOT)]
    assert pages[0] == "book/intro.html"
    chapters = [page for page in pages if "/chapters/" in page]
    by_number = sorted(chapters, key=lambda page: page.rpartition("/")[2][:2])
    assert chapters == by_number and len(chapters) >= 7
    first = chapters.index("book/chapters/08_relative.html")
    assert chapters[first + 1] == "book/chapters/08_extension.html", "a chapter's second page"
    assert pages.index("book/notation.html") > pages.index(chapters[-1])


def test_an_unbuilt_page_is_named(tmp_path: Path) -> None:
    (tmp_path / "_toc.yml").write_text("root: a\nparts: [{caption: P, chapters: [{file: b}]}]\n")
    with pytest.raises(FileNotFoundError, match=r"not built: a\.html, b\.html; run `course book`"):
        pdf(tmp_path, tmp_path / "x.pdf")
