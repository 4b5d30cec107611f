"""What Sphinx leaves out of an EPUB and readers' programs want to know."""

import io
import re
import zipfile
from pathlib import Path

from course_lib.files import write_whole

_ITEM = re.compile(r'<item [^>]*?href="([^"]+\.xhtml)"[^>]*?/>')
_LIST = "content.opf"


def declare_formulas(epub: Path) -> int:
    """Say in an EPUB, which is written anew, which of its pages have formulas; how many have.

    Its standard demands that in the list of files. ``epub``: the file; it is written anew.
    """
    with zipfile.ZipFile(epub) as book:
        files = {entry: book.read(entry) for entry in book.infolist()}
    told = {entry.filename: content for entry, content in files.items()}
    found = 0

    def declared(item: re.Match[str]) -> str:
        nonlocal found
        if b"<math" not in told.get(item[1], b"") or "properties=" in item[0]:
            return item[0]
        found += 1
        return item[0].removesuffix("/>").rstrip() + ' properties="mathml"/>'

    listed = _ITEM.sub(declared, told[_LIST].decode()).encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as book:
        for entry, content in files.items():
            book.writestr(entry, listed if entry.filename == _LIST else content)
    write_whole(epub, whole.getvalue())
    return found
