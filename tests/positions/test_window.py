"""The relative positions inside a window."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.positions import WindowBias, window_index
from course_tests.refusals import refusals

SIDES = st.integers(1, 6)


def naive_index(rows, columns, multiplier):
    """The formula, pair by pair."""
    tokens = [(r, c) for r in range(rows) for c in range(columns)]
    return torch.tensor(
        [
            [(r - s + rows - 1) * multiplier + (c - d + columns - 1) for s, d in tokens]
            for r, c in tokens
        ]
    )


def test_the_index_of_the_original_on_two_by_two():
    wanted = [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    assert window_index(2, 2).tolist() == wanted


@settings(max_examples=15, deadline=None)
@given(SIDES, SIDES)
def test_each_offset_has_one_number_and_each_number_one_offset(rows, columns):
    index = window_index(rows, columns)
    assert torch.equal(index, naive_index(rows, columns, 2 * columns - 1))
    assert index.unique().tolist() == list(range((2 * rows - 1) * (2 * columns - 1)))


@settings(max_examples=10, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES)
def test_a_smaller_window_reads_the_same_offsets(rows, columns, up, left):
    bias = WindowBias(2, rows, columns)
    height, width = min(up, rows), min(left, columns)
    whole = bias().unflatten(2, (rows, columns)).unflatten(1, (rows, columns))
    corner = whole[:, :height, :width, :height, :width].flatten(3).flatten(1, 2)
    assert torch.equal(bias(height, width), corner)


def test_the_table_is_drawn_with_small_numbers():
    table = WindowBias(64, 7, 7, generator=torch.Generator().manual_seed(0)).table
    assert table.std().item() == pytest.approx(0.02, rel=0.05)
    assert set(WindowBias(3, 7, 7).state_dict()) == {"table"}


test_wrong_sizes_are_refused = refusals(
    (lambda: window_index(0, 3), "window is 0 x 3"),
    (lambda: WindowBias(0, 2, 2), "n_heads is 0"),
    (lambda: WindowBias(1, 2, 2)(3, 2), "3 x 2, wanted at most 2 x 2"),
)
