"""What is counted on paper is what the masks show and what torch counts."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import attention_weights, scaled_dot_product_attention
from course_lib.efficient import (
    KINDS,
    LongformerAttention,
    attention_costs,
    banded_attention,
    fused_block_sparse_attention,
    largest_tensor,
    linformer_attention,
    longformer_pairs,
    online_attention,
    orthogonal_features,
    performer_linear_attention,
    random_blocks,
    window_pairs,
)
from course_lib.masks import longformer_mask, sliding_window_mask
from course_tests.refusals import refusals


def multiplications(call, *args):
    with FlopCounterMode(display=False) as counter:
        call(*args)
    return counter.get_total_flops() // 2


@pytest.mark.parametrize(("T", "radius", "n_global"), [(1, 0, 1), (9, 2, 0), (9, 2, 3), (4, 7, 9)])
def test_pairs_are_those_of_the_masks(T, radius, n_global):
    assert window_pairs(T, radius) == sliding_window_mask(T, radius).sum()
    mask = longformer_mask(T, radius, range(min(n_global, T)))
    assert longformer_pairs(T, radius, n_global) == mask.sum()


def test_torch_counts_the_same_products():
    T, D, H, rank = 24, 16, 2, 6
    costs = attention_costs(T, D, H, rank=rank)
    q, k, v = torch.randn(3, 1, H, T, D // H)
    full = multiplications(lambda: attention_weights(q, k) @ v)
    assert costs["full"].multiplications == full
    mix = torch.randn(rank, T)
    assert costs["Linformer"].multiplications == multiplications(
        linformer_attention, q, k, v, mix, mix
    )
    directions = orthogonal_features(rank, D // H)
    found = multiplications(performer_linear_attention, q, k, v, directions)
    assert costs["Performer"].multiplications == found
    weights = scaled_dot_product_attention(q, k, v)[1]
    assert costs["full"].numbers == weights.numel()


def test_global_positions_pay_for_projections_of_their_own():
    T, D, n_global = 24, 16, 3
    layer, x = LongformerAttention(D, 2, radius=2, fused=False), torch.randn(1, T, D)
    plain = multiplications(layer, x)
    own = multiplications(layer, x, torch.arange(n_global)) - plain
    # The local rows of global positions are computed and overwritten, so they count once more.
    pairs = T * n_global * 2
    assert own == (2 * T + n_global) * D**2 + 2 * pairs * D
    costs = attention_costs(T, D, 2, radius=2, n_global=n_global)
    without = attention_costs(T, D, 2, radius=2, n_global=0)
    assert without["Longformer"] == without["window"]
    extra = costs["Longformer"].multiplications - 2 * longformer_pairs(T, 2, n_global) * D
    assert extra == (2 * T + n_global) * D**2


def test_only_squares_grow_like_squares():
    short, long = (attention_costs(T, 64, 4, radius=8, rank=16) for T in (4096, 8192))
    assert tuple(short) == KINDS
    for kind in KINDS:
        work = long[kind].multiplications / short[kind].multiplications
        held = long[kind].numbers / short[kind].numbers
        assert work == pytest.approx(4 if kind in ("full", "tiled") else 2, rel=0.01)
        assert held == pytest.approx(4 if kind == "full" else 2, rel=0.5)


test_sizes_are_checked = refusals(
    (lambda: attention_costs(0, 8, 2), "'T': 0"),
    (lambda: attention_costs(4, 8, 2, rank=0), "'rank': 0"),
    (lambda: attention_costs(4, 8, 3), "n_heads"),
    (lambda: attention_costs(4, 8, 2, radius=-1), "radius is -1"),
)


def test_the_largest_tensor_is_the_one_that_a_way_cannot_do_without():
    T, D, radius = 96, 4, 3
    q, k, v = torch.randn(3, 1, 1, T, D)
    mask = sliding_window_mask(T, radius)
    assert largest_tensor(lambda: scaled_dot_product_attention(q, k, v, mask)) == T * T
    assert largest_tensor(lambda: banded_attention(q, k, v, radius)) <= T * (2 * radius + 1)
    assert largest_tensor(lambda: online_attention(q, k, v, tile=8)) == T * D
    blocks = random_blocks(T // 4, 1, generator=torch.Generator().manual_seed(0))
    assert largest_tensor(lambda: fused_block_sparse_attention(q, k, v, blocks)) < T * T / 2
    # A view that looks like a large tensor is none.
    assert largest_tensor(lambda: torch.ones(2).expand(1000, 2)) == 2
