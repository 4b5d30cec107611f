"""What windows change about a layer: who may hear of whom, and what it costs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.swin.windows import Layout, window_layout


def grid_connections(layout: Layout, *, masked: bool = True) -> Tensor:
    """Who attends to whom on the whole grid, however it is cut.

    Along an axis with windows of M tokens that are moved by s, token r is in window
    ``floor((r - s) / M)``: the mask splits each window that holds both ends of the grid, so windows
    are what they would be if the ones at the edge were cut off. Without the mask the number is
    taken around the grid, and the first tokens come into the last window.

    Args:
        layout: How the grid is cut.
        masked: Whether the mask is applied; padding is never attended to.

    Returns:
        Boolean ``(N, N)`` with ``N = rows * columns``, row after row; ``True`` = attends.

    Example:
        Five tokens in windows of 2 that are moved by 1. Without the mask the padding's window
        brings the first token to the last one.

        >>> layout = Layout(grid=(1, 5), window=(1, 2), shift=(0, 1))
        >>> grid_connections(layout)[0].int().tolist()
        [1, 0, 0, 0, 0]
        >>> layout = Layout(grid=(1, 4), window=(1, 2), shift=(0, 1))
        >>> grid_connections(layout, masked=False)[0].int().tolist()
        [1, 0, 0, 1]
    """
    together = []
    for side, length, window, shift in zip(
        layout.grid, layout.padded, layout.window, layout.shift, strict=True
    ):
        place = torch.arange(side) - shift
        number = (place if masked else place % length) // window
        together.append(number[:, None] == number)
    rows, columns = together
    return (rows[:, None, :, None] & columns[None, :, None, :]).flatten(2).flatten(0, 1)


@dataclass(frozen=True)
class BlockCost:
    """Multiplications of one block for one image, part by part.

    Attributes:
        projections: Queries, keys, values and the output.
        pairs: Scores and weighted sums: the only part that windows change.
        feed_forward: Its two maps.

    Example:
        >>> cost = BlockCost(projections=4, pairs=1, feed_forward=8)
        >>> cost.total, round(cost.pairs / cost.total, 2)
        (13, 0.08)
    """

    projections: int
    pairs: int
    feed_forward: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.projections + self.pairs + self.feed_forward


def block_cost(
    rows: int, columns: int, d_model: int, window: int | None = None, *, mlp_ratio: int = 4
) -> BlockCost:
    """Count the multiplications of a Transformer block on a grid of tokens.

    Every token takes ``4 D^2`` for its projections and ``2 r D^2`` for the feed-forward part,
    whatever it attends to. A pair of tokens takes ``2 D``: there are ``N^2`` pairs, or ``N M^2`` in
    windows. A grid that windows don't tile is padded before the projections and after the norm, as
    in :class:`~course_lib.swin.SwinBlock`; the feed-forward part sees no padding.

    Source: Liu et al., Swin Transformer (2021), equations 1 and 2, for the first two parts.

    Args:
        rows: Height of the grid.
        columns: Width of the grid.
        d_model: Width D.
        window: Side M of the windows; attention over the whole grid if not given.
        mlp_ratio: Hidden width of the feed-forward part, in units of D.

    Returns:
        The counts, without norms, softmax and additions.

    Raises:
        ValueError: If a size is not positive.

    Example:
        Three quarters of the pairs are saved, and three in a hundred of the multiplications.

        >>> whole, cut = block_cost(14, 14, 768), block_cost(14, 14, 768, window=7)
        >>> 1 - cut.pairs / whole.pairs, round(1 - cut.total / whole.total, 3)
        (0.75, 0.031)
    """
    if min(rows, columns, d_model, mlp_ratio) < 1:
        raise ValueError(
            f"sizes are {rows} x {columns}, width {d_model} and ratio {mlp_ratio}, wanted at "
            "least 1 each"
        )
    side = max(rows, columns) if window is None else window
    layout = window_layout(rows, columns, side, 0)
    N = layout.padded[0] * layout.padded[1]
    return BlockCost(
        projections=4 * N * d_model**2,
        pairs=2 * N * layout.window[0] * layout.window[1] * d_model,
        feed_forward=2 * mlp_ratio * rows * columns * d_model**2,
    )
