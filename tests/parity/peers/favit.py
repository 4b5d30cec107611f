"""Factorised attention, inside its model."""

import copy
import math
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.favit import FactorisedAttention, FaViT, FaViTConfig
from course_tests.parity.peers.contract import IMAGES, Mechanism, Reference


def _favit(*, fast: bool, image_size: int, depth: int = 0, **sizes: int) -> nn.Module:
    """FaViT-B0 for ten classes, or as many blocks in each stage as said."""
    depths = (depth,) * 4 if depth else FaViTConfig().depths
    config = FaViTConfig(image_size=image_size, n_classes=10, depths=depths)
    return FaViT(config, fused=fast)


def _with_loops(model: Any, inputs: tuple[Any, ...]) -> Reference:
    slow = copy.deepcopy(model)
    for part in slow.modules():
        if isinstance(part, FactorisedAttention):
            part.forward = partial(by_loops, part)  # type: ignore[method-assign]
    return Reference(slow, inputs)


def by_loops(attend: FactorisedAttention, x: Tensor, *, return_weights: bool = False) -> Tensor:
    """Factorised attention with the mean over windows, a query and a place at a time."""
    if return_weights:
        raise ValueError("got return_weights=True, wanted False: the loops keep no weights")
    out = torch.empty_like(x)
    for b, grid in enumerate(x):
        local = _convolved(grid, attend)
        groups: Any = [attend.reduced, *attend.sampled]
        queries = attend.q_proj(grid)
        start = 0
        for group, width in zip(groups, attend.widths, strict=True):
            part = slice(start, start + width)
            if start == 0:
                keys, values = _reduced(group, grid[..., part])
            else:
                there = slice(start - attend.widths[0], start - attend.widths[0] + width)
                keys, values = _sampled(group, local[..., there])
            for h in range(group.n_heads):
                d_head = width // group.n_heads
                head = slice(h * d_head, (h + 1) * d_head)
                for r in range(x.shape[1]):
                    for c in range(x.shape[2]):
                        q = queries[r, c, part][head]
                        scores = torch.stack([q @ k[head] for k in keys]) / math.sqrt(d_head)
                        weights = scores.exp() / scores.exp().sum()
                        heads = [w * v[head] for w, v in zip(weights, values, strict=True)]
                        out[b, r, c, part.start + head.start : part.start + head.stop] = sum(heads)
            start += width
    return attend.out_proj(out)


def _convolved(grid: Tensor, attend: FactorisedAttention) -> Tensor:
    rest = grid[..., attend.widths[0] :].permute(2, 0, 1)
    return attend.pointwise(attend.depthwise(rest)).permute(1, 2, 0)


def _reduced(group: Any, grid: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Keys and values of the global group, one block of r x r tokens after the other."""
    r = group.reduce.kernel_size[0]
    rows, columns = grid.shape[0] // r, grid.shape[1] // r
    tokens = []
    for i in range(rows):
        for j in range(columns):
            block = grid[i * r : (i + 1) * r, j * r : (j + 1) * r]
            token = torch.einsum("rcx,oxrc->o", block, group.reduce.weight) + group.reduce.bias
            tokens.append(group.kv_proj(group.norm(token)))
    return _split(tokens, group, rows, columns)


def _sampled(group: Any, grid: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Keys and values of another group, one place of the window after the other."""
    M, D = group.window, group.dilation
    size = D * (M - 1) + 1
    rows, columns = grid.shape[:2]
    tokens = []
    for i in range(M):
        for j in range(M):
            seen = [
                grid[_bounce(top + i * D, rows), _bounce(left + j * D, columns)]
                for top in range(0, rows, size)
                for left in range(0, columns, size)
            ]
            token = torch.stack(seen).mean(dim=0)
            heads = [group.kv_proj(group.mix(part)) for part in token.chunk(group.n_heads)]
            halves = [part.chunk(2) for part in heads]
            tokens.append(torch.cat([torch.cat(side) for side in zip(*halves, strict=True)]))
    return _split(tokens, group, M, M)


def _bounce(place: int, side: int) -> int:
    """Walk to a place between two walls."""
    at, step = 0, 1
    for _ in range(place):
        if side == 1:
            return 0
        if not 0 <= at + step < side:
            step = -step
        at += step
    return at


def _split(
    tokens: list[Tensor], group: Any, rows: int, columns: int
) -> tuple[list[Tensor], list[Tensor]]:
    """Keys as they are, values with their 3 x 3 neighbourhood added."""
    keys, values = ([token.chunk(2)[i] for token in tokens] for i in (0, 1))
    nearby = []
    for i in range(rows):
        for j in range(columns):
            total = values[i * columns + j] + group.near.bias
            for down in (-1, 0, 1):
                for right in (-1, 0, 1):
                    if 0 <= i + down < rows and 0 <= j + right < columns:
                        factor = group.near.weight[:, 0, down + 1, right + 1]
                        total = total + factor * values[(i + down) * columns + j + right]
            nearby.append(total)
    return keys, nearby


MECHANISMS = (
    Mechanism(
        name="favit",
        source="Qin et al. (2023)",
        build=_favit,
        inputs=IMAGES,
        tiny={"batch": 1, "image_size": 32, "depth": 1},
        small=dict(batch=2, image_size=32),
        large=dict(batch=1, image_size=112),
        oracle=_with_loops,
    ),
)
