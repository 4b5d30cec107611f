"""Rotary positions on a line: the distance decides, whatever the layout, the offset or the path."""

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import MultiHeadAttention
from course_lib.positions import (
    Rotary,
    convert_rotary_layout,
    rotary_angles,
    rotary_frequencies,
    rotate,
    rotate_by_table,
    rotation_table,
    sinusoidal_positions,
)
from course_tests.refusals import refusals

LAYOUTS = pytest.mark.parametrize("layout", ["interleaved", "half_split"])


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@given(
    m=st.integers(0, 5000),
    n=st.integers(0, 5000),
    shift=st.integers(0, 5000),
    layout=st.sampled_from(["interleaved", "half_split"]),
    d_rotary=st.sampled_from([2, 8, 16]),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=40, deadline=None)
def test_scores_depend_on_the_distance_only(m, n, shift, layout, d_rotary, seed):
    q, k = draw(2, 1, 16, seed=seed)

    def score(m, n):
        angles = rotary_angles(torch.tensor([[m], [n]]), d_rotary)
        return (rotate(q, angles[0], layout) * rotate(k, angles[1], layout)).sum()

    torch.testing.assert_close(score(m, n), score(m + shift, n + shift), atol=1e-9, rtol=0)


def test_a_pair_turns_by_the_position_times_its_frequency():
    x = draw(1, 6)
    turned = rotate(x, rotary_angles(torch.tensor([7]), 6))
    pairs = torch.view_as_complex(x.unflatten(-1, (3, 2)).contiguous())
    for i, frequency in enumerate(rotary_frequencies(6)):
        wanted = pairs[0, i] * torch.exp(1j * 7 * frequency)
        torch.testing.assert_close(torch.complex(turned[0, 2 * i], turned[0, 2 * i + 1]), wanted)
    torch.testing.assert_close(turned.norm(), x.norm())


def test_the_layouts_give_different_scores_unless_channels_are_permuted():
    q, k = draw(2, 5, 16)
    angles = rotary_angles(torch.arange(5), 16)

    def scores(q, k, layout):
        return rotate(q, angles, layout) @ rotate(k, angles, layout).T

    neighbours = scores(q, k, "interleaved")
    assert (scores(q, k, "half_split") - neighbours).abs().max() > 1
    q, k = (convert_rotary_layout(x.T, 1, to="half_split").T for x in (q, k))
    torch.testing.assert_close(scores(q, k, "half_split"), neighbours)


@pytest.mark.parametrize("d_rotary", [None, 4])
def test_converted_projections_attend_as_before(d_rotary):
    attend, x = MultiHeadAttention(24, n_heads=3).double(), draw(2, 5, 24)
    before = attend(x, rotate=Rotary(8, d_rotary=d_rotary).double())
    half_split = Rotary(8, d_rotary=d_rotary, layout="half_split").double()
    assert not torch.allclose(attend(x, rotate=half_split), before, atol=1e-4)
    for part in (attend.q_proj, attend.k_proj):
        for parameter in (part.weight, part.bias):
            parameter.data = convert_rotary_layout(parameter, 3, to="half_split", d_rotary=d_rotary)
    torch.testing.assert_close(attend(x, rotate=half_split), before)
    for parameter in (attend.q_proj.weight, attend.k_proj.weight):
        there = convert_rotary_layout(parameter, 3, to="interleaved", d_rotary=d_rotary)
        back = convert_rotary_layout(there, 3, to="half_split", d_rotary=d_rotary)
        assert torch.equal(back, parameter)


@LAYOUTS
def test_only_the_first_channels_turn_if_so_asked(layout):
    x = draw(2, 3, 5, 12)
    for fused in (False, True):
        turned, _ = Rotary(12, d_rotary=4, layout=layout, fused=fused).double()(x, x, offset=3)
        assert torch.equal(turned[..., 4:], x[..., 4:])
        assert not torch.isclose(turned[..., :4], x[..., :4]).any()
        torch.testing.assert_close(
            turned[..., :4], Rotary(4, layout=layout)(x[..., :4], x[..., :4], 3)[0]
        )


@LAYOUTS
@given(offset=st.integers(0, 40), length=st.integers(1, 20), views=st.booleans())
@settings(max_examples=25, deadline=None)
def test_kept_tables_change_nothing(layout, offset, length, views):
    # The table ends at 32, and heads cut out of one projection lie apart in memory.
    if views:
        q, k = draw(2, length, 2, 3, 9)[..., 1:].permute(0, 2, 3, 1, 4).unbind(1)
    else:
        q, k = draw(2, 2, 3, length, 8)
    fast, explicit = (
        Rotary(8, layout=layout, max_len=32, fused=fused).double() for fused in (True, False)
    )
    for ours, theirs in zip(fast(q, k, offset), explicit(q, k, offset), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=0)


def test_tables_are_computed_anew_in_another_precision():
    rotary = Rotary(8, max_len=3000)
    exact = rotation_table(rotary_angles(torch.arange(3000), 8))
    assert torch.equal(rotary.double().table, exact)
    assert torch.equal(rotary.half().table, exact.float())
    assert torch.equal(rotary.float().table, exact.float())
    assert not rotary.state_dict() and not list(rotary.parameters())
    x = draw(2, 1, 1, 8, dtype=torch.bfloat16)
    assert rotary(x, x)[0].dtype == torch.bfloat16


def test_single_precision_is_enough_far_out():
    # A table of angles in single precision would be off by 1e-3 here.
    x = draw(1, 1, 64, dtype=torch.float32)
    here = Rotary(64)(x, x, offset=100_000)[0]
    exact = Rotary(64).double()(x.double(), x.double(), offset=100_000)[0]
    torch.testing.assert_close(here.double(), exact, atol=1e-6, rtol=0)


TURNS = (
    lambda x: rotate(x, torch.tensor([[0.5]])),
    lambda x: rotate_by_table(x, rotation_table(torch.tensor([[0.5]]))),
    lambda x: Rotary(2)(x, x),
)
test_misfits_are_refused = refusals(
    (lambda: rotary_frequencies(5), "d_rotary is 5, wanted a positive even number"),
    (lambda: rotate(draw(2, 4), draw(2, 3)), "x has 4 channels, wanted at least 6"),
    (lambda: rotate(draw(2, 4), draw(2, 2), "split"), "layout is 'split', wanted one of"),
    (lambda: rotation_table(draw(2, 2), "split"), "layout is 'split', wanted one of"),
    (
        lambda: rotate_by_table(draw(2, 4), rotation_table(draw(2, 3)), "interleaved"),
        "x has 4 channels, wanted at least 6",
    ),
    (lambda: Rotary(8, d_rotary=3), "d_rotary is 3, wanted an even number from 2 to d_head 8"),
    (lambda: Rotary(7), "d_rotary is 7, wanted an even number"),
    (lambda: Rotary(8)(draw(2, 8), draw(2, 8), -1), "offset is -1, wanted at least 0"),
    (lambda: convert_rotary_layout(draw(8, 4), 2, to="other"), "layout is 'other'"),
    (lambda: Rotary(8, max_len=-1), "max_len is -1, wanted at least 0"),
    (lambda: sinusoidal_positions(-1, 4), "max_len is -1, wanted at least 0"),
    *((partial(turn, torch.full((1, 2), 3)), "dtype torch.int64") for turn in TURNS),
    *((partial(turn, torch.tensor(1.0)), r"[xq] has shape \(\)") for turn in TURNS),
)


def test_a_single_vector_is_turned_by_a_single_row_of_angles():
    rows = torch.randn(3, 4)
    angles = rotary_angles(torch.arange(3), 4)
    assert torch.allclose(rotate(rows[2], angles[2]), rotate(rows, angles)[2])
    with pytest.raises(ValueError, match=r"wanted \(\.\.\., T, Dh\)"):
        rotate_by_table(rows[2], rotation_table(angles))
