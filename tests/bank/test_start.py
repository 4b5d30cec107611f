"""Each hint of the rehearsal leads to a section of chapter 0 that is there."""

import re
from pathlib import Path

import pytest

from course_lib.bank.start import SECTIONS, see
from grader.checks.exercise import find, identifiers

CHAPTER = Path(__file__).parents[2] / "book" / "chapters" / "00_start.md"
IDS = [identifier for identifier in identifiers() if identifier.startswith("start.")]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_has_its_anchor_and_title(section):
    text = CHAPTER.read_text(encoding="utf-8")
    assert f"\n(start-{section})=\n## {SECTIONS[section]}\n" in text


@pytest.mark.parametrize("identifier", IDS)
def test_every_hint_names_a_section(identifier):
    exercise = find(identifier)
    for entry in [*exercise.properties, *exercise.mistakes]:
        found = re.search(r"00_start\.html#start-(\w+)$", entry.hint)
        assert found and found[1] in SECTIONS, entry.name


def test_an_unknown_section_is_an_error():
    with pytest.raises(KeyError):
        see("nothing", "Why?")
