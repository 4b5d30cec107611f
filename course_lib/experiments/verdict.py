"""Does a claim hold? The rule, fixed before the runs that it judges."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

# For one function, and not scipy: nothing else here needs that, and torch brings mpmath already.
import mpmath  # type: ignore[import-untyped]
from torch import Tensor

CONFIDENCE = 0.95

PAIRS = 3  # fewer decide nothing: with two, the spread is known from one difference alone

Outcome = Literal["holds", "fails", "no difference", "undecided", "not testable"]
FACT = "a fact: nothing in it is drawn by chance"


@dataclass(frozen=True)
class Verdict:
    """Result of paired runs on a claimed difference."""

    outcome: Outcome  # of pairs of one size; "no difference" is none larger than the margin
    mean: float  # mean of the differences
    low: float  # lower end of the 95 % interval
    high: float  # upper end
    n: int  # number of pairs; 0 for a fact without chance
    p: float  # two-sided, of the paired t-test; 1 for a fact and for a single pair
    # The largest difference that counts as none, fixed before the runs.
    margin: float | None = None
    remarks: tuple[str, ...] = ()  # what has to be known beside the outcome

    def __str__(self) -> str:
        numbers = f"{self.mean:+.3g}"
        if self.n:
            numbers += f" [{self.low:+.3g}, {self.high:+.3g}], {self.n} pairs"
        return "; ".join([f"{self.said}: {numbers}", *self.remarks])

    @property
    def said(self) -> str:
        """The outcome with its margin."""
        larger = f" larger than {self.margin:g}" if self.margin is not None else ""
        return self.outcome + (larger if self.outcome == "no difference" else "")

    def remarked(self, *remarks: str, outcome: Outcome | None = None) -> "Verdict":
        """With something more to be known, and with another outcome if that is why."""
        return replace(self, remarks=(*self.remarks, *remarks), outcome=outcome or self.outcome)

    @property
    def prediction_interval(self) -> tuple[float, float]:
        """Where one more pair, such as a document prints, would lie in 95 of 100 cases."""
        half = self.half_width * math.sqrt(self.n + 1)
        return self.mean - half, self.mean + half

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        # No effect size: a true difference as large is told from 0 in about half of all cases.
        return (self.high - self.low) / 2


@cache
def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t distribution."""
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


def p_value(t: float, degrees: int) -> float:
    """Measure how often a t at least as far from 0 comes about by chance."""
    x = degrees / (degrees + t * t)
    return float(mpmath.betainc(degrees / 2, 0.5, 0, x, regularized=True))


def adjust(p_values: Sequence[float]) -> list[float]:
    """p-values of a family, adjusted by Benjamini and Hochberg (1995) for false discoveries."""
    adjusted, least = [0.0] * len(p_values), 1.0
    falling = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    for rank, i in zip(range(len(p_values), 0, -1), falling, strict=True):
        least = min(least, p_values[i] * len(p_values) / rank)
        adjusted[i] = least
    return adjusted


def verdict(
    differences: Sequence[float], claimed_sign: int, margin: float | None = None
) -> Verdict:
    """Judge a claim by a paired t-interval.

    Each seed gives one difference; ``claimed_sign`` is 1 or -1. The claim *holds* if the 95 %
    interval of the mean excludes 0 on the claimed side, it *fails* if it excludes 0 on the other.
    Where the interval holds 0 and lies within the margin, there is *no difference* larger than
    that; else the claim is *undecided*, as it is for one pair alone. Where all pairs are equal, the
    task can't tell the arms apart: *not testable*.
    """
    if claimed_sign not in (1, -1):
        raise ValueError(f"claimed_sign is {claimed_sign}, expected 1 or -1")
    if margin is not None and not margin > 0:
        raise ValueError(f"margin is {margin}, expected more than 0, or None")
    values = [float(value) for value in differences]
    n = len(values)
    if n == 0 or not all(math.isfinite(value) for value in values):
        raise ValueError(f"expected finite differences, at least one, got {values}")
    mean = math.fsum(values) / n
    if n == 1:
        return Verdict("undecided", mean, -math.inf, math.inf, n, 1.0, margin)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * error
    low, high = mean - half, mean + half
    p = p_value(mean / error, n - 1) if error else float(mean == 0)
    outcome: Outcome = "undecided"
    remarks: tuple[str, ...] = ()
    within = margin is not None and -margin <= low and high <= margin
    if low > 0 or high < 0:
        outcome = "holds" if (low > 0) == (claimed_sign > 0) else "fails"
        remarks = (f"no more than {margin:g}",) if within else ()
    elif error == 0:
        outcome, remarks = "not testable", ("all pairs are equal",)
    elif within:
        outcome = "no difference"
    return Verdict(outcome, mean, low, high, n, p, margin, remarks)


def fact(difference: float, claimed_sign: int) -> Verdict:
    """Judge what is the same for every seed, such as a number of parameters: no pairs, no test."""
    outcome: Outcome = "holds" if difference * claimed_sign > 0 else "fails"
    return Verdict(outcome, difference, difference, difference, 0, 1.0, remarks=(FACT,))


def two_way_interval(differences: Tensor, block: int = 1) -> tuple[float, float]:
    """A 95 % interval for a mean over seeds and over test items, both taken as drawn: ``(S, N)``.

    The variances of the means of seeds and of items are added, less that of single cells, which is
    in both (Cameron, Gelbach and Miller, 2011); ``block`` neighbours that depend on each other,
    such as the windows of a day, are taken together first.
    """
    whole = differences.shape[1] // block * block
    cells = differences[:, :whole].double().unflatten(1, (-1, block)).mean(dim=2)
    if min(cells.shape) < 2:
        raise ValueError(f"expected two seeds and two blocks, got {tuple(cells.shape)}")
    n = min(cells.shape)
    seeds, items = (cells.mean(dim=d).var() / cells.shape[1 - d] for d in (1, 0))
    both = max(seeds + items - cells.var() / cells.numel(), seeds, items)
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * math.sqrt(both)
    mean = float(cells.mean())
    return mean - half, mean + half
