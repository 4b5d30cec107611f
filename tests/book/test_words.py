"""Pages are short, and nobody reads words that the field does not use."""

import io
import re
import tokenize
from pathlib import Path

import pytest

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
