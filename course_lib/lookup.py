"""Attention as a dictionary: how sharp must a query be to find one entry, and no other?

``softmax(c * K q)`` averages over all entries when c is 0 and picks the best match when c grows
without bound. What lies between depends on how near the keys are to each other.
"""

import math

import torch
from torch import Tensor


def lookup_scale(query: Tensor, keys: Tensor, least: float) -> float:
    """Find the scale from which on attention is a lookup.

    It is the smallest ``c >= 0`` at which the best of the keys ``(S, D)`` gets a weight of at least
    ``least`` in ``softmax(c * keys @ query)``; infinite if too many match equally well.

    Example:
        A key that fits half as well as the best already asks for a scale of 2 ln 99.

        >>> keys = torch.tensor([[1.0, 0.0], [0.5, 0.0]])
        >>> f"{lookup_scale(torch.tensor([1.0, 0.0]), keys, 0.99):.3f}"
        '9.190'
    """
    if keys.ndim != 2 or not len(keys) or query.shape != keys.shape[1:]:
        raise ValueError(
            f"query has shape {tuple(query.shape)} and keys {tuple(keys.shape)}, "
            "wanted (D,) and (S, D)"
        )
    _check_weight(least)
    scores = keys.double() @ query.double()
    gaps = scores.max() - scores
    losers = gaps[gaps > 0]
    winners = len(gaps) - len(losers)
    if least * len(gaps) <= 1:
        return 0.0
    if least * winners >= 1:
        return math.inf
    # A winner's weight is 1 / (winners + sum of exp(-c * gap)); the sum may take up this room.
    # It is largest if all losers are as near as the nearest one, which bounds c from above.
    room = 1 / least - winners
    low, high = 0.0, math.log(len(losers) / room) / float(losers.min())
    while low < (middle := (low + high) / 2) < high:
        if torch.exp(-middle * losers).sum() > room:
            low = middle
        else:
            high = middle
    return high


def mixing_angle(scale: float, least: float) -> float:
    """Degrees by which two keys of length 1 must differ for a lookup to tell them apart.

    The query is the first of them times ``scale``; the angle is the smallest at which this key has
    the weight ``least``, infinite if even opposite keys mix.
    """
    if not scale > 0:
        raise ValueError(f"scale is {scale}, wanted a positive number")
    _check_weight(least)
    if least <= 0.5:
        return 0.0
    # The weight is sigmoid(scale * (1 - cos)). By 1 - cos = 2 sin^2 of half the angle, which is
    # exact for small angles where 1 - cos is not.
    sine_squared = math.log(least / (1 - least)) / (2 * scale)
    return math.degrees(2 * math.asin(math.sqrt(sine_squared))) if sine_squared <= 1 else math.inf


def _check_weight(least: float) -> None:
    if not 0 < least < 1:
        raise ValueError(f"least is {least}, wanted a weight between 0 and 1")
