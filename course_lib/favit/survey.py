"""Reach and costs of factorised attention."""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.favit.attention import split_channels
from course_lib.favit.sampling import sampled


def group_survey(rows: int, columns: int, window: int, dilation: int) -> tuple[int, int, int]:
    """Say how a group of heads samples a map.

    Returned are the side ``S = D (M - 1) + 1`` of an area, the number of areas that tile the map,
    and how many of their samples lie on the map and not on its continuation.

    Example:
        The groups of FaViT's first stage: local, and dilated.

        >>> group_survey(56, 56, window=7, dilation=1), group_survey(56, 56, window=7, dilation=8)
        ((7, 64, 3136), (49, 4, 64))
    """
    if min(rows, columns, window, dilation) < 1:
        raise ValueError(
            f"the map is {rows} x {columns}, window {window}, dilation {dilation}, wanted at least "
            "1 each"
        )
    size = dilation * (window - 1) + 1
    n_windows, n_read = 1, 1
    for side in (rows, columns):
        along = -(-side // size)
        n_windows *= along
        starts = torch.arange(along)[:, None] * size
        n_read *= int((starts + torch.arange(window) * dilation < side).sum())
    return size, n_windows, n_read


def tokens_read(rows: int, columns: int, window: int, dilation: int, *, radius: int = 0) -> Tensor:
    """Tokens that the keys of a group are made of: boolean ``(rows, columns)``.

    All queries share the keys, so these are what *every* token reads in one layer. A
    convolution has looked ``radius`` tokens around each sample; 1 for FaViT's 3 x 3.
    """
    lines = []
    for side in (rows, columns):
        around = sampled(side, window, dilation)[:, None] + torch.arange(-radius, radius + 1)
        line = torch.zeros(side, dtype=torch.bool)
        line[around[(around >= 0) & (around < side)]] = True
        lines.append(line)
    return lines[0][:, None] & lines[1]


@dataclass(frozen=True)
class GroupCost:
    """Multiplications for scores and weighted sums, of the global, local and dilated group."""

    reduced: int
    local: int
    dilated: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.reduced + self.local + self.dilated


def factorised_cost(
    rows: int, columns: int, d_model: int, reduction: int, window: int = 7
) -> GroupCost:
    """Count the multiplications of queries with keys and of weights with values.

    A query of width C takes ``2 C`` for each key. The global group has
    ``floor(rows / r) floor(columns / r)`` keys, the others M * M.

    Source: Qin et al., Factorization Vision Transformer (2023), and its official code.
    """
    widths = split_channels(d_model, reduction)
    if reduction < 1 or min(rows, columns) < reduction:
        raise ValueError(
            f"the map is {rows} x {columns}, wanted at least {reduction} x {reduction} for the "
            "reduction"
        )
    each = 2 * rows * columns
    sampled_costs = [each * window**2 * width for width in widths[1:]]
    return GroupCost(
        each * (rows // reduction) * (columns // reduction) * widths[0],
        sampled_costs[0],
        sampled_costs[1] if len(sampled_costs) > 1 else 0,
    )


def window_cost(rows: int, columns: int, d_model: int, window: int = 7) -> int:
    """The same for windows that tile the map: ``2 * rows * columns * M * M * D``."""
    return 2 * rows * columns * window**2 * d_model
