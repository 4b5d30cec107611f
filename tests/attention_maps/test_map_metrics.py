"""Metrics of attention maps: known values, masks, and what the usual formulas get wrong."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention_maps import (
    block_score,
    column_score,
    diagonality,
    entropy,
    max_weight,
    mean_relative_position,
    monotonicity,
    offset_score,
    received,
    relation_baseline,
    relation_score,
    stripe_score,
    top_mass,
    uniform_heads,
)
from course_lib.masks import causal_mask
from course_tests.refusals import refusals

EYE, UNIFORM = torch.eye(8), torch.full((8, 8), 1 / 8)
PREVIOUS = torch.eye(8).roll(-1, dims=1)  # row 0 looks at the last key, the others one back
SCALARS = (entropy, max_weight, mean_relative_position, diagonality, monotonicity, stripe_score)


def random_maps(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).softmax(dim=-1)


@pytest.mark.parametrize(
    "metric, identity, uniform",
    [
        (entropy, 0.0, math.log(8)),
        (lambda w: entropy(w, normalised=True), 0.0, 1.0),
        (max_weight, 1.0, 1 / 8),
        (lambda w: top_mass(w, 3), 1.0, 3 / 8),
        (mean_relative_position, 0.0, 0.0),
        (diagonality, 1.0, 1 / 8),
        (lambda w: diagonality(w, radius=1), 1.0, (8 + 2 * 7) / 64),
        (lambda w: offset_score(w, -1), 0.0, 1 / 8),
        (monotonicity, 1.0, 0.0),
        (stripe_score, 1 / 8, 1 / 8),
        (lambda w: stripe_score(w, 8), 1.0, 1.0),
        (lambda w: block_score(w, torch.arange(8) // 4), 1.0, 0.5),
    ],
)
def test_known_values(metric, identity, uniform):
    assert metric(EYE).item() == pytest.approx(identity, abs=1e-6)
    assert metric(UNIFORM).item() == pytest.approx(uniform, abs=1e-6)


def test_a_head_is_uniform_over_the_keys_that_it_may_see():
    lower = torch.ones(8, 8).tril()
    maps = torch.stack([EYE, UNIFORM, lower / lower.sum(-1, keepdim=True), random_maps(8, 8)])
    assert uniform_heads(maps).tolist() == [False, True, False, False]
    assert uniform_heads(maps[2], mask=causal_mask(8))
    assert uniform_heads(maps, tolerance=0.5).tolist() == [False, True, True, True]


def test_the_exact_diagonal_misses_a_previous_token_head():
    assert diagonality(PREVIOUS) == 0
    assert diagonality(PREVIOUS, radius=1) == pytest.approx(7 / 8)
    assert offset_score(PREVIOUS, -1) == 1


def test_zero_times_the_logarithm_of_zero_is_zero_in_half_precision_too():
    # A small number inside the logarithm is rounded away, and 0 times infinity is no number.
    half = EYE.half()
    naive = -(half * (half + 1e-10).log()).sum(-1).mean()
    assert naive.isnan() and entropy(half) == 0


def test_under_a_causal_mask_only_the_normalised_entropy_is_one():
    mask = causal_mask(6)
    causal = mask / mask.sum(-1, keepdim=True)
    assert entropy(causal, normalised=True) < 0.8
    assert entropy(causal, mask=mask, normalised=True).item() == pytest.approx(1)


def test_an_oblong_alignment_has_a_diagonal_when_stretched():
    weights = torch.zeros(3, 9)
    weights[torch.arange(3), torch.tensor([0, 4, 8])] = 1
    assert diagonality(weights) == pytest.approx(1 / 3)
    assert diagonality(weights, stretch=True) == 1


def test_cached_keys_move_the_diagonal():
    weights = torch.eye(10)[7:]
    assert diagonality(weights, first_query=7) == 1 and diagonality(weights) == 0
    assert mean_relative_position(weights, first_query=7) == 0
    assert offset_score(weights.roll(-2, dims=1), -2, first_query=7) == 1


def test_relative_position_does_not_tell_both_sides_from_itself():
    both = (torch.eye(9).roll(1, dims=1) + torch.eye(9).roll(-1, dims=1))[1:-1] / 2
    assert mean_relative_position(both, first_query=1) == 0
    assert diagonality(both, first_query=1) == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.integers(2, 9), st.integers(0, 999))
def test_bounds_and_leading_axes(n_queries, n_keys, seed):
    weights = random_maps(2, 3, n_queries, n_keys, seed=seed)
    for metric in SCALARS:
        out = metric(weights)
        assert out.shape == (2, 3)
        torch.testing.assert_close(out[1, 2], metric(weights[1, 2]))
    assert (entropy(weights) <= math.log(n_keys) + 1e-5).all()
    assert (max_weight(weights) >= 1 / n_keys - 1e-6).all()
    assert (top_mass(weights, 2) >= max_weight(weights) - 1e-6).all()
    torch.testing.assert_close(received(weights).sum(-1), torch.ones(2, 3))
    assert (monotonicity(weights).abs() <= 1).all()


@pytest.mark.parametrize("metric", SCALARS)
def test_empty_rows_and_excluded_queries_do_not_count(metric):
    weights = random_maps(5, 5)
    with_empty = torch.cat([weights, torch.zeros(2, 5)])
    keep = torch.tensor([True] * 5 + [False] * 2)
    torch.testing.assert_close(metric(with_empty), metric(weights))
    padded = torch.cat([weights, random_maps(2, 5, seed=1)])
    torch.testing.assert_close(metric(padded, queries=keep), metric(weights))
    assert metric(torch.zeros(3, 5)).isnan()


def test_relative_column_scores_are_one_by_chance():
    mask = causal_mask(8)
    even = mask / mask.sum(-1, keepdim=True)
    columns = torch.tensor([1, 0, 0, 1, 0, 0, 0, 0]).bool()
    assert column_score(even, columns, mask=mask, relative=True).item() == pytest.approx(1)
    # Without the mask the count of keys is wrong.
    assert column_score(even, columns, relative=True) > 1.2
    stripe = torch.zeros(8, 8)
    stripe[:, 3] = 1
    assert column_score(stripe, columns) == 1
    assert column_score(stripe, columns, relative=True) == 4


def test_relations_count_only_queries_that_have_one():
    links = torch.zeros(4, 4).bool()
    links[3, 1] = links[3, 2] = True
    weights = torch.tensor([[1.0, 0, 0, 0]] * 3 + [[0.1, 0.5, 0.3, 0.1]])
    assert relation_score(weights, links) == 1
    assert relation_score(weights, links, by="mass").item() == pytest.approx(0.8)
    assert relation_score(weights, links, queries=torch.tensor([True] * 3 + [False])).isnan()


def test_the_baseline_of_a_relation_is_the_best_fixed_distance():
    links = torch.zeros(3, 5, 5).bool()
    for sentence, subject in enumerate((1, 1, 2)):
        links[sentence, 3, subject] = True
    score, offset = relation_baseline(links)
    assert (score, offset) == (pytest.approx(2 / 3), -2)
    head = torch.eye(5).roll(offset, dims=1).expand(3, 5, 5)
    assert relation_score(head, links).mean().item() == pytest.approx(score)
    with pytest.raises(ValueError, match="no link"):
        relation_baseline(links & False)


WEIGHTS = random_maps(2, 2, 4, 4)
test_wrong_input_is_named = refusals(
    (lambda: entropy(torch.eye(3).bool()), "weights is torch.bool"),
    (lambda: entropy(torch.ones(3)), r"\(3,\), wanted floats \(..., T, S\)"),
    (lambda: entropy(WEIGHTS, queries=torch.ones(4)), "queries has dtype"),
    (lambda: entropy(WEIGHTS, queries=torch.ones(2, 4).bool()), "1 or 3 dimensions"),
    (lambda: column_score(WEIGHTS, torch.ones(2, 4).bool()), "1 or 3 dimensions"),
    (lambda: column_score(WEIGHTS, torch.ones(4)), "columns has dtype"),
    (lambda: block_score(WEIGHTS, torch.arange(5)), "query_blocks has shape"),
    (lambda: entropy(WEIGHTS, mask=torch.ones(4, 4), normalised=True), "mask has dtype"),
    (lambda: relation_score(WEIGHTS, torch.ones(4, 4)), "links has dtype"),
    (lambda: relation_score(WEIGHTS, torch.eye(4).bool(), by="x"), "'best' or 'mass'"),
    (lambda: top_mass(WEIGHTS, 5), "wanted 1 to 4"),
    (lambda: stripe_score(WEIGHTS, 0), "wanted 1 to 4"),
    (lambda: diagonality(WEIGHTS, -1), "radius is -1"),
)
