"""Sparse Transformer: causal attention along two patterns whose product reaches everything.

With a stride l near the root of T, each position sees about 2 l others instead of T. In the
*strided* pattern it sees the last l positions and every l-th before; rows and columns, if the
sequence is laid out in rows of l. In the *fixed* pattern it sees its own block of l and the last c
positions of every block, which have to sum their block up for the rest.
"""

import math

import torch
from torch import Tensor

from course_lib.attention import check_attention, scaled_dot_product_attention


def strided_mask(T: int, stride: int, *, device: torch.device | None = None) -> Tensor:
    """The last l positions, ``(T, T)``, and every l-th before them; l is the stride.

    Source: Child et al., Generating Long Sequences with Sparse Transformers (2019), section 4:
    the union of ``A1 = {max(0, i - l), ..., i}`` and ``A2 = {j <= i : (i - j) mod l = 0}``.

    >>> strided_mask(7, stride=2).int()[-1].tolist()
    [1, 0, 1, 0, 1, 1, 1]
    """
    _check_stride(stride)
    position = torch.arange(T, device=device)
    back = position[:, None] - position
    return (back >= 0) & ((back <= stride) | (back % stride == 0))


def fixed_mask(
    T: int, stride: int, n_summary: int = 1, *, device: torch.device | None = None
) -> Tensor:
    """The own block of l positions, ``(T, T)``, and the last c of every block before.

    Source: Child et al. (2019), section 4: the union of
    ``A1 = {j <= i : j div l = i div l}`` and ``A2 = {j <= i : j mod l in {l - c, ..., l - 1}}``.
    The stride is l and ``n_summary`` c, from 1 to l.

    >>> fixed_mask(7, stride=3).int()[-2:].tolist()
    [[0, 0, 1, 1, 1, 1, 0], [0, 0, 1, 0, 0, 1, 1]]
    """
    _check_stride(stride)
    _check_summary(stride, n_summary)
    position = torch.arange(T, device=device)
    same_block = position[:, None] // stride == position // stride
    summary = position % stride >= stride - n_summary
    return (position[:, None] >= position) & (same_block | summary)


def strided_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    stride: int,
    n_summary: int | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attention under :func:`strided_mask` or :func:`fixed_mask`, with all ``T * T`` scores.

    One softmax runs over both parts of the pattern, which the paper calls a merged head; it also
    gives the parts to different heads or layers. Without ``n_summary`` the pattern is the strided
    one. Returns the output ``(..., T, Dv)`` and the weights ``(..., T, T)``.

    Source: Child et al. (2019), section 5.
    """
    check_attention(q, k, v, aligned=True)
    T = q.shape[-2]
    if n_summary is None:
        mask = strided_mask(T, stride, device=q.device)
    else:
        mask = fixed_mask(T, stride, n_summary, device=q.device)
    return scaled_dot_product_attention(q, k, v, mask, scale=scale)


def fused_strided_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    stride: int,
    n_summary: int | None = None,
    scale: float | None = None,
) -> Tensor:
    """Compute :func:`strided_attention` by reshaping the sequence to rows of l positions.

    What is near lies in the same row and the one before; every l-th position is a column. Scores
    take ``T * (2 l + T / l)`` numbers, least at ``l = sqrt(T / 2)``, instead of ``T * T``.
    Arguments as for :func:`strided_attention`.
    """
    check_attention(q, k, v, aligned=True)
    _check_stride(stride)
    T = q.shape[-2]
    if T == 0:
        return strided_attention(q, k, v, stride=stride, n_summary=n_summary)[0]
    q = q * (q.shape[-1] ** -0.5 if scale is None else scale)
    missing = -T % stride
    # Padding comes last, where no query looks.
    q, k, v = (
        torch.nn.functional.pad(x, (0, 0, 0, missing)).unflatten(-2, (-1, stride))
        for x in (q, k, v)
    )
    if n_summary is None:
        out = _strided(q, k, v)
    else:
        _check_summary(stride, n_summary)
        out = _fixed(q, k, v, n_summary)
    return out.flatten(-3, -2)[..., :T, :]


def _strided(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Rows ``(..., n, l, Dh)`` to their own row, the one before, and their columns."""
    n, size = q.shape[-3:-1]
    near_k, near_v = _with_row_before(k), _with_row_before(v)
    # Query p of a row stands at position l + p of the two rows that it looks at.
    place = torch.arange(size, device=q.device)
    back = size + place[:, None] - torch.arange(2 * size, device=q.device)
    hidden = ((back < 0) | (back > size)).repeat(n, 1, 1)
    hidden[0, :, :size] = True  # there is no row before the first
    near = (q @ near_k.mT).masked_fill(hidden, -math.inf)
    q_columns, k_columns, v_columns = (x.transpose(-3, -2) for x in (q, k, v))
    # The own row and the one before have been counted as near.
    row = torch.arange(n, device=q.device)
    far = q_columns @ k_columns.mT
    far = far.masked_fill(row[:, None] - row < 2, -math.inf).transpose(-3, -2)
    weights = torch.cat([near, far], dim=-1).softmax(dim=-1)
    near, far = weights.split([2 * size, n], dim=-1)
    return near @ near_v + (far.transpose(-3, -2) @ v_columns).transpose(-3, -2)


def _fixed(q: Tensor, k: Tensor, v: Tensor, n_summary: int) -> Tensor:
    """Rows ``(..., n, l, Dh)`` to their own row, and to the ends of the rows before."""
    n, size = q.shape[-3:-1]
    place = torch.arange(size, device=q.device)
    near = (q @ k.mT).masked_fill(place[:, None] < place, -math.inf)
    k_ends, v_ends = (x[..., -n_summary:, :].flatten(-3, -2) for x in (k, v))
    row = torch.arange(n, device=q.device)
    later = row.repeat_interleave(n_summary) >= row[:, None, None]
    far = (q.flatten(-3, -2) @ k_ends.mT).unflatten(-2, (n, size)).masked_fill(later, -math.inf)
    weights = torch.cat([near, far], dim=-1).softmax(dim=-1)
    near, far = weights.split([size, n * n_summary], dim=-1)
    return near @ v + (far.flatten(-3, -2) @ v_ends).unflatten(-2, (n, size))


def _with_row_before(x: Tensor) -> Tensor:
    """``(..., n, l, D)`` to ``(..., n, 2 l, D)``; before the first row there are zeros."""
    before = torch.nn.functional.pad(x, (0, 0, 0, 0, 1, 0))[..., :-1, :, :]
    return torch.cat([before, x], dim=-2)


def _check_stride(stride: int) -> None:
    if stride < 1:
        raise ValueError(f"stride is {stride}, wanted at least 1")


def _check_summary(stride: int, n_summary: int) -> None:
    if not 1 <= n_summary <= stride:
        raise ValueError(f"n_summary is {n_summary}, wanted from 1 to the stride {stride}")
