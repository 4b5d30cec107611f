"""Each hint of the rehearsal leads to a section of chapter 0 that is there."""

import re
from pathlib import Path

import nbformat
import pytest

from course_lib.bank.start import SECTIONS, see
from grader.checks.exercise import find, identifiers
from grader.checks.forbidden import FORBIDDEN

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "book/chapters/00_start.md", ROOT / "book/chapters/00_tools.md")
IDS = [identifier for identifier in identifiers() if identifier.startswith("start.")]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_has_its_anchor_and_title(section):
    page, label = re.search(r"(\w+)\.html#(\S+)$", see(section, "Why?")).groups()
    (text,) = (one.read_text(encoding="utf-8") for one in PAGES if one.stem == page)
    assert f"\n({label})=\n## {SECTIONS[section]}\n" in text


@pytest.mark.parametrize("identifier", IDS)
def test_every_hint_names_a_section(identifier):
    exercise = find(identifier)
    for entry in [*exercise.properties, *exercise.mistakes]:
        assert entry.hint.endswith(tuple(see(section, "") for section in SECTIONS)), entry.name


def test_an_unknown_section_is_an_error():
    with pytest.raises(KeyError):
        see("nothing", "Why?")


RELEASES = Path(__file__).parents[2] / "exercises"
REFUSES = re.compile(r"\bnot allowed\b|\bmay not (?:be used|use)\b", re.I)


@pytest.fixture(scope="module")
def cards():
    notebooks = [nbformat.read(path, 4) for path in sorted(RELEASES.glob("*/*.ipynb"))]
    cells = [cell.source for notebook in notebooks for cell in notebook.cells]
    return [text for text in cells if "What is checked, and for how many points" in text]


@pytest.mark.parametrize("identifier", identifiers())
def test_what_is_refused_stands_in_the_notebook_and_nothing_else_does(identifier, cards, section):
    exercise = find(identifier)
    asked = [f"- {prop.says} ({prop.points:g})" for prop in exercise.properties]
    (card,) = (text for text in cards if all(line in text for line in asked))
    told = {kind for kind, banned in FORBIDDEN.items() if banned.says in card}
    assert told == {*exercise.forbidden}
    assert exercise.forbidden or not REFUSES.search(section(identifier))
