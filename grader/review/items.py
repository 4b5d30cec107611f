"""Statistics of items: shares, what they tell apart, and how sure either is.

Intervals are of 95 %: of a share Wilson's, of the difference of two Newcombe's (1998, Statistics in
Medicine 17, 873-890, method 10), else bootstraps over students.
"""

import math

import numpy as np

from grader.base.statistics import wilson

Span = tuple[float, float]

DRAWS = 2000
# Of an upper and a lower group, the share of the class in each: Kelley (1939).
GROUP = 0.27
# Where more of the draws than this have no variance, they say nothing about the others' spread.
UNDEFINED = 0.1
_TINY = 1e-9


def newcombe(now: tuple[int, int], then: tuple[int, int]) -> Span:
    """The interval of the difference of two shares, each given as a part and of how many."""
    (p, q), (a, b) = (part / n for part, n in (now, then)), (wilson(*now), wilson(*then))
    return p - q - math.hypot(p - a[0], b[1] - q), p - q + math.hypot(a[1] - p, q - b[0])


def draws(n: int) -> np.ndarray:
    """Measure how often each of ``n`` students is in each draw of a bootstrap, ``(DRAWS, n)``."""
    return np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=DRAWS)


def mean(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Means of columns ``(n, k)`` under weights ``(b, n)``, of what is a number: ``(b, k)``."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return (weights @ np.where(there, values, 0.0)) / (weights @ there)


def correlation(held: np.ndarray, rest: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Correlations of columns ``(n, k)`` under weights ``(b, n)``: ``(b, k)``, or ``nan``."""
    rest = np.where(np.isfinite(held), rest, np.nan)
    x, y = (v - mean(v, np.ones((1, len(v)))) for v in (held, rest))
    mx, my, xy, xx, yy = (mean(v, weights) for v in (x, y, x * y, x * x, y * y))
    spread = (xx - mx * mx) * (yy - my * my)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > _TINY, (xy - mx * my) / np.sqrt(spread), np.nan)


def spans(drawn: np.ndarray) -> list[Span | None]:
    """The percentile interval of every column ``(b, k)``; None where too few draws have a value."""
    return [
        None
        if np.isnan(column).mean() > UNDEFINED
        else (float(np.nanpercentile(column, 2.5)), float(np.nanpercentile(column, 97.5)))
        for column in drawn.T
    ]


def reached_by_upper(held: np.ndarray, rest: np.ndarray) -> float:
    """The share of the upper group that reach an item; who is tied at its border counts in part."""
    there = np.isfinite(held)
    held, rest = held[there], rest[there].round(6)
    above, tied = (rest[None] > rest[:, None]).sum(1), (rest[None] == rest[:, None]).sum(1)
    weight = np.clip((GROUP * len(rest) - above) / tied, 0.0, 1.0)
    return float(weight @ held / weight.sum())
