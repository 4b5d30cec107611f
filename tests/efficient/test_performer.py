"""Random features: unbiased, normalised, causal by sums, and how their noise behaves."""

import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import scaled_dot_product_attention
from course_lib.efficient import (
    PerformerAttention,
    RandomFeatureAttention,
    orthogonal_features,
    performer_attention,
    performer_linear_attention,
    softmax_features,
)
from course_lib.masks import causal_mask, padding_mask
from course_tests.refusals import refusals


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def qkv(length=12, width=4, scale=1.0):
    q, k, v = (draw(2, 3, length, width, seed=seed) for seed in range(3))
    return scale * q, scale * k, v


def directions(n_features=10, width=4, seed=5):
    return orthogonal_features(n_features, width, generator=generator(seed)).double()


def test_directions_are_orthogonal_within_blocks_and_as_long_as_normal_ones():
    rows = orthogonal_features(10, 4, generator=generator())
    assert rows.shape == (10, 4)
    for block in rows.split(4):
        unit = block / block.norm(dim=1, keepdim=True)
        torch.testing.assert_close(unit @ unit.T, torch.eye(len(block)), atol=1e-5, rtol=0)
    many = orthogonal_features(20_000, 8, generator=generator())
    # A squared chi length with 8 degrees of freedom has mean 8 and variance 16.
    squares = many.square().sum(dim=1)
    assert squares.mean().item() == pytest.approx(8, abs=0.15)
    assert squares.var().item() == pytest.approx(16, abs=1)
    assert many.mean(dim=0).abs().max() < 0.03


def test_products_of_features_average_to_the_kernel():
    # Undo the stabilisers, so that the estimate is of the kernel itself.
    x, y = 0.7 * draw(1, 4), 0.7 * draw(1, 4, seed=1)
    exact = math.exp((x @ y.T).item() / 2)
    rows = directions(40_000)
    shift = sum((rows @ z[0] / 4**0.25).max().item() for z in (x, y))
    product = (
        softmax_features(x, rows, query=True, eps=0.0)
        @ softmax_features(y, rows, query=False, eps=0.0).T
    )
    assert product.item() * math.exp(shift) == pytest.approx(exact, rel=0.02)


def error(n_features, scale, seed):
    width = 32
    q, k, v = qkv(64, width, scale)
    exact, _ = scaled_dot_product_attention(q, k, v)
    rows = orthogonal_features(n_features, width, generator=generator(seed)).double()
    out, _ = performer_attention(q, k, v, rows, eps=0.0)
    return ((out - exact).norm() / exact.norm()).item()


def test_the_error_shrinks_with_the_number_of_features():
    means = [sum(error(m, 0.5, seed) for seed in range(8)) / 8 for m in (16, 128, 1024)]
    assert means[0] > 1.7 * means[1] > 1.7**2 * means[2]
    assert means[2] < 0.2


MASKS = {"open": None, "padded": padding_mask(torch.tensor([12, 5]), 12)}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("chunk", [1, 5, 12, 128])
def test_both_brackets_agree_in_output_and_gradients(causal, mask, chunk, monkeypatch):
    monkeypatch.setattr("course_lib.efficient.performer._CHUNK", chunk)
    found = []
    for attend in (lambda *a, **kw: performer_attention(*a, **kw)[0], performer_linear_attention):
        leaves = [x.requires_grad_() for x in qkv()]
        out = attend(*leaves, directions(), mask, causal=causal, sum_eps=1e-3)
        found.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@settings(max_examples=15, deadline=None)
@given(length=st.integers(1, 9), chunk=st.integers(1, 10), seed=st.integers(0, 99))
def test_weights_are_averages_over_what_is_visible(length, chunk, seed):
    q, k, v = (draw(1, 1, length, 4, seed=seed + i) for i in range(3))
    _, weights = performer_attention(q, k, v, directions(), causal=True)
    assert (weights >= 0).all()
    assert (weights[..., ~causal_mask(length)] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 1, length, dtype=torch.float64))


@pytest.mark.parametrize("attend", [performer_attention, performer_linear_attention])
def test_padding_has_no_influence_and_an_empty_row_is_zero(attend):
    def run(*inputs, **options):
        out = attend(*inputs, directions(), **options)
        return out[0] if isinstance(out, tuple) else out

    q, k, v = qkv()
    mask = padding_mask(torch.tensor([5, 0]), 12)
    changed_k, changed_v = k.clone(), v.clone()
    changed_k[:, :, 5:], changed_v[:, :, 5:] = 50.0, 50.0
    out = run(q, k, v, key_mask=mask)
    torch.testing.assert_close(run(q, changed_k, changed_v, key_mask=mask), out, rtol=0, atol=0)
    assert (out[1] == 0).all()
    leaves = [x.requires_grad_() for x in (q, k, v)]
    run(*leaves, key_mask=mask).sum().backward()
    assert all(x.grad.isfinite().all() for x in leaves)


def test_autograd_is_exact_with_eps_0_alone():
    inputs = [x[:1, :1, :5].requires_grad_() for x in qkv(scale=2.0)]

    def exact(eps):
        def attend(*inputs):
            return performer_linear_attention(*inputs, directions(), eps=eps)

        return torch.autograd.gradcheck(attend, inputs, raise_exception=False)

    assert exact(eps=0.0) and not exact(eps=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_memory_does_not_grow_with_the_square_of_the_length(causal):
    from course_tests.benchmarks.timing import peak_memory

    def peak(attend, length):
        q, k, v = (draw(1, 1, length, 8, seed=seed).float() for seed in range(3))
        rows = directions(16, 8).float()
        return peak_memory(lambda: attend(q, k, v, rows, causal=causal))

    assert peak(performer_linear_attention, 2048) < 2.2 * peak(performer_linear_attention, 1024)
    assert peak(performer_attention, 2048) > 3.5 * peak(performer_attention, 1024)


def test_the_module_keeps_its_directions():
    a, b = (RandomFeatureAttention(4, 10, generator=generator(seed)) for seed in (0, 1))
    inputs = [x.float() for x in qkv()]
    assert not torch.equal(a(*inputs), b(*inputs))
    b.load_state_dict(a.state_dict())
    assert torch.equal(a(*inputs), b(*inputs))
    assert RandomFeatureAttention(64).directions.shape == (int(64 * math.log(64)), 64)
    assert RandomFeatureAttention(1).directions.shape == (1, 1)


def test_heads_of_a_model():
    module = PerformerAttention(12, 3, 4096, generator=generator()).double()
    x, memory = 0.3 * draw(2, 5, 12), 0.3 * draw(2, 7, 12, seed=1)
    assert sum(p.numel() for p in module.parameters()) == 4 * (12 * 12 + 12)
    heads = [
        layer(y).unflatten(-1, (3, 4)).transpose(1, 2)
        for layer, y in ((module.q_proj, x), (module.k_proj, memory), (module.v_proj, memory))
    ]
    exact, _ = scaled_dot_product_attention(*heads)
    exact = module.out_proj(exact.transpose(1, 2).flatten(-2))
    torch.testing.assert_close(module(x, memory), exact, atol=0.02, rtol=0)


def uncausal(attend):
    q, k, v = qkv()
    return attend(q, k[..., 1:, :], v[..., 1:, :], directions(), causal=True)


BOTH = (performer_attention, performer_linear_attention)
test_what_does_not_fit_is_named = refusals(
    (lambda: orthogonal_features(0, 4), "n_features is 0 and d_head 4"),
    (lambda: performer_attention(*qkv(), directions(10, 5)), r"directions \(10, 5\)"),
    (lambda: PerformerAttention(12, 5), "n_heads is 5, wanted a divisor of d_model 12"),
    *((partial(uncausal, attend), "causal with 12 queries and 11 keys") for attend in BOTH),
    *(
        (partial(attend, *qkv(), directions(), causal_mask(12)), "hidden from a single query")
        for attend in BOTH
    ),
)
