"""Does a conclusion stand? The rule, fixed before the runs that it judges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import mpmath  # type: ignore[import-untyped]

CONFIDENCE = 0.95

Outcome = Literal["stands", "does not", "undecided"]


@dataclass(frozen=True)
class Verdict:
    """What paired runs say about a claimed difference.

    Args:
        outcome: ``"stands"``, ``"does not"`` or ``"undecided"``.
        mean: Mean of the differences.
        low: Lower end of the 95 % interval.
        high: Upper end.
        half_width: Half the width of the interval. No effect size: a true difference as large as
            this is told from 0 in about half of all such experiments.
        n: Number of pairs.
    """

    outcome: Outcome
    mean: float
    low: float
    high: float
    half_width: float
    n: int

    def __str__(self) -> str:
        numbers = f"{self.mean:+.3g} [{self.low:+.3g}, {self.high:+.3g}], {self.n} pairs"
        return "; ".join([f"{self.outcome}: {numbers}", *self.doubts()])

    def doubts(self) -> list[str]:
        """Why nothing is decided, where the interval doesn't tell."""
        if self.outcome == "undecided" and not self.low <= 0 <= self.high:
            return ["a control does not stand"]
        if self.n > 1 and self.mean == self.half_width == 0:
            return ["all pairs are equal, the task can't tell the arms apart"]
        return []


def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution.

    Args:
        probability: Between 0.5 and 1, exclusive of 1.
        degrees: Degrees of freedom, at least 1.

    Raises:
        ValueError: If an argument is out of range.

    Example:
        >>> round(t_quantile(0.975, 4), 3)
        2.776
    """
    if not 0.5 <= probability < 1 or degrees < 1:
        raise ValueError(
            f"expected 0.5 <= probability < 1 and degrees >= 1, got {probability} and {degrees}"
        )
    if probability == 0.5:
        return 0.0
    # P(|T| > t) is the incomplete beta function at degrees / (degrees + t^2).
    tail = 2 * (1 - probability)

    def excess(x: float) -> float:
        return float(mpmath.betainc(degrees / 2, 0.5, 0, x, regularized=True)) - tail

    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return math.sqrt(degrees * (1 - high) / high)


def verdict(differences: Sequence[float], claimed_sign: int) -> Verdict:
    """Judge a claim by a paired t-interval.

    Two arms run with the same seeds; each seed gives one difference. The claim *stands* if the
    95 % interval of the mean difference excludes 0 on the claimed side, it *does not* if it
    excludes 0 on the other, and is *undecided* otherwise. One pair alone never decides.

    Args:
        differences: One difference for each seed, in the order "what the claim calls larger"
            minus the other if ``claimed_sign`` is 1.
        claimed_sign: 1 if the claim says that the differences are positive, -1 if negative.

    Raises:
        ValueError: If the sign is neither, or a difference is missing or not finite.

    Example:
        >>> print(verdict([0.30, 0.34, 0.29, 0.33, 0.31], claimed_sign=1))
        stands: +0.314 [+0.288, +0.34], 5 pairs
        >>> print(verdict([0.02, -0.01, 0.03], claimed_sign=1))
        undecided: +0.0133 [-0.0384, +0.065], 3 pairs
    """
    if claimed_sign not in (1, -1):
        raise ValueError(f"claimed_sign is {claimed_sign}, wanted 1 or -1")
    values = [float(value) for value in differences]
    n = len(values)
    if n == 0 or not all(math.isfinite(value) for value in values):
        raise ValueError(f"expected finite differences, at least one, got {values}")
    mean = math.fsum(values) / n
    if n == 1:
        half = math.inf
    else:
        variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
        half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * math.sqrt(variance / n)
    low, high = mean - half, mean + half
    if low > 0 or high < 0:
        outcome: Outcome = "stands" if (low > 0) == (claimed_sign > 0) else "does not"
    else:
        outcome = "undecided"
    return Verdict(outcome, mean, low, high, half, n)
