"""Banded attention: dense attention with a window's mask, without the matrix."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import (
    band_average,
    band_offsets,
    band_weights,
    banded_attention,
    fused_banded_attention,
)
from course_lib.efficient.costs import largest_tensor
from course_lib.masks import causal_mask, combine_masks, dilated_window_mask, padding_mask
from course_tests.refusals import refusals


def heads(*shape, n=3, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=dtype) for _ in range(n)]


def with_gradients(call, *inputs):
    inputs = [x.clone().requires_grad_() for x in inputs]
    out = call(*inputs)
    cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out)
    return out, *torch.autograd.grad((out * cotangent).sum(), inputs)


@settings(max_examples=40, deadline=None)
@given(
    T=st.integers(1, 90),
    radius=st.integers(0, 50),
    dilation=st.integers(1, 4),
    causal=st.booleans(),
    padding=st.sampled_from(["none", "batch", "all", "everything hidden"]),
    scale=st.sampled_from([None, 0.3]),
    seed=st.integers(0, 99),
)
def test_values_weights_and_gradients_are_those_of_a_mask(
    T, radius, dilation, causal, padding, scale, seed
):
    q, k, v = (x.transpose(1, 2) for x in heads(2, T, 3, 4, seed=seed))
    generator = torch.Generator().manual_seed(seed)
    key_mask = {
        "none": None,
        "batch": padding_mask(torch.randint(0, T + 1, (2,), generator=generator), T),
        "all": torch.rand(1, T, generator=generator) > 0.3,
        "everything hidden": torch.zeros(1, T, dtype=torch.bool),
    }[padding]
    mask = combine_masks(
        dilated_window_mask(T, radius, dilation), causal_mask(T) if causal else None, key_mask
    )
    options = {"dilation": dilation, "causal": causal, "key_mask": key_mask, "scale": scale}
    dense = with_gradients(
        lambda *x: scaled_dot_product_attention(*x, mask, scale=scale)[0], q, k, v
    )
    banded = with_gradients(lambda *x: banded_attention(*x, radius, **options)[0], q, k, v)
    fused = with_gradients(lambda *x: fused_banded_attention(*x, radius, **options), q, k, v)
    for one, two, three in zip(dense, banded, fused, strict=True):
        torch.testing.assert_close(two, one, atol=1e-12, rtol=0)
        torch.testing.assert_close(three, one, atol=1e-12, rtol=0)


@pytest.mark.parametrize("lead", [(), (3,), (2, 1, 3)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_any_number_of_leading_axes_and_another_width_of_values(lead, dilation):
    q, k = heads(*lead, 41, 4, n=2)
    (v,) = heads(*lead, 41, 6, n=1)
    mask = dilated_window_mask(41, 3, dilation)
    if len(lead) > 1:
        mask = mask.reshape(*(1,) * len(lead), 41, 41)
    expected = scaled_dot_product_attention(q, k, v, mask)[0]
    explicit, _ = banded_attention(q, k, v, 3, dilation=dilation)
    torch.testing.assert_close(explicit, expected)
    torch.testing.assert_close(fused_banded_attention(q, k, v, 3, dilation=dilation), expected)


@pytest.mark.parametrize("shared_mask", [None, torch.tensor([[True, False]])])
def test_shared_keys_are_more_keys_for_everyone(shared_mask):
    q, k, v = heads(2, 3, 40, 4)
    shared_k, shared_v = heads(2, 3, 2, 4, n=2, seed=1)
    shared = torch.ones(1, 2, dtype=torch.bool) if shared_mask is None else shared_mask
    key_mask = padding_mask(torch.tensor([40, 17]), 40)
    mask = (dilated_window_mask(40, 4, 1) & key_mask).expand(2, 1, 40, 40)
    mask = torch.cat([shared.expand(2, 1, 40, 2), mask], dim=-1)
    expected, weights = scaled_dot_product_attention(
        q, torch.cat([shared_k, k], dim=2), torch.cat([shared_v, v], dim=2), mask
    )
    options = {"key_mask": key_mask, "shared_k": shared_k, "shared_mask": shared_mask}
    band = band_weights(q, k, 4, **options)
    assert band.shape == (2, 3, 40, 2 + 9)
    torch.testing.assert_close(band[..., :2], weights[..., :2])
    torch.testing.assert_close(band_average(band, v, 4, shared_v=shared_v), expected)
    fused = fused_banded_attention(q, k, v, 4, shared_v=shared_v, **options)
    torch.testing.assert_close(fused, expected)


@pytest.mark.parametrize("dilation", [1, 4])
@pytest.mark.parametrize("attend", [banded_attention, fused_banded_attention])
def test_no_tensor_of_length_by_length_is_made(attend, dilation):
    T, radius, d_head = 1024, 8, 4
    q, k, v = heads(1, 1, T, d_head, dtype=torch.float32)

    def output(*x):
        out = attend(*x, radius, dilation=dilation)
        return out if attend is fused_banded_attention else out[0]

    most = largest_tensor(lambda: with_gradients(output, q, k, v))
    assert most <= T * 8 * (2 * radius + 1) < T * T / 4


def test_dropout_leaves_the_mean():
    q, k, v = heads(1, 1, 64, 4)
    torch.manual_seed(0)
    outs = torch.stack([fused_banded_attention(q, k, v, 3, dropout=0.5) for _ in range(400)])
    torch.testing.assert_close(outs.mean(0), fused_banded_attention(q, k, v, 3), atol=0.25, rtol=0)
    assert outs.std(0).mean() > 0.1


X = torch.zeros(2, 3, 10, 4)


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: band_offsets(-1), "radius is -1"),
    (lambda: fused_banded_attention(X, X, X, -1), "radius is -1"),
    (lambda: banded_attention(X, X, X, 2, dilation=0), "dilation is 0"),
    (lambda: banded_attention(X[:, :, :0], X[:, :, :0], X[:, :, :0], 2), "T at least 1"),
    (lambda: fused_banded_attention(X, X, X, 2, shared_k=X), "only one of shared_k"),
    (lambda: band_average(torch.zeros(2, 3, 10, 4), X, 2), r"wanted \(..., 10, 5\)"),
)


def compiled(radius, dilation):
    torch._dynamo.reset()
    return torch.compile(
        lambda q, k, v: fused_banded_attention(q, k, v, radius, dilation=dilation), fullgraph=True
    )


@pytest.mark.parametrize("dilation", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_compiled_it_computes_the_same_with_its_gradients(dilation):
    q, k, v = heads(2, 50, 8)
    run = compiled(4, dilation)
    torch.testing.assert_close(run(q, k, v), fused_banded_attention(q, k, v, 4, dilation=dilation))
    found = with_gradients(run, q, k, v)
    wanted = with_gradients(
        lambda q, k, v: fused_banded_attention(q, k, v, 4, dilation=dilation), q, k, v
    )
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_compiled_it_does_not_write_the_windows_out():
    from torch._inductor.utils import run_and_get_code

    q, k, v = heads(2, 512, 8, dtype=torch.float32)
    out, (code, *_) = run_and_get_code(compiled(8, 1), q, k, v)
    torch.testing.assert_close(out, fused_banded_attention(q, k, v, 8))
    shapes = re.findall(r"empty_strided_cpu\(\(([\d, ]+)\)", code)
    sizes = [[int(size) for size in shape.split(",")] for shape in shapes]
    # Keys and values once, with what lies beyond both ends.
    assert [size for size in sizes if size[-1] == 8] == [[2, 512 + 16, 8]] * 2
