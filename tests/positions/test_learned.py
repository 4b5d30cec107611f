"""Tables of positions: learned ones, and Legendre polynomials."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial.legendre import legval, legvander

from course_lib.positions import (
    Alibi,
    LearnedPositions,
    RelativeBias,
    Rotary,
    resample_grid,
    sinusoidal_positions,
)
from course_lib.positions.legendre import LegendrePE, legendre_polynomials, legendre_positions
from course_lib.positions.previous import PlacedAttention, accuracy_by_place, train_previous
from course_tests.refusals import refusals


def draw(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


def test_a_row_for_each_place_drawn_near_zero():
    positions = LearnedPositions(1000, 64, generator=torch.Generator().manual_seed(0))
    assert sum(p.numel() for p in positions.parameters()) == 64_000
    assert 0.0195 < positions.table.std() < 0.0205
    x = draw(2, 5, 64, dtype=torch.float32)
    for offset in (0, 995):
        added = positions(x, offset) - x
        torch.testing.assert_close(
            added[1], positions.table[offset : offset + 5], atol=1e-6, rtol=0
        )


@given(n=st.integers(2, 9), length=st.integers(1, 20), n_prefix=st.integers(0, 2))
@settings(max_examples=25, deadline=None)
def test_resampling_keeps_prefix_rows_and_constants(n, length, n_prefix):
    table = torch.cat([draw(n_prefix, 3), torch.ones(n, 3).double()])
    fitted = resample_grid(table, (1, n), (2, length), n_prefix=n_prefix)
    assert fitted.shape == (n_prefix + 2 * length, 3) and fitted.dtype == torch.float64
    assert torch.equal(fitted[:n_prefix], table[:n_prefix])
    torch.testing.assert_close(fitted[n_prefix:], torch.ones(2 * length, 3).double())


def test_a_slope_stays_a_slope_between_the_first_and_the_last_row():
    slope = torch.arange(5).double()[:, None]
    grid = slope.expand(-1, 5).reshape(25, 1)
    rows = resample_grid(grid, (5, 5), (10, 5)).view(10, 5)
    torch.testing.assert_close(
        rows[3:7], torch.arange(1.25, 3, 0.5).double()[:, None].expand(-1, 5)
    )


def test_rows_and_columns_keep_their_places():
    y, x = torch.meshgrid(torch.arange(4.0), torch.arange(6.0), indexing="ij")
    table = torch.stack([y, x], dim=-1).flatten(0, 1)
    fitted = resample_grid(table, (4, 6), (8, 3)).view(8, 3, 2)
    assert torch.equal(fitted[:, 1, 0], fitted[:, 1, 0].sort().values)
    assert torch.equal(fitted[2, :, 1], fitted[2, :, 1].sort().values)


def test_a_coarser_grid_is_blurred_first():
    # A chequered table has no pattern left at half the size; picking every second row keeps one.
    chequered = torch.ones(8, 8)
    chequered[::2, ::2] = chequered[1::2, 1::2] = -1
    blurred = resample_grid(chequered.view(64, 1), (8, 8), (4, 4)).view(4, 4)
    assert blurred[1:3, 1:3].abs().max() < 1e-3
    plain = F.interpolate(chequered[None, None], size=(3, 3), mode="bicubic")
    assert plain.abs().max() > 0.5


def test_the_same_size_changes_nothing():
    table = draw(10, 3)
    assert torch.equal(resample_grid(table, (3, 3), (3, 3), n_prefix=1), table)


def test_half_precision_is_resampled_in_single():
    table = draw(17, 4).half()
    fitted = resample_grid(table, (4, 4), (6, 6), n_prefix=1)
    assert fitted.dtype == torch.float16
    exact = resample_grid(table.float(), (4, 4), (6, 6), n_prefix=1)
    assert torch.equal(fitted, exact.half())


test_misfits_are_refused = refusals(
    (lambda: LearnedPositions(0, 4), "max_len is 0, wanted at least 1"),
    (lambda: LearnedPositions(4, 8)(torch.zeros(3, 8), -1), "from place -1"),
    (lambda: LearnedPositions(4, 8)(torch.zeros(3, 1)), "of width 1 "),
    (lambda: resample_grid(torch.zeros(2, 3), (1, 1), (4, 1), n_prefix=2), "with more than 2 rows"),
    (
        lambda: resample_grid(torch.zeros(17, 3), (4, 4), (6, 6)),
        "the table has 17 places, wanted 4 x 4 behind 0",
    ),
)


def test_positions_are_what_it_takes():
    blind, blind_losses = train_previous(lambda n: torch.zeros(n, 32), length=8, steps=200)
    model, losses = train_previous(lambda n: sinusoidal_positions(n, 32), length=8, steps=200)
    assert sum(losses[-20:]) < 0.1 * sum(blind_losses[-20:])
    assert accuracy_by_place(model, 8).min() > 0.9
    assert accuracy_by_place(blind, 8).mean() < 0.6
    again, same = train_previous(lambda n: sinusoidal_positions(n, 32), length=8, steps=200)
    assert same == losses and torch.equal(again.guess.weight, model.guess.weight)
    assert torch.equal(accuracy_by_place(model, 8), accuracy_by_place(again, 8))


def test_positions_may_enter_in_the_scores():
    def placed(**options):
        return lambda: PlacedAttention(32, 4, **options)

    for options in ({"bias": RelativeBias(4, n_buckets=8, max_distance=8)}, {"rotate": Rotary(8)}):
        model, _ = train_previous(attention=placed(**options), length=8, steps=200)
        assert accuracy_by_place(model, 8).mean() > 0.9
    blind, _ = train_previous(attention=placed(), length=8, steps=200)
    assert accuracy_by_place(blind, 8).mean() < 0.6


def test_a_causal_layer_does_not_see_what_comes_later():
    attend = PlacedAttention(32, 4, bias=Alibi(4), causal=True)
    x = torch.randn(1, 6, 32, generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, 4] += 1
    same = (attend(x) == attend(changed)).all(dim=-1)[0]
    assert same.tolist() == [True] * 4 + [False] * 2


def test_a_bias_that_is_a_module_is_trained():
    bias = RelativeBias(4)
    before = bias.table.detach().clone()
    train_previous(attention=lambda: PlacedAttention(32, 4, bias=bias), length=8, steps=2)
    assert not torch.equal(bias.table, before)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 400), st.integers(0, 2**31))
def test_the_recurrence_is_numpys(degree, seed):
    x = np.random.default_rng(seed).uniform(-1, 1, 17)
    for fused in (True, False):
        ours = legendre_polynomials(torch.from_numpy(x), degree, fused=fused)
        np.testing.assert_allclose(ours.numpy(), legvander(x, degree).T, atol=1e-12)


def test_points_may_have_any_shape_and_precision():
    x = torch.rand(3, 2, generator=torch.Generator().manual_seed(0)) * 2 - 1
    assert legendre_polynomials(x, 5).shape == (6, 3, 2)
    assert legendre_polynomials(x.half(), 5).dtype == torch.float16
    single = legendre_polynomials(x, 500)
    double = legendre_polynomials(x.double(), 500)
    torch.testing.assert_close(single, double.float(), rtol=0, atol=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.integers(1, 40))
def test_the_paper_takes_the_position_for_the_order(length, d_model):
    table = legendre_positions(length, d_model, dtype=torch.float64)
    x = -1 + 2 * np.arange(d_model) / d_model
    for n in range(1, length + 1):
        np.testing.assert_allclose(table[n - 1], legval(x, np.eye(n + 1)[n]), atol=1e-12)


def test_the_basis_takes_the_channel_for_the_order():
    table = legendre_positions(9, 5, mode="basis", dtype=torch.float64)
    np.testing.assert_allclose(table, legvander(np.linspace(-1, 1, 9), 4), atol=1e-13)
    # Its positions depend on the length of the sequence; the paper's do not.
    assert not torch.allclose(table[:5], legendre_positions(5, 5, mode="basis").double())
    paper = legendre_positions(9, 5)
    torch.testing.assert_close(paper[:5], legendre_positions(5, 5))


def test_position_zero_would_say_nothing():
    assert legendre_polynomials(torch.linspace(-1, 1, 7), 0).unique().tolist() == [1.0]


@pytest.mark.parametrize("mode", ["paper", "basis"])
def test_normalised_rows_are_as_strong_as_sinusoids(mode):
    table = legendre_positions(50, 64, mode=mode, normalise=True)
    torch.testing.assert_close(table.norm(dim=1), torch.full((50,), 32**0.5))


@pytest.mark.parametrize("mode", ["paper", "basis"])
def test_the_module_adds_the_table_of_the_sequence_at_hand(mode):
    add = LegendrePE(8, max_len=20, mode=mode)
    assert not list(add.parameters()) and not add.state_dict()
    for length in (1, 7, 20):
        x = torch.randn(2, length, 8, generator=torch.Generator().manual_seed(length))
        torch.testing.assert_close(add(x), x + legendre_positions(length, 8, mode=mode))
    double = add.double()(torch.zeros(1, 20, 8, dtype=torch.float64))
    exact = legendre_positions(20, 8, mode=mode, dtype=torch.float64)
    torch.testing.assert_close(double[0], exact, rtol=0, atol=0)


test_wrong_input_is_named = refusals(
    (lambda: legendre_polynomials(torch.zeros(3), -1), "degree is -1, wanted at least 0"),
    (lambda: legendre_polynomials(torch.zeros(3, dtype=torch.int), 2), "dtype torch.int32"),
    (lambda: legendre_positions(0, 4), "length is 0"),
    (lambda: legendre_positions(4, 4, mode="polar"), "mode is 'polar', wanted one of"),
    (lambda: LegendrePE(8, 4)(torch.zeros(1, 5, 8)), "length 5, wanted at most 4"),
    (lambda: LegendrePE(8, 4)(torch.zeros(1, 3, 6)), r"\(1, 3, 6\), wanted \(B, T, 8\)"),
)
