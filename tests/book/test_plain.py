"""The plain code of a page: short, without checks, and equal to the library on the page itself.

A code cell tagged ``plain`` defines a function; the hidden cell after it compares it with the
library's, on inputs of its own. The build runs both. Here they run without the rest of the page,
and again with a function that is a little wrong.
"""

import ast
from pathlib import Path

import pytest
import torch

jupytext = pytest.importorskip("jupytext")
CHAPTERS = sorted((Path(__file__).parents[2] / "book" / "chapters").glob("*.md"))
LINES = 10


def plain_cells(page):
    """The page's first cell, a plain cell with those before it, and the cell that compares."""
    cells = [cell for cell in jupytext.reads(page, fmt="md:myst").cells if cell.cell_type == "code"]
    before = cells[0].source
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if "plain" in cell.metadata.get("tags", []):
            assert after is not None and "remove-cell" in after.metadata.get("tags", []), (
                cell.source
            )
            yield before, cell.source, after.source
            before += "\n" + cell.source


def fault_of(source):
    tree = ast.parse(source)
    lines = [line for line in source.splitlines() if line.strip() and line.strip()[0] != "#"]
    if len(lines) > LINES:
        return f"{len(lines)} lines, wanted at most {LINES}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Assert):
            return "it checks its arguments"
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            return f"{node.name} has a docstring"
    return None if functions(source) else "it defines no function"


def functions(source):
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


def from_library(source):
    found = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name
        for node in found
        if (node.module or "").startswith("course_lib")
        for alias in node.names
    }


def names(source):
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


def a_little_wrong(function):
    """The same function, every number of its result a little too large."""

    def nudged(value):
        if isinstance(value, tuple | list):
            return type(value)(map(nudged, value))
        if isinstance(value, torch.Tensor):
            return ~value if value.dtype == torch.bool else value * 1.01 + 0.01
        return not value if isinstance(value, bool) else value * 1.01 + 0.01

    return lambda *args, **how: nudged(function(*args, **how))


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_plain_code_is_plain_and_equals_the_library(chapter):
    for before, plain, compare in plain_cells(chapter.read_text(encoding="utf-8")):
        assert fault_of(plain) is None, plain
        assert names(compare) & from_library(before), f"compared with nothing:\n{compare}"
        for name in functions(plain):
            assert name in names(compare), f"{name} is not compared:\n{compare}"
            space = {}
            exec(f"{before}\n{plain}\n{compare}", space)
            space[name] = a_little_wrong(space[name])
            with pytest.raises(AssertionError):
                exec(compare, space)
