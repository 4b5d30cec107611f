"""Sparse Transformer: causal attention along two patterns whose product reaches everything.

With a stride l near the root of T, each position sees about 2 l others instead of T: the last l
positions and every l-th before; rows and columns, if the sequence is laid out in rows of l.
"""

import torch
from torch import Tensor


def strided_mask(T: int, stride: int, *, device: torch.device | None = None) -> Tensor:
    """The last l positions, ``(T, T)``, and every l-th before them; l is the stride.

    Source: Child et al., Generating Long Sequences with Sparse Transformers (2019), section 4:
    the union of ``A1 = {max(0, i - l), ..., i}`` and ``A2 = {j <= i : (i - j) mod l = 0}``.

    >>> strided_mask(7, stride=2).int()[-1].tolist()
    [1, 0, 1, 0, 1, 1, 1]
    """
    if stride < 1:
        raise ValueError(f"stride is {stride}, wanted at least 1")
    position = torch.arange(T, device=device)
    back = position[:, None] - position
    return (back >= 0) & ((back <= stride) | (back % stride == 0))
