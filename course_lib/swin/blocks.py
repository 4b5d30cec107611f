"""Components of a Swin stage: attention inside windows, the block around it, and merging."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import (
    check_dropout,
    check_heads,
    fused_attention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from course_lib.layers import FeedForward
from course_lib.masks import check_mask
from course_lib.positions.tables import keep_in_step
from course_lib.positions.window import WindowBias
from course_lib.swin.windows import (
    Layout,
    Pair,
    cyclic_shift,
    pad_grid,
    window_layout,
    window_mask,
    window_partition,
    window_reverse,
)


class WindowAttention(nn.Module):
    """Multi-head attention inside each window, with a learned bias for each offset.

    Source: Liu et al., Swin Transformer (2021), equation 4.

    Example:
        The bias table adds ``(2 * 7 - 1)**2`` numbers per head to the four projections.

        >>> attend = WindowAttention(96, n_heads=3, window=(7, 7))
        >>> sum(p.numel() for p in attend.parameters()) - 4 * (96 * 96 + 96)
        507
        >>> attend(torch.zeros(8, 49, 96)).shape
        torch.Size([8, 49, 96])
    """

    def __init__(
        self, d_model: int, n_heads: int, window: Pair, *, dropout: float = 0.0, fused: bool = True
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        check_dropout(dropout)
        self.d_model, self.n_heads = d_model, n_heads
        self.dropout = dropout
        self.fused = fused
        # One product for all three: windows are small, and so are the matrices.
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.bias = WindowBias(n_heads, *window)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        window: Pair | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend inside each window, ``(B * nW, N, D)``, those of one image side by side.

        The mask is ``(nW, N, N)``; ``window``: height and width of the windows at hand.
        """
        rows, columns = window or (self.bias.rows, self.bias.columns)
        N = rows * columns
        if x.ndim != 3 or x.shape[1:] != (N, self.d_model):
            raise ValueError(
                f"x has shape {tuple(x.shape)}, wanted (B * nW, {N}, {self.d_model}) for windows "
                f"of {rows} x {columns}"
            )
        bias = self.bias(rows, columns)[None]
        if mask is not None:
            bias = self._masked(bias, mask, x.shape[0])
        q, k, v = (split_heads(part, self.n_heads) for part in self.qkv_proj(x).chunk(3, dim=-1))
        dropout = self.dropout if self.training else 0.0
        if self.fused and not return_weights:
            return self.out_proj(merge_heads(fused_attention(q, k, v, bias=bias, dropout=dropout)))
        out, weights = scaled_dot_product_attention(q, k, v, bias=bias)
        if dropout:
            out = F.dropout(weights, dropout) @ v
        out = self.out_proj(merge_heads(out))
        return (out, weights) if return_weights else out

    def _masked(self, bias: Tensor, mask: Tensor, n_all: int) -> Tensor:
        """The bias ``(1, H, N, N)`` with ``-inf`` where the mask forbids, for all windows."""
        n_windows, N = len(mask), bias.shape[-1]
        if mask.ndim != 3 or n_windows == 0 or n_all % n_windows:
            raise ValueError(
                f"mask has shape {tuple(mask.shape)}, wanted (nW, {N}, {N}) with nW a divisor of "
                f"the {n_all} windows"
            )
        check_mask(mask, (n_windows, N, N), bias.device)
        keep = mask[:, None].expand(n_all // n_windows, -1, -1, -1, -1)
        return torch.where(keep, bias, -math.inf).flatten(0, 1)


class SwinBlock(nn.Module):
    """Attention inside windows, then feed-forward, each behind a norm and beside a residual path.

    With ``shift=0`` the windows stand still (W-MSA); with half a window's side they are moved
    (SW-MSA), so that a pair of blocks connects neighbouring windows. Grids of any size are padded
    after the norm; padding is masked, so that it has no influence.

    Source: Liu et al., Swin Transformer (2021), equation 3.

    Args:
        grid: Height and width of the grid that the block is meant for, whose mask it keeps; others
            work too.
        window, shift: Side of a window, and by how much the windows are moved, which is less.
        drop_path: Probability of leaving out a part for an image while training.
    """

    mask: Tensor | None

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        grid: Pair,
        window: int,
        shift: int = 0,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.window, self.shift = window, shift
        self.layout = window_layout(*grid, window, shift)
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = WindowAttention(
            d_model, n_heads, (window, window), dropout=dropout, fused=fused
        )
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, activation="gelu", dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path)
        mask = window_mask(self.layout) if self.layout.masked else None
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor, *, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Transform ``(B, rows, columns, D)``; weights ``(B, nW, H, N, N)``, before dropout."""
        if x.ndim != 4 or x.shape[-1] != self.attention.d_model:
            raise ValueError(
                f"x has shape {tuple(x.shape)}, wanted (B, rows, columns, {self.attention.d_model})"
            )
        layout, mask = self._lay_out(x)
        rows, columns = layout.grid
        moved = cyclic_shift(pad_grid(self.attention_norm(x), layout.padded), layout.shift)
        windows = window_partition(moved, layout.window)
        out = self.attention(windows, mask, window=layout.window, return_weights=return_weights)
        weights = None
        if return_weights:
            out, weights = out
            weights = weights.unflatten(0, (-1, layout.n_windows))
        moved = window_reverse(out, layout.window, *layout.padded)
        back = cyclic_shift(moved, (-layout.shift[0], -layout.shift[1]))[:, :rows, :columns]
        x = x + self.drop_path(self.dropout(back))
        out = self.feed_forward(self.feed_forward_norm(x))
        x = x + self.drop_path(self.dropout(out))
        return x if weights is None else (x, weights)

    def _lay_out(self, x: Tensor) -> tuple[Layout, Tensor | None]:
        """The layout for a grid and its mask, which is made anew if the grid is not the usual."""
        rows, columns = x.shape[1:3]
        if (rows, columns) == self.layout.grid:
            return self.layout, self.mask
        layout = window_layout(rows, columns, self.window, self.shift)
        return layout, window_mask(layout).to(x.device) if layout.masked else None


keep_in_step(SwinBlock, lambda block: {"mask": window_mask(block.layout)})


class PatchMerging(nn.Module):
    """Make one token of each 2 x 2, twice as wide.

    The four are put side by side in the order (0, 0), (1, 0), (0, 1), (1, 1) of row and column:
    down first. Trained weights expect this order. A grid of odd size gets zeros below or to the
    right.

    Source: Liu et al., Swin Transformer (2021), section 3.1.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.norm = nn.LayerNorm(4 * d_model)
        self.proj = nn.Linear(4 * d_model, 2 * d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Merge ``(B, rows, columns, D)`` to ``(B, rows / 2, columns / 2, 2 D)``, rounded up."""
        if x.ndim != 4 or x.shape[-1] != self.d_model:
            raise ValueError(
                f"x has shape {tuple(x.shape)}, wanted (B, rows, columns, {self.d_model})"
            )
        rows, columns = (-(-side // 2) for side in x.shape[1:3])
        x = pad_grid(x, (2 * rows, 2 * columns))
        squares = x.unflatten(2, (columns, 2)).unflatten(1, (rows, 2))
        return self.proj(self.norm(squares.permute(0, 1, 3, 4, 2, 5).flatten(3)))


def drop_path(x: Tensor, p: float, *, generator: torch.Generator | None = None) -> Tensor:
    """Set whole examples of ``(B, ...)`` to 0 with probability p and the rest to ``x / (1 - p)``.

    So the mean stays. On a residual path this leaves out a block for some images.

    Source: Huang et al., Deep Networks with Stochastic Depth (2016).

    Example:
        >>> drop_path(torch.ones(6), 0.5, generator=torch.Generator().manual_seed(0))
        tensor([0., 2., 0., 0., 0., 2.])
    """
    if not 0 <= p < 1:
        raise ValueError(f"p is {p}, wanted a probability in [0, 1)")
    if x.ndim < 1:
        raise ValueError("x is a single number, wanted a batch (B, ...)")
    if p == 0:
        return x
    keep = torch.rand(x.shape[0], generator=generator, device=x.device) >= p
    return x * (keep / (1 - p)).to(x.dtype).view(-1, *[1] * (x.ndim - 1))


def drop_path_rates(largest: float, n_layers: int) -> list[float]:
    """Probabilities in equal steps from 0 in the first block to the largest in the last."""
    return [largest * i / max(n_layers - 1, 1) for i in range(n_layers)]


class DropPath(nn.Module):
    """:func:`drop_path` while training, nothing else in evaluation."""

    def __init__(self, p: float, *, generator: torch.Generator | None = None) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"p is {p}, wanted a probability in [0, 1)")
        self.p = p
        self.generator = generator

    def forward(self, x: Tensor) -> Tensor:
        """Drop examples of ``(B, ...)`` while training."""
        return drop_path(x, self.p, generator=self.generator) if self.training else x
