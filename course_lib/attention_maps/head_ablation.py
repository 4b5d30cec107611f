"""Which heads a model can spare: heads silenced in some order, and in pairs."""

from collections.abc import Callable, Sequence
from itertools import combinations

import torch
from torch import Tensor

Measure = Callable[[Tensor], float]
"""From factors on the output of each head ``(L, H)``, 0 for a silent one, to a number."""


def silencing_curve(measure: Measure, order: Sequence[int], shape: tuple[int, int]) -> list[float]:
    """Silence one head after another and measure the model each time.

    Source: Michel, Levy and Neubig, Are Sixteen Heads Really Better than One? (2019), section 4.

    Args:
        measure: What is to be followed, such as a loss.
        order: Heads, counted through all layers from 0, each at most once.
        shape: Numbers of layers L and of heads H.

    Returns:
        Values with none of the heads silent, with the first, with the first two, and so on.

    Raises:
        ValueError: If a head is given twice or is not there.

    Example:
        A model whose heads are worth 1, 2, 3 and 4, each for itself.

        >>> worth = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> silencing_curve(lambda mask: float((worth * mask).sum()), [0, 3], (2, 2))
        [10.0, 9.0, 5.0]
    """
    n_heads = shape[0] * shape[1]
    if len(set(order)) < len(order) or not set(order) <= set(range(n_heads)):
        raise ValueError(f"order is {[*order]}, wanted different heads from 0 to {n_heads - 1}")
    return [measure(_without(order[:n], shape)) for n in range(len(order) + 1)]


def spare_one_by_one(loss: Measure, shape: tuple[int, int]) -> list[int]:
    """Order heads by silencing, again and again, the one that is missed least *then*.

    No choice is ever taken back, so that the first n of them are not always the n that can best be
    spared.

    Source: Michel et al. (2019), section 4, with the loss itself for their estimate.

    Args:
        loss: Of a model with these factors on its heads.
        shape: Numbers of layers L and of heads H.

    Returns:
        All heads, counted through all layers from 0; of equals the first comes first.

    Example:
        Heads 0 and 1 do the same: it takes one of them. Head 2 is worth a little.

        >>> def loss(mask):
        ...     first, second, third = mask[0].tolist()
        ...     return 1.0 - max(first, second) - 0.1 * third
        >>> spare_one_by_one(loss, (1, 3))
        [0, 2, 1]
    """
    left = list(range(shape[0] * shape[1]))
    gone: list[int] = []
    while left:
        losses = {head: loss(_without([*gone, head], shape)) for head in left}
        gone.append(min(left, key=lambda head: (losses[head], head)))
        left.remove(gone[-1])
    return gone


def pair_excess(loss: Measure, shape: tuple[int, int]) -> Tensor:
    """By how much two heads are missed more together than one by one.

    Args:
        loss: Of a model with these factors on its heads.
        shape: Numbers of layers L and of heads H.

    Returns:
        Rise of the loss without both, less what it rises by without each ``(N, N)`` for all
        N = L H heads; symmetric, with 0 on the diagonal. Above 0 where one stands in for the other.

    Example:
        >>> def loss(mask):  # heads 0 and 1 do the same
        ...     first, second, third = mask[0].tolist()
        ...     return 1.0 - max(first, second) - 0.1 * third
        >>> pair_excess(loss, (1, 3)).tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
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
