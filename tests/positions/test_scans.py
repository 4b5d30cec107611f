"""Scans visit every place once, and go as their names say."""

import pytest
import torch

from course_lib.positions.scans import inverse_order, scan_order

GRIDS = [(1, 1), (1, 5), (5, 1), (2, 3), (4, 4), (5, 3)]


@pytest.mark.parametrize("scan", ["raster", "column", "snake", "zigzag", "spiral", "random"])
@pytest.mark.parametrize("grid", GRIDS)
def test_every_place_is_read_once_and_the_way_back_leads_back(scan, grid):
    order = scan_order(scan, *grid, generator=torch.Generator().manual_seed(0))
    places = torch.arange(grid[0] * grid[1])
    assert order.sort().values.equal(places)
    assert order[inverse_order(order)].equal(places)
    assert inverse_order(order)[order].equal(places)


@pytest.mark.parametrize(
    ("scan", "longest"), [("snake", 1.0), ("spiral", 1.0), ("zigzag", 2**0.5), ("raster", 6.1)]
)
def test_how_far_a_scan_jumps(scan, longest):
    order = scan_order(scan, 4, 7)
    steps = torch.stack([order // 7, order % 7], dim=1).diff(dim=0).double().norm(dim=1)
    assert steps.max().item() == pytest.approx(longest, abs=0.02)


def test_columns_are_rows_of_the_mirrored_grid():
    assert scan_order("column", 2, 3).tolist() == [0, 3, 1, 4, 2, 5]


@pytest.mark.parametrize("side", [1, 2, 8, 32])
def test_hilberts_curve_goes_step_by_step_and_finishes_each_quarter(side):
    order = scan_order("hilbert", side, side)
    assert order.sort().values.equal(torch.arange(side**2))
    assert order[0] == 0 and order[-1] == side - 1
    places = torch.stack([order // side, order % side], dim=1)
    assert (places.diff(dim=0).abs().sum(dim=1) == 1).all()
    for quarter in (2 * places // side).split(max(side**2 // 4, 1)):
        assert len(quarter.unique(dim=0)) == 1


@pytest.mark.parametrize("grid", [(4, 8), (6, 6)])
def test_hilberts_curve_wants_halves_of_halves(grid):
    with pytest.raises(ValueError, match="wanted a square whose side is a power of two"):
        scan_order("hilbert", *grid)


def test_a_random_order_follows_its_generator():
    one, same, other = (
        scan_order("random", 5, 5, generator=torch.Generator().manual_seed(n)) for n in (0, 0, 1)
    )
    assert one.equal(same) and not one.equal(other)


def test_what_is_no_scan_is_refused():
    with pytest.raises(ValueError, match="scan is 'circle', wanted one of"):
        scan_order("circle", 2, 2)
    with pytest.raises(ValueError, match="the grid is 0 x 2, wanted at least 1 x 1"):
        scan_order("raster", 0, 2)
    with pytest.raises(ValueError, match=r"wanted a permutation of 0..N-1"):
        inverse_order(torch.tensor([0, 0, 1]))
