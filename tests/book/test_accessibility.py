"""The conformance report names each criterion of WCAG 2.2 once, in the form's own terms."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "book" / "accessibility.md"
TERMS = {"Supports", "Partially supports", "Does not support", "Not applicable"}
# WCAG 2.2 has 31 criteria of level A and 24 of level AA.
COUNTS = {"A": 31, "AA": 24}


def test_each_criterion_has_one_term() -> None:
    seen: set[str] = set()
    for level, many in COUNTS.items():
        part = PAGE.read_text().partition(f"## Level {level}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| (\d\.\d\.\d+) [^|]+ \| ([^|]+) \|", part, re.M)
        numbers = [[int(n) for n in row[0].split(".")] for row in rows]
        assert len(rows) == many and numbers == sorted(numbers)
        assert {term for _, term in rows} <= TERMS
        assert not seen & {name for name, _ in rows}
        seen |= {name for name, _ in rows}


def test_what_was_tried_by_machine_only_says_so() -> None:
    assert "nobody has read it with a screen reader" in PAGE.read_text()
