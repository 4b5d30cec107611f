"""One chapter as slides: a file that needs no network, made of the pages as they were built."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag

from course_lib.book.browser import chromium
from course_lib.book.pdf import order
from grader.base.errors import Refused

# What becomes a slide, wherever it stands in a section; a page marks more by the class `slide`, or
# a cell's tag of that name, and takes one out by `no-slide`.
_SHOWN = (
    "figure.mechanism, figure.course-figure, .cell_output figure, div.formula, section > ol,"
    " .tag_plain, form.question, section#summary > ul, div.assignment, .slide, .tag_slide"
)
# Folded up: for a reader who wants more.
_FOLDED = "details, .dropdown, .no-slide, .tag_no-slide"
# Of a section with nothing of these, the first one.
_ELSE = "table, .cell:not(:has(details)), .cell_output"
_STYLES = ("pygments.css", "figures.css", "course.css", "course-drawings.css", "course-math.css")
_LINK = re.compile(r"""url\(["']?([\w.-]+\.woff2)["']?\)""")
# Words that explain a formula's symbols after it.
_EXPLAINS = re.compile(r"\s*(?:Here|with|where|and|Both|Each)\b|\s*[a-z]")
# Characters of a list in large letters, and lines of code with a sentence above them.
_MANY, _LINES = 600, 24
_LETTERS = "ABCDEFGH"


@dataclass
class _Slide:
    """Heading, what is shown, what the presenter reads, all HTML; and the kind, for the style."""

    heading: str
    body: str
    kind: str = ""
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        level = "h1" if self.kind == "opening" else "h2"
        notes = "".join(self.notes)
        return (
            f'<section class="{self.kind}"><{level}>{self.heading}</{level}>\n'
            f'<div class="room">{self.body}</div>\n<aside class="notes">{notes}</aside></section>\n'
        )


def chapters(root: Path) -> dict[str, list[str]]:
    """The pages of each chapter, as addresses in the built book, by its two digits."""
    pages: dict[str, list[str]] = {}
    for _, page in order(root):
        if named := re.fullmatch(r"book/chapters/(\d\d)_\w+\.html", page):
            pages.setdefault(named[1], []).append(page)
    return pages


def deck(root: Path, chapter: str) -> tuple[str, int]:
    """Make slides of chapter ``"03"``, say, from its built pages: one page, and their number."""
    known = chapters(root)
    if chapter not in known:
        raise Refused(f"there is no chapter {chapter!r}: expected one of {', '.join(known)}")
    html = root / "_build" / "html"
    if absent := [p for p in [*known[chapter], "book/teaching.html"] if not (html / p).exists()]:
        raise Refused(f"not built: {', '.join(absent)}; run `course book` first")
    advice = _advice(html, chapter)
    slides: list[_Slide] = []
    for page in known[chapter]:
        article = _article(html / page)
        _settle(article, (html / page).parent)
        slides += _slides(article, advice)
    slides[0].notes[:0] = [str(p) for p in advice if p.name == "p"][:1]
    slides[-1].notes += map(str, advice)
    title = _plain(slides[0].heading)
    static = html / "_static"
    styles = [_own("reveal/reveal.css"), *(_style(static / name) for name in _STYLES)]
    scripts = [_own(f"reveal/{name}.js") for name in ("reveal", "notes", "zoom")]
    page = (
        f"<!doctype html>\n<!-- reveal.js\n{_own('reveal/LICENSE')}-->\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        + "".join(f"<style>{style}</style>\n" for style in [*styles, _own("slides.css")])
        + '</head><body>\n<main><div class="reveal"><div class="slides">\n'
        + "".join(map(str, slides))
        + "</div></div></main>\n"
        + "".join(f"<script>{script}</script>\n" for script in [*scripts, _own("slides.js")])
        + "</body></html>\n"
    )
    return page, len(slides)


def print_deck(source: Path, target: Path, browser: Any = None) -> None:
    """Print slides to a PDF, one to a sheet, with the answers to their questions.

    ``source``: a file that :func:`deck` has made; ``browser``: a running one, of
    :func:`course_lib.book.browser.chromium`; an own if not given.
    """
    with chromium(browser) as browser:
        window = browser.new_page(color_scheme="light")
        window.goto(source.resolve().as_uri() + "?print-pdf")
        window.wait_for_selector("html.deck-printable", state="attached")
        window.pdf(path=target, prefer_css_page_size=True, print_background=True)
        window.close()


def _article(path: Path) -> Tag:
    article = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser").select_one("article")
    if article is None:
        raise Refused(f"{path} is no page of the book: run `course book` first")
    return article


def _settle(article: Tag, folder: Path) -> None:
    """Take out what leads elsewhere, and put every picture in."""
    for mark in article.select("a.headerlink, .question-kicker, form.question > fieldset > button"):
        mark.decompose()
    for link in article.select("a"):
        link.name = "span"
        link.attrs = {k: v for k, v in link.attrs.items() if k == "class"}
    for picture in article.select('img:not([src^="data:"])'):  # a live figure brings its own
        drawn = base64.b64encode((folder / str(picture["src"])).read_bytes()).decode()
        picture["src"] = f"data:image/svg+xml;base64,{drawn}"
    for code in article.select("pre"):
        lines = code.get_text().splitlines()
        if len(lines) <= 9 and max(map(len, lines), default=0) <= 66:
            code["class"] = "large"
    for named in article.select("[id]:not(section, svg *)"):
        del named["id"]


def _slides(article: Tag, advice: list[Tag]) -> Iterator[_Slide]:
    """Elements of a page, in its order; the text around them becomes the presenter's."""
    for section in article.select("section"):
        head = section.find(["h1", "h2", "h3", "h4"], recursive=False)
        children = [c for c in section.find_all(True, recursive=False) if c is not head]
        heading = _inner(head)
        made: list[_Slide] = []
        notes: list[str] = []
        if head is not None and head.name == "h1":
            before = takewhile(lambda c: c.name != "section" and not _chosen(c), children)
            opening = [c for c in before if c.name == "p"]
            if opening[1:] and opening[-1].get_text().endswith(":"):  # it leads to what follows
                opening.pop()
            body = "".join(map(str, opening[1:]))
            made.append(_Slide(heading, body, "opening", [str(p) for p in opening[:1]]))
            children = [c for c in children if c not in opening]
        shown = [part for child in children for part in _chosen(child)]
        if not shown and section.get("id") != "references":
            own = [c for c in children if c.name != "section"]
            shown = [part for c in own for part in _found(c, _ELSE) if _open(part)][:1]
        for child in children:
            here = [s for s in shown if s is child or child in s.parents]
            for part in here:
                slide = _show(part, heading, advice)
                if made and made[-1].kind == "formula" and part.css.match(".tag_plain"):
                    made[-1].body += str(part)  # beside the code that computes it
                    continue
                made.append(slide)
                slide.notes, notes = notes + slide.notes, []
            if not here and child.name in ("p", "ul", "ol"):
                (made[-1].notes if made else notes).append(str(child))
        yield from made


def _chosen(child: Tag) -> list[Tag]:
    """Elements of a section's child that become slides; nothing of another section's."""
    if child.name == "section":
        return []
    parts = _found(child, _SHOWN)
    whole = [part for part in parts if not any(other in part.parents for other in parts)]
    return [part for part in whole if _open(part)]


def _found(tag: Tag, selector: str) -> list[Tag]:
    return [tag] if tag.css.match(selector) else tag.select(selector)


def _open(part: Tag) -> bool:
    return part.css.closest(_FOLDED) is None


def _show(part: Tag, heading: str, advice: list[Tag]) -> _Slide:
    classes = part.get_attribute_list("class")
    if part.name == "form":
        return _vote(part, heading, advice)
    if "formula" in classes:
        after = part.find_next_sibling()
        explained = after is not None and after.name == "p" and _EXPLAINS.match(after.get_text())
        where = f"<p>{_inner(after).splitlines()[0]}</p>" if explained else ""
        return _Slide(heading, f"{_lead(part)}{part}{where}", "formula")
    if "assignment" in classes:
        title = part.select_one(".admonition-title")
        text = [str(p) for p in part.find_all("p") if p is not title and not p.select(".download")]
        return _Slide(_inner(title), "".join(text), "words")
    if part.name == "ol":
        for item in part.find_all("li", recursive=False):
            item["class"] = "fragment"
    if part.name != "figure":
        block = part.css.closest("section > *") or part
        lead = "" if part.name in ("ul", "p") else _lead(block)
        size, room = len(part.get_text()), _MANY
        if part.name not in ("ol", "ul"):
            size, room = part.get_text().count("\n"), _LINES
        elif size + len(_plain(lead)) > room:
            lead = ""
        if size > room:
            return _Slide(heading, str(part), "words long")
        return _Slide(heading, f"{lead}{part}", "words")
    if "course-figure" in classes:
        part["data-prevent-swipe"] = ""
        script = part.find_next_sibling("script")
        return _Slide(heading, f"{part}{script}", "live")
    return _Slide(heading, str(part), "picture" + " tall" * (_ratio(part) < 1.75))


def _lead(part: Tag) -> str:
    """Text right before an element: a list, or else two sentences, a line each."""
    before = part.find_previous_sibling()
    if before is not None and before.name == "ul":
        return f"{_lead(before)}{before}"
    lines = _inner(before).splitlines() if before is not None and before.name == "p" else []
    return f"<p>{' '.join(lines[-2:])}</p>" if lines else ""


def _ratio(figure: Tag) -> float:
    """Measure how often a picture is as wide as high."""
    drawn = figure.select_one("svg.wide")
    if drawn is None:
        vector = figure.select_one('img[src^="data:image/svg"]')
        source = str(vector["src"]) if vector else ""
        text = base64.b64decode(source.partition(",")[2]).decode("utf-8")
    else:
        text = str(drawn)
    box = re.search(r'viewBox="\S+ \S+ (\S+) (\S+)"', text, re.IGNORECASE)
    return float(box[1]) / float(box[2]) if box else 2.0


def _vote(form: Tag, heading: str, advice: list[Tag]) -> _Slide:
    """A question with letters: votes are counted by a key, and the next one shows the reasons."""
    rows, notes = [], []
    for letter, option in zip(_LETTERS, form.select(".question-option"), strict=False):
        right = option["data-right"] == "true"
        why = option.select_one(".question-why")
        name = str(option["data-misconception"])
        rows.append(
            f'<li{" class=right" * right}><span class="letter">{letter}</span>'
            f'<div class="option"><p>{_inner(option.label)}</p><div class="why fragment"'
            f' data-fragment-index="0">{_inner(why)}</div></div>'
            f'<button class="votes" aria-label="Votes for {letter}">0</button></li>'
        )
        notes += [f"<p><strong>Right: {letter}.</strong></p>"] * right
        mentioned = [item for item in advice if name and name.replace("-", "_") in _codes(item)]
        notes += [f"<p><strong>{letter}</strong></p>{item}" for item in mentioned]
    body = f'<p class="stem">{_inner(form.legend)}</p><ol class="options">{"".join(rows)}</ol>'
    return _Slide(heading, body, "vote", notes)


def _advice(html: Path, chapter: str) -> list[Tag]:
    """Paragraphs and items of `book/teaching.md` on a chapter's assignment."""
    article = _article(html / "book" / "teaching.html")
    _settle(article, html / "book")
    for head in article.select("h2"):
        if _plain(_inner(head)).startswith(f"{chapter} ·") and head.parent:
            return head.parent.select(":scope > p, :scope > ul > li")
    return []


def _codes(item: Tag) -> set[str]:
    return {code.get_text() for code in item.select("code")}


def _inner(tag: Tag | None) -> str:
    return tag.decode_contents().strip() if tag else ""


def _plain(html: str) -> str:
    return BeautifulSoup(html, "html.parser").get_text()


def _own(name: str) -> str:
    """A file that stands beside this module, safe inside an element."""
    return (
        files("course_lib.book").joinpath(name).read_text(encoding="utf-8").replace("</s", "<\\/s")
    )


def _style(path: Path) -> str:
    """A style sheet of the book with its fonts in it."""

    def inside(link: re.Match[str]) -> str:
        font = base64.b64encode((path.parent / link[1]).read_bytes()).decode()
        return f"url(data:font/woff2;base64,{font})"

    return _LINK.sub(inside, path.read_text(encoding="utf-8"))
