"""Distances, their buckets, and what is added to the scores because of them."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.attention import attention_weights
from course_lib.masks import causal_mask
from course_lib.positions import (
    Alibi,
    RelativeBias,
    alibi_bias,
    alibi_slopes,
    relative_distance,
    relative_shift,
    spread_diagonals,
    t5_bucket,
)
from course_tests.refusals import refusals

SIZES = [(32, 128), (32, 64), (64, 1024), (16, 100), (48, 333), (8, 20)]


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@given(T=st.integers(1, 6), cached=st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_queries_are_the_last_positions(T, cached):
    S = T + cached
    whole = torch.arange(S) - torch.arange(S)[:, None]
    assert torch.equal(relative_distance(T, S), whole[cached:])
    diagonals = torch.arange(1 - S, T)
    assert torch.equal(spread_diagonals(diagonals, T, S), relative_distance(T, S))


@given(T=st.integers(1, 6), cached=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_the_shift_gives_each_query_its_own_distances(T, cached):
    S = T + cached
    distances = torch.arange(S - 1, -T, -1).expand(2, T, -1).contiguous()
    shifted = relative_shift(distances)
    assert torch.equal(shifted, -relative_distance(T, S).expand(2, T, S))
    assert shifted.data_ptr() == distances[:, 0, T - 1 :].data_ptr(), "a view"


def test_a_shift_with_too_few_distances_is_refused():
    with pytest.raises(ValueError, match="scores have 2 distances, wanted at least 3"):
        relative_shift(torch.zeros(3, 2))


def test_official_buckets():
    assert t5_bucket(torch.tensor([0, 1, -1])).tolist() == [0, 17, 1]
    used = t5_bucket(torch.arange(-5000, 5001)).unique().tolist()
    assert used == [b for b in range(32) if b != 16]
    causal = t5_bucket(torch.arange(-5000, 5001), bidirectional=False)
    assert causal.unique().tolist() == list(range(32))
    assert (causal[5000:] == 0).all(), "keys after the query and its own"


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("n_buckets, max_distance", SIZES)
def test_buckets_are_those_of_transformers(bidirectional, n_buckets, max_distance):
    modeling = pytest.importorskip("transformers.models.t5.modeling_t5")
    distance = torch.arange(-3000, 3001)
    ours = t5_bucket(
        distance, bidirectional=bidirectional, n_buckets=n_buckets, max_distance=max_distance
    )
    theirs = modeling.T5Attention._relative_position_bucket(
        distance, bidirectional, n_buckets, max_distance
    )
    assert torch.equal(ours, theirs)


def test_buckets_follow_the_formula_where_no_logarithm_is_near_a_whole_number():
    for d in range(1, 300):
        bucket = t5_bucket(torch.tensor(-d)).item()
        if d < 8:
            assert bucket == d
            continue
        exact = 8 * math.log(d / 8) / math.log(128 / 8)
        if abs(exact - round(exact)) > 1e-9:
            assert bucket == min(8 + math.floor(exact), 15)
    # log(16 / 8) / log(128 / 8) is a quarter, so 16 is the first of bucket 10, not the last of 9.
    assert t5_bucket(torch.tensor([-15, -16, -32, -64])).tolist() == [9, 10, 12, 14]


@given(T=st.integers(1, 40), cached=st.integers(0, 20), bidirectional=st.booleans())
@settings(max_examples=20, deadline=None)
def test_bias_looks_up_the_bucket_of_each_pair(T, cached, bidirectional):
    bias = RelativeBias(3, bidirectional=bidirectional)
    explicit = RelativeBias(3, bidirectional=bidirectional, fused=False)
    explicit.load_state_dict(bias.state_dict())
    buckets = t5_bucket(relative_distance(T, T + cached), bidirectional=bidirectional)
    wanted = bias.table[buckets].permute(2, 0, 1)
    assert torch.equal(bias(T, T + cached), wanted)
    assert torch.equal(explicit(T, T + cached), wanted)
    assert torch.equal(bias(T + cached)[:, cached:], wanted), "as in one go"


def test_parameters_of_t5_small():
    assert sum(p.numel() for p in RelativeBias(8).parameters()) == 32 * 8
    assert list(RelativeBias(8).state_dict()) == ["table"]


def test_official_slopes():
    torch.testing.assert_close(alibi_slopes(8), 2.0 ** -torch.arange(1, 9).double())
    torch.testing.assert_close(alibi_slopes(16), 2.0 ** -(torch.arange(1, 17).double() / 2))
    # 12 heads: the 8 slopes, and the first 4 of every second of 16.
    wanted = torch.cat([alibi_slopes(8), alibi_slopes(16)[[0, 2, 4, 6]]])
    torch.testing.assert_close(alibi_slopes(12), wanted)
    assert alibi_slopes(1).item() == pytest.approx(2**-8)


@given(T=st.integers(1, 9), cached=st.integers(0, 9), n_heads=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_the_kept_bias_is_cut_where_it_should_be(T, cached, n_heads):
    S = T + cached
    wanted = alibi_bias(n_heads, T, S)
    slopes = alibi_slopes(n_heads)
    for i in range(T):
        for j in range(S):
            torch.testing.assert_close(wanted[:, i, j], -slopes * abs(cached + i - j))
    for fused in (True, False):
        assert torch.equal(Alibi(n_heads, max_len=10, fused=fused).double()(T, S), wanted)


def test_with_a_causal_mask_one_row_does_the_same():
    q, k = draw(2, 1, 4, 7, 8)
    row = alibi_slopes(4)[:, None, None] * torch.arange(7)
    here, there = (
        attention_weights(q, k, causal_mask(7), b[None]) for b in (alibi_bias(4, 7), row)
    )
    torch.testing.assert_close(here, there)


def test_alibi_learns_and_saves_nothing():
    bias = Alibi(3, max_len=5)
    assert not list(bias.parameters()) and not bias.state_dict()
    assert bias.half()(5).dtype == torch.float32


test_misfits_are_refused = refusals(
    (lambda: t5_bucket(torch.tensor(1), n_buckets=6), "n_buckets is 6, wanted a positive multi"),
    (lambda: RelativeBias(0), "n_heads is 0, wanted at least 1"),
    (lambda: RelativeBias(2, n_buckets=0), "n_buckets is 0"),
    (lambda: alibi_slopes(0), "n_heads is 0, wanted at least 1"),
    (lambda: spread_diagonals(torch.zeros(4), 3, 3), "got 4 diagonals, wanted 5"),
    (lambda: t5_bucket(torch.tensor([2.5])), "dtype torch.float32, wanted integers"),
    (lambda: t5_bucket(torch.tensor([math.nan])), "dtype torch.float32, wanted integers"),
)


@pytest.mark.parametrize(
    "number, dtype, bidirectional, bucket",
    [(5, torch.uint8, False, 0), (-128, torch.int8, True, 15), (-15, torch.int16, False, 15)],
)
def test_small_integers_are_no_other_distances(number, dtype, bidirectional, bucket):
    distance = torch.tensor([number], dtype=dtype)
    assert t5_bucket(distance, bidirectional=bidirectional).item() == bucket


@pytest.mark.parametrize(
    "bias",
    [
        relative_distance,
        lambda T, S=None: alibi_bias(2, T, S),
        Alibi(2),
        Alibi(2, fused=False),
        RelativeBias(2),
        RelativeBias(2, fused=False),
    ],
)
def test_a_query_without_a_key_of_its_own_is_refused(bias):
    with pytest.raises(ValueError, match="got 4 queries and 2 keys"):
        bias(4, 2)
    with pytest.raises(ValueError, match="got -1 queries"):
        bias(-1)
    assert bias(0).shape[-2:] == (0, 0) and bias(0, 3).shape[-2:] == (0, 3)
