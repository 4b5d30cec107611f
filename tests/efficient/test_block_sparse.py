"""Blocks near, global and drawn: the pattern, its cost, and what happens to a block seen twice."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.efficient import (
    BlockSparseAttention,
    block_layout,
    block_sparse_attention,
    fused_block_sparse_attention,
    layout_mask,
    random_blocks,
    strided_mask,
)
from course_lib.masks import causal_mask, padding_mask
from course_tests.refusals import refusals


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def qkv(length, n_heads=2):
    return [draw(2, n_heads, length, 3, seed=seed) for seed in range(3)]


@settings(max_examples=25, deadline=None)
@given(n=st.integers(4, 14), r=st.integers(0, 5), heads=st.integers(1, 3), seed=st.integers(0, 99))
def test_each_block_sees_its_window_the_ends_and_what_it_drew(n, r, heads, seed):
    r = min(r, max(n - 5, 0))
    blocks = random_blocks(n, r, n_heads=heads, generator=generator(seed))
    assert blocks.shape == (heads, n - 2, r)
    layout = block_layout(blocks)
    for head in range(heads):
        for i in range(n):
            seen = {j for j in range(n) if layout[head, i, j]}
            if i in (0, n - 1):
                assert seen == set(range(n))
                continue
            drawn = set(blocks[head, i - 1].tolist())
            fixed = {0, i - 1, i, i + 1, n - 1}
            assert seen == fixed | drawn
            assert len(drawn) == r and not drawn & fixed
    # Whatever is drawn, everything reaches everything in two steps.
    assert (layout.int() @ layout.int() > 0).all()


def test_every_allowed_block_is_drawn_equally_often():
    blocks = random_blocks(9, 2, n_heads=3000, generator=generator())
    for row, allowed in ((0, [3, 4, 5, 6, 7]), (3, [1, 2, 6, 7])):
        counts = torch.bincount(blocks[:, row].flatten(), minlength=9)
        assert counts.nonzero().flatten().tolist() == allowed
        share = 6000 / len(allowed)
        assert (counts[allowed] - share).abs().max() < 5 * share**0.5


MASKS = {
    "open": lambda T: None,
    "padded": lambda T: padding_mask(torch.tensor([T - 3, 0]), T),
    "row": lambda T: torch.arange(T) != 1,
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize(("n", "r"), [(4, 0), (5, 0), (6, 1), (9, 3)])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("heads_that_draw", [1, 2])
def test_visible_blocks_alone_give_the_masked_result(n, r, size, heads_that_draw, mask):
    blocks = random_blocks(n, r, n_heads=heads_that_draw, generator=generator())
    mask = mask(n * size)
    found = []
    for attend in (
        lambda *a, **kw: block_sparse_attention(*a, **kw)[0],
        fused_block_sparse_attention,
    ):
        leaves = [x.requires_grad_() for x in qkv(n * size)]
        out = attend(*leaves, blocks, mask, scale=0.8)
        found.append([out, *torch.autograd.grad(out.square().sum(), leaves)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)
        assert a.isfinite().all()


def test_the_module_keeps_its_blocks_and_counts_its_weights():
    def make(seed, fused=True):
        options = dict(length=27, block_size=3, n_random=2, fused=fused)
        return BlockSparseAttention(8, 2, generator=generator(seed), **options).double()

    a, b = make(0), make(1, fused=False)
    assert sum(p.numel() for p in a.parameters()) == 4 * (8 * 8 + 8)
    assert not torch.equal(a.blocks, b.blocks)
    b.load_state_dict(a.state_dict())
    x, mask = draw(2, 27, 8), padding_mask(torch.tensor([27, 20]), 27)
    torch.testing.assert_close(a(x, key_mask=mask), b(x, key_mask=mask))
    out, weights = a(x, return_weights=True)
    torch.testing.assert_close(out, a(x))
    visible = layout_mask(block_layout(a.blocks), 3).expand(2, 2, 27, 27)
    assert torch.equal(weights > 0, visible)


BOTH = (block_sparse_attention, fused_block_sparse_attention)


def seeing(again):
    """Attention in which block 1 sees another block besides those that it sees anyway."""
    x = torch.randn(1, 1, 14, 4)
    blocks = torch.tensor([[[again, 5], [4, 5], [5, 1], [2, 1], [2, 3]]])
    return [attend(x, x, x, blocks) for attend in BOTH]


test_what_does_not_fit_is_named = refusals(
    (lambda: random_blocks(7, 3), "n_blocks is 7 and n_random 3"),
    (lambda: random_blocks(3, 0), "n_blocks is 3"),
    (lambda: block_layout(torch.zeros(1, 5, 1)), "wanted integers"),
    (lambda: layout_mask(torch.ones(2, 2, dtype=torch.bool), 0), "block_size is 0"),
    *(
        (
            lambda attend=attend: attend(*qkv(13), random_blocks(7, 1)),
            "for 1 heads and 7 blocks, but q has 2 heads and le",
        )
        for attend in BOTH
    ),
    *(
        (
            lambda attend=attend: attend(*qkv(14), random_blocks(7, 1), causal_mask(14)),
            "hidden from a single query",
        )
        for attend in BOTH
    ),
    (
        lambda: BlockSparseAttention(8, 3, length=14, block_size=2),
        "n_heads is 3, wanted a divisor of d_model 8",
    ),
    (
        lambda: BlockSparseAttention(8, 2, length=14, block_size=3),
        "block_size is 3, wanted a divisor of length 14",
    ),
    (
        lambda: BlockSparseAttention(8, 2, length=14, block_size=2, n_random=1)(draw(2, 12, 8)),
        r"x has shape \(2, 12, 8\), wanted \(B, 14, 8\)",
    ),
    (lambda: seeing(0), "block 1 of head 0 would see block 0 twice"),
    (lambda: seeing(5), "block 1 of head 0 would see block 5 twice"),
    (lambda: seeing(7), "numbers from 1 to 7, wanted 0 to 6"),
    (lambda: strided_mask(6, 0), "stride is 0"),
)


@settings(max_examples=40, deadline=None)
@given(T=st.integers(1, 20), stride=st.integers(1, 9))
def test_the_mask_is_the_papers_set(T, stride):
    strided = strided_mask(T, stride)
    for i in range(T):
        near = set(range(max(0, i - stride), i + 1))
        column = {j for j in range(i + 1) if (i - j) % stride == 0}
        assert set(strided[i].nonzero().flatten().tolist()) == near | column


def test_two_steps_reach_everything_before_with_few_keys_each():
    T = 100
    visible = strided_mask(T, 10)
    assert (visible.int() @ visible.int() > 0).tril().sum() == T * (T + 1) // 2
    assert visible.sum(dim=1).max() <= 20
