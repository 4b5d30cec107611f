"""Learned positions, and tables stretched to sizes they were not made for."""

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.positions import (
    Alibi,
    LearnedPositions,
    RelativeBias,
    Rotary,
    resample_grid,
    sinusoidal_positions,
)
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
