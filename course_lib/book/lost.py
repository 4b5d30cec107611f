"""Losses of a page without a word: cells of a table, and marks that show as typed."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[\s>]*(`{3,}|~{3,}|:{3,})\s*(\S*)")
_RULE = re.compile(r"\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?")
# Code and formulas, in which a mark is none: a mark is looked for in what is left.
_CODE = re.compile(r"(?<!`)(`+)(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
_FORMULA = re.compile(r"(?<![\\$])(\$\$?)((?:(?!\n\n)[^$])+?)(?<!\\)\1", re.DOTALL)
_PRICE = re.compile(r"\d[\d.,]* [a-z]{2,} ")
_TYPED = {
    r"~~\S(?:.*?\S)?~~": "nothing is struck through here",
    r"(?<=[^\W_])~[^\s~]+~|(?<=[^\W_])\^[^\s^]+\^": "write x_2 or x^2 in a formula",
    r"(?<!=)==[^\s=](?:[^=]*[^\s=])?==(?!=)": "no text is marked here, write **text**",
    r"^(?:[-*+]|\d+\.) \[[ xX]\](?= )": "lists have no boxes to tick",
    r"^\[!\w+\]": "write a directive such as {note}",
    r"^\*\[[^\]]+\]:": "abbreviations are not explained here",
    r"\[\[[^\]\[]+\]\](?!\()": "write [text](page.md)",
    r"(?<=\s):[a-z][a-z0-9_+-]*[a-z0-9]:(?=[\s.,;!?)]|$)": "write the sign itself",
    r"!?\[[^\]\[]*\]\((?!<)[^()\s]+\s+(?![\"'(])[^()]*\)": "a target with blanks belongs in <...>",
    r"\\[(\[](?=.*?\\[)\]])": "write $...$ or $$...$$",
}
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


def typed(page: str) -> Iterator[tuple[int, str]]:
    """Text that looks like Markdown, by its line, and would appear on the page as it was typed.

    These are the marks of GitHub, Pandoc and Obsidian that are not switched on here, and two prices
    that would become a formula.
    """
    bare = _CODE.sub(_blank, "\n".join(_read_as_markdown(page)))
    for formula in _FORMULA.finditer(bare):
        behind = bare[formula.end() : formula.end() + 1]
        if formula[1] == "$" and (behind.isdigit() or _PRICE.match(formula[2])):
            number = bare.count("\n", 0, formula.start()) + 1
            yield number, f"{formula[0]} is read as a formula: for a price write \\$"
    for number, line in enumerate(_FORMULA.sub(_blank, bare).split("\n"), 1):
        for mark, advice in _TYPED.items():
            if found := re.search(mark, line):
                yield number, f"{found[0]} would be shown as it is typed: {advice}"


def _blank(found: re.Match[str]) -> str:
    """A sign in the place of code or a formula, and its ends of lines."""
    return "`" + "\n" * found[0].count("\n")


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
