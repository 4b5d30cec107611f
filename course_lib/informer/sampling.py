"""Keys that a query is judged by: numbers that look drawn, but belong to their place.

Every number is a hash of a seed, a head, a query and a draw. So the same seed gives the same sample
on every device, whatever else is drawn, and the sample of a query does not change when tokens
follow it.
"""

import math

import torch
from torch import Tensor

_BITS = 32
_MASK = (1 << _BITS) - 1


def budget(length: int, factor: int) -> int:
    """Number chosen out of L: ``c ceil(ln L)``, at least 1 and at most L.

    Source: Zhou et al., Informer (2021), section 3, for both the active queries and the keys that
    each query is judged by.
    """
    if factor < 1:
        raise ValueError(f"factor is {factor}, wanted at least 1")
    return min(factor * max(1, math.ceil(math.log(length))), length) if length else 0


def budgets(lengths: Tensor, factor: int) -> Tensor:
    """:func:`budget` of each of many lengths ``(...)``."""
    return (factor * lengths.double().log().ceil().clamp(min=1)).long().minimum(lengths)


def sample_keys(
    visible: Tensor,
    n_keys: int,
    factor: int,
    seed: Tensor,
    *,
    n_heads: int = 1,
    replacement: bool = False,
) -> tuple[Tensor, Tensor]:
    """Choose ``c ceil(ln n)`` of the n keys that a query sees.

    The keys, seen as a ring, are cut into as many stretches as there are draws, beginning anywhere,
    and one is taken from each. So none is taken twice, all are if there are no more than draws,
    and each is as likely as any other. With ``replacement`` any visible key is drawn each time, as
    the published code does: of 96 keys and 25 draws some 22 are different ones then.

    ``visible`` holds the numbers n, ``(..., T)``, where ``...`` is empty or (B, H) with either 1;
    ``seed`` is an integer ``()``. Returned are numbers among the visible keys ``(..., H, T, U)``, U
    as ``n_keys`` allow, and whether they count ``(..., 1, T, U)``.
    """
    draws = budget(n_keys, factor)
    # One number for each query of each head, and one for each of its draws.
    of_query = _hash(seed.to(visible.device))
    for size, axis in ((n_heads, -3), (visible.shape[-1], -2)):
        of_query = _hash(of_query ^ _along(size, axis, visible.device))
    draw = _along(draws, -1, visible.device)
    of_draw = _hash(of_query ^ draw)
    n = visible[..., None] if visible.ndim > 1 else visible[None, :, None]
    wanted = budgets(n, factor)
    if replacement:
        return (of_draw * n) >> _BITS, draw < wanted
    stretches = wanted.clamp(min=1)
    first = draw * n // stretches
    length = (draw + 1) * n // stretches - first
    start = (_hash(~of_query) * n) >> _BITS
    keys = (start + first + ((of_draw * length) >> _BITS)) % n.clamp(min=1)
    return keys, draw < wanted


def _along(size: int, axis: int, device: torch.device) -> Tensor:
    """The numbers 0, 1, ... along one of the last three axes."""
    return torch.arange(size, device=device).view(-1, *[1] * (-1 - axis))


def _hash(x: Tensor) -> Tensor:
    """Mix 32 bits, kept in 64 so that products don't overflow: Wellons' lowbias32."""
    x = x & _MASK
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & _MASK
    x = ((x ^ (x >> 15)) * 0x846CA68B) & _MASK
    return x ^ (x >> 16)
