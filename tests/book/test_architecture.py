"""The page for whoever takes the code over names what is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book/architecture.md").read_text("utf-8")
NAMES = sorted({*re.findall(r"`([A-Za-z_][\w.]*[\w])`", PAGE)} - {"CONTRIBUTING.md", "course.toml"})


def defined(node, name):
    """The names of all definitions in a module or a class, with its own name before them."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield f"{name}.{child.name}"
        if isinstance(child, ast.ClassDef):
            yield from defined(child, f"{name}.{child.name}")


@pytest.fixture(scope="module")
def known():
    """Modules, classes, functions and methods of both packages, by their whole names."""
    names = set()
    for path in [p for top in ("course_lib", "grader") for p in (ROOT / top).rglob("*.py")]:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        names |= {module, *defined(ast.parse(path.read_text("utf-8")), module)}
    return names


@pytest.mark.parametrize("name", NAMES)
def test_every_name_on_the_page_is_there(name, known):
    assert any(f".{whole}".endswith(f".{name}") for whole in known)


REPORT = Path(__file__).parents[2] / "book" / "accessibility.md"
TERMS = {"Supports", "Partially supports", "Does not support", "Not applicable"}
# WCAG 2.2 has 31 criteria of level A and 24 of level AA.
COUNTS = {"A": 31, "AA": 24}


def test_each_criterion_has_one_term():
    seen = set()
    for level, many in COUNTS.items():
        part = REPORT.read_text().partition(f"## Level {level}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| (\d\.\d\.\d+) [^|]+ \| ([^|]+) \|", part, re.M)
        numbers = [[int(n) for n in row[0].split(".")] for row in rows]
        assert len(rows) == many and numbers == sorted(numbers)
        assert {term for _, term in rows} <= TERMS
        assert not seen & {name for name, _ in rows}
        seen |= {name for name, _ in rows}


def test_what_was_tried_by_machine_only_says_so():
    assert "nobody has read it with a screen reader" in REPORT.read_text()
