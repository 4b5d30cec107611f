"""Positions on a grid: y first, every place its own code, no silent misfit."""

import pytest
import torch

from course_lib.positions import sinusoidal_positions, spatial_positions, summed_positions


def test_first_half_is_the_row_and_second_half_the_column():
    table = spatial_positions(3, 5, 16).unflatten(0, (3, 5))
    rows, columns = sinusoidal_positions(3, 8), sinusoidal_positions(5, 8)
    for y in range(3):
        for x in range(5):
            torch.testing.assert_close(table[y, x], torch.cat([rows[y], columns[x]]))


@pytest.mark.parametrize("d_model", [64, 384])
def test_all_places_are_distinct_where_a_sum_of_two_tables_collides(d_model):
    summed = summed_positions(14, 14, d_model)
    assert len(spatial_positions(14, 14, d_model).round(decimals=4).unique(dim=0)) == 196
    assert len(summed.round(decimals=4).unique(dim=0)) == 105
    grid = summed.unflatten(0, (14, 14))
    assert torch.equal(grid, grid.transpose(0, 1))


def test_a_sum_follows_its_two_tables():
    axis = sinusoidal_positions(5, 16)
    table = summed_positions(3, 5, 16).unflatten(0, (3, 5))
    for y in range(3):
        for x in range(5):
            torch.testing.assert_close(table[y, x], axis[y] + axis[x])
    with pytest.raises(ValueError, match="d_model is 5, wanted a positive even number"):
        summed_positions(2, 2, 5)


def bands(positions, frequencies):
    return positions.flatten()[:, None].double() * frequencies


def test_other_libraries_order_the_channels_otherwise_or_have_other_frequencies():
    y, x = torch.meshgrid(torch.arange(4), torch.arange(6), indexing="ij")
    ours = spatial_positions(4, 6, 32).double()
    i = torch.arange(8).double()
    # timm: the same frequencies, in blocks sin y, sin x, cos y, cos x.
    v, u = (bands(axis, 10_000 ** -(i / 8)) for axis in (y, x))
    timm = torch.cat([v.sin(), u.sin(), v.cos(), u.cos()], dim=-1)
    assert (timm - ours).abs().max() > 0.5
    pairs = ours.unflatten(-1, (2, 8, 2))
    torch.testing.assert_close(pairs.permute(0, 3, 1, 2).flatten(1), timm, atol=1e-6, rtol=0)
    # vit-pytorch: x first, and the last frequency is 1 / 10,000 itself. No order makes it ours.
    v, u = (bands(axis, 10_000 ** -(i / 7)) for axis in (y, x))
    other = torch.cat([u.sin(), u.cos(), v.sin(), v.cos()], dim=-1)
    assert (torch.cdist(other.T, ours.T).amin(1) > 0.1).any()


def test_base_reaches_both_halves():
    assert not torch.equal(spatial_positions(2, 2, 8), spatial_positions(2, 2, 8, base=100.0))


@pytest.mark.parametrize("d_model", [0, 2, 6, 10, 14, 402])
def test_widths_that_four_does_not_divide_are_refused(d_model):
    with pytest.raises(ValueError, match=f"d_model is {d_model}, wanted a positive multiple of 4"):
        spatial_positions(2, 2, d_model)
    assert spatial_positions(8, 8, 400).shape == (64, 400)
