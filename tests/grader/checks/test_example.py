"""The failing call that a student is shown: small, true, and of nothing but data."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_tests.grader.checks.recognised import recognised
from grader.checks.answer_proxy import Failure
from grader.checks.example import COLUMNS, ROWS, example, first_pair, show
from grader.checks.exercise import find, identifiers
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
