"""Scores taken apart: their four terms, steps, and offsets in windows."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import MultiHeadAttention
from course_lib.masks import causal_mask
from course_lib.positions import WindowBias, window_index
from course_lib.positions.delta import literal_delta_value, steps
from course_lib.positions.terms import (
    TERMS,
    FourTermAttention,
    four_terms,
    join_terms,
    term_scale,
)
from course_tests.refusals import refusals

CHOICES = [c for n in range(1, 5) for c in itertools.combinations(TERMS, n)]


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_the_four_terms_add_up_to_the_score_of_the_sum():
    x, p, w_q, w_k = draw(4, 32, 32)
    terms = four_terms(x @ w_q, x @ w_k, p @ w_q, p @ w_k)
    whole = (x + p) @ w_q @ w_k.T @ (x + p).T
    torch.testing.assert_close(sum(terms.values()), whole, rtol=0, atol=1e-10)


@pytest.mark.parametrize("choice", CHOICES, ids="+".join)
def test_any_terms_are_one_product(choice):
    parts = draw(4, 2, 5, 8)
    q, k = join_terms(*parts, choice)
    terms = four_terms(*parts)
    torch.testing.assert_close(q @ k.transpose(-2, -1), sum(terms[term] for term in choice))
    # Only where tokens and positions have different partners is a product twice as wide needed.
    partners = {side: {term[1] for term in choice if term[0] == side} for side in "tp"}
    wide = all(partners.values()) and partners["t"] != partners["p"]
    assert q.shape[-1] == k.shape[-1] == (16 if wide else 8)


@pytest.mark.parametrize("value_positions", [False, True])
def test_all_terms_are_standard_attention_on_token_plus_position(value_positions):
    standard = MultiHeadAttention(12, 3).double()
    x, positions = draw(2, 7, 12), draw(7, 12, seed=1)
    both = x + positions
    mask = causal_mask(7)
    expected = standard(both, both, both if value_positions else x, mask=mask)
    for fused in (True, False):
        attend = FourTermAttention(12, 3, value_positions=value_positions, fused=fused).double()
        attend.load_state_dict(standard.state_dict())
        out = attend(x, positions, mask=mask)
        torch.testing.assert_close(out, expected, rtol=0, atol=1e-10)
        each = attend(x, positions.expand(2, -1, -1), mask=mask)
        torch.testing.assert_close(each, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("choice", CHOICES, ids="+".join)
@pytest.mark.parametrize("rescale", [False, True])
def test_both_paths_agree_whatever_the_terms(choice, rescale):
    attend = FourTermAttention(8, 2, terms=choice, rescale=rescale).double()
    x, positions, bias = draw(3, 5, 8), draw(5, 8, seed=1), draw(1, 2, 5, 5, seed=2)
    mask = causal_mask(5).clone()
    mask[2] = False
    out, weights = attend(x, positions, mask=mask, bias=bias, return_weights=True)
    assert weights.shape == (3, 2, 5, 5)
    assert not weights[:, :, 2].any()
    torch.testing.assert_close(attend(x, positions, mask=mask, bias=bias), out, rtol=0, atol=1e-12)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(CHOICES))
def test_rescaling_keeps_the_variance_of_the_logits(choice):
    terms = four_terms(*draw(4, 200, 64, seed=3))
    logits = sum(terms[term] for term in choice)
    plain = logits * term_scale(64, choice, rescale=False)
    rescaled = logits * term_scale(64, choice, rescale=True)
    # Two terms that share a factor are uncorrelated all the same.
    assert plain.var().item() == pytest.approx(len(choice), rel=0.15)
    assert rescaled.var().item() == pytest.approx(1, rel=0.15)


@pytest.mark.parametrize("choice", CHOICES, ids="+".join)
def test_only_token_to_token_alone_is_blind_to_order(choice):
    attend = FourTermAttention(8, 2, terms=choice).double()
    x, positions = draw(1, 6, 8), draw(6, 8, seed=1)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    blind = torch.allclose(attend(x[:, order], positions), attend(x, positions)[:, order])
    assert blind == (set(choice) == {"tt"})


def test_terms_can_be_looked_at():
    attend = FourTermAttention(8, 2, terms=["pp"]).double()
    x, positions = draw(3, 5, 8), draw(5, 8, seed=1)
    scores = attend.scores(x, positions)
    assert [scores[term].shape[0] for term in TERMS] == [3, 3, 3, 1]
    weights = attend(x, positions, return_weights=True)[1]
    torch.testing.assert_close((scores["pp"] / 2).softmax(-1).expand(3, -1, -1, -1), weights)


test_wrong_input_is_named = refusals(
    (lambda: FourTermAttention(8, 2, terms=[]), r"terms are \[\], wanted one or more"),
    (lambda: FourTermAttention(8, 2, terms="xx"), "terms are .'xx'., wanted one or more"),
    (lambda: FourTermAttention(8, 3), "n_heads is 3, wanted a divisor of d_model 8"),
    (lambda: FourTermAttention(8, 2, dropout=1.0), "dropout is 1.0"),
)


def test_the_literal_form_is_the_reports():
    x1, x2, x3, x4 = x = draw(4, 5)
    value = x1 + (x1 @ x2) * (x2 - x1) + (x1 @ x3) * (x3 - x2) + (x1 @ x4) * (x4 - x3)
    torch.testing.assert_close(literal_delta_value(x), value)
    swapped = x2 + (x2 @ x1) * (x1 - x2) + (x2 @ x3) * (x3 - x1) + (x2 @ x4) * (x4 - x3)
    torch.testing.assert_close(literal_delta_value(x[[1, 0, 2, 3]]), swapped)
    torch.testing.assert_close(literal_delta_value(x.expand(2, 4, 5))[1], value)


def test_steps_forget_a_constant():
    v = draw(2, 5, 3)
    torch.testing.assert_close(steps(v + 7), steps(v))
    assert not steps(v)[:, 0].any()


SIDES = st.integers(1, 6)


def naive_index(rows, columns, multiplier):
    tokens = [(r, c) for r in range(rows) for c in range(columns)]
    return torch.tensor(
        [
            [(r - s + rows - 1) * multiplier + (c - d + columns - 1) for s, d in tokens]
            for r, c in tokens
        ]
    )


def test_the_index_of_the_original_on_two_by_two():
    wanted = [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]
    assert window_index(2, 2).tolist() == wanted


@settings(max_examples=15, deadline=None)
@given(SIDES, SIDES)
def test_each_offset_has_one_number_and_each_number_one_offset(rows, columns):
    index = window_index(rows, columns)
    assert torch.equal(index, naive_index(rows, columns, 2 * columns - 1))
    assert index.unique().tolist() == list(range((2 * rows - 1) * (2 * columns - 1)))


@settings(max_examples=10, deadline=None)
@given(SIDES, SIDES, SIDES, SIDES)
def test_a_smaller_window_reads_the_same_offsets(rows, columns, up, left):
    bias = WindowBias(2, rows, columns)
    height, width = min(up, rows), min(left, columns)
    whole = bias().unflatten(2, (rows, columns)).unflatten(1, (rows, columns))
    corner = whole[:, :height, :width, :height, :width].flatten(3).flatten(1, 2)
    assert torch.equal(bias(height, width), corner)


def test_the_table_is_drawn_with_small_numbers():
    table = WindowBias(64, 7, 7, generator=torch.Generator().manual_seed(0)).table
    assert table.std().item() == pytest.approx(0.02, rel=0.05)
    assert set(WindowBias(3, 7, 7).state_dict()) == {"table"}


test_wrong_sizes_are_refused = refusals(
    (lambda: window_index(0, 3), "window is 0 x 3"),
    (lambda: WindowBias(0, 2, 2), "n_heads is 0"),
    (lambda: WindowBias(1, 2, 2)(3, 2), "3 x 2, wanted at most 2 x 2"),
)
