"""Attention as lookup, and alignments."""

import math

import pytest
import torch

from course_lib.alignment import alignment_error_rate, hard_alignment, ideal_weights
from course_lib.data.translation import korean_english
from course_lib.lookup import lookup_scale, mixing_angle
from course_tests.refusals import refusals


def best_weight(query, keys, scale):
    return (scale * keys.double() @ query.double()).softmax(0).max().item()


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("least", [0.6, 0.99, 1 - 1e-9])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_scale_is_the_smallest_at_which_the_best_key_has_the_weight(n, least, size):
    g = torch.Generator().manual_seed(n)
    query, keys = size * torch.randn(4, generator=g), torch.randn(n, 4, generator=g)
    scale = lookup_scale(query, keys, least)
    assert best_weight(query, keys, scale) == pytest.approx(least, abs=1e-12)
    assert best_weight(query, keys, 0.999 * scale) < least


def test_scale_knows_what_needs_none_and_what_has_none():
    query = torch.tensor([1.0, 2.0])
    keys = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, -3.0]])
    assert lookup_scale(query, keys, 0.25) == 0.0
    assert lookup_scale(query, keys, 0.5) == math.inf
    assert best_weight(query, keys, lookup_scale(query, keys, 0.49)) == pytest.approx(0.49)
    assert lookup_scale(query, keys[:2], 0.5) == 0.0
    assert lookup_scale(query, keys[:2], 0.51) == math.inf
    assert lookup_scale(query, keys[:1], 0.99) == 0.0


@pytest.mark.parametrize("scale", [1.2, 5.0, 1e4, 1e12])
def test_angle_gives_just_the_weight(scale):
    angle = math.radians(mixing_angle(scale, 0.9))
    # 1 - cos, without the loss of digits that it suffers at small angles
    assert 1 / (1 + math.exp(-scale * 2 * math.sin(angle / 2) ** 2)) == pytest.approx(0.9)


def test_angle_agrees_with_the_scale():
    angle = math.radians(mixing_angle(30.0, 0.99))
    keys = torch.tensor([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], dtype=torch.float64)
    assert lookup_scale(keys[0], keys, 0.99) == pytest.approx(30.0)


def test_angle_knows_what_needs_none_and_what_has_none():
    assert mixing_angle(3.0, 0.5) == mixing_angle(3.0, 0.1) == 0.0
    assert mixing_angle(math.log(9) / 2 * 0.999, 0.9) == math.inf
    assert mixing_angle(math.log(9) / 2 * 1.001, 0.9) == pytest.approx(180, abs=4)


@pytest.mark.parametrize("least", [0.0, 1.0, -0.5, math.nan])
def test_a_weight_lies_between_0_and_1(least):
    with pytest.raises(ValueError, match="wanted a weight between 0 and 1"):
        lookup_scale(torch.ones(2), torch.ones(3, 2), least)
    with pytest.raises(ValueError, match="wanted a weight between 0 and 1"):
        mixing_angle(1.0, least)


test_bad_shapes_and_scales_are_refused = refusals(
    (
        lambda: lookup_scale(torch.ones(3), torch.ones(4, 2), 0.9),
        r"query has shape \(3,\) and keys \(4, 2\)",
    ),
    (lambda: mixing_angle(0.0, 0.9), "wanted a positive number"),
    (lambda: ideal_weights([(2, 0)], n_source=2, n_target=3), "outside a sentence of 2 source"),
    (lambda: ideal_weights([(0, 3)], n_source=2, n_target=3), "outside a sentence of 2 source"),
    (lambda: ideal_weights([(-1, 0)], n_source=2, n_target=3), "outside a sentence of 2 source"),
    (
        lambda: alignment_error_rate(torch.eye(3), torch.eye(3).bool()),
        "boolean tensors of one shape",
    ),
    (lambda: alignment_error_rate(torch.eye(3).bool()[:2], torch.eye(3).bool()), "of one shape"),
)


def test_ideal_weights_of_a_corpus_draw_its_gold_links_again():
    for pair in korean_english(30, seed=1):
        weights = ideal_weights(pair.alignment, len(pair.source), len(pair.target))
        gold = pair.alignment_matrix()
        assert torch.equal(weights > 0, gold)
        torch.testing.assert_close(weights.sum(1), gold.any(1).float())
        assert alignment_error_rate(hard_alignment(weights, threshold=0.01), gold) == 0.0


def test_one_link_a_row_misses_the_second_source_of_a_word():
    weights = ideal_weights([(0, 0), (1, 0), (2, 1)], n_source=3, n_target=2)
    assert hard_alignment(weights).int().tolist() == [[1, 0, 0], [0, 0, 1]]
    assert alignment_error_rate(hard_alignment(weights), weights > 0) == pytest.approx(1 / 5)


def test_links_count_once_and_words_without_link_attend_to_nothing():
    weights = ideal_weights([(0, 1), (0, 1), (1, 1)], n_source=2, n_target=3)
    assert weights.tolist() == [[0.0, 0.0], [0.5, 0.5], [0.0, 0.0]]
    assert not hard_alignment(weights)[[0, 2]].any()
    assert not hard_alignment(weights, threshold=0.0)[[0, 2]].any()


def test_rate_counts_the_links_of_a_batch_together():
    gold = torch.zeros(2, 4, 4, dtype=torch.bool)
    gold[0, range(4), range(4)] = True
    gold[1, 0, 0] = True
    predicted = gold.clone()
    predicted[1] = gold[1].roll(1)
    assert alignment_error_rate(predicted, gold) == pytest.approx(1 - 2 * 4 / (5 + 5))
    nothing = torch.zeros_like(gold)
    assert alignment_error_rate(nothing, nothing) == 0.0
    assert alignment_error_rate(nothing, gold) == 1.0


def test_possible_links_may_be_drawn_or_left_out():
    sure = torch.tensor([[True, False, False], [False, True, False]])
    possible = torch.tensor([[True, True, False], [False, True, False]])
    drawn = torch.tensor([[True, True, False], [False, False, True]])
    # Of 3 + 2 links counted, 1 sure one is hit and 2 possible ones.
    assert alignment_error_rate(drawn, sure, possible) == pytest.approx(2 / 5)
    assert alignment_error_rate(sure, sure, possible) == 0
    assert alignment_error_rate(possible, sure, possible) == 0
    assert alignment_error_rate(possible, sure) == pytest.approx(1 / 5)
    # Sure links are possible, whether or not they are marked so.
    assert alignment_error_rate(drawn, sure, possible & ~sure) == pytest.approx(2 / 5)
    with pytest.raises(ValueError, match="possible"):
        alignment_error_rate(drawn, sure, possible[0])
