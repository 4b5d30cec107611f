"""Positions on a grid: y first, every place its own code, no silent misfit."""

import pytest
import torch

from course_lib.positions import sinusoidal_positions, spatial_positions


def test_first_half_is_the_row_and_second_half_the_column():
    table = spatial_positions(3, 5, 16).unflatten(0, (3, 5))
    rows, columns = sinusoidal_positions(3, 8), sinusoidal_positions(5, 8)
    for y in range(3):
        for x in range(5):
            torch.testing.assert_close(table[y, x], torch.cat([rows[y], columns[x]]))


def test_all_places_are_distinct_where_a_sum_of_two_tables_collides():
    axis = sinusoidal_positions(14, 64)
    summed = (axis[:, None] + axis[None]).flatten(0, 1)
    assert len(spatial_positions(14, 14, 64).round(decimals=4).unique(dim=0)) == 196
    assert len(summed.round(decimals=4).unique(dim=0)) == 105


def test_base_reaches_both_halves():
    assert not torch.equal(spatial_positions(2, 2, 8), spatial_positions(2, 2, 8, base=100.0))


@pytest.mark.parametrize("d_model", [0, 2, 6, 10, 14, 402])
def test_widths_that_four_does_not_divide_are_refused(d_model):
    with pytest.raises(ValueError, match=f"d_model is {d_model}, wanted a positive multiple of 4"):
        spatial_positions(2, 2, d_model)
    assert spatial_positions(8, 8, 400).shape == (64, 400)
