"""Reading what a student submitted, trusting nothing: a clean notebook, or a reason.

Only what a cell is (code or text), its source and its ``grade_id`` are taken over. Outputs,
attachments and every other metadata are dropped, so none of them can do anything; where a cell
claims to be something else than the released one, the instructor is told.
"""

import contextlib
import html
import json
import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from grader.base.errors import Refused

MAX_SUBMISSION = 32 * 2**20
MAX_SOURCE = 2**20
# Of all code together: read as Python it takes up to five hundred times as much.
MAX_CODE = 2**19
LONG = "at most {} are read. Write a few lines that make large data, not the data"
MAX_CELLS = 2000
MAX_MODULES = 100
# Lists, objects, and what they hold, each of which takes a hundred bytes and more.
MAX_VALUES = 300_000
# Built as data: nbformat's constructors validate each cell, where the whole is validated once.
KINDS: dict[str, dict[str, Any]] = {
    "code": {"outputs": [], "execution_count": None},
    "markdown": {},
    "raw": {},
}
MAX_NOTES = 40
# Opened without following links, and judged by what was opened: no race, no way out. On Windows,
# where nobody is graded, there are no such flags, and text would lose its ends of lines.
OPEN = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    OPEN |= getattr(os, _flag, 0)
# Metadata that nbgrader would act upon, and nbclient.
CLAIMS = ("schema_version", "grade", "solution", "locked", "task", "points")
# Pictures load when they are shown, from wherever they are, and tell when and to whom; those that
# the text itself holds don't.
_PICTURE = re.compile(
    r"(?<!\\)((?:\\\\)*)!(?=\[)"
    r"(?!\[[^\[\]]*\]\(data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*\))"
)
# Tags without attributes, and links in angle brackets, stay what they are in a student's text.
_TAG = re.compile(
    r"<(?!/?(?:b|br|code|details|div|em|h[1-6]|hr|i|kbd|li|ol|p|pre|span|strong|sub|summary|sup"
    r"|table|tbody|td|th|thead|tr|ul)\s*/?>|https?://[^\s<>\"']*>)(?=[A-Za-z/!?])"
)
# Where targets of links begin, in the text or below it, also one within another; what is behind
# them does not matter.
_LINK = re.compile(r"\](?P<mark>[(:])(?=\s*+(?P<target>[^)\n]{0,400})(?P<more>[^)\n]?))")
_ALIVE = re.compile(
    r"[^:/?#]*(?:[/?#]|$)|(?:https?|mailto):|data:image/(?:png|jpeg|gif|webp);", re.I
)


class Unreadable(Refused):
    """A submission that cannot be graded; the message is the reason told to the student."""


@dataclass
class Submission:
    """A student's notebook, rebuilt; ``notes`` say what was repaired on the way.

    ``modules`` are the files of Python beside it, which it may import: their text by name. What was
    ``left_out`` is named by the marks of its cells.
    """

    notebook: NotebookNode
    notes: list[str] = field(default_factory=list)
    left_out: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)


def plain(text: str, most: int = 300) -> str:
    """Text of a stranger for one line: no control characters, nothing endless, single blanks."""
    line = re.sub(r"\s+", " ", text[: 4 * most])[: most + 1]
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return shown if len(shown) <= most else shown[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def plain_notes(notes: list[str]) -> list[str]:
    """Notes that can be read: each once, and not thousands of them."""
    texts = list(dict.fromkeys(plain(note) for note in notes))
    more = len(texts) - MAX_NOTES
    return [*texts[:MAX_NOTES], f"And {more} more of this kind."] if more > 0 else texts


def inert(markdown: str) -> str:
    """A student's text without living markup: whoever renders it shows the tags instead.

    Example:
        >>> inert("<img src=x> and ![it](http://example.org/x.png)")
        '&lt;img src=x> and \\\\![it](http://example.org/x.png)'
        >>> inert("[here](java&#115;cript:alert(1)) and [there](https://example.org)")
        '[here]\\\\(java&#115;cript:alert(1)) and [there](https://example.org)'
    """
    return _TAG.sub("&lt;", _LINK.sub(_dead, _PICTURE.sub(r"\1\\!", markdown)))


def _dead(link: re.Match[str]) -> str:
    """A link, as text where it leads to anything else than a page, a letter or a heading."""
    # As a browser reads it: without what it skips, and after Markdown has taken out its own.
    target = re.sub(r"\\(?=\W)|[\s<\x00-\x20]", "", html.unescape(link["target"]))
    # One that goes on may name anything.
    target += ":" if link["more"] else ""
    return link[0] if _ALIVE.match(target) else f"]\\{link['mark']}"


def unmarked(text: str) -> str:
    """A stranger's name without the signs that a page takes for markup.

    Example:
        >>> unmarked("<b>Zoë</b> O'Neil")
        "bZoë/b O'Neil"
    """
    return re.sub(r'[<>&"`\\]', "", text)


def nameable(student: str) -> None:
    """Refuse a name in bytes that are no text, or with signs that run in Formgrader's pages."""
    why = "that a page takes for markup" if unmarked(student) != student else ""
    try:
        student.encode()
    except UnicodeEncodeError:
        why = "that is no text"
    if why:
        raise Unreadable(f"The folder `{plain(student)}` has a name {why}; rename it.")


def is_there(path: Path) -> bool | None:
    """True if there is something of that name, a broken link too; None if nobody may look."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None
    return True


def read(folder: Path, name: str) -> bytes:
    """The bytes of ``folder/name.ipynb``: a regular file, neither empty nor too large, no link."""
    file = f"{name}.ipynb"
    path = folder / file
    if (there := is_there(path)) is None:
        raise Unreadable(
            f"`{file}` cannot be read: the account that grades may not enter its folder."
        )
    # A link may lead to the work of somebody else, or out of the course.
    if folder.is_symlink() or folder.parent.is_symlink():
        raise Unreadable("The folder of the submission is a link, not a folder.")
    if not there:
        others = sorted(p.name for p in folder.glob("*.ipynb"))
        more = f"; found {plain(', '.join(others[:5]))}: rename it and submit again"
        raise Unreadable(f"There is no file `{file}` in the submission{more if others else ''}.")
    content = bytes_of(path)
    if not content.strip():
        raise Unreadable(f"`{file}` is empty.")
    return content


def bytes_of(path: Path) -> bytes:
    """The bytes of a student's file: a regular one, not too large, no link."""
    name = plain(path.name)
    try:
        descriptor = os.open(path, OPEN)
    except OSError as error:
        why = "is a link, not a file" if path.is_symlink() else f"cannot be read: {error.strerror}"
        raise Unreadable(f"`{name}` {why}.") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Unreadable(f"`{name}` is not a file.")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MAX_SUBMISSION:
            raise Unreadable(
                f"`{name}` has {status.st_size / 2**20:.0f} MB, at most"
                f" {MAX_SUBMISSION // 2**20} are read. Clear all outputs, save, submit again."
            )
        return file.read(MAX_SUBMISSION + 1)


def modules(folder: Path) -> dict[str, str]:
    """The files of Python beside a notebook that its cells can import: their text by name.

    The first :data:`MAX_MODULES`, of which those only that can be read as text, up to
    :data:`MAX_CODE` characters of all together.
    """
    texts: dict[str, str] = {}
    # A file without a valid name can't be imported, and `beside` says what is left out.
    paths = sorted(path for path in folder.glob("*.py") if path.stem.isidentifier())
    for path in paths[:MAX_MODULES]:
        with contextlib.suppress(Unreadable, UnicodeDecodeError):
            text = bytes_of(path).decode("utf-8-sig")
            if text.strip() and sum(map(len, texts.values())) + len(text) <= MAX_CODE:
                texts[path.name] = text
    return texts


def beside(folder: Path, name: str, modules: Collection[str] = ()) -> list[str]:
    """Notes on what lies beside the notebook: what it could import, and what counts for nothing."""
    if is_there(folder / name) is None or folder.is_symlink():
        return []
    files = sorted(
        p.name for p in folder.glob("*") if p.suffix in (".ipynb", ".py") and p.stem != name
    )
    notes = []
    if taken := [one for one in files if one in modules]:
        notes.append(f"Beside the notebook, for it to import: {plain(', '.join(taken))}.")
    if others := [one for one in files if one not in modules]:
        names = plain(", ".join(others))
        most = f" (at most {MAX_MODULES} modules are read)" if len(modules) >= MAX_MODULES else ""
        notes.append(f"Only `{name}.ipynb` was graded, not what lies beside it{most}: {names}.")
    return notes


def parse(content: bytes) -> Submission:
    """Rebuild the notebook from its bytes."""
    try:
        data = load_json(content)
    except Unreadable:
        raise
    except UnicodeDecodeError:
        raise Unreadable("The file is not UTF-8 text.") from None
    except RecursionError:
        raise Unreadable("The file is nested too deeply to be a notebook.") from None
    except ValueError as error:
        raise Unreadable(
            f"The file is not a whole notebook; it breaks off or is damaged: {error}."
        ) from None
    notes: list[str] = []
    if isinstance(data, dict) and "worksheets" in data and "cells" not in data:
        data = {"cells": _of_old(data["worksheets"])}
        notes.append("The notebook was in an old format (nbformat 3) and has been converted.")
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise Unreadable("The file is JSON but not a notebook: it has no list of cells.")
    if (cells := len(data["cells"])) > MAX_CELLS:
        raise Unreadable(f"The notebook has {cells} cells, at most {MAX_CELLS} are read.")
    submission, code = Submission(new_notebook(), notes), 0
    for number, cell in enumerate(data["cells"], 1):
        try:
            clean = _cell(cell, number, notes)
            if clean.cell_type == "code":
                if (total := code + len(clean.source)) > MAX_CODE:
                    raise ValueError(LONG.format(f"{MAX_CODE:,} characters of code"))
                code = total
            submission.notebook.cells.append(clean)
        except ValueError as why:
            mark = _mark(cell)
            named = f"Cell {number}, `{plain(mark)}`," if mark else f"Cell {number}"
            notes.append(f"{named} was left out: {why}.")
            submission.left_out.add(mark)
    return submission


def load_json(content: bytes) -> Any:
    """Value of JSON in UTF-8, unless it holds far more values than a notebook does.

    The bytes are a fraction of the memory that values take.
    """
    plain = content.replace(rb"\\", b"").replace(rb"\"", b"")
    if (values := plain.count(b'"') // 2) <= MAX_VALUES:
        outside = plain.split(b'"')[::2]
        values = sum(part.count(sign) for part in outside for sign in (b",", b"[", b"{"))
    if values > MAX_VALUES:
        raise Unreadable(
            f"The file holds more than {MAX_VALUES:,} values. Clear all outputs, save, submit"
            " again."
        )
    return json.loads(content.decode("utf-8-sig"))


def document(content: bytes) -> NotebookNode:
    """A notebook with all that is in it, in today's format; a text that is broken is repaired."""
    text = json.dumps(load_json(content), ensure_ascii=False)
    readable = text.encode("utf-8", errors="replace").decode("utf-8")
    return nbformat.reads(readable, as_version=4)


def _of_old(sheets: Any) -> list[Any]:
    if not isinstance(sheets, list) or not all(
        isinstance(sheet, dict) and isinstance(sheet.get("cells"), list) for sheet in sheets
    ):
        raise Unreadable("The notebook is in an old format that cannot be converted.")
    cells = []
    for cell in (cell for sheet in sheets for cell in sheet["cells"]):
        if isinstance(cell, dict):
            kind, source = cell.get("cell_type"), cell.get("input", cell.get("source", ""))
            if kind == "heading" and isinstance(level := cell.get("level", 1), int):
                mark = "#" * max(1, min(level, 6)) + " "
                source = [mark, *source] if isinstance(source, list) else f"{mark}{source}"
            kind = "markdown" if kind in ("heading", "html") else kind
            cell = {"cell_type": kind, "source": source, "metadata": cell.get("metadata")}
        cells.append(cell)
    return cells


def _mark(cell: Any) -> str:
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
    return grade_id[:200] if isinstance(grade_id, str) else ""


def _cell(cell: Any, number: int, notes: list[str]) -> NotebookNode:
    kind = cell.get("cell_type") if isinstance(cell, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError("it is no cell")
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise ValueError("it has no text")
    if len(source) > MAX_SOURCE:
        raise ValueError(LONG.format(f"{MAX_SOURCE:,} characters"))
    # An editor's other line ends change no line.
    source = source.replace("\r\n", "\n").replace("\r", "\n")
    readable = source.encode("utf-8", errors="replace").decode("utf-8")
    shown = inert(readable) if kind == "markdown" else readable
    fields = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": shown}
    clean = nbformat.from_dict({**fields, **KINDS[kind]})
    if grade_id := _mark(cell):
        clean.metadata["submitted_id"] = grade_id
        marks, tags = cell["metadata"]["nbgrader"], cell["metadata"].get("tags")
        claims = {k: marks[k] for k in CLAIMS if k in marks}
        if isinstance(tags, list) and tags:
            claims["tags"] = ", ".join(tag for tag in tags if isinstance(tag, str))
        # Compared and shown, so nothing that is nested a thousand deep.
        clean.metadata["claims"] = {
            name: value if value is None or isinstance(value, (str, int, float)) else "nested"
            for name, value in claims.items()
        }
    if readable != source:
        notes.append(f"Cell {number} held broken text; it was repaired.")
    return clean
