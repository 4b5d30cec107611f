"""A table as a system wrote it: what is not changed stays as it is, byte by byte.

Python's ``csv`` would lose which cells were quoted, and how lines ended; what is written back has
to be the system's own file.
"""

import codecs
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.base.errors import Refused

MAX_BYTES = 64 * 2**20
BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
# Zip archives and the binary files of older Excels.
WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
# They tell a display in which direction to write, and are no part of a name.
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def fold(text: str) -> str:
    """A text as it is compared, however it is written: letters' case, accents, blanks, direction.

    Example:
        >>> fold(" I\u0301da\u200f  DOE ") == fold("\u00edda doe")
        True
    """
    shown = _DIRECTIONS.sub("", unicodedata.normalize("NFC", text).casefold())
    return " ".join(unicodedata.normalize("NFC", shown).split())


class Numbers:
    """Notation of a column's numbers: every locale has marks of its own.

    One of the cells tells the decimal mark of all; they are refused where two differ.

    Example:
        >>> Numbers("x", ["12,5", ""])("1.234"), Numbers("x", ["1 234.50"])("1,234")
        (1234.0, 1234.0)
    """

    def __init__(self, where: str, cells: Iterable[str]) -> None:
        self.where = where
        sure = {next(iter(values)): cell for cell in cells if len(values := _readings(cell)) == 1}
        if len(sure) > 1:
            raise Refused(f"{where}: {' and '.join(sure.values())} have different decimal marks")
        # As it is written, where nothing tells.
        self.told, self.mark = bool(sure), next(iter(sure), ".")

    def __call__(self, cell: str) -> float | None:
        """Number of a cell, if it holds one; refused where it may be two."""
        readings = _readings(cell)
        if not self.told and len(set(readings.values())) > 1:
            both = " or ".join(f"{value:g}" for value in readings.values())
            raise Refused(f"{self.where}: {cell} may be {both}, and no other cell tells which")
        return readings.get(self.mark)


def _readings(cell: str) -> dict[str, float]:
    """The number that a cell says by each decimal mark; one mark only if just that one fits."""
    text = cell.strip().replace("−", "-").replace("٫", ",").replace("٬", "'")
    readings = {}
    for mark, other in (".,", ",."):
        if fits := re.fullmatch(_NUMBER.format(mark=re.escape(mark), other=re.escape(other)), text):
            whole = re.sub(r"[^\d]", "", fits["whole"] or "")
            readings[mark] = float(f"{fits['sign']}{whole or 0}.{fits['rest'] or 0}{fits['power']}")
    return readings


# Between thousands stands the other mark, a blank or an apostrophe, always the same one; in India
# there are groups of two before the last.
_NUMBER = (
    r"(?P<sign>[+-]?)(?=[{mark}]?\d)"
    r"(?P<whole>[1-9]\d{{0,2}}(?P<gap>[{other}\s'’])(?:\d{{2,3}}(?P=gap))*\d{{3}}|\d{{0,99}})"
    r"(?:{mark}(?P<rest>\d*))?(?P<power>(?:[eE][+-]?\d{{1,2}})?)"
)


@dataclass
class CsvTable:
    """A table, cell by cell as it was written."""

    path: Path
    codec: str
    bom: bytes  # the mark before the first letter
    separator: str
    rows: list[list[str]]  # all cells, with their quotes; the first row is the header
    ends: list[str]  # how each row ends

    @cached_property
    def header(self) -> list[str]:
        """Titles of the columns."""
        return self.values(0)

    def values(self, line: int) -> list[str]:
        """The cells of a row, without their quotes and without what guards them in Excel."""
        return [_value(cell) for cell in self.rows[line]]

    def find(self, names: Iterable[str]) -> int | None:
        """The column with one of these headers, of which there may be one only."""
        folded = {fold(name) for name in names}
        places = [i for i, name in enumerate(self.header) if fold(name) in folded]
        if len(places) > 1:
            raise Refused(f"{self.path}: the column {self.header[places[0]]!r} is there twice")
        return places[0] if places else None

    def put(self, line: int, column: int, value: str) -> None:
        """Change one cell; it is quoted if it was."""
        quoted = self.rows[line][column].startswith('"') or self.separator in value
        self.rows[line][column] = f'"{value}"' if quoted else value

    def encoded(self, lines: Sequence[int]) -> bytes:
        """The table with these rows only."""
        text = "".join(self.separator.join(self.rows[n]) + self.ends[n] for n in lines)
        return self.bom + text.encode(self.codec)


def _value(cell: str) -> str:
    if cell.startswith('"'):
        inside, _, rest = cell[1:].rpartition('"')
        cell = inside.replace('""', '"') + rest
    # So Canvas guards names that begin like a formula.
    if guarded := re.fullmatch(r'="(.*)"', cell, re.DOTALL):
        return guarded[1].strip()
    return cell.strip()


def read(path: Path, encoding: str = "", *, even: bool = True) -> CsvTable:
    """Read a table with ``,``, ``;`` or tabs between cells; rows are ``even`` or are filled up."""
    if path.stat().st_size > MAX_BYTES:
        raise Refused(f"{path}: more than {MAX_BYTES >> 20} MB is no list of a class")
    content = path.read_bytes()
    if content.startswith(WORKBOOKS):
        raise Refused(f"{path}: this is a workbook; download or save it as CSV")
    bom = next((mark for mark in BOMS if content.startswith(mark)), b"")
    codec = BOMS.get(bom) or encoding or "utf-8"
    try:
        text = content.removeprefix(bom).decode(codec)
    except (UnicodeDecodeError, LookupError) as error:
        raise Refused(
            f"{path}: {error}. Name its encoding, such as --encoding cp1252 or utf-16"
        ) from None
    if "\0" in text:
        raise Refused(f"{path}: it holds NUL; if it is UTF-16, say so with --encoding utf-16-le")
    lines = re.split(r"[\r\n]+", re.sub('"[^"]*"', "", text.strip("\r\n")))
    # A header or a text may have more commas than there are cells, but not every line.
    separator = max(",;\t", key=lambda s: (min(n := [t.count(s) for t in lines]), n[0]))
    rows, ends = _cells(path, text, separator)
    filled = [n for n, row in enumerate(rows) if any(cell.strip() for cell in row)]
    if not filled:
        raise Refused(f"{path}: it is empty")
    sheet = CsvTable(
        path, codec, bom, separator, [rows[n] for n in filled], [ends[n] for n in filled]
    )
    wide = len(sheet.rows[0])
    for n, row in zip(filled, sheet.rows, strict=True):
        row += [""] * (0 if even else wide - len(row))
        if len(row) != wide:
            raise Refused(
                f"{path}, row {n + 1}: {len(row)} cells where the header has {wide}; export the"
                " file again, and do not save it from a spreadsheet"
            )
    return sheet


def _cells(path: Path, text: str, separator: str) -> tuple[list[list[str]], list[str]]:
    cell = re.compile(
        rf'((?:"[^"]*(?:""[^"]*)*"(?!"))?[^{separator}\r\n]*)({separator}|\r\n|\r|\n|\Z)'
    )
    rows: list[list[str]] = [[]]
    ends: list[str] = []
    at = 0
    while True:
        match = cell.match(text, at)
        assert match is not None  # An empty cell matches everywhere but before its end.
        at = match.end()
        if match[1].startswith('"') and match[1].count('"') % 2:
            raise Refused(f"{path}, row {len(rows)}: a quotation mark is opened and never closed")
        rows[-1].append(match[1])
        if match[2] == separator:
            continue
        ends.append(match[2])
        if at == len(text):
            return rows, ends
        rows.append([])


def fields(sheet: CsvTable, line: int, headers: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Fields of a row that the table has; Brightspace guards zeros with ``#``."""
    row = sheet.values(line)
    places = {field: sheet.find(names) for field, names in headers.items()}
    return {f: row[at].removeprefix("#").strip() for f, at in places.items() if at is not None}
