"""What an exercise refuses and what its notebook says are the same."""

import re
from pathlib import Path

import nbformat
import pytest

from grader.checks.exercise import find, identifiers
from grader.checks.forbidden import FORBIDDEN

RELEASES = Path(__file__).parents[2] / "exercises"
REFUSES = re.compile(r"\bnot allowed\b|\bmay not (?:be used|use)\b", re.I)


@pytest.fixture(scope="module")
def cards():
    """The text cells of all releases that say what is checked."""
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
