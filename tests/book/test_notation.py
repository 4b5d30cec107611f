"""Symbols, names and words of the pages."""

import io
import re
import tokenize
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


ROOT = Path(__file__).parents[2]
# House word: common word.
WORDS = {
    r"anew": "again",
    r"bills?": "cost",
    r"by chance": "at random",
    r"hidden numbers?": "hidden units",
    r"mend(?:s|ed|ing)?": "fix",
    r"news": "information",
    r"pictures?": "image, figure, drawing",
    r"stands?(?! (?:for|out|in for|still)\b)": "is, appears, see",
    r"trainings": "training runs",
    r"wanted": "target, expected",
    r"(?:feed-forward|attention) parts?": "sub-layer",
}
HOUSE = re.compile(rf"\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
CODE = re.compile(
    r"^```.*?^```$|^\([\w-]+\)=$|`[^`\n]*`|\$[^$]*\$|\{[^{}\n]*\}|\]\([^)]*\)", re.M | re.S
)
PROSE = 1_600  # words of a teaching page
FOLDERS = "book/chapters", "book/lab", "solutions", "course_lib/bank", "course_lib/figures"
FOLDERS += "course_lib/drawings", "course_lib/cli", "README.md", "CONTRIBUTING.md", "book"


def prose(path):
    """Text of a file: Markdown without code, or the sentences in strings of Python."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        strings = [t.string for t in tokens if t.type == tokenize.STRING and " " in t.string]
        text = "\n".join(strings)
    return CODE.sub(lambda code: "\n" * code[0].count("\n"), text)


def files(folder):
    """The texts of a folder, those below ``book`` excepted that other rows name."""
    path = ROOT / folder
    if path.is_file():
        yield path
    elif folder == "book":
        yield from sorted(path.glob("*.md"))
    else:
        yield from sorted(p for p in path.rglob("*") if p.suffix in {".md", ".py"})


def words_of_prose(page):
    """Words without the head, code, questions, formulas and the list of references."""
    text = re.sub(r"\A---.*?^---$|\$\$.*?\$\$", "", page.read_text("utf-8"), flags=re.M | re.S)
    text = re.split(r"^## References", CODE.sub("x", text), flags=re.M)[0]
    return len([word for word in text.split() if re.search(r"\w", word)])


def test_a_page_teaches_and_a_lab_note_proves_in_few_words():
    chapters, notes = (sorted((ROOT / "book" / name).glob("*.md")) for name in ("chapters", "lab"))
    long = {page.name: n for page in chapters if (n := words_of_prose(page)) > PROSE}
    assert not long, f"more than {PROSE} words of prose"
    for pages, most in ((chapters, 120_000), (notes, 25_000)):
        assert sum(len(page.read_text("utf-8").split()) for page in pages) <= most


@pytest.mark.parametrize("folder", FOLDERS)
def test_texts_use_the_words_of_the_field(folder):
    found = [
        f"{path.relative_to(ROOT)}: {word[0]!r} in {line[max(0, word.start() - 40) :][:90]!r}"
        for path in files(folder)
        for line in prose(path).splitlines()
        for word in HOUSE.finditer(line)
    ]
    assert not found, "\n".join(found)
