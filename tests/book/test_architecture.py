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
