"""The interval of a share."""

import math
from statistics import NormalDist


def wilson(part: int, n: int) -> tuple[float, float]:
    """A 95 % interval of a share (Wilson, 1927, JASA 22, 209-212)."""
    z = NormalDist().inv_cdf(0.975)
    p, z = part / n, z * z / n
    half = math.sqrt(p * (1 - p) * z + z * z / 4)
    low, high = ((p + z / 2 + side * half) / (1 + z) for side in (-1, 1))
    return max(0.0, low), min(1.0, high)
