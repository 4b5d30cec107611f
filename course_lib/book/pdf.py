"""The built book as one PDF, printed page by page by a headless Chromium."""

import io
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

from course_lib.book.browser import chromium, serving
from grader.base.files import write_whole

_PAPER = {
    "format": "A4",
    "margin": {"top": "16mm", "bottom": "18mm", "left": "16mm", "right": "16mm"},
    # 9 points of text, so that a line of code of the length that the library allows fits.
    "scale": 0.75,
}
# Reference that is looked up and not read.
_FOR_SCREENS = ("book/api/", "book/results_")
_FOOT = (
    '<div style="width:100%;text-align:center;font:8pt sans-serif;color:#555">'
    '<span class="pageNumber"></span> / <span class="totalPages"></span></div>'
)


def order(root: Path) -> Iterator[tuple[str, str]]:
    """Part and page of everything in ``_toc.yml``, in its order."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    yield "", f"{toc['root']}.html"
    for part in toc["parts"]:
        waiting = list(part["chapters"])
        while waiting:
            page = waiting.pop(0)
            yield part["caption"], f"{page['file']}.html"
            waiting[:0] = page.get("sections", ())


def pdf(
    root: Path,
    target: Path,
    say: Callable[[str], None] = lambda page: None,
    only: Collection[str] | None = None,
    browser: Any = None,
) -> int:
    """Print the book.

    Bookmarks name parts and pages; a link from page to page leads to that page of the file. Returns
    how many sheets it has.
    """
    from pypdf import PdfReader, PdfWriter

    html = root / "_build" / "html"
    printed = [entry for entry in order(root) if not entry[1].startswith(_FOR_SCREENS)]
    entries = [entry for entry in printed if only is None or entry[1] in only]
    if absent := [page for _, page in entries if not (html / page).exists()]:
        raise FileNotFoundError(f"not built: {', '.join(absent)}; run `course book` first")
    writer = PdfWriter()
    parts: dict[str, Any] = {}
    starts: dict[str, int] = {}
    with serving(html) as address, chromium(browser) as browser:
        window = browser.new_page(color_scheme="light")
        window.emulate_media(media="print", color_scheme="light")
        for part, page in entries:
            say(page)
            window.goto(address + page)
            window.wait_for_load_state("networkidle")
            title = window.title().split(" — ")[0]
            printed = window.pdf(**_PAPER, print_background=True)
            first = starts[page] = len(writer.pages)
            for sheet in PdfReader(io.BytesIO(printed)).pages:
                writer.add_page(sheet)
            if part and part not in parts:
                parts[part] = writer.add_outline_item(title=part, page_number=first)
            writer.add_outline_item(title=title, page_number=first, parent=parts.get(part))
        _number(writer, window)
    _link(writer, address, starts)
    writer.compress_identical_objects()
    whole = io.BytesIO()
    writer.write(whole)
    write_whole(target, whole.getvalue())
    return len(writer.pages)


def _number(writer: Any, window: Any) -> None:
    """Number each sheet by empty sheets with a foot, as a browser counts those of one page only."""
    from pypdf import PdfReader

    count = len(writer.pages)
    window.set_content("<p>&nbsp;</p>" + '<p style="break-before: page">&nbsp;</p>' * (count - 1))
    feet = window.pdf(
        **_PAPER, display_header_footer=True, header_template="<i></i>", footer_template=_FOOT
    )
    for sheet, foot in zip(writer.pages, PdfReader(io.BytesIO(feet)).pages, strict=True):
        sheet.merge_page(foot)
        sheet.compress_content_streams()


def _link(writer: Any, address: str, starts: dict[str, int]) -> None:
    """Turn links to the server that printed into links inside the file."""
    from pypdf.generic import ArrayObject, DictionaryObject, NameObject

    for sheet in writer.pages:
        for reference in sheet.get("/Annots") or []:
            action = reference.get_object().get("/A")
            url = str(action.get("/URI", "")) if action else ""
            page = url.removeprefix(address).partition("#")[0]
            if url.startswith(address) and page in starts:
                goal = writer.pages[starts[page]].indirect_reference
                reference.get_object()[NameObject("/A")] = DictionaryObject(
                    {
                        NameObject("/S"): NameObject("/GoTo"),
                        NameObject("/D"): ArrayObject([goal, NameObject("/Fit")]),
                    }
                )
