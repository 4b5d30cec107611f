"""What a page would lose without a word: cells of a table that nobody sees."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[\s>]*(`{3,}|~{3,}|:{3,})\s*(\S*)")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?")
_ADVICE = r"write \vert or \lvert in a formula, \| elsewhere"


def lost_cells(page: str) -> Iterator[tuple[int, str]]:
    """Rows of tables, by their line, that a bar inside a cell cuts into others than were meant.

    Markdown splits a row at every bar, before it looks for formulas and code, and drops the cells
    for which there is no column.
    """
    lines = list(_read_as_markdown(page))
    columns = 0
    for number, line in enumerate(lines, 1):
        below = lines[number] if number < len(lines) else ""
        if "|" in line and "|" in below and _RULE.fullmatch(below):
            columns = len(_cells(below))
            if len(_cells(line)) != columns:
                yield number, f"{len(_cells(line))} heads above {columns} columns: {_ADVICE}"
                columns = 0
        elif "|" not in line:
            columns = 0
        if columns and not _RULE.fullmatch(line):
            cells = _cells(line)
            if len(cells) > columns:
                yield number, f"{len(cells)} cells in {columns} columns: {_ADVICE}"
            elif any(_dollars(cell) % 2 for cell in cells):
                yield number, f"a bar ends the cell inside a formula: {_ADVICE}"


def _read_as_markdown(page: str) -> Iterator[str]:
    """The lines without margins, empty where they are code."""
    code = ""
    for line in page.splitlines():
        fence = _FENCE.match(line)
        if fence and code and fence[1].startswith(code) and not fence[2]:
            code = ""
        elif fence and not code and not re.match(r"\{(?!code)", fence[2]) and fence[1][0] != ":":
            # The end of a directive looks the same and opens nothing: its content has been read.
            code = fence[1] if fence[2] else ""
        yield "" if code or fence else line.strip().lstrip("> ")


def _cells(row: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", row.strip())
    return cells[not cells[0].strip() : len(cells) - (len(cells) > 1 and not cells[-1].strip())]


def _dollars(cell: str) -> int:
    return len(re.findall(r"(?<!\\)\$", re.sub(r"`[^`]*`", "", cell)))
