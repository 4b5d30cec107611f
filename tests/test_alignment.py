"""Alignments: links as weights, weights as links, and how far two alignments are apart."""

import pytest
import torch

from course_lib.alignment import alignment_error_rate, hard_alignment, ideal_weights
from course_lib.data.translation import korean_english


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


@pytest.mark.parametrize("link", [(2, 0), (0, 3), (-1, 0)])
def test_links_outside_are_refused(link):
    with pytest.raises(ValueError, match="outside a sentence of 2 source and 3 target words"):
        ideal_weights([link], n_source=2, n_target=3)


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


def test_rate_wants_boolean_tensors_of_one_shape():
    gold = torch.eye(3).bool()
    with pytest.raises(ValueError, match="wanted boolean tensors of one shape"):
        alignment_error_rate(torch.eye(3), gold)
    with pytest.raises(ValueError, match="wanted boolean tensors of one shape"):
        alignment_error_rate(gold[:2], gold)


def test_possible_links_may_be_drawn_or_left_out() -> None:
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
