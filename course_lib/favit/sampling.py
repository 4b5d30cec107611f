"""Windows with holes: as many samples as a small window has tokens, from a larger area."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor


def dilation_rate(size: int, window: int) -> int:
    """Distance between samples: ``D = (S - 1) / (M - 1)``, for M samples along a side S.

    Source: Qin et al., Factorization Vision Transformer (2023); the ablation report, section 1.
    """
    if window < 2 or size < window or (size - 1) % (window - 1):
        raise ValueError(
            f"size is {size} and window {window}, wanted a window of at least 2 and a size of "
            "1 + D * (window - 1) with a whole D of at least 1"
        )
    return (size - 1) // (window - 1)


def reflected(length: int, side: int) -> Tensor:
    """Sources of the values of a row that is continued by reflection at its ends.

    The ``side`` values become integers ``(length,)``. The end itself is not repeated. Beyond one
    reflection the row is reflected again, which ``F.pad(mode="reflect")`` refuses.

    Example:
        >>> reflected(9, side=4)
        tensor([0, 1, 2, 3, 2, 1, 0, 1, 2])
    """
    if length < 1 or side < 1:
        raise ValueError(f"length is {length} and side {side}, wanted at least 1 each")
    period = max(2 * (side - 1), 1)
    place = torch.arange(length) % period
    return torch.minimum(place, period - place) if side > 1 else place


def pad_by_reflection(x: Tensor, multiple: int) -> Tensor:
    """Continue a map ``(B, C, rows, columns)`` below and to the right up to a multiple."""
    _check(x, multiple, 1)
    for axis in (2, 3):
        side = x.shape[axis]
        length = -(-side // multiple) * multiple
        if length != side:
            x = x.index_select(axis, reflected(length, side).to(x.device))
    return x


def unfold_windows(x: Tensor, window: int, dilation: int) -> Tensor:
    """Take the samples of each window, by the operation that convolutions are made of.

    Areas of side ``S = D * (M - 1) + 1`` tile the padded map ``(B, C, rows, columns)``, and M x M
    samples at distance D are taken from each: ``(B, C, M * M, nW)``, places in a window row after
    row, and windows too.

    Example:
        >>> x = torch.arange(16.0).view(1, 1, 4, 4)
        >>> unfold_windows(x, window=2, dilation=3)[0, 0].T  # the corners of one of 4 x 4
        tensor([[ 0.,  3., 12., 15.]])
    """
    _check(x, window, dilation)
    size = dilation * (window - 1) + 1
    padded = pad_by_reflection(x, size)
    samples = F.unfold(padded, window, dilation=dilation, stride=size)
    return samples.unflatten(1, (x.shape[1], window * window))


def dilated_windows(x: Tensor, window: int, dilation: int) -> Tensor:
    """Arguments as for :func:`unfold_windows`: rows and columns picked, without any padding."""
    _check(x, window, dilation)
    for axis in (2, 3):
        x = x.index_select(axis, sampled(x.shape[axis], window, dilation).to(x.device))
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


def pooled_windows(
    x: Tensor, window: int, dilation: int, operator: Literal["mean", "max"]
) -> Tensor:
    """Mean or maximum over the windows of :func:`unfold_windows`, ``(B, C, M * M)``.

    Both are taken along rows first and along columns then, and the windows are never held.
    """
    _check(x, window, dilation)
    if operator not in ("mean", "max"):
        raise ValueError(f"operator is {operator!r}, wanted 'mean' or 'max'")
    for axis in (2, 3):
        index = sampled(x.shape[axis], window, dilation).to(x.device)
        areas = x.index_select(axis, index).unflatten(axis, (-1, window))
        x = areas.mean(dim=axis) if operator == "mean" else areas.amax(dim=axis)
    return x.flatten(2)


def sampled(side: int, window: int, dilation: int) -> Tensor:
    """Where the samples of all windows lie along one axis: ``(n * M,)``, window after window."""
    size = dilation * (window - 1) + 1
    n_windows = -(-side // size)
    return reflected(n_windows * size, side).view(n_windows, size)[:, ::dilation].flatten()


def _check(x: Tensor, window: int, dilation: int) -> None:
    if x.ndim != 4 or 0 in x.shape[2:]:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted a map (B, C, rows, columns)")
    if window < 1 or dilation < 1:
        raise ValueError(f"window is {window} and dilation {dilation}, wanted at least 1 each")
