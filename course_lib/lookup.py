"""Attention as a dictionary: how sharp must a query be to find one entry, and no other?

``softmax(c * K q)`` averages over all entries when c is 0 and picks the best match when c grows
without bound. What lies between depends on how near the keys are to each other.
"""

import math

import torch
from torch import Tensor

__all__ = ["lookup_scale", "mixing_angle"]


def lookup_scale(query: Tensor, keys: Tensor, least: float) -> float:
    """Find the scale from which on attention is a lookup.

    It is the smallest ``c >= 0`` at which the best-matching key gets a weight of at least ``least``
    in ``softmax(c * keys @ query)``.

    Args:
        query: ``(D,)``.
        keys: ``(S, D)``.
        least: The weight wanted, between 0 and 1.

    Returns:
        The scale; 0.0 if no sharpening is needed, ``math.inf`` if several keys match equally well
        and would have to share more than there is.

    Raises:
        ValueError: If the shapes don't fit or ``least`` is not between 0 and 1.

    Example:
        A key that fits half as well as the best already asks for a scale of 2 ln 99.

        >>> keys = torch.tensor([[1.0, 0.0], [0.5, 0.0]])
        >>> f"{lookup_scale(torch.tensor([1.0, 0.0]), keys, 0.99):.3f}"
        '9.190'
        >>> lookup_scale(torch.tensor([0.0, 1.0]), keys, 0.99)
        inf
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
    """Find how near two keys may come to each other before a lookup mixes them.

    Both keys have length 1, and the query is the first of them times ``scale``.

    Args:
        scale: Length of the query, positive.
        least: The weight that the first key shall have, between 0 and 1.

    Returns:
        The smallest angle between the keys, in degrees, at which it has that weight; ``math.inf``
        if even opposite keys mix.

    Raises:
        ValueError: If ``scale`` is not positive or ``least`` not between 0 and 1.

    Example:
        Half the angle takes four times the scale, nearly.

        >>> [f"{mixing_angle(scale, 0.99):.2f}" for scale in (10, 40, 160)]
        ['57.28', '27.73', '13.76']
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
