"""No graded answer stands in the book: what a page defines or shows does not earn its points.

Of every function of every page the exercises are found whose example it computes rightly; there it
is graded under the exercise's name.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from course_tests.grader.checks.mutation_report import Endless, at_most
from grader.checks.answer_proxy import AnswerProxy
from grader.checks.compare import difference
from grader.checks.exercise import find, identifiers
from grader.checks.grading import grade_source, quiet
from grader.checks.seeds import sample_seed
from grader.checks.trial import Trial

jupytext = pytest.importorskip("jupytext")
ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "book").rglob("*.md"))
ENOUGH = 0.75
SECONDS = 2  # of processor time for an example; a reference that needs more fails here
LISTING = re.compile(r"```\{literalinclude\} (\S+)\n(?:\S.*\n)*?:pyobject: (\S+)")


@dataclass(frozen=True)
class Shown:
    name: str
    source: str
    function: Any


def defined(page):
    cells = [c.source for c in jupytext.reads(page, fmt="md:myst").cells if c.cell_type == "code"]
    code = [re.sub(r"(?m)^[%!].*$", "", cell) for cell in cells]
    nodes = [node for cell in code for node in ast.parse(cell).body]
    space = {}
    kept = []
    for node in filter(_harmless, nodes):
        # What needs a value that only the whole page has is no function to copy.
        with contextlib.suppress(NameError):
            exec(compile(ast.Module([node], []), "page", "exec"), space)
            kept.append(ast.unparse(node))
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield Shown(node.name, "\n\n".join(kept), space[node.name])


def _harmless(node):
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Subscript):
        with contextlib.suppress(ValueError):
            ast.literal_eval(node.value)
            return True
    return isinstance(node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef)


def listed(path):
    for file, name in LISTING.findall(path.read_text()):
        source = (path.parent / file).resolve()
        module = ".".join(source.relative_to(ROOT).with_suffix("").parts)
        function = importlib.import_module(module)
        for part in name.split("."):
            function = getattr(function, part)
        if "." not in name:
            yield Shown(name, source.read_text(), function)


@cache
def example(identifier):
    exercise = find(identifier)
    trial = Trial(exercise, AnswerProxy.local({}), sample_seed("07", identifier, "example"))
    arguments = exercise.example(trial)
    with at_most(SECONDS):
        return exercise, arguments, trial.want(*arguments)


def agrees(shown, identifier):
    _, arguments, want = example(identifier)
    try:
        inspect.signature(shown.function).bind(*arguments)
    except (TypeError, ValueError):
        return False
    with quiet():
        # Given another's arguments it may raise what it likes, or train for a minute: no answer.
        try:
            with at_most(SECONDS):
                return not difference(shown.function(*arguments), want)
        except (Exception, Endless):
            return False


def answers(functions):
    found = []
    for shown in functions:
        for identifier in identifiers():
            exercise = example(identifier)[0]
            if shown.function is exercise.reference:
                found.append(f"{shown.name} is the answer of {identifier}")
            elif agrees(shown, identifier):
                source = f"{shown.source}\n\n{exercise.function} = {shown.name}\n"
                report = grade_source(exercise, source, "07")
                if report.score >= ENOUGH * report.max_points:
                    earned = f"{report.score:g} of {report.max_points:g}"
                    found.append(f"{shown.name} earns {earned} points of {identifier}")
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_nothing_on_a_page_is_a_graded_answer(path):
    assert answers([*defined(path.read_text()), *listed(path)]) == []
