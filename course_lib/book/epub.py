"""Entries that Sphinx leaves out of an EPUB and readers' programs want to know."""

import io
import posixpath
import re
import zipfile
from pathlib import Path

from grader.base.files import write_whole

_ITEM = re.compile(r'<item [^>]*?href="([^"]+\.xhtml)"[^>]*?/>')
_STYLE = re.compile(rb'<link [^>]*?href="([^"]+\.css)"[^>]*?/>')
_HTML = re.compile(rb"<html(?![^>]* lang=)")
_TOC = re.compile(rb'epub:type="toc"(?! role)')
_LIST = "content.opf"
# Entry of a page in the list of files, and how one sees it there.
_KINDS = {"mathml": b"<math", "svg": b"<svg"}
# EPUB Accessibility 1.1, section 2: what a reader's program tells before the book is opened. That
# the book conforms to a level is not declared here: nobody has certified it.
_FEATURES = (
    "alternativeText displayTransformability index MathML readingOrder structuralNavigation"
    " tableOfContents unlocked"
)
_SUMMARY = (
    "Every picture has a text in its place, formulas are MathML, and figures that move stand as"
    " their description. Tried by programs, not by a person with a screen reader."
)
_ACCESS = [
    ("accessMode", "textual"),
    ("accessMode", "visual"),
    ("accessModeSufficient", "textual"),
    ("accessibilityHazard", "none"),
    ("accessibilitySummary", _SUMMARY),
    *(("accessibilityFeature", feature) for feature in _FEATURES.split()),
]


def complete(epub: Path) -> int:
    """Say in an EPUB, which is written anew, for whom it is made and what its pages have in them.

    Returns how many have formulas or drawn pictures. Its standard demands all this in the list of
    files; and no page may ask for a style sheet that is not in it, such as that of cells, which
    only the site gets. Each page says its language.
    """
    with zipfile.ZipFile(epub) as book:
        files = {entry: book.read(entry) for entry in book.infolist()}
    contents = {entry.filename: content for entry, content in files.items()}
    with_more = 0

    def declared(item: re.Match[str]) -> str:
        nonlocal with_more
        page = contents.get(item[1], b"")
        kinds = " ".join(kind for kind, tag in _KINDS.items() if tag in page)
        if not kinds or "properties=" in item[0]:
            return item[0]
        with_more += 1
        return item[0].removesuffix("/>").rstrip() + f' properties="{kinds}"/>'

    access = "".join(f'<meta property="schema:{n}">{value}</meta>\n' for n, value in _ACCESS)
    listed = _ITEM.sub(declared, contents[_LIST].decode())
    if access not in listed:
        listed = listed.replace("</metadata>", f"{access}</metadata>", 1)
    codes = re.findall(r"<dc:language>(.*?)<", listed)
    tongue = rf'\g<0> lang="{codes[0]}" xml:lang="{codes[0]}"'.encode() if codes else rb"\g<0>"
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as book:
        for entry, content in files.items():
            if entry.filename.endswith(".xhtml"):
                here = posixpath.dirname(entry.filename)
                for link in [*_STYLE.finditer(content)]:
                    if posixpath.normpath(posixpath.join(here, link[1].decode())) not in contents:
                        content = content.replace(link[0], b"")
                content = _HTML.sub(tongue, content, 1)
                content = _TOC.sub(rb'\g<0> role="doc-toc"', content)
                # A box that is too wide has to scroll by keys, too.
                content = content.replace(b"<pre>", b'<pre tabindex="0">')
            book.writestr(entry, listed.encode() if entry.filename == _LIST else content)
    write_whole(epub, whole.getvalue())
    return with_more
