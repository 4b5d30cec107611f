"""Codes of places: numbers, waves, tables on a line and a grid, scans."""

import copy
import math

import pytest
import torch
from torch.nn import functional as F

from course_lib.positions import (
    ComputedTables,
    binary_code,
    code_similarity,
    integer_code,
    ratio_code,
    shift_matrix,
    sine_code,
    sinusoidal_encoding,
    sinusoidal_positions,
    spatial_positions,
    summed_positions,
    wavelengths,
)
from course_lib.positions.learned import stretch_grid, stretch_places, stretch_weights
from course_lib.positions.scans import inverse_order, scan_order
from course_tests.refusals import refusals


@pytest.mark.parametrize(("dtype", "bits"), [(torch.float16, 11), (torch.bfloat16, 8)])
def test_integers_run_out_of_digits(dtype, bits):
    codes = integer_code(torch.arange(2**bits + 2), dtype).flatten().tolist()
    assert len(set(codes[: 2**bits + 1])) == 2**bits + 1
    assert codes[2**bits] == codes[2**bits + 1]


def test_ratios_mean_something_else_in_every_length():
    assert ratio_code(torch.tensor([9]), 10) == ratio_code(torch.tensor([90]), 100)
    steps = [ratio_code(torch.tensor([1, 2]), n).diff(dim=0).item() for n in (10, 100)]
    assert steps[0] == pytest.approx(10 * steps[1])


def test_binary_digits_spell_the_number():
    positions = torch.arange(64).reshape(4, 16)
    codes = binary_code(positions, 6)
    assert codes.shape == (4, 16, 6)
    assert torch.equal((codes * 2 ** torch.arange(6)).sum(-1).long(), positions)
    flips = (codes.flatten(0, 1).diff(dim=0) != 0).sum(-1)
    assert flips[7] == 4 and flips[31] == 6 and flips[8] == 1


def test_a_single_wave_repeats_before_its_period():
    codes = sine_code(torch.arange(48), 12).flatten()
    assert len(set(codes.round(decimals=9).add(0.0).tolist())) == 7
    assert codes[2] == pytest.approx(codes[4].item())


def test_table_follows_the_formula():
    table = sinusoidal_positions(50, 16)
    for p in range(50):
        for i in range(8):
            angle = p / 10_000 ** (2 * i / 16)
            assert table[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_positions_are_distinct_and_of_equal_norm():
    table = sinusoidal_positions(2000, 64)
    torch.testing.assert_close(table.norm(dim=1), torch.full((2000,), math.sqrt(32)))
    distances = torch.cdist(table, table).fill_diagonal_(math.inf)
    assert distances.min() > 1


def test_base_and_dtype_and_shape():
    positions = torch.tensor([[0.5, 1.5]], dtype=torch.float64)
    encoding = sinusoidal_encoding(positions, 4, base=100.0)
    assert encoding.shape == (1, 2, 4) and encoding.dtype == torch.float64
    assert encoding[0, 0, 2].item() == pytest.approx(math.sin(0.05))
    assert sinusoidal_encoding(positions.half(), 4).dtype == torch.float32


def codes(positions, d_model, base=10_000.0):
    return sinusoidal_encoding(torch.as_tensor(positions, dtype=torch.float64), d_model, base=base)


@pytest.mark.parametrize("base", [10_000.0, 50.0])
@pytest.mark.parametrize("shift", [0, 1, 17, -3, 2.5])
def test_a_shift_moves_every_code_alike(shift, base):
    here = torch.arange(200)
    moved = codes(here, 32, base) @ shift_matrix(shift, 32, base=base).T
    torch.testing.assert_close(moved, codes(here + shift, 32, base), atol=1e-9, rtol=0)


def test_inner_products_follow_from_the_distance():
    p, q = torch.arange(0, 300, 7), torch.arange(0, 300, 11)
    found = codes(p, 64) @ codes(q, 64).T
    torch.testing.assert_close(code_similarity(p[:, None] - q, 64), found, atol=1e-9, rtol=0)


@pytest.mark.parametrize("d_model", [2, 8, 128])
def test_a_wave_comes_back_after_its_length(d_model):
    found = wavelengths(d_model, base=100.0)
    assert found.shape == (d_model // 2,)
    for pair, length in enumerate(found.tolist()):
        here, there = codes([3.0, 3.0 + length], d_model, 100.0)[:, 2 * pair : 2 * pair + 2]
        torch.testing.assert_close(here, there)
    assert found[-1].item() == pytest.approx(2 * math.pi * 100 ** ((d_model - 2) / d_model))


def test_first_half_is_the_row_and_second_half_the_column():
    table = spatial_positions(3, 5, 16, base=100.0).unflatten(0, (3, 5))
    rows, columns = (sinusoidal_positions(n, 8, base=100.0) for n in (3, 5))
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


@pytest.mark.parametrize("new", [(3, 5), (6, 10), (4, 7), (2, 3), (1, 1), (5, 3)])
def test_agrees_with_interpolate(new):
    table = torch.randn(2 + 15, 4, generator=torch.Generator().manual_seed(0))
    grid = table[2:].T.unflatten(1, (3, 5))[None]
    theirs = F.interpolate(grid, size=new, mode="bilinear", align_corners=False)[0].flatten(1).T
    fitted = stretch_grid(table, (3, 5), new, n_prefix=2)
    torch.testing.assert_close(fitted[2:], theirs)
    assert fitted[:2].equal(table[:2])


def test_there_and_back_in_places():
    assert stretch_places(6, 6).equal(torch.arange(6).double())
    assert stretch_places(6, 12).mean() == stretch_places(6, 3).mean() == 2.5


test_what_does_not_fit_is_refused = refusals(
    (
        lambda: stretch_grid(torch.zeros(5, 2), (2, 3), (2, 2)),
        r"shape \(5, 2\), wanted \(0 \+ 2 \* 3, D\)",
    ),
    (lambda: stretch_weights(2, 0), "there are 2 old and 0 new cells"),
    (lambda: scan_order("circle", 2, 2), "scan is 'circle', wanted one of"),
    (lambda: scan_order("raster", 0, 2), "the grid is 0 x 2, wanted at least 1 x 1"),
    (lambda: inverse_order(torch.tensor([0, 0, 1])), r"wanted a permutation of 0..N-1"),
    (lambda: binary_code(torch.arange(64), 5), "reach from 0 to 63, wanted 0 to 31"),
    (lambda: summed_positions(2, 2, 5), "d_model is 5, wanted a positive even number"),
    (lambda: sinusoidal_positions(3, 0), "d_model is 0, wanted a positive even number"),
    (lambda: sinusoidal_positions(3, 1), "d_model is 1, wanted a positive even number"),
    (lambda: sinusoidal_positions(3, 7), "d_model is 7, wanted a positive even number"),
    (lambda: wavelengths(7), "is 7, wanted a positive even number"),
    (lambda: shift_matrix(1, 7), "is 7, wanted a positive even number"),
    (lambda: code_similarity(torch.ones(1), 7), "is 7, wanted a positive even number"),
    (lambda: spatial_positions(2, 2, 0), "d_model is 0, wanted a positive multiple of 4"),
    (lambda: spatial_positions(2, 2, 6), "d_model is 6, wanted a positive multiple of 4"),
    (lambda: spatial_positions(2, 2, 402), "d_model is 402, wanted a positive multiple of 4"),
    (lambda: scan_order("hilbert", 4, 8), "wanted a square whose side is a power of two"),
    (lambda: scan_order("hilbert", 6, 6), "wanted a square whose side is a power of two"),
)


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


def test_a_random_order_follows_its_generator():
    one, same, other = (
        scan_order("random", 5, 5, generator=torch.Generator().manual_seed(n)) for n in (0, 0, 1)
    )
    assert one.equal(same) and not one.equal(other)


class Sevenths(ComputedTables):
    def __init__(self):
        super().__init__()
        self.keep_tables()

    def compute_tables(self):
        return {"sevenths": torch.arange(8, dtype=torch.float64) / 7}


EXACT = torch.arange(8, dtype=torch.float64) / 7


def test_every_precision_is_rounded_once():
    module = torch.nn.Sequential(Sevenths())
    for dtype, kept in [
        (torch.float16, torch.float32),
        (torch.float64, torch.float64),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
    ]:
        assert torch.equal(module.to(dtype)[0].sevenths, EXACT.to(kept))


def test_tables_are_buffers_that_are_not_saved():
    module = Sevenths()
    assert [name for name, _ in module.named_buffers()] == ["sevenths"]
    assert not module.state_dict()
    assert torch.equal(copy.deepcopy(module).double().sevenths, EXACT)
    assert module.to("meta").sevenths.device.type == "meta"


def test_what_needs_double_precision_keeps_it():
    class Finer(Sevenths):
        least = torch.float64

    for dtype in (torch.float16, torch.float32, torch.float64):
        assert torch.equal(Finer().to(dtype).sevenths, EXACT)


def test_a_subclass_must_say_what_its_tables_are():
    with pytest.raises(NotImplementedError):
        ComputedTables().keep_tables()
