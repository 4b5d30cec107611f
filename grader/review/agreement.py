"""Agreement of two markers about the same answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Fewer pairs say little, and the interval is then too narrow rather than too wide.
FEW = 30
DRAWS = 2000


@dataclass(frozen=True)
class Agreement:
    """Result of comparing two markers."""

    n: int
    more: float = 0.0  # what the second gives more than the first, on average
    kappa: float | None = None  # with quadratic weights; None where both give all the same
    interval: tuple[float, float] | None = None  # of 95 %

    def line(self) -> str:
        """In one line."""
        if not self.n:
            return "no answer has been marked by both"
        line = f"n = {self.n}, second gives {self.more:+.2f} on average, "
        if self.kappa is None or self.interval is None:
            line += "kappa is undefined: each marker gave all of them the same points"
        else:
            low, high = self.interval
            line += f"kappa {self.kappa:.2f} (95 % interval {low:.2f} to {high:.2f})"
        if self.n < FEW:
            line += f"; a small sample, below {FEW}: read the answers that differ, not the number"
        return line


def agreement(pairs: Sequence[tuple[float, float]]) -> Agreement:
    """Compare two markers' points for each answer that both have marked.

    Cohen (1968), Weighted kappa, Psychological Bulletin 70(4). With quadratic weights the
    disagreement expected by chance is the mean squared difference over all pairs of one point of
    each, which is both variances and the squared difference of the means. The interval is a
    percentile bootstrap over answers.
    """
    if not pairs:
        return Agreement(0)
    points = np.array(pairs, dtype=float).T  # (2, n)
    drawn = np.random.default_rng(0).integers(len(pairs), size=(DRAWS, len(pairs)))
    (kappa,), others = _kappa(points[:, None]), _kappa(points[:, drawn])
    more = float((points[1] - points[0]).mean())
    if np.isnan(kappa):
        return Agreement(len(pairs), more)
    low, high = np.nanpercentile(others, (2.5, 97.5))
    return Agreement(len(pairs), more, float(kappa), (float(low), float(high)))


def _kappa(points: np.ndarray) -> np.ndarray:
    """Of points (2, draws, n) the kappas (draws,); nan where nothing varies."""
    first, second = points
    chance = first.var(-1) + second.var(-1) + (first.mean(-1) - second.mean(-1)) ** 2
    seen = ((first - second) ** 2).mean(-1)
    return 1 - np.divide(seen, chance, out=np.full_like(seen, np.nan), where=chance > 0)
