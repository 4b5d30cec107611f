import math

import pytest
import torch

from course_lib.experiments.verdict import (
    adjust,
    fact,
    p_value,
    t_quantile,
    two_way_interval,
    verdict,
)
from course_tests.refusals import refusals

PRINTED = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 9: 2.2622, 30: 2.0423, 1000: 1.9623}


@pytest.mark.parametrize(("degrees", "expected"), PRINTED.items())
def test_t_quantile_agrees_with_printed_tables(degrees, expected):
    assert t_quantile(0.975, degrees) == pytest.approx(expected, abs=5e-5)


CLEAR = [0.30, 0.34, 0.29, 0.33, 0.31]


def test_a_clear_difference_stands_or_does_not_by_its_sign():
    assert verdict(CLEAR, 1).outcome == "holds"
    assert verdict(CLEAR, -1).outcome == "fails"
    assert verdict([-d for d in CLEAR], -1).outcome == "holds"
    assert verdict([-d for d in CLEAR], 1).outcome == "fails"


def test_the_interval_by_hand():
    got = verdict([1, 2, 3], 1)
    half = 4.30265 / math.sqrt(3)
    assert (got.low, got.high) == pytest.approx((2 - half, 2 + half), abs=1e-4)
    assert got.mean == 2 and got.half_width == pytest.approx(half, abs=1e-4) and got.n == 3
    assert got.outcome == "undecided"


def test_scatter_around_zero_is_undecided_and_its_interval_is_told():
    assert str(verdict([0.02, -0.01, 0.03], 1)) == "undecided: +0.0133 [-0.0384, +0.065], 3 pairs"


def test_where_all_pairs_are_equal_nothing_can_be_tested():
    assert str(verdict([0.0, 0.0, 0.0], 1)).startswith("not testable: +0")
    assert "all pairs are equal" in str(verdict([0.0, 0.0, 0.0], 1, margin=0.1))
    assert "equal" not in str(verdict([0.0], 1))


def test_an_interval_within_the_margin_shows_no_difference_larger_than_it():
    near = [0.02, -0.01, 0.03]
    got = verdict(near, 1, margin=0.07)
    assert got.outcome == "no difference" and got.said == "no difference larger than 0.07"
    # A hair less, and the upper end sticks out.
    assert verdict(near, 1, margin=0.06).outcome == "undecided"
    assert verdict([0.05], 1, margin=1.0).outcome == "undecided"


def test_what_is_decided_stays_so_however_small_and_it_is_said():
    small = verdict(CLEAR, 1, margin=0.5)
    assert small.outcome == "holds" and small.remarks == ("no more than 0.5",)
    assert verdict(CLEAR, 1, margin=0.3).remarks == ()


def test_p_values_agree_with_the_interval():
    """At the 95 % quantile p is 5 %; the interval excludes 0 just where p is smaller."""
    for degrees in (1, 4, 30):
        assert p_value(t_quantile(0.975, degrees), degrees) == pytest.approx(0.05)
    for shift in (0.0, 0.012, 0.013, 0.05):
        got = verdict([0.02 + shift, -0.01 + shift, 0.03 + shift], 1)
        assert (got.p < 0.05) == (got.low > 0 or got.high < 0)
    assert verdict([0.1, 0.1], 1).p == 0 and verdict([0.0, 0.0], 1).p == 1 == verdict([1.0], 1).p


def test_adjusted_values_by_hand():
    """Times n over rank, and never above the next larger one's."""
    assert adjust([0.01, 0.02, 0.03, 0.5]) == pytest.approx([0.04, 0.04, 0.04, 0.5])
    assert adjust([0.5, 0.001]) == pytest.approx([0.5, 0.002])
    assert adjust([0.9, 0.8]) == pytest.approx([0.9, 0.9]) and adjust([]) == []


def test_an_interval_over_seeds_and_items_covers_both():
    """Differences of seeds alone, of items alone, and of both: nine or more of ten are covered."""
    draw = torch.Generator().manual_seed(0)

    def covered(seeds, items):
        hits = 0
        for _ in range(300):
            rows = seeds * torch.randn(8, 1, generator=draw).expand(8, 60).clone()
            rows += items * torch.randn(1, 60, generator=draw)
            rows += 0.1 * torch.randn(8, 60, generator=draw)
            low, high = two_way_interval(rows)
            hits += low <= 0 <= high
        return hits / 300

    assert covered(1.0, 0.0) > 0.9 < covered(0.0, 1.0) and covered(1.0, 3.0) > 0.9
    # Neighbours that say the same are one item.
    rows = torch.randn(4, 10, generator=draw)
    doubled = rows.repeat_interleave(5, dim=1)
    assert two_way_interval(doubled, block=5) == pytest.approx(two_way_interval(rows))


def test_one_pair_never_decides():
    got = verdict([5.0], 1)
    assert got.outcome == "undecided" and got.half_width == math.inf


def test_the_prediction_interval_by_hand():
    low, high = verdict([1, 2, 3], 1).prediction_interval
    assert high - 2 == pytest.approx(4.30265 * (1 + 1 / 3) ** 0.5, abs=1e-4) == 2 - low
    assert verdict([5.0], 1).prediction_interval == (-math.inf, math.inf)


def test_a_fact_has_no_pairs_and_no_test():
    found = fact(-3.0, 1)
    assert (found.outcome, found.n, found.p, found.low, found.high) == ("fails", 0, 1.0, -3.0, -3.0)
    assert fact(-3.0, -1).outcome == "holds" and "pairs" not in str(found)


test_what_has_no_verdict_is_refused = refusals(
    (lambda: t_quantile(0.4, 3), "expected 0.5 <= probability"),
    (lambda: t_quantile(1.0, 3), "expected 0.5 <= probability"),
    (lambda: t_quantile(0.9, 0), "expected 0.5 <= probability"),
    (lambda: verdict([], 1), "finite differences"),
    (lambda: verdict([0.1, math.nan], 1), "finite differences"),
    (lambda: verdict([math.inf, 1.0], 1), "finite differences"),
    (lambda: verdict(CLEAR, 0), "claimed_sign"),
    (lambda: verdict(CLEAR, 1, margin=0), "margin is 0"),
    (lambda: two_way_interval(torch.ones(1, 10)), "two seeds and two blocks"),
)
