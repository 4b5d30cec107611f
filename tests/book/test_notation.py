"""Symbols, shapes and names of the chapters agree with the notation page."""

import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
CHAPTERS = sorted((BOOK / "chapters").glob("*.md"))
PAGE = (BOOK / "notation.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^(`{3,}|:{3,})[^\n]*\n.*?^\1\s*$", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
MATH = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)


def rows(title):
    section = PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


SIZES = {"B", "T", "S", "D", "H", "F", "L", "V", "d_h", "Dh"} | {
    row[0].strip("$") for row in rows("Symbols and names") if row[0].count("$") == 2
}
OTHERS = {
    name.strip("`"): row[0].strip("`")
    for row in rows("The same thing elsewhere")
    for cell in row[2:]
    for name in cell.split(", ")
    if re.fullmatch(r"`[a-z_]{4,}`", name) and name != row[0] and "dropout" not in row[0]
}
# Words that also mean something else.
GENERIC = ("dim", "depth", "heads")
# Formulas that other papers and libraries write otherwise.
SYMBOLS = {
    r"d_\{?\\text\{model\}\}?|d_\{model\}|d_\{\\mathrm\{model\}\}": "D",
    r"d_\{?\\text\{head\}\}?|D_h\b|d_\{head\}": "d_h",
    r"d_\{?\\text\{ff\}\}?|d_\{ff\}": "F",
}


def wrong_shapes(text):
    """Shapes that begin like one of this course and go on with an unknown letter."""
    for shape in re.findall(r"\(((?:B|T|H|\\ldots), [^()]*)\)", text):
        for part in re.split(r",\s*", shape.strip(", ")):
            factors = re.split(r"\s*(?:\\cdot|\\,|[-+*/ ])\s*", part)
            # Words in small letters explain themselves: rows, columns, m windows.
            known = r"\d+|\.\.\.|\\ldots|[a-z]+"
            unknown = [f for f in factors if f and not re.fullmatch(known, f)]
            if any(f not in SIZES for f in unknown):
                yield f"({shape}): {part} is no size of the notation page"


def wrong_symbols(text):
    for display, inline in MATH.findall(text):
        formula = display or inline
        for pattern, own in SYMBOLS.items():
            if found := re.search(pattern, formula):
                yield f"{found[0]} in a formula: the book writes {own}"


def wrong_names(text):
    for cell in CELL.findall(text):
        if re.search(r"\bnn\.(Multihead|Transformer)|transformers|peer", cell):
            continue  # somebody else's function is called by its own names
        for name, own in OTHERS.items():
            if re.search(rf"\b{name}\s*=(?!=)", cell) and name not in GENERIC:
                yield f"{name} in code: the course says {own}"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_keeps_to_the_notation(path):
    text = path.read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    shapes = " ".join(a or b for a, b in MATH.findall(prose))
    code = " ".join(re.findall(r"`([^`\n]+)`", prose))
    found = [*wrong_shapes(shapes), *wrong_shapes(code), *wrong_symbols(prose), *wrong_names(text)]
    assert not found, "\n".join(found)


def test_the_page_gives_every_name():
    assert {"B", "T", "S", "D", "H", "d_h"} <= SIZES
    assert OTHERS["embed_dim"] == "d_model" and OTHERS["num_heads"] == "n_heads"
