"""Block-diagonal attention: dense attention with a block mask, block by block."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import block_diagonal_attention, fused_block_diagonal_attention
from course_lib.masks import block_mask, causal_mask, combine_masks, padding_mask


def heads(*shape, n=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(n)]


def with_gradients(call, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    out = call(*inputs)
    cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out)
    return out, *torch.autograd.grad((out * cotangent).sum(), inputs)


@settings(max_examples=30, deadline=None)
@given(
    T=st.integers(1, 40),
    block=st.integers(1, 12),
    causal=st.booleans(),
    padding=st.sampled_from(["none", "batch", "all"]),
    seed=st.integers(0, 99),
)
def test_values_weights_and_gradients_are_those_of_a_mask(T, block, causal, padding, seed):
    q, k, v = heads(2, 3, T, 4, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    key_mask = {
        "none": None,
        "batch": padding_mask(torch.randint(0, T + 1, (2,), generator=generator), T),
        "all": torch.rand(1, T, generator=generator) > 0.3,
    }[padding]
    mask = combine_masks(block_mask(T, block), causal_mask(T) if causal else None, key_mask)
    options = {"causal": causal, "key_mask": key_mask}
    dense = with_gradients(lambda *x: scaled_dot_product_attention(*x, mask)[0], q, k, v)
    ours = with_gradients(lambda *x: block_diagonal_attention(*x, block, **options)[0], q, k, v)
    fused = with_gradients(lambda *x: fused_block_diagonal_attention(*x, block, **options), q, k, v)
    for one, two, three in zip(dense, ours, fused, strict=True):
        torch.testing.assert_close(two, one, atol=1e-12, rtol=0)
        torch.testing.assert_close(three, one, atol=1e-12, rtol=0)
    weights = block_diagonal_attention(q, k, v, block, **options)[1]
    expected = scaled_dot_product_attention(q, k, v, mask)[1]
    for b in range(weights.shape[-3]):
        at = slice(b * block, min(T, (b + 1) * block))
        n = at.stop - at.start
        torch.testing.assert_close(weights[..., b, :n, :n], expected[..., at, at])
        assert (weights[..., b, n:, :] == 0).all() and (weights[..., b, :, n:] == 0).all()


@pytest.mark.parametrize("lead", [(), (3,), (2, 1, 3)])
def test_any_number_of_leading_axes_and_another_width_of_values(lead):
    q, k = heads(*lead, 10, 4, n=2)
    (v,) = heads(*lead, 10, 6, n=1)
    mask = block_mask(10, 4)
    mask = mask.reshape(*(1,) * len(lead), 10, 10) if len(lead) > 1 else mask
    expected = scaled_dot_product_attention(q, k, v, mask)[0]
    torch.testing.assert_close(block_diagonal_attention(q, k, v, 4)[0], expected)
    torch.testing.assert_close(fused_block_diagonal_attention(q, k, v, 4), expected)


X = torch.zeros(2, 3, 10, 4)


@pytest.mark.parametrize("attend", [block_diagonal_attention, fused_block_diagonal_attention])
def test_errors_name_what_came_and_what_was_wanted(attend):
    with pytest.raises(ValueError, match="block_size is 0"):
        attend(X, X, X, 0)
