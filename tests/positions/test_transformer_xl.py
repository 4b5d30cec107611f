"""Transformer-XL: the shift, the two learned vectors, and segments that follow each other."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.masks import causal_mask
from course_lib.positions import (
    DisentangledAttention,
    TransformerXLAttention,
    distance_codes,
    relative_shift,
    sinusoidal_encoding,
)
from course_tests.refusals import refusals


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def layer(d_model=8, n_heads=2, **options):
    attend = TransformerXLAttention(d_model, n_heads, **options).double()
    for seed, vectors in enumerate((attend.u, attend.v)):
        vectors.data = draw(*vectors.shape, seed=seed)
    return attend


@given(T=st.integers(1, 6), cached=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_the_shift_gives_each_query_its_own_distances(T, cached):
    S = T + cached
    distances = torch.arange(S - 1, -T, -1).expand(2, T, -1).contiguous()
    shifted = relative_shift(distances)
    assert shifted.shape == (2, T, S)
    for i in range(T):
        for j in range(S):
            assert (shifted[:, i, j] == cached + i - j).all()
    assert shifted.data_ptr() == distances[:, 0, T - 1 :].data_ptr(), "a view"


def test_codes_count_down_from_the_first_key_to_the_last():
    codes = distance_codes(3, 5, 8)
    wanted = sinusoidal_encoding(torch.tensor([4, 3, 2, 1, 0, -1, -2]), 8)
    torch.testing.assert_close(codes, wanted)


@pytest.mark.parametrize("fused", [True, False])
def test_scores_follow_the_formula(fused):
    attend, x, memory = layer(fused=fused), draw(2, 4, 8), draw(2, 3, 8, seed=1)
    out, weights = attend(x, memory=memory, return_weights=True)
    both = torch.cat([memory, x], dim=1)
    scores = torch.empty(2, 2, 4, 7).double()
    for h in range(2):
        rows = slice(4 * h, 4 * h + 4)
        for i in range(4):
            q = x[:, i] @ attend.q_proj.weight[rows].T
            for j in range(7):
                k = both[:, j] @ attend.k_proj.weight[rows].T
                code = sinusoidal_encoding(torch.tensor(3.0 + i - j).double(), 8)
                # The codes of the layer are in single precision.
                r = attend.distance_proj.weight[rows] @ code.float().double()
                scores[:, h, i, j] = ((q + attend.u[h]) * k).sum(-1) + (q + attend.v[h]) @ r
    torch.testing.assert_close(weights, (scores / 2).softmax(-1), atol=1e-6, rtol=0)
    torch.testing.assert_close(attend(x, memory=memory), out)


def test_segments_with_a_memory_give_what_the_whole_text_gives():
    attend, x = layer(), draw(1, 9, 8)
    whole = attend(x, mask=causal_mask(9))
    parts = [
        attend(x[:, a:b], memory=x[:, :a], mask=causal_mask(b - a, b))
        for a, b in ((0, 4), (4, 6), (6, 9))
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)


def test_no_gradient_flows_into_the_memory():
    attend, x, memory = layer(), draw(1, 3, 8).requires_grad_(), draw(1, 3, 8).requires_grad_()
    attend(x, memory=memory).sum().backward()
    assert x.grad.any() and memory.grad is None


def test_parameters():
    attend = TransformerXLAttention(16, 4, generator=torch.Generator().manual_seed(0))
    assert sum(p.numel() for p in attend.parameters()) == 5 * 16**2 + 2 * 16
    other = TransformerXLAttention(16, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(attend.u, other.u) and torch.equal(attend.v, other.v)


NOTHING = r"\(1, 0, 8\), wanted \(B, T, D\) with T at least 1"
test_misfits_are_refused = refusals(
    (lambda: relative_shift(torch.zeros(3, 2)), "scores have 2 distances, wanted at least 3"),
    (lambda: layer()(draw(1, 3, 8), draw(4, 8)), r"codes have shape \(4, 8\), wanted \(5, 8\)"),
    (
        lambda: layer()(draw(1, 3, 8), memory=draw(1, 3, 4)),
        r"memory has shape \(1, 3, 4\), wanted \(B, T, 8\)",
    ),
    (lambda: TransformerXLAttention(8, 3), "n_heads is 3, wanted a divisor of d_model 8"),
    (lambda: TransformerXLAttention(8, 2, fused=True)(torch.zeros(1, 0, 8)), NOTHING),
    (lambda: TransformerXLAttention(8, 2, fused=False)(torch.zeros(1, 0, 8)), NOTHING),
    (
        lambda: DisentangledAttention(8, 2, span=4, fused=True)(
            torch.zeros(1, 0, 8), torch.zeros(8, 8)
        ),
        NOTHING,
    ),
    (
        lambda: DisentangledAttention(8, 2, span=4, fused=False)(
            torch.zeros(1, 0, 8), torch.zeros(8, 8)
        ),
        NOTHING,
    ),
)
