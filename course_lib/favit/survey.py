"""What factorised attention reads, what it can hear of, and what it multiplies."""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.favit.attention import split_channels
from course_lib.favit.sampling import sampled


def group_survey(rows: int, columns: int, window: int, dilation: int) -> tuple[int, int, int]:
    """Say how a group of heads samples a map.

    Args:
        rows: Height of the map.
        columns: Width of the map.
        window: Samples M along a side of a window.
        dilation: Distance D between them.

    Returns:
        The side ``S = D (M - 1) + 1`` of an area, the number of areas that tile the map, and how
        many of their samples lie on the map and not on its continuation.

    Raises:
        ValueError: If a size is not positive.

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
    """Which tokens the keys of a group are made of.

    All queries share the keys, so that this is whom *every* token hears of in one layer.

    Args:
        rows: Height of the map.
        columns: Width of the map.
        window: Samples M along a side of a window.
        dilation: Distance D between them.
        radius: How far a convolution has looked around each sample; 1 for FaViT's 3 x 3.

    Returns:
        Boolean ``(rows, columns)``.

    Example:
        One area of 5 x 5, and 3 x 3 samples from it.

        >>> tokens_read(5, 5, window=3, dilation=2).int()
        tensor([[1, 0, 1, 0, 1],
                [0, 0, 0, 0, 0],
                [1, 0, 1, 0, 1],
                [0, 0, 0, 0, 0],
                [1, 0, 1, 0, 1]], dtype=torch.int32)

        An area of 49 x 49, as FaViT's are: few of its tokens are read, even with their neighbours.

        >>> for radius in (0, 1):
        ...     print(f"{tokens_read(49, 49, 7, 8, radius=radius).float().mean():.2f}")
        0.02
        0.15
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
    """Multiplications for scores and weighted sums, group by group.

    Attributes:
        reduced: The global group's, whose keys are a reduced map.
        local: The local group's, with M * M keys.
        dilated: The dilated group's, with M * M keys; 0 if there is no such group.

    Example:
        >>> GroupCost(reduced=2, local=7, dilated=7).total
        16
    """

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

    Args:
        rows: Height of the map.
        columns: Width of the map.
        d_model: Width D, shared out by :func:`split_channels`.
        reduction: Reduction r of the global group.
        window: Samples M along a side of a window.

    Returns:
        The counts.

    Raises:
        ValueError: If the map is smaller than the reduction or D cannot be shared out.

    Example:
        On the map that FaViT was made for, as much as windows of 7 x 7 take.

        >>> factorised_cost(56, 56, 32, reduction=8).total == window_cost(56, 56, 32)
        True
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
    """Count the same for attention within windows that tile the map.

    Args:
        rows: Height of the map, a multiple of M.
        columns: Width of the map, a multiple of M.
        d_model: Width D.
        window: Side M of a window.

    Returns:
        ``2 * rows * columns * M * M * D``.

    Example:
        >>> window_cost(14, 14, 1, window=7) == 2 * 196 * 49
        True
    """
    return 2 * rows * columns * window**2 * d_model
