"""Masks: what they let through, that they fit, and that every convention comes back unchanged."""

import math

import pytest
import torch

from course_lib import masks
from course_tests.refusals import refusals


def random_mask(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) > 0.4


def test_softmax_without_a_mask_is_the_plain_softmax():
    scores = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(masks.masked_softmax(scores), scores.softmax(-1))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_rows_sum_to_one_or_to_zero(dtype):
    mask = random_mask(2, 3, 5, 7)
    mask[0, 1, 2] = False
    scores = 1e4 * torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(1))
    weights = masks.masked_softmax(scores.to(dtype), mask)
    assert weights.dtype == dtype
    assert (weights[~mask] == 0).all()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).to(dtype))


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_an_empty_row_has_a_zero_gradient_and_no_nan_on_the_way():
    scores = torch.randn(3, 4, requires_grad=True)
    mask = torch.tensor([[True] * 4, [False] * 4, [True, False, True, False]])
    with torch.autograd.detect_anomaly(check_nan=True):
        (masks.masked_softmax(scores, mask) * torch.randn(3, 4)).sum().backward()
    assert (scores.grad[~mask] == 0).all()
    assert scores.grad.isfinite().all()
    assert scores.grad[0].abs().sum() > 0


def test_what_stands_at_a_blocked_key_does_not_matter():
    mask = torch.tensor([True, True, False])
    scores = torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, math.inf], [1.0, 2.0, math.nan]])
    weights = masks.masked_softmax(scores, mask)
    torch.testing.assert_close(weights[1:], weights[:1].expand(2, 3))


def test_scores_of_minus_infinity_count_as_blocked():
    scores = torch.full((2, 3), -math.inf)
    scores[0, 0] = 0.0
    assert masks.masked_softmax(scores).tolist() == [[1, 0, 0], [0, 0, 0]]


def test_no_keys_at_all():
    assert masks.masked_softmax(torch.zeros(2, 0)).shape == (2, 0)


@pytest.mark.parametrize("T, S", [(1, 1), (4, 4), (2, 5), (1, 6)])
def test_causal_is_aligned_at_the_last_query(T, S):
    mask = masks.causal_mask(T, S)
    expected = [[j <= i + S - T for j in range(S)] for i in range(T)]
    assert mask.tolist() == expected


@pytest.mark.parametrize("radius", [0, 1, 3, 99])
def test_window_counts(radius):
    T = 11
    mask = masks.sliding_window_mask(T, radius)
    assert torch.equal(mask, mask.T)
    for i, row in enumerate(mask.tolist()):
        assert sum(row) == min(T, i + radius + 1) - max(0, i - radius)


@pytest.mark.parametrize("radius, dilation", [(0, 2), (1, 2), (2, 3), (9, 4)])
def test_a_dilated_window_is_a_plain_one_on_every_track(radius, dilation):
    T = 13
    mask = masks.dilated_window_mask(T, radius, dilation)
    for i in range(T):
        offsets = [i + dilation * step for step in range(-radius, radius + 1)]
        assert mask[i].nonzero()[:, 0].tolist() == [j for j in offsets if 0 <= j < T]
    for track in range(dilation):
        tokens = mask[track::dilation, track::dilation]
        assert torch.equal(tokens, masks.sliding_window_mask(len(tokens), radius))


def test_longformer_is_the_window_and_full_rows_and_columns():
    mask = masks.longformer_mask(32, radius=4, global_positions=[0, -1])
    window = masks.sliding_window_mask(32, 4)
    assert mask[[0, 31]].all() and mask[:, [0, 31]].all()
    assert torch.equal(mask[1:-1, 1:-1], window[1:-1, 1:-1])
    assert torch.equal(masks.longformer_mask(32, 4, []), window)


def test_blocks_see_only_themselves():
    assert torch.equal(masks.block_mask(32, 8), torch.block_diag(*[torch.ones(8, 8)] * 4).bool())
    assert masks.block_mask(5, 2).sum(1).tolist() == [2, 2, 2, 2, 1]


def test_padding_hides_the_same_keys_from_all_heads_and_queries():
    mask = masks.padding_mask(torch.tensor([0, 2, 3]), 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask.flatten(1).sum(1).tolist() == [0, 2, 3]


def test_combined_is_what_all_allow():
    causal, padding = masks.causal_mask(4), masks.padding_mask(torch.tensor([2, 4]), 4)
    both = masks.combine_masks(causal, None, padding)
    assert torch.equal(both, causal & padding) and both.shape == (2, 1, 4, 4)
    assert masks.combine_masks(None, None) is None
    assert torch.equal(masks.combine_masks(causal), causal)


@pytest.mark.parametrize("shape", [(4, 4), (2, 1, 1, 4), (3,)])
def test_conversions_come_back_unchanged(shape):
    mask = random_mask(*shape)
    assert torch.equal(masks.from_blocked(masks.to_blocked(mask)), mask)
    assert torch.equal(masks.from_integers(masks.to_integers(mask)), mask)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        additive = masks.to_additive(mask, dtype)
        assert additive.dtype == dtype
        assert torch.equal(masks.from_additive(additive), mask)


def test_lengths_come_back_unchanged():
    lengths = torch.tensor([0, 1, 5, 3])
    assert torch.equal(masks.to_lengths(masks.padding_mask(lengths, 5)), lengths)


@pytest.mark.parametrize("blocked", [-100.0, -1e4, -1e9, torch.finfo().min, -math.inf])
def test_every_additive_number_in_use_is_understood(blocked):
    assert masks.from_additive(torch.tensor([0.0, blocked])).tolist() == [True, False]


def test_additive_and_boolean_masks_give_the_same_softmax():
    scores, mask = torch.randn(3, 4), random_mask(3, 4)
    torch.testing.assert_close(
        masks.masked_softmax(scores + masks.to_additive(mask)), masks.masked_softmax(scores, mask)
    )


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: masks.masked_softmax(torch.zeros(4, 4), torch.ones(4, 4)), "dtype torch.float32"),
    (lambda: masks.causal_mask(5, 3), "5 queries and 3 keys"),
    (lambda: masks.padding_mask(torch.tensor([4]), 3), r"\[4\] are not all in 0..3"),
    (lambda: masks.padding_mask(torch.tensor([-1]), 3), r"\[-1\] are not all in 0..3"),
    (lambda: masks.padding_mask(torch.ones(2, 3), 3), r"shape \(2, 3\) and dtype torch.float"),
    (lambda: masks.sliding_window_mask(4, -1), "radius is -1"),
    (lambda: masks.dilated_window_mask(4, 1, 0), "dilation is 0"),
    (lambda: masks.dilated_window_mask(4, -1, 2), "radius is -1"),
    (lambda: masks.combine_masks(torch.ones(2, 2)), "torch.float32, wanted torch.bool"),
    (lambda: masks.longformer_mask(4, 1, [4]), r"\[4\] are not all in -4..3"),
    (lambda: masks.block_mask(4, 0), "block_size is 0"),
    (lambda: masks.from_additive(torch.tensor([0.0, -0.5])), "holds -0.5, .* bias"),
    (lambda: masks.from_additive(torch.tensor([1.0])), "holds 1.0"),
    (lambda: masks.from_additive(torch.tensor([math.nan])), "holds nan"),
    (lambda: masks.from_additive(torch.tensor([0])), "torch.int64, wanted a floating-point"),
    (lambda: masks.from_integers(torch.tensor([0, 2])), r"holds \[0, 2\]"),
    (lambda: masks.from_integers(torch.tensor([0.0])), "torch.float32, wanted integers"),
    (lambda: masks.from_blocked(torch.tensor([0])), "torch.int64, wanted torch.bool"),
    (lambda: masks.to_blocked(torch.tensor([0])), "torch.int64, wanted torch.bool"),
    (lambda: masks.to_lengths(masks.causal_mask(3)), r"\(3, 3\), wanted \(B, 1, 1, S\)"),
    (lambda: masks.padding_mask(torch.tensor([0]), -1), "max_len is -1"),
    (lambda: masks.causal_mask(-1), "T is -1, wanted at least 0"),
    (lambda: masks.sliding_window_mask(-1, 1), "T is -1, wanted at least 0"),
    (lambda: masks.dilated_window_mask(-1, 1, 1), "T is -1, wanted at least 0"),
    (lambda: masks.longformer_mask(-1, 1, []), "T is -1, wanted at least 0"),
    (lambda: masks.block_mask(-1, 2), "T is -1, wanted at least 0"),
)
