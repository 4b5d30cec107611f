"""Increments for values: what they distinguish, what they forget, and what they must not see."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.masks import causal_mask, padding_mask, sliding_window_mask
from course_lib.positions.delta import DeltaValueAttention, literal_delta_value, steps, steps_mask


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def by_hand(attend, x, mask):
    """The definition, pair by pair; a step counts where both of its tokens are visible."""
    T, width = x.shape[1], attend.d_head
    q, k, v = attend.q_proj(x), attend.k_proj(x), attend.v_proj(x)
    mask = mask.expand(len(x), attend.n_heads, T, T)
    out = torch.zeros_like(v)
    for b, h, i in itertools.product(range(len(x)), range(attend.n_heads), range(T)):
        part = slice(h * width, (h + 1) * width)
        seen = [j for j in range(T) if mask[b, h, i, j]]
        if not seen:
            continue
        logits = torch.stack([q[b, i, part] @ k[b, j, part] for j in seen]) / width**0.5
        out[b, i, part] = v[b, i, part]
        for weight, j in zip(logits.softmax(0), seen, strict=True):
            if j > 0 and j - 1 in seen:
                out[b, i, part] += weight * (v[b, j, part] - v[b, j - 1, part])
    return attend.out_proj(out)


LEFT_PADDED = torch.tensor([False, False, True, True, True, True])
MASKS = {
    "none": torch.ones(6, 6, dtype=torch.bool),
    "causal": causal_mask(6),
    "window": sliding_window_mask(6, radius=1),
    "padding": padding_mask(torch.tensor([4, 6]), 6),
    "left padding": LEFT_PADDED[None, None, None].expand(2, 1, 1, 6),
    "keys": LEFT_PADDED,
    "left padding, causal": LEFT_PADDED & causal_mask(6),
    "nothing": torch.zeros(6, 6, dtype=torch.bool),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_both_paths_are_the_definition_under_every_mask(mask):
    attend = DeltaValueAttention(8, 2).double()
    x = draw(2, 6, 8)
    expected = by_hand(attend, x, mask)
    torch.testing.assert_close(attend(x, mask=mask), expected)
    torch.testing.assert_close(attend(x, mask=mask, return_weights=True)[0], expected)


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_what_is_hidden_does_not_come_in_by_a_step(mask):
    attend = DeltaValueAttention(8, 2).double()
    x = draw(2, 6, 8).requires_grad_()
    out = attend(x, mask=mask)
    for i in range(6):
        (gradient,) = torch.autograd.grad(out[:, i].sum(), x, retain_graph=True)
        assert gradient.isfinite().all()
        hidden = ~mask.expand(2, 2, 6, 6)[:, 0, i]
        hidden[:, i] = False  # its own value is a token's own
        assert not gradient[hidden].any()


def test_the_literal_form_is_the_reports():
    x1, x2, x3, x4 = x = draw(4, 5)
    value = x1 + (x1 @ x2) * (x2 - x1) + (x1 @ x3) * (x3 - x2) + (x1 @ x4) * (x4 - x3)
    torch.testing.assert_close(literal_delta_value(x), value)
    swapped = x2 + (x2 @ x1) * (x1 - x2) + (x2 @ x3) * (x3 - x1) + (x2 @ x4) * (x4 - x3)
    torch.testing.assert_close(literal_delta_value(x[[1, 0, 2, 3]]), swapped)
    torch.testing.assert_close(literal_delta_value(x.expand(2, 4, 5))[1], value)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.integers(0, 1000))
def test_uniform_weights_telescope(length, seed):
    attend = DeltaValueAttention(4, 2).double()
    torch.nn.init.zeros_(attend.q_proj.weight)
    torch.nn.init.zeros_(attend.q_proj.bias)
    x = draw(1, length, 4, seed=seed)
    v = attend.v_proj(x)
    expected = attend.out_proj(v + (v[:, -1:] - v[:, :1]) / length)
    torch.testing.assert_close(attend(x), expected)


def test_a_bias_and_a_rotation_act_on_the_scores():
    attend = DeltaValueAttention(8, 2).double()
    x, bias = draw(2, 5, 8), draw(1, 2, 5, 5, seed=1)

    def double(q, k, offset):
        return 2 * q, k

    for options in ({"bias": bias}, {"rotate": double}):
        out, weights = attend(x, return_weights=True, **options)
        torch.testing.assert_close(attend(x, **options), out)
        assert not torch.allclose(weights, attend(x, return_weights=True)[1], atol=1e-3)


def test_steps_forget_a_constant_and_know_their_masks():
    v = draw(2, 5, 3)
    torch.testing.assert_close(steps(v + 7), steps(v))
    assert not steps(v)[:, 0].any()
    assert steps_mask(torch.tensor([True])).tolist() == [True]
    assert steps_mask(torch.tensor([True, True, False, True])).tolist() == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: literal_delta_value(torch.zeros(3)), r"\(3,\), wanted \(..., T, D\)"),
        (lambda: steps_mask(torch.ones(3)), "dtype torch.float32, wanted torch.bool"),
        (lambda: DeltaValueAttention(8, 3), "n_heads is 3, wanted a divisor of d_model 8"),
        (lambda: DeltaValueAttention(8, 2, dropout=-1), "dropout is -1"),
        (lambda: DeltaValueAttention(8, 2)(torch.zeros(5, 8)), r"x has shape \(5, 8\)"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
