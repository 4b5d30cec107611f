"""Attention on a grid that gets cheaper by convolutions, or by looking along stripes.

CvT makes queries, keys and values by convolutions, and keys and values at a coarser resolution; PVT
shrinks what keys and values are made of; CSWin lets half of the heads look along horizontal
stripes and half along vertical ones. All take and return a grid ``(B, rows, columns, D)``.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import (
    attention_weights,
    check_heads,
    fused_attention,
    merge_heads,
    split_heads,
)


class ConvolutionalAttention(nn.Module):
    """Attention whose queries, keys and values see their neighbourhood (CvT).

    Each of the three is a depth-wise convolution with a batch norm, then a linear map of each
    token. With stride s the keys and values are fewer by a factor of s^2, and so are the scores.
    Every query still sees the whole grid.

    Scores are divided by ``sqrt(D)`` as in the published code, not by ``sqrt(Dh)`` as elsewhere.

    Source: Wu et al., CvT: Introducing Convolutions to Vision Transformers (2021), section 3.2.

    Args:
        kernel_size: Side of the convolutions' kernels, odd.
        stride: Of the convolutions of keys and values.
        scale: Factor on ``q k^T``; ``1 / sqrt(D)`` if not given.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        kernel_size: int = 3,
        stride: int = 2,
        scale: float | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ValueError(f"kernel_size is {kernel_size}, wanted an odd number")
        if stride < 1:
            raise ValueError(f"stride is {stride}, wanted at least 1")
        self.d_model, self.n_heads = d_model, n_heads
        self.scale = d_model**-0.5 if scale is None else scale
        self.dropout, self.fused = dropout, fused
        self.q_conv = _depthwise(d_model, kernel_size, stride=1)
        self.k_conv = _depthwise(d_model, kernel_size, stride=stride)
        self.v_conv = _depthwise(d_model, kernel_size, stride=stride)
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, *, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Let every token ``(B, rows, columns, D)`` attend to the coarser grid of keys.

        The weights are ``(B, H, N, S)`` with ``N = rows * columns`` and ``S = ceil(rows / stride) *
        ceil(columns / stride)``.
        """
        _check_grid(x, self.d_model)
        image = x.permute(0, 3, 1, 2)
        q, k, v = (
            split_heads(proj(conv(image).permute(0, 2, 3, 1).flatten(1, 2)), self.n_heads)
            for conv, proj in (
                (self.q_conv, self.q_proj),
                (self.k_conv, self.k_proj),
                (self.v_conv, self.v_proj),
            )
        )
        dropout = self.dropout if self.training else 0.0
        heads, weights = _attend(
            q, k, v, self.scale, dropout, fused=self.fused and not return_weights
        )
        out = self.out_proj(merge_heads(heads)).unflatten(1, x.shape[1:3])
        return (out, weights) if return_weights and weights is not None else out


class ReducedAttention(nn.Module):
    """Attention to a grid of keys that is coarser by a factor R in both directions (PVT).

    A convolution whose kernel and stride are R, the ``reduction``, merges R^2 tokens to one; a
    layer norm follows, then keys and values are made of what is left. Scores and their memory
    shrink by R^2.

    Source: Wang et al., Pyramid Vision Transformer (2021), section 3.3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        reduction: int,
        bias: bool = True,
        dropout: float = 0.0,
        eps: float = 1e-5,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        if reduction < 1:
            raise ValueError(f"reduction is {reduction}, wanted at least 1")
        self.d_model, self.n_heads, self.reduction = d_model, n_heads, reduction
        self.dropout, self.fused = dropout, fused
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model)
        if reduction > 1:
            self.reduce = nn.Conv2d(d_model, d_model, reduction, stride=reduction)
            self.norm = nn.LayerNorm(d_model, eps=eps)

    def forward(self, x: Tensor, *, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Let every token ``(B, rows, columns, D)`` attend to the reduced grid.

        The weights are ``(B, H, N, N / R^2)`` with ``N = rows * columns``.
        """
        _check_grid(x, self.d_model, reduction=self.reduction)
        tokens = memory = x.flatten(1, 2)
        if self.reduction > 1:
            memory = self.reduce(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).flatten(1, 2)
            memory = self.norm(memory)
        q = split_heads(self.q_proj(tokens), self.n_heads)
        k = split_heads(self.k_proj(memory), self.n_heads)
        v = split_heads(self.v_proj(memory), self.n_heads)
        dropout = self.dropout if self.training else 0.0
        heads, weights = _attend(q, k, v, None, dropout, fused=self.fused and not return_weights)
        out = self.out_proj(merge_heads(heads)).unflatten(1, x.shape[1:3])
        return (out, weights) if return_weights and weights is not None else out


def stripe_masks(
    rows: int, columns: int, stripe: int, *, device: torch.device | None = None
) -> Tensor:
    """Tokens that share a stripe, horizontally and vertically: ``(2, N, N)``.

    A stripe is ``stripe`` rows high or columns wide, which divides both sides.

    >>> stripe_masks(2, 2, stripe=1)[:, 0].int().tolist()  # shares its row, and its column
    [[1, 1, 0, 0], [1, 0, 1, 0]]
    """
    _check_sides(rows, columns, stripe=stripe)
    y = torch.arange(rows, device=device).repeat_interleave(columns) // stripe
    x = torch.arange(columns, device=device).repeat(rows) // stripe
    return torch.stack([y[:, None] == y, x[:, None] == x])


class CrossShapedAttention(nn.Module):
    """Half of the heads look along horizontal stripes, half along vertical ones (CSWin).

    Together they see a cross around each token; two such layers see the whole grid. With stripes of
    s rows a grid of N tokens has about ``N * s * sqrt(N)`` scores a head instead of ``N^2``.

    A position code is made of the values themselves (LePE): a depth-wise 3x3 convolution of v,
    which does not look beyond its stripe, is added to what attention returns. The published code
    gives the first half of the heads the vertical stripes: its weights have their halves swapped.

    Source: Dong et al., CSWin Transformer (2022), section 3.2.

    Args:
        stripe: Width s of the stripes, which divides rows and columns.
        lepe: Whether to add the position code.
        fused: Whether to cut the grid into stripes when no weights are asked for, instead of
            masking the scores of all pairs.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        stripe: int,
        lepe: bool = True,
        bias: bool = True,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        if n_heads % 2:
            raise ValueError(
                f"n_heads is {n_heads}, wanted an even number: half for each direction"
            )
        if stripe < 1:
            raise ValueError(f"stripe is {stripe}, wanted at least 1")
        self.d_model, self.n_heads, self.stripe = d_model, n_heads, stripe
        self.dropout, self.fused = dropout, fused
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model)
        half = d_model // 2
        self.lepe = nn.ModuleList(
            nn.Conv2d(half, half, 3, padding=1, groups=half) for _ in range(2 if lepe else 0)
        )

    def forward(self, x: Tensor, *, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Let every token ``(B, rows, columns, D)`` attend along its stripes.

        The weights ``(B, H, N, N)`` with ``N = rows * columns`` are 0 outside of the stripes.
        """
        _check_grid(x, self.d_model, stripe=self.stripe)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if self.fused and not return_weights:
            out = torch.cat([self._along(axis, q, k, v) for axis in (0, 1)], dim=-1)
            return self.out_proj(out)
        rows, columns = x.shape[1:3]
        masks = stripe_masks(rows, columns, self.stripe, device=x.device)
        mask = masks.repeat_interleave(self.n_heads // 2, dim=0)
        q, k, v_heads = (split_heads(part.flatten(1, 2), self.n_heads) for part in (q, k, v))
        weights = attention_weights(q, k, mask[None])
        dropout = self.dropout if self.training else 0.0
        heads = F.dropout(weights, dropout) @ v_heads
        out = merge_heads(heads).unflatten(1, (rows, columns))
        if self.lepe:
            halves = v.chunk(2, dim=-1)
            out = out + torch.cat([self._lepe(axis, halves[axis]) for axis in (0, 1)], dim=-1)
        out = self.out_proj(out)
        return (out, weights) if return_weights else out

    def _along(self, axis: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """One direction's half of the heads, ``(B, rows, columns, D / 2)``."""
        half = self.d_model // 2
        d_head = self.d_model // self.n_heads
        parts = [part[..., axis * half : (axis + 1) * half] for part in (q, k, v)]
        if axis == 1:
            parts = [part.transpose(1, 2) for part in parts]
        batch, rows, columns, _ = parts[0].shape
        # Rows that follow each other are a stripe already; only columns had to be turned.
        stripes = [
            part.reshape(-1, self.stripe * columns, self.n_heads // 2, d_head).transpose(1, 2)
            for part in parts
        ]
        dropout = self.dropout if self.training else 0.0
        heads = fused_attention(*stripes, dropout=dropout)
        out = heads.transpose(1, 2).reshape(batch, rows, columns, half)
        if self.lepe:
            # The kernel knows down from right: for it, the columns are turned back.
            order = (0, 3, 1, 2) if axis == 0 else (0, 3, 2, 1)
            values = parts[2].reshape(-1, self.stripe, columns, half).permute(order)
            code = self.lepe[axis](values)
            code = code.permute(0, 2, 3, 1) if axis == 0 else code.permute(0, 3, 2, 1)
            out = out + code.reshape(out.shape)
        return out.transpose(1, 2) if axis == 1 else out

    def _lepe(self, axis: int, values: Tensor) -> Tensor:
        """The position code of ``(B, rows, columns, D / 2)``, stripe by stripe."""
        image = values.permute(0, 3, 1, 2)
        codes = [self.lepe[axis](part) for part in image.split(self.stripe, dim=2 + axis)]
        return torch.cat(codes, dim=2 + axis).permute(0, 2, 3, 1)


def _depthwise(d_model: int, kernel_size: int, *, stride: int) -> nn.Sequential:
    conv = nn.Conv2d(
        d_model, d_model, kernel_size, stride, padding=kernel_size // 2, groups=d_model, bias=False
    )
    return nn.Sequential(conv, nn.BatchNorm2d(d_model))


def _attend(
    q: Tensor, k: Tensor, v: Tensor, scale: float | None, dropout: float, *, fused: bool
) -> tuple[Tensor, Tensor | None]:
    if fused:
        return fused_attention(q, k, v, scale=scale, dropout=dropout), None
    weights = attention_weights(q, k, scale=scale)
    return F.dropout(weights, dropout) @ v, weights


def _check_grid(x: Tensor, d_model: int, **divisors: int) -> None:
    if x.ndim != 4 or x.shape[-1] != d_model:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, rows, columns, {d_model})")
    _check_sides(*x.shape[1:3], **divisors)


def _check_sides(rows: int, columns: int, **divisors: int) -> None:
    for name, part in divisors.items():
        if part < 1 or rows % part or columns % part:
            raise ValueError(
                f"{name} is {part}, wanted a divisor of {rows} rows and {columns} columns"
            )
