"""What the tests of the exercises share."""

import re
from pathlib import Path

import pytest

SOLUTIONS = Path(__file__).parents[2] / "solutions"


@pytest.fixture(scope="session")
def section():
    """Finds what an assignment says of an exercise: all below the heading that it stands under."""
    parts = [
        part
        for source in SOLUTIONS.glob("*/*.md")
        for part in re.split(r"^## ", source.read_text(encoding="utf-8"), flags=re.M)
    ]
    return lambda identifier: next(p for p in parts if f"{{{{ exercise: {identifier} }}}}" in p)
