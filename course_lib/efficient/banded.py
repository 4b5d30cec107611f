"""Sliding windows in memory that grows with the length times the width of the window.

A mask can say who sees whom, but the scores behind it are still a matrix of T by T. Here a score is
computed only where it counts: the *band* ``(..., T, W)`` holds, for each query, its W keys side by
side, in the order of :func:`band_offsets`.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import check_attention, fused_attention
from course_lib.masks import check_mask, masked_softmax

# With fewer queries at once the kernel spends its time on starting.
_SMALLEST_BLOCK = 32


# --------------------------------------------------------------------------- offset by offset


def band_offsets(radius: int, *, dilation: int = 1, causal: bool = False) -> range:
    """Distances of the ``W = 2 * radius + 1`` keys of a query, or ``radius + 1`` if causal.

    In the order in which a band holds them; ``dilation`` is the distance between two of them.

    >>> list(band_offsets(2)), list(band_offsets(2, dilation=3, causal=True))
    ([-2, -1, 0, 1, 2], [-6, -3, 0])
    """
    if radius < 0:
        raise ValueError(f"radius is {radius}, wanted at least 0")
    if dilation < 1:
        raise ValueError(f"dilation is {dilation}, wanted at least 1")
    reach = radius * dilation
    return range(-reach, 1 if causal else reach + 1, dilation)


def banded_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    radius: int,
    *,
    dilation: int = 1,
    causal: bool = False,
    key_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend to the neighbours up to ``radius`` steps away, and to nothing else.

    The same as dense attention with :func:`course_lib.masks.dilated_window_mask`, but no matrix of
    T by T is ever made. Returns the output ``(..., T, Dv)``, 0 for a query that sees nothing, and
    the weights as a band ``(..., T, W)`` in the order of :func:`band_offsets`. The key mask is
    broadcastable to ``(..., 1, T)``.

    Source: Beltagy et al., Longformer (2020), section 3.1, "sliding window" and "dilated sliding
    window". (An ``attention_window`` of 512 there is a radius of 256.)

    Example:
        With equal scores it is a moving average; at the ends the window has fewer keys.

        >>> q = k = torch.zeros(3, 2)
        >>> out, weights = banded_attention(q, k, torch.tensor([[0.0], [3.0], [6.0]]), radius=1)
        >>> out[:, 0]
        tensor([1.5000, 3.0000, 4.5000])
        >>> weights
        tensor([[0.0000, 0.5000, 0.5000],
                [0.3333, 0.3333, 0.3333],
                [0.5000, 0.5000, 0.0000]])
    """
    check_attention(q, k, v, aligned=True)
    weights = band_weights(
        q, k, radius, dilation=dilation, causal=causal, key_mask=key_mask, scale=scale
    )
    return band_average(weights, v, radius, dilation=dilation, causal=causal), weights


def band_weights(
    q: Tensor,
    k: Tensor,
    radius: int,
    *,
    dilation: int = 1,
    causal: bool = False,
    key_mask: Tensor | None = None,
    shared_k: Tensor | None = None,
    shared_mask: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Measure how much each query takes from each of its neighbours: ``(..., T, G + W)``.

    First come the shared keys ``(..., G, Dh)``, to which every query may attend besides, then the
    band. The shared mask, broadcastable to ``(..., 1, G)``, says which of these are really there.
    Other arguments as for :func:`banded_attention`.
    """
    offsets = band_offsets(radius, dilation=dilation, causal=causal)
    _check(q, k, None, key_mask, shared_k, None, shared_mask)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    q = q * scale
    scores = torch.stack([(q * near).sum(dim=-1) for near in _shifted(k, offsets)], dim=-1)
    visible = torch.cat(list(_shifted(_visible_keys(q, key_mask)[..., None], offsets)), dim=-1)
    if shared_k is not None:
        scores = torch.cat([q @ shared_k.transpose(-2, -1), scores], dim=-1)
        visible = _join(_shared_visible(shared_k, shared_mask), visible)
    return masked_softmax(scores, visible.expand(scores.shape))


def band_average(
    weights: Tensor,
    v: Tensor,
    radius: int,
    *,
    dilation: int = 1,
    causal: bool = False,
    shared_v: Tensor | None = None,
) -> Tensor:
    """Average values ``(..., T, Dv)`` of neighbours with :func:`band_weights`: ``(..., T, Dv)``.

    The shared values are ``(..., G, Dv)``.

    Example:
        The last of three columns takes the value of the right neighbour.

        >>> weights = torch.tensor([[0.0, 0.0, 1.0]] * 3)
        >>> band_average(weights, torch.tensor([[1.0], [2.0], [3.0]]), radius=1)[:, 0]
        tensor([2., 3., 0.])
    """
    offsets = band_offsets(radius, dilation=dilation, causal=causal)
    G = 0 if shared_v is None else shared_v.shape[-2]
    if weights.shape[-2:] != (v.shape[-2], G + len(offsets)):
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, wanted (..., {v.shape[-2]}, "
            f"{G + len(offsets)})"
        )
    shared, band = weights.tensor_split([G], dim=-1)
    columns = band.unbind(dim=-1)
    out = torch.zeros_like(v) if shared_v is None else shared @ shared_v
    for weight, near in zip(columns, _shifted(v, offsets), strict=True):
        out = out + weight[..., None] * near
    return out


# --------------------------------------------------------------------------- block by block


def fused_banded_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    radius: int,
    *,
    dilation: int = 1,
    causal: bool = False,
    key_mask: Tensor | None = None,
    shared_k: Tensor | None = None,
    shared_v: Tensor | None = None,
    shared_mask: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Compute :func:`banded_attention` with the fused kernel, without the weights.

    The sequence is cut into blocks of c queries. Block b sees the keys from ``b * c - radius`` to
    ``(b + 1) * c + radius``: a view into the padded keys that overlaps with its neighbours'.
    Arguments as for :func:`banded_attention`, shared keys as for :func:`band_weights`.
    """
    band_offsets(radius, dilation=dilation)
    _check(q, k, v, key_mask, shared_k, shared_v, shared_mask)
    lead, T = q.shape[:-2], q.shape[-2]
    N = math.prod(lead)
    # Tiles beyond the ends would only be computed to be hidden.
    radius = min(radius, -(-T // dilation) - 1)
    visible = _visible_keys(q, key_mask)
    if dilation > 1:
        visible = _lay_tracks(visible[..., None], dilation, radius)[..., 0]
        q, k, v = (_lay_tracks(x, dilation, radius) for x in (q, k, v))
    length = q.shape[-2]
    block = min(max(_SMALLEST_BLOCK, radius // 2), length)
    n_blocks = -(-length // block)
    spare = n_blocks * block - length
    ahead = 0 if causal else radius
    width = radius + block + ahead
    reach = radius + n_blocks * block + ahead

    q_blocks = _pad(q, 0, spare).reshape(N, n_blocks, block, q.shape[-1])
    k_blocks, v_blocks = (
        _windows(_pad(x, radius, ahead + spare).reshape(N, reach, x.shape[-1]), width, block)
        for x in (k, v)
    )
    query = torch.arange(block, device=q.device)[:, None]
    key = torch.arange(width, device=q.device)
    band = (key >= query) & (key <= query + radius + ahead)
    seen = _windows(_pad(visible[..., None], radius, ahead + spare), width, block)
    mask = seen.transpose(-2, -1) & band
    if shared_k is not None and shared_v is not None:
        k_blocks, v_blocks = (
            torch.cat([x.reshape(N, 1, *x.shape[-2:]).expand(-1, n_blocks, -1, -1), y], dim=-2)
            for x, y in ((shared_k, k_blocks), (shared_v, v_blocks))
        )
        mask = _join(_shared_visible(shared_k, shared_mask)[..., None, :], mask)
    if mask.ndim > 3:
        mask = mask.expand(*lead, *mask.shape[-3:]).flatten(0, -4)
    else:
        mask = mask[None]
    out = fused_attention(q_blocks, k_blocks, v_blocks, mask, scale=scale, dropout=dropout)
    out = out.reshape(*lead, n_blocks * block, v.shape[-1])[..., :length, :]
    return _take_tracks(out, dilation, radius, T) if dilation > 1 else out


def _windows(x: Tensor, width: int, step: int) -> Tensor:
    """Overlapping stretches ``(..., n, width, D)`` of ``(..., T, D)``, without a copy."""
    if torch.compiler.is_compiling() and not x.requires_grad:
        # Compiled, `unfold` would write every stretch out; the gradient of strides is slow.
        x = x.contiguous()
        strides = (*x.stride()[:-2], step * x.stride(-2), *x.stride()[-2:])
        n = (x.shape[-2] - width) // step + 1
        return x.as_strided((*x.shape[:-2], n, width, x.shape[-1]), strides)
    return x.unfold(-2, width, step).transpose(-2, -1)


def _lay_tracks(x: Tensor, dilation: int, gap: int) -> Tensor:
    """Put the positions of each remainder together: a dilated window becomes a plain one.

    The tracks follow one another, each with a gap behind it that no window crosses.
    """
    x = _pad(x, 0, -x.shape[-2] % dilation)
    return _pad(x.unflatten(-2, (-1, dilation)).transpose(-3, -2), 0, gap).flatten(-3, -2)


def _take_tracks(x: Tensor, dilation: int, gap: int, T: int) -> Tensor:
    tracks = x.unflatten(-2, (dilation, -1))
    tracks = tracks[..., : tracks.shape[-2] - gap, :]
    return tracks.transpose(-3, -2).flatten(-3, -2)[..., :T, :]


# --------------------------------------------------------------------------- what both share


def _shifted(x: Tensor, offsets: range) -> list[Tensor]:
    """Rows ``t + offset`` of x for each offset, 0 beyond the ends; views of one padded copy."""
    before, after, T = -offsets[0], offsets[-1], x.shape[-2]
    padded = _pad(x, before, after)
    return [padded[..., before + offset : before + offset + T, :] for offset in offsets]


def _pad(x: Tensor, before: int, after: int) -> Tensor:
    return F.pad(x, (0, 0, before, after)) if before or after else x


def _visible_keys(q: Tensor, key_mask: Tensor | None) -> Tensor:
    """Keys that may be seen at all: ``(T,)``, or ``(..., T)`` if a mask says so."""
    if key_mask is None:
        return torch.ones(q.shape[-2], dtype=torch.bool, device=q.device)
    key_mask = torch.atleast_2d(key_mask)[..., 0, :]
    return key_mask.expand(*key_mask.shape[:-1], q.shape[-2])


def _shared_visible(shared_k: Tensor, shared_mask: Tensor | None) -> Tensor:
    if shared_mask is None:
        return torch.ones(1, shared_k.shape[-2], dtype=torch.bool, device=shared_k.device)
    shared_mask = torch.atleast_2d(shared_mask)
    return shared_mask.expand(*shared_mask.shape[:-1], shared_k.shape[-2])


def _join(shared: Tensor, band: Tensor) -> Tensor:
    """Side by side along the last axis, after the others have been broadcast."""
    lead = torch.broadcast_shapes(shared.shape[:-1], band.shape[:-1])
    return torch.cat([x.expand(*lead, x.shape[-1]) for x in (shared, band)], dim=-1)


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor | None,
    key_mask: Tensor | None,
    shared_k: Tensor | None,
    shared_v: Tensor | None,
    shared_mask: Tensor | None,
) -> None:
    check_attention(q, k, v, aligned=True)
    if q.shape[-2] < 1:
        raise ValueError(
            f"q and k have shape {tuple(q.shape)}, wanted T at least 1: a window lies around a "
            "query's own position"
        )
    lead = q.shape[:-2]
    if key_mask is not None:
        check_mask(key_mask, (*lead, 1, q.shape[-2]), q.device)
    if v is not None and (shared_k is None) != (shared_v is None):
        raise ValueError("got only one of shared_k and shared_v, wanted both or none")
    if shared_k is None:
        return
    if shared_k.shape[:-2] != lead or shared_k.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"shared_k has shape {tuple(shared_k.shape)}, wanted (..., G, Dh) to go with q "
            f"{tuple(q.shape)}"
        )
    if v is not None and shared_v is not None:
        if shared_v.shape != (*shared_k.shape[:-1], v.shape[-1]):
            raise ValueError(
                f"shared_v has shape {tuple(shared_v.shape)}, wanted "
                f"{(*shared_k.shape[:-1], v.shape[-1])}"
            )
        check_attention(q, k, v, shared_v=shared_v)
    check_attention(q, k, shared_k=shared_k)
    if shared_mask is not None:
        check_mask(shared_mask, (*lead, 1, shared_k.shape[-2]), q.device)
