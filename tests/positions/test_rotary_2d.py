"""Rotary positions on a grid: what they can tell apart, and what they leave alone."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import MultiHeadAttention
from course_lib.positions import (
    AxialRotary,
    MixedRotary,
    Rotary,
    axial_angles,
    mixed_angles,
    mixed_frequencies,
    rotate,
)
from course_tests.refusals import refusals

SEEDS = st.integers(0, 2**16)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def score_map(angles, rows, columns, seed):
    """Scores of one query and one key, placed on each pair of places: (y, x, y', x')."""
    q, k = draw(2, 1, 2 * angles.shape[-1], seed=seed)
    n = rows * columns
    scores = rotate(q.expand(n, -1), angles) @ rotate(k.expand(n, -1), angles).transpose(-2, -1)
    return scores.view(rows, columns, rows, columns)


def kinds(seed):
    yield axial_angles(4, 5, 8)
    yield mixed_angles(4, 5, mixed_frequencies(8, 1, generator=generator(seed)))[0]


@given(seed=SEEDS, y=st.integers(0, 2), x=st.integers(0, 3))
@settings(max_examples=20, deadline=None)
def test_scores_depend_on_the_offset_only(seed, y, x):
    for angles in kinds(seed):
        scores = score_map(angles, 4, 5, seed)
        here = scores[:2, :2, :2, :2]
        there = scores[y : y + 2, x : x + 2, y : y + 2, x : x + 2]
        torch.testing.assert_close(there, here, atol=1e-9, rtol=0)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_axial_scores_are_a_sum_over_the_axes_and_mixed_ones_are_not(seed):
    axial, mixed = (score_map(angles, 4, 5, seed)[0, 0] for angles in kinds(seed))

    def remainder(scores):
        return (scores - scores[:1] - scores[:, :1] + scores[0, 0]).abs().max()

    assert remainder(axial) < 1e-9
    assert remainder(mixed) > 1e-3


def test_the_halves_of_an_axial_head_are_rotary_on_a_line():
    x = draw(2, 4 * 5, 8)
    turned, _ = AxialRotary(8, 4, 5).double()(x, x)
    line = Rotary(4, base=100.0).double()
    grid, wanted = x.view(2, 4, 5, 8), turned.view(2, 4, 5, 8)
    for row in range(4):
        assert torch.allclose(line(*[grid[:, row, :, 4:]] * 2)[0], wanted[:, row, :, 4:])
    for column in range(5):
        assert torch.allclose(line(*[grid[:, :, column, :4]] * 2)[0], wanted[:, :, column, :4])


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_mixed_frequencies_are_two_turned_crosses(seed):
    frequencies = mixed_frequencies(12, 5, generator=generator(seed))
    assert frequencies.shape == (5, 6, 2)
    sizes = 10.0 ** -(torch.arange(3).double() / 3)
    torch.testing.assert_close(frequencies.norm(dim=-1), sizes.repeat(2).expand(5, -1))
    one, other = frequencies.chunk(2, dim=1)
    torch.testing.assert_close((one * other).sum(-1), torch.zeros(5, 3).double())
    directions = torch.atan2(one[..., 0], one[..., 1])
    torch.testing.assert_close(directions.cos(), directions[:, :1].cos().expand(-1, 3))
    assert directions[:, 0].unique().numel() == 5


def test_a_cross_that_is_not_turned_is_axial():
    sizes = 10.0 ** -(torch.arange(2).double() / 2)
    zero = torch.zeros(2).double()
    cross = torch.stack([torch.cat([sizes, zero]), torch.cat([zero, sizes])], dim=-1)[None]
    torch.testing.assert_close(mixed_angles(3, 4, cross)[0], axial_angles(3, 4, 8, base=10.0))


@pytest.mark.parametrize("kind", ["axial", "mixed"])
@pytest.mark.parametrize("layout", ["interleaved", "half_split"])
def test_the_class_token_does_not_turn_and_both_paths_agree(kind, layout):
    options = {"rows": 3, "columns": 4, "n_prefix": 2, "layout": layout}
    results = []
    x = draw(2, 2, 3, 14, 8)
    for fused in (True, False):
        if kind == "axial":
            rotary = AxialRotary(8, **options, fused=fused)
        else:
            rotary = MixedRotary(8, 3, **options, fused=fused, generator=generator())
        q, k = rotary.double()(*x)
        assert torch.equal(q[..., :2, :], x[0][..., :2, :])
        assert torch.equal(q[..., 2, :], x[0][..., 2, :]), "the patch (0, 0)"
        assert not torch.isclose(k[..., 3:, :], x[1][..., 3:, :]).all(-1).any()
        results.append((q, k))
        smaller = rotary(x[0][..., :6, :], x[1][..., :6, :], grid=(2, 2))[0]
        # Row 0 and columns 0 and 1 are the same places in both grids.
        torch.testing.assert_close(smaller[..., :4, :], q[..., :4, :])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, atol=1e-12, rtol=0)


def test_attention_with_rotary_on_a_grid_learns_the_directions():
    attend, x = MultiHeadAttention(16, n_heads=2), draw(1, 7, 16, dtype=torch.float32)
    rotary = MixedRotary(8, 2, rows=2, columns=3, n_prefix=1, generator=generator())
    assert sum(p.numel() for p in rotary.parameters()) == 16
    attend(x, rotate=rotary).square().sum().backward()
    assert rotary.frequencies.grad.abs().min() > 0
    same = MixedRotary(8, 2, rows=2, columns=3, generator=generator())
    assert torch.equal(same.frequencies, rotary.frequencies)


def test_the_learned_directions_are_all_that_is_saved():
    assert list(MixedRotary(8, 2, rows=2, columns=3).state_dict()) == ["frequencies"]
    assert not AxialRotary(8, rows=2, columns=3).state_dict()


test_misfits_are_refused = refusals(
    (lambda: axial_angles(2, 2, 6), "d_head is 6, wanted a positive multiple of 4"),
    (lambda: mixed_frequencies(6, 1), "d_head is 6, wanted a positive multiple of 4"),
    (lambda: AxialRotary(8, 2, 2, layout="x"), "layout is 'x', wanted one of"),
    (lambda: MixedRotary(8, 1, 2, 2, layout="x"), "layout is 'x', wanted one of"),
    (lambda: AxialRotary(8, 2, 3)(draw(6, 8), draw(6, 8), 1), "offset is 1, wanted 0"),
)
