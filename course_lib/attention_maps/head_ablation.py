"""Heads that a model can spare: heads silenced in some order, and in pairs."""

from collections.abc import Callable, Sequence
from itertools import combinations

import torch
from torch import Tensor

Measure = Callable[[Tensor], float]
"""From factors on the output of each head ``(L, H)``, 0 for a silent one, to a number."""


def silencing_curve(measure: Measure, order: Sequence[int], shape: tuple[int, int]) -> list[float]:
    """Silence one head after another: measures with none silent, with the first, with two, ...

    Heads are counted through all layers of ``shape``, which is ``(L, H)``.

    Source: Michel, Levy and Neubig, Are Sixteen Heads Really Better than One? (2019), section 4.
    """
    n_heads = shape[0] * shape[1]
    if len(set(order)) < len(order) or not set(order) <= set(range(n_heads)):
        raise ValueError(f"order is {[*order]}, wanted different heads from 0 to {n_heads - 1}")
    return [measure(_without(order[:n], shape)) for n in range(len(order) + 1)]


def spare_one_by_one(loss: Measure, shape: tuple[int, int]) -> list[int]:
    """Order heads by silencing, again and again, the one that is missed least *then*.

    No choice is ever taken back, so that the first n are not always the n that can best be spared.

    Source: Michel et al. (2019), section 4, with the loss itself for their estimate.
    """
    left = list(range(shape[0] * shape[1]))
    gone: list[int] = []
    while left:
        losses = {head: loss(_without([*gone, head], shape)) for head in left}
        gone.append(min(left, key=lambda head: (losses[head], head)))
        left.remove(gone[-1])
    return gone


def pair_excess(loss: Measure, shape: tuple[int, int]) -> Tensor:
    """By how much two of N = L H heads are missed more together than one by one, ``(N, N)``.

    Rise of the loss without both, less the rise without each; 0 on the diagonal. Above 0 where one
    stands in for the other.
    """
    n_heads = shape[0] * shape[1]
    whole = loss(_without([], shape))
    alone = [loss(_without([head], shape)) - whole for head in range(n_heads)]
    excess = torch.zeros(n_heads, n_heads, dtype=torch.float64)
    for i, j in combinations(range(n_heads), 2):
        both = loss(_without([i, j], shape)) - whole
        excess[i, j] = excess[j, i] = round(both - alone[i] - alone[j], 12)
    return excess


def _without(silent: Sequence[int], shape: tuple[int, int]) -> Tensor:
    mask = torch.ones(shape[0] * shape[1])
    mask[list(silent)] = 0.0
    return mask.view(shape)
