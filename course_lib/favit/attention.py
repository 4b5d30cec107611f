"""Factorised self-attention (FaSA): head groups that look at the map at different grain."""

import torch
from torch import Tensor, nn

from course_lib.attention import (
    fused_attention,
    merge_heads,
    scaled_dot_product_attention,
    split_heads,
)
from course_lib.favit.fusion import CrossWindow, Operator
from course_lib.favit.sampling import dilated_windows, pooled_windows, unfold_windows

# Shares of the channels: global, local, and dilated where there is a dilation.
_THREE, _TWO = (2, 7, 7), (1, 7)


def split_channels(d_model: int, reduction: int) -> tuple[int, ...]:
    """Widths of the groups, which add up to D.

    Three groups, global, local and dilated, get 2, 7 and 7 sixteenths; with nothing to reduce the
    dilated group would equal the local one, and two groups get 1 and 7 eighths.

    Example:
        >>> split_channels(32, reduction=8), split_channels(256, reduction=1)
        ((4, 14, 14), (32, 224))
    """
    shares = _TWO if reduction == 1 else _THREE
    if d_model < 1 or d_model % sum(shares):
        raise ValueError(f"d_model is {d_model}, wanted a multiple of {sum(shares)}")
    return tuple(d_model // sum(shares) * share for share in shares)


class FactorisedAttention(nn.Module):
    """Every token attends to few keys, which stand for the whole map at different grain.

    - The **global** group, one head, has keys from a convolution of kernel and stride r; rows and
      columns that don't fill a kernel are not read. Its cost grows with the square of the map.
    - The **local** group cuts the map into areas of M x M tokens, the **dilated** group into larger
      ones of side ``S = r (M - 1) + 1``, with M x M samples at distance r. What stands at a place
      is fused over all areas (:class:`CrossWindow`), so that there are M x M keys, whatever the
      size of the map. The samples come from a depthwise-separable 3 x 3 convolution.

    In each group a depthwise 3 x 3 convolution is added to the values, and the outputs of all
    groups are projected together. Where areas don't fill the map it is continued by reflection,
    again and again where the map is small.

    Source: Qin et al., Factorization Vision Transformer (2023), and its official code. There, the
    channels of the local and the dilated group's queries are interleaved head by head; ours stand
    side by side, a permutation of the projection's rows.

    Args:
        n_heads: Number of heads H of the local and of the dilated group.
        reduction: Reduction r of the global group and dilation of the dilated one.
        window: Samples M along a side of a window.
        operator, pool_channels, grid: How windows are fused, see :class:`CrossWindow`; operators
            whose weights depend on the height and width of the map want the grid.

    Example:
        On a map of 56 x 56, each query looks at 49 reduced tokens and twice at 49 fused ones.

        >>> attend = FactorisedAttention(32, n_heads=1, reduction=8)
        >>> _, weights = attend(torch.randn(1, 56, 56, 32), return_weights=True)
        >>> [tuple(w.shape) for w in weights]
        [(1, 1, 3136, 49), (1, 1, 3136, 49), (1, 1, 3136, 49)]
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        reduction: int,
        window: int = 7,
        operator: Operator = "mean",
        pool_channels: bool = False,
        grid: tuple[int, int] | None = None,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        if reduction < 1 or window < 1:
            raise ValueError(
                f"reduction is {reduction} and window {window}, wanted at least 1 each"
            )
        self.d_model, self.n_heads, self.reduction = d_model, n_heads, reduction
        self.widths = split_channels(d_model, reduction)
        if n_heads < 1 or any(width % n_heads for width in self.widths[1:]):
            raise ValueError(f"n_heads is {n_heads}, wanted a divisor of {self.widths[1:]}")
        self.fused = fused
        self.q_proj = nn.Linear(d_model, d_model)
        self.reduced = _Reduced(self.widths[0], reduction)
        rest = d_model - self.widths[0]
        self.depthwise = nn.Conv2d(rest, rest, 3, padding=1, groups=rest)
        self.pointwise = nn.Conv2d(rest, rest, 1)
        self.sampled = nn.ModuleList(
            _Sampled(width, n_heads, window, dilation, operator, pool_channels, grid)
            for width, dilation in zip(self.widths[1:], (1, reduction), strict=False)
        )
        self.out_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, *, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, tuple[Tensor, ...]]:
        """Attend in all groups of a grid of tokens ``(B, rows, columns, D)``.

        The weights of each group are ``(B, H, N, S)``: one head and the reduced map as keys, then H
        heads and M * M keys.
        """
        if x.ndim != 4 or x.shape[-1] != self.d_model:
            raise ValueError(
                f"x has shape {tuple(x.shape)}, wanted (B, rows, columns, {self.d_model})"
            )
        rows, columns = x.shape[1:3]
        if min(rows, columns) < self.reduction:
            raise ValueError(
                f"the grid is {rows} x {columns}, wanted at least {self.reduction} x "
                f"{self.reduction} for the reduction"
            )
        fast = self.fused and not return_weights
        queries = self.q_proj(x).flatten(1, 2).split(self.widths, dim=-1)
        grid = x.permute(0, 3, 1, 2)
        samples = self.pointwise(self.depthwise(grid[:, self.widths[0] :]))
        maps = (grid[:, : self.widths[0]], *samples.split(self.widths[1:], dim=1))
        outs, weights = [], []
        for group, q, part in zip((self.reduced, *self.sampled), queries, maps, strict=True):
            q = split_heads(q, group.n_heads)
            k, v = group(q, part, fast)
            if fast:
                out = fused_attention(q, k, v)
            else:
                out, group_weights = scaled_dot_product_attention(q, k, v)
                weights.append(group_weights)
            outs.append(merge_heads(out))
        out = self.dropout(self.out_proj(torch.cat(outs, dim=-1))).unflatten(1, (rows, columns))
        return (out, tuple(weights)) if return_weights else out


class _Reduced(nn.Module):
    """Keys and values of the global group: a smaller map."""

    n_heads = 1

    def __init__(self, width: int, reduction: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(width, width, reduction, stride=reduction)
        self.norm = nn.LayerNorm(width)
        self.kv_proj = nn.Linear(width, 2 * width)
        self.near = nn.Conv2d(width, width, 3, padding=1, groups=width)

    def forward(self, q: Tensor, x: Tensor, fast: bool) -> tuple[Tensor, Tensor]:
        """From the queries ``(B, 1, N, C)`` and the map ``(B, C, rows, columns)``."""
        reduced = self.reduce(x)
        sides = reduced.shape[2:]
        k, v = self.kv_proj(self.norm(reduced.flatten(2).transpose(1, 2))).chunk(2, dim=-1)
        v = v + self.near(v.transpose(1, 2).unflatten(2, sides)).flatten(2).transpose(1, 2)
        return k[:, None], v[:, None]


class _Sampled(nn.Module):
    """Keys and values of the local or the dilated group: one window fused of all."""

    def __init__(
        self,
        width: int,
        n_heads: int,
        window: int,
        dilation: int,
        operator: Operator,
        pool_channels: bool,
        grid: tuple[int, int] | None,
    ) -> None:
        super().__init__()
        self.n_heads, self.window, self.dilation = n_heads, window, dilation
        d_head = width // n_heads
        n_windows = None
        if grid is not None:
            size = dilation * (window - 1) + 1
            n_windows = -(-grid[0] // size) * -(-grid[1] // size)
        self.fuse = CrossWindow(
            operator, n_windows=n_windows, width=d_head, pool_channels=pool_channels
        )
        # Two maps with nothing between them could be one; the release has both.
        self.mix = nn.Linear(d_head, d_head)
        self.kv_proj = nn.Linear(d_head, 2 * d_head)
        self.near = nn.Conv2d(width, width, 3, padding=1, groups=width)

    def forward(self, q: Tensor, x: Tensor, fast: bool) -> tuple[Tensor, Tensor]:
        """From the queries ``(B, H, N, c)`` and the map ``(B, H * c, rows, columns)``."""
        k, v = self.kv_proj(self.mix(self._one_window(q, x, fast))).chunk(2, dim=-1)
        sides = (self.window, self.window)
        place = v.transpose(2, 3).flatten(1, 2).unflatten(2, sides)
        near = self.near(place).flatten(2).unflatten(1, (self.n_heads, -1))
        return k, v + near.transpose(2, 3)

    def _one_window(self, q: Tensor, x: Tensor, fast: bool) -> Tensor:
        operator = self.fuse.operator
        if fast and operator in ("mean", "max") and not self.fuse.pool_channels:
            pooled = pooled_windows(x, self.window, self.dilation, operator)
            return pooled.unflatten(1, (self.n_heads, -1)).transpose(2, 3)
        take = dilated_windows if fast else unfold_windows
        samples = take(x, self.window, self.dilation).unflatten(1, (self.n_heads, -1))
        windows = samples.permute(0, 1, 3, 4, 2)
        if operator != "prob_sparse":
            return self.fuse(windows)
        with torch.no_grad():
            keys = self.kv_proj(self.mix(windows)).chunk(2, dim=-1)[0]
        return self.fuse(windows, q, keys)
