"""Exact attention a tile at a time, so that the ``(T, S)`` scores never exist as a whole.

The softmax seems to need a whole row of scores at once. It does not: partial sums can be kept with
respect to the largest score so far and rescaled when a larger one comes. :func:`online_attention`
is that loop, as slow as it is readable; fused kernels are the same, written for a processor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from course_lib.attention import check_attention, scaled_dot_product_attention
from course_lib.masks import check_bias, check_mask


class Running(NamedTuple):
    """Running softmax over the keys seen so far.

    Args:
        largest: The largest score of each query, ``(..., T, 1)``; ``-inf`` before the first.
        total: Sum of ``exp(score - largest)``, ``(..., T, 1)``.
        out: Sum of ``exp(score - largest) * value``, ``(..., T, Dv)``.
    """

    largest: Tensor
    total: Tensor
    out: Tensor

    @classmethod
    def start(cls, q: Tensor, d_value: int) -> Running:
        """Nothing seen yet."""
        column = q.new_zeros(*q.shape[:-1], 1)
        return cls(column - math.inf, column, q.new_zeros(*q.shape[:-1], d_value))


def online_step(scores: Tensor, v: Tensor, seen: Running) -> Running:
    """Take in the scores ``(..., T, S)`` and values of the next keys: rescale the sums, then add.

    Source: Milakov and Gimelshein, Online normalizer calculation for softmax (2018), algorithm 3;
    Dao et al., FlashAttention (2022), algorithm 1.

    Example:
        The larger score 3 arrives second. What came first is scaled down by ``exp(1 - 3)``.

        >>> scores, v = torch.tensor([[1.0, 3.0]]), torch.tensor([[10.0], [20.0]])
        >>> seen = Running.start(torch.zeros(1, 1), d_value=1)
        >>> for j in range(2):
        ...     seen = online_step(scores[:, j : j + 1], v[j : j + 1], seen)
        >>> seen.total
        tensor([[1.1353]])
        >>> torch.allclose(seen.out / seen.total, scores.softmax(-1) @ v)
        True
    """
    largest = torch.maximum(seen.largest, scores.amax(dim=-1, keepdim=True))
    # While nothing is visible, 0 stands in for the -inf that would give inf - inf.
    reference = largest.masked_fill(largest == -math.inf, 0.0)
    rescale = torch.exp(seen.largest - reference)
    weights = torch.exp(scores - reference)
    total = seen.total * rescale + weights.sum(dim=-1, keepdim=True)
    return Running(largest, total, seen.out * rescale + weights @ v)


def online_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
    tile: int = 64,
) -> Tensor:
    """Attention ``(..., T, Dv)`` by :func:`online_step`, tile after tile: the readable version.

    A tile has ``tile`` queries and keys. A query that may attend to nothing gets 0.
    """
    shape = _check(q, k, v, mask, bias)
    _check_tile("tile", tile)
    if 0 in shape:
        return scaled_dot_product_attention(q, k, v, mask, bias)[0]
    q = q * (q.shape[-1] ** -0.5 if scale is None else scale)
    mask = None if mask is None else mask.expand(shape)
    bias = None if bias is None else bias.expand(shape)
    parts = []
    for rows in _slices(q.shape[-2], tile):
        seen = Running.start(q[..., rows, :], v.shape[-1])
        for columns in _slices(k.shape[-2], tile):
            scores = q[..., rows, :] @ k[..., columns, :].transpose(-2, -1)
            if bias is not None:
                scores = scores + bias[..., rows, columns].to(scores.dtype)
            if mask is not None:
                scores = scores.masked_fill(~mask[..., rows, columns], -math.inf)
            seen = online_step(scores, v[..., columns, :], seen)
        parts.append(seen.out / seen.total.masked_fill(seen.total == 0, 1.0))
    return torch.cat(parts, dim=-2)


def _slices(length: int, step: int) -> Iterator[slice]:
    return (slice(i, min(i + step, length)) for i in range(0, length, step))


def _check(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None) -> torch.Size:
    """Shape of the scores, if everything fits together."""
    check_attention(q, k, v)
    shape = torch.Size((*q.shape[:-1], k.shape[-2]))
    if mask is not None:
        check_mask(mask, shape, q.device)
    if bias is not None:
        check_bias(bias, shape, q.device)
    return shape


def _check_tile(name: str, size: int) -> None:
    if size < 1:
        raise ValueError(f"{name} is {size}, wanted at least 1")
