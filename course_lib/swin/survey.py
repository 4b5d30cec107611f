"""Reach and costs of a layer with windows."""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.swin.windows import Layout, window_layout


def grid_connections(layout: Layout, *, masked: bool = True) -> Tensor:
    """Attention on the whole grid, however it is cut: boolean ``(N, N)``.

    Along an axis with windows of M tokens that are moved by s, token r is in window
    ``floor((r - s) / M)``: the mask splits each window that holds both ends of the grid, so windows
    are what they would be if the ones at the edge were cut off. Without the mask the number is
    taken around the grid, and the first tokens come into the last window. Padding is never attended
    to.
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
    """Multiplications of one block for one image; windows change its ``pairs`` alone."""

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
    """Count the multiplications of a Transformer block, without norms, softmax and additions.

    Every token takes ``4 D^2`` for its projections and ``2 r D^2`` for the feed-forward sub-layer,
    whatever it attends to. A pair of tokens takes ``2 D``: there are ``N^2`` pairs, or ``N M^2`` in
    windows. A grid that windows don't tile is padded before the projections and after the norm, as
    in :class:`~course_lib.swin.SwinBlock`; the feed-forward sub-layer sees no padding.

    Source: Liu et al., Swin Transformer (2021), equations 1 and 2, for the first two parts.
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
