import math

import pytest

from course_lib.experiments.verdict import t_quantile, verdict


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        (1, 12.7062),
        (2, 4.3027),
        (3, 3.1824),
        (4, 2.7764),
        (9, 2.2622),
        (30, 2.0423),
        (1000, 1.9623),
    ],
)
def test_t_quantile_agrees_with_printed_tables(degrees: int, expected: float) -> None:
    assert t_quantile(0.975, degrees) == pytest.approx(expected, abs=5e-5)


def test_t_quantile_with_one_degree_is_the_tangent() -> None:
    for probability in (0.5, 0.6, 0.9, 0.999):
        expected = math.tan(math.pi * (probability - 0.5))
        assert t_quantile(probability, 1) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("probability", "degrees"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_t_quantile_refuses_what_has_none(probability: float, degrees: int) -> None:
    with pytest.raises(ValueError, match="expected 0.5 <= probability"):
        t_quantile(probability, degrees)


CLEAR = [0.30, 0.34, 0.29, 0.33, 0.31]


def test_a_clear_difference_stands_or_does_not_by_its_sign() -> None:
    assert verdict(CLEAR, 1).outcome == "stands"
    assert verdict(CLEAR, -1).outcome == "does not"
    assert verdict([-d for d in CLEAR], -1).outcome == "stands"
    assert verdict([-d for d in CLEAR], 1).outcome == "does not"


def test_the_interval_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, deviation 1, so 2 -+ 4.3027 / sqrt(3)."""
    got = verdict([1, 2, 3], 1)
    half = 4.30265 / math.sqrt(3)
    assert (got.low, got.high) == pytest.approx((2 - half, 2 + half), abs=1e-4)
    assert got.mean == 2 and got.half_width == pytest.approx(half, abs=1e-4) and got.n == 3
    assert got.outcome == "undecided"


def test_the_half_width_is_the_border_for_the_mean() -> None:
    """The same scatter around a mean just above half the width stands."""
    spread = [-0.02, 0.0, 0.02]
    border = verdict(spread, 1).half_width
    assert verdict([border * 1.01 + s for s in spread], 1).outcome == "stands"
    assert verdict([border * 0.99 + s for s in spread], 1).outcome == "undecided"


def test_scatter_around_zero_is_undecided_and_its_interval_is_told() -> None:
    assert str(verdict([0.02, -0.01, 0.03], 1)) == "undecided: +0.0133 [-0.0384, +0.065], 3 pairs"


def test_where_all_pairs_are_equal_a_ceiling_is_named() -> None:
    assert "can't tell the arms apart" in str(verdict([0.0, 0.0, 0.0], 1))
    assert "apart" not in str(verdict([0.0], 1))


def test_one_pair_never_decides() -> None:
    got = verdict([5.0], 1)
    assert got.outcome == "undecided" and got.half_width == math.inf


def test_equal_differences() -> None:
    assert verdict([0.1, 0.1, 0.1], 1).outcome == "stands"
    assert verdict([0.0, 0.0, 0.0], 1).outcome == "undecided"


@pytest.mark.parametrize("differences", [[], [0.1, math.nan], [math.inf, 1.0]])
def test_missing_differences_are_refused(differences: list[float]) -> None:
    with pytest.raises(ValueError, match="finite differences"):
        verdict(differences, 1)


def test_the_sign_must_be_a_sign() -> None:
    with pytest.raises(ValueError, match="claimed_sign"):
        verdict(CLEAR, 0)
