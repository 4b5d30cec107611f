"""The failing call that a student is shown, and the examples that CONTRIBUTING shows."""

import re
import textwrap
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_tests.grader.checks.recognised import recognised
from grader.checks.answer_proxy import Failure
from grader.checks.example import COLUMNS, ROWS, example, first_pair, show
from grader.checks.exercise import changed, find, identifiers, source_as
from grader.checks.grading import grade_source
from grader.checks.report import ALONE

DTYPES = "float32 float16 bfloat16 int64 bool uint8 complex64".split()
DTYPES = [getattr(torch, name) for name in DTYPES]


@given(
    shape=st.lists(st.integers(0, 7), max_size=5),
    other=st.lists(st.integers(0, 7), max_size=5),
    dtype=st.sampled_from(DTYPES),
    want=st.sampled_from(DTYPES),
)
def test_whatever_came_back_can_be_shown(shape, other, dtype, want):
    got, wanted = torch.ones(shape, dtype=dtype), torch.zeros(other, dtype=want)
    for pair in (first_pair(got, wanted, "it"), first_pair(got, torch.zeros_like(got), "it")):
        shown = example(lambda q: q, "f", (got,), {}, got, pair)
        for part in (shown.got, shown.wanted, *shown.arguments):
            assert len(part.rows) <= ROWS and all(len(row) <= COLUMNS for row in part.rows)


def test_the_first_wrong_entry_is_seen_and_marked():
    want = torch.zeros(2, 30, 40)
    got = want.clone()
    got[1, 20, 39] = 7
    shown = example(lambda x: x, "f", (got,), {}, got, first_pair(got, want, "it"))
    marked = [text.strip() for row in shown.got.rows for text, wrong in row if wrong]
    assert marked == ["7"] and shown.got.name == "it[1, 18:22, 35:40]"
    assert shown.wanted.name == shown.got.name and shown.wanted.form == "float32 (2, 30, 40)"


def test_an_exception_and_a_large_argument():
    failure = Failure("ValueError", "no", "raise ValueError('no')")
    shown = example(lambda x, n=1: x, "f", (torch.zeros(99), 3), {}, failure, None)
    assert shown.got.form.startswith("ValueError: no")
    assert [(a.name, a.form, a.rows) for a in shown.arguments] == [
        ("x", "float32 (99,)", ()),
        ("n", "3", ()),
    ]
    assert show("mask", torch.tensor([[True, False]])).rows == (
        ((" True", False), ("False", False)),
    )


SHOWN = identifiers()[::5]


# The bank of that one takes the longest.
@pytest.mark.sample(*{*SHOWN} - {"relative.distance_scores"})
@pytest.mark.parametrize("identifier", SHOWN)
def test_what_fails_has_an_example_and_the_bank_has_none(identifier):
    exercise = find(identifier)
    source = exercise.mistakes[0].source
    named = recognised(exercise, source, "1")
    # Of what a size probe was given, only a slice comes back: nothing to show.
    rows = [row for row in named.rows if row.name not in ("cheap", "no keys") and row.why != ALONE]
    assert rows and all(row.passed or row.example for row in rows)
    assert not any(row.example for row in grade_source(exercise, source, "1").rows)


ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def test_the_examples_are_real_and_short():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    bank = ROOT / "course_lib/bank/attention"
    files = [*sorted(bank.glob("softmax_gradient*.py")), bank / "scaled_dot_product_answers.py"]
    shown = [textwrap.dedent(b) for b in BLOCK.findall(text) if "@exercise." in b]
    assert [b.split("(")[0] for b in shown] == ["@exercise.prop", *["@exercise.mistake"] * 2]
    for block, file in zip(shown, files, strict=True):
        alike = block in file.read_text(encoding="utf-8")
        assert alike, f"CONTRIBUTING.md shows something else than {file.name}: change both"
    assert [len(block.splitlines()) for block in shown] == [5, 5, 4]


def twice(x):
    """Right."""
    return x + x


def test_a_mistake_is_another_answer_with_its_places_changed():
    @changed(twice, ("return x + x", "return x * x"))
    def squared():
        """Another."""

    @changed(squared, ("* x", "** 3"))
    def cubed():
        """A third."""

    assert source_as(cubed, "f") == "def f(x):\n    return x ** 3"
    for was in ("x + y", "x"):
        with pytest.raises(ValueError, match="expected once"):
            changed(twice, (was, "0"))
