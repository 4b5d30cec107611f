"""The two patterns of the Sparse Transformer, by mask and by reshaping."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.efficient import (
    fixed_mask,
    fused_strided_attention,
    strided_attention,
    strided_mask,
)


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@settings(max_examples=40, deadline=None)
@given(T=st.integers(1, 20), stride=st.integers(1, 9), c=st.integers(1, 9))
def test_masks_are_the_papers_sets(T, stride, c):
    c = min(c, stride)
    strided, fixed = strided_mask(T, stride), fixed_mask(T, stride, c)
    for i in range(T):
        near = set(range(max(0, i - stride), i + 1))
        column = {j for j in range(i + 1) if (i - j) % stride == 0}
        assert set(strided[i].nonzero().flatten().tolist()) == near | column
        block = {j for j in range(i + 1) if j // stride == i // stride}
        summary = {j for j in range(i + 1) if stride - c <= j % stride}
        assert set(fixed[i].nonzero().flatten().tolist()) == block | summary


@pytest.mark.parametrize("mask", [strided_mask, fixed_mask])
def test_two_steps_reach_everything_before_with_few_keys_each(mask):
    T = 100
    visible = mask(T, 10)
    assert (visible.int() @ visible.int() > 0).tril().sum() == T * (T + 1) // 2
    assert visible.sum(dim=1).max() <= 20


@settings(max_examples=40, deadline=None)
@given(
    T=st.integers(1, 20),
    stride=st.integers(1, 22),
    n_summary=st.none() | st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_reshaping_gives_the_masked_result(T, stride, n_summary, seed):
    if n_summary is not None:
        n_summary = min(n_summary, stride)
    found = []
    for attend in (lambda *a, **kw: strided_attention(*a, **kw)[0], fused_strided_attention):
        leaves = [draw(2, T, 3, seed=seed + i).requires_grad_() for i in range(3)]
        out = attend(*leaves, stride=stride, n_summary=n_summary, scale=0.7)
        found.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_memory_grows_with_the_root_more_than_the_length():
    from course_tests.benchmarks.timing import peak_memory

    def peak(attend, T, **options):
        q, k, v = (draw(T, 4, seed=seed).float() for seed in range(3))
        return peak_memory(lambda: attend(q, k, v, stride=int(T**0.5), **options))

    for options in ({}, {"n_summary": 1}):
        grows = peak(fused_strided_attention, 4096, **options)
        grows /= peak(fused_strided_attention, 1024, **options)
        assert 4 < grows < 9, "4 times as long: 8 times the memory, not 16"
    assert peak(strided_attention, 2048) > 3.5 * peak(strided_attention, 1024)


def test_what_does_not_fit_is_named():
    q, k, v = (draw(6, 4, seed=seed) for seed in range(3))
    with pytest.raises(ValueError, match="stride is 0"):
        strided_mask(6, 0)
    for attend in (strided_attention, fused_strided_attention):
        with pytest.raises(ValueError, match="stride is 0"):
            attend(q, k, v, stride=0)
        with pytest.raises(ValueError, match="n_summary is 4, wanted from 1 to the stride 3"):
            attend(q, k, v, stride=3, n_summary=4)
