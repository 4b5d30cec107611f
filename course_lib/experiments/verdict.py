"""Does a claim hold? The rule, fixed before the runs that it judges."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist
from typing import Literal

# For one function, and not scipy: nothing else here needs that, and torch brings mpmath already.
import mpmath  # type: ignore[import-untyped]
from torch import Tensor

CONFIDENCE = 0.95

Outcome = Literal["holds", "fails", "no difference", "undecided", "not testable"]
FACT = "a fact: nothing in it is drawn by chance"


@dataclass(frozen=True)
class Verdict:
    """What paired runs say about a claimed difference.

    Args:
        outcome: What pairs of one size say: ``"holds"``, ``"fails"``, ``"no difference"`` (none
            larger than the margin), ``"undecided"`` or ``"not testable"`` (at this size).
        mean: Mean of the differences.
        low: Lower end of the 95 % interval.
        high: Upper end.
        n: Number of pairs; 0 for a fact without chance.
        p: Two-sided, of the paired t-test; 1 for a fact and for a single pair.
        margin: The largest difference that counts as none, fixed before the runs; none if any
            difference counts.
        remarks: What has to be known beside the outcome.
    """

    outcome: Outcome
    mean: float
    low: float
    high: float
    n: int
    p: float
    margin: float | None = None
    remarks: tuple[str, ...] = ()

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
        """Where one more pair of the same arms would lie in 95 of 100 cases.

        What a document prints is one such pair, and no mean.
        """
        half = self.half_width * math.sqrt(self.n + 1)
        return self.mean - half, self.mean + half

    @property
    def half_width(self) -> float:
        """Half the width of the interval.

        No effect size: a true difference as large as this is told from 0 in about half of all such
        experiments.
        """
        return (self.high - self.low) / 2


@cache
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


def p_value(t: float, degrees: int) -> float:
    """How often a t at least as far from 0 comes about by chance.

    Args:
        t: Of a t-test.
        degrees: Degrees of freedom, at least 1.

    Example:
        >>> round(p_value(2.776, 4), 3)
        0.05
    """
    x = degrees / (degrees + t * t)
    return float(mpmath.betainc(degrees / 2, 0.5, 0, x, regularized=True))


def adjust(p_values: Sequence[float]) -> list[float]:
    """p-values of one family of questions, adjusted by Benjamini and Hochberg (1995).

    Calling a claim decided where its adjusted value is below 0.05 keeps the expected share of wrong
    ones among them below 5 %.

    Args:
        p_values: One for each question.

    Example:
        >>> adjust([0.01, 0.04, 0.03])
        [0.03, 0.04, 0.04]
    """
    adjusted, least = [0.0] * len(p_values), 1.0
    falling = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    for rank, i in zip(range(len(p_values), 0, -1), falling, strict=True):
        least = min(least, p_values[i] * len(p_values) / rank)
        adjusted[i] = least
    return adjusted


def runs_needed(spread: float, difference: float, power: float = 0.8) -> int:
    """Pairs of runs with which a difference is told from 0 as often as wanted.

    Args:
        spread: Standard deviation of the differences of pairs.
        difference: The true one, not 0.
        power: How often its interval shall exclude 0, at least 0.5.

    Example:
        A difference as large as its spread; with five pairs it would be found in two of five cases.

        >>> runs_needed(spread=1.0, difference=1.0)
        10
    """

    def enough(degrees: int) -> float:
        wanted = t_quantile((1 + CONFIDENCE) / 2, degrees) + t_quantile(power, degrees)
        return (wanted * spread / difference) ** 2

    # No fewer than with a spread that is known; and beyond 1,000, no more.
    known = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) + NormalDist().inv_cdf(power)
    n = max(2, math.ceil((known * spread / difference) ** 2))
    while n < 1_000 and n < enough(n - 1):
        n += 1
    return n


def verdict(
    differences: Sequence[float], claimed_sign: int, margin: float | None = None
) -> Verdict:
    """Judge a claim by a paired t-interval.

    Two arms run with the same seeds; each seed gives one difference. The claim *holds* if the
    95 % interval of the mean difference excludes 0 on the claimed side, it *fails* if it
    excludes 0 on the other. Where the interval holds 0 and lies within the margin, there is *no
    difference* larger than that; else the claim is *undecided*. One pair alone never decides. Where
    all pairs are equal, the task can't tell the arms apart: *not testable*.

    Args:
        differences: One difference for each seed, in the order "what the claim calls larger"
            minus the other if ``claimed_sign`` is 1.
        claimed_sign: 1 if the claim says that the differences are positive, -1 if negative.
        margin: The largest difference that counts as none, fixed before the runs.

    Raises:
        ValueError: If the sign is neither, the margin is not above 0, or a difference is missing or
            not finite.

    Example:
        >>> print(verdict([0.30, 0.34, 0.29, 0.33, 0.31], claimed_sign=1))
        holds: +0.314 [+0.288, +0.34], 5 pairs
        >>> print(verdict([0.02, -0.01, 0.03], claimed_sign=1))
        undecided: +0.0133 [-0.0384, +0.065], 3 pairs
        >>> print(verdict([0.02, -0.01, 0.03], claimed_sign=1, margin=0.1))
        no difference larger than 0.1: +0.0133 [-0.0384, +0.065], 3 pairs
    """
    if claimed_sign not in (1, -1):
        raise ValueError(f"claimed_sign is {claimed_sign}, wanted 1 or -1")
    if margin is not None and not margin > 0:
        raise ValueError(f"margin is {margin}, wanted more than 0, or None")
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
    """Judge what is the same for every seed, such as a number of parameters: no pairs, no test.

    Example:
        >>> print(fact(3.0, claimed_sign=1))
        holds: +3; a fact: nothing in it is drawn by chance
    """
    outcome: Outcome = "holds" if difference * claimed_sign > 0 else "fails"
    return Verdict(outcome, difference, difference, difference, 0, 1.0, remarks=(FACT,))


def two_way_interval(differences: Tensor, block: int = 1) -> tuple[float, float]:
    """A 95 % interval for a mean over seeds and over test items, both taken as drawn.

    The variances of the means of seeds and of items are added, less that of single cells, which is
    in both (Cameron, Gelbach and Miller, 2011); neighbours that depend on each other are taken
    together first.

    Args:
        differences: Of two arms, ``(S, N)`` for S seeds and N items, at least two of each.
        block: Neighbouring items that count as one, such as the windows of a day.

    Returns:
        Its lower and its upper end.

    Raises:
        ValueError: If there are fewer than two seeds or blocks.

    Example:
        Seeds agree, and still another test set might say something else.

        >>> import torch
        >>> low, high = two_way_interval(torch.tensor([[1.0, 0.0, 0.0, 1.0]] * 3))
        >>> round(low, 2), round(high, 2)
        (-0.74, 1.74)
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
