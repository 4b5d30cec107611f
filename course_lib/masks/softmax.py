"""Applying a mask: the softmax over visible keys, and what makes a mask fit its scores."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["check_bias", "check_broadcastable", "check_mask", "masked_softmax"]


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax ``(..., T, S)`` over the keys that a query may attend to; others get exactly 0.

    A row without any visible key becomes a row of zeros with a zero gradient. Plain
    ``masked_fill(-inf).softmax()`` would give NaN there, and a large finite number such as -1e9
    would give equal weights to keys that are all forbidden.

    >>> masked_softmax(torch.zeros(2, 3), torch.tensor([[True, True, False], [False] * 3]))
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    if mask is not None:
        check_mask(mask, scores.shape, scores.device)
        scores = scores.masked_fill(~mask, -math.inf)
    # Empty rows pass through the softmax as zeros, so that no NaN arises even on the way.
    empty = (scores == -math.inf).all(dim=-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(dim=-1)
    return weights.masked_fill(empty, 0.0)


def check_mask(mask: Tensor, shape: Sequence[int], device: torch.device | None = None) -> None:
    """Refuse a mask that is not boolean or does not fit scores of this shape (and device)."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask has dtype {mask.dtype}, wanted torch.bool with True = may attend; convert it "
            "first: from_additive, from_blocked, from_integers or padding_mask"
        )
    check_broadcastable("mask", mask, shape, device)


def check_bias(bias: Tensor, shape: Sequence[int], device: torch.device | None = None) -> None:
    """Refuse a bias ``(...)`` that does not fit scores of this shape or holds no real numbers.

    Added to scores, a boolean mask would count as 0 and 1 and hide nothing.
    """
    if not bias.is_floating_point():
        raise ValueError(
            f"bias has dtype {bias.dtype}, wanted a floating-point one; what hides keys is a mask"
        )
    check_broadcastable("bias", bias, shape, device)


def check_broadcastable(
    name: str, tensor: Tensor, shape: Sequence[int], device: torch.device | None = None
) -> None:
    """Refuse a mask or bias that doesn't broadcast to scores, or does so along the wrong axis.

    Broadcasting aligns shapes from the right. A ``(B, T, S)`` mask against ``(B, H, T, S)`` scores
    therefore meets the heads with its batch axis, and if ``B == H`` nothing complains. So a tensor
    must have at most 2 dimensions or as many as the scores.
    """
    have, want = tuple(tensor.shape), tuple(shape)
    if len(have) > 2 and len(have) != len(want):
        raise ValueError(
            f"{name} has shape {have}, wanted 2 or {len(want)} dimensions for scores {want}: with "
            f"{len(have)} its first axis would be matched with the wrong axis of the scores; "
            f"insert an axis, e.g. {name}[:, None]"
        )
    if any(h not in (1, w) for h, w in zip(reversed(have), reversed(want), strict=False)):
        raise ValueError(f"{name} has shape {have}, which does not broadcast to scores {want}")
    # A single number may come from anywhere.
    if device is not None and tensor.device != device and have:
        raise ValueError(f"{name} is on {tensor.device}, wanted {device}, where the scores are")


def certain(condition: Tensor) -> bool:
    """Tell whether a condition, a boolean ``()``, holds for certain.

    A compiler, the meta device and transforms such as ``torch.func.vmap`` don't tell what a tensor
    holds: there nothing is certain.
    """
    if torch.compiler.is_compiling() or condition.is_meta:
        return False
    try:
        return bool(condition)
    except RuntimeError:
        return False


def require_bool(mask: Tensor) -> None:
    """Refuse a mask that is not boolean, whatever its shape."""
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, wanted torch.bool")
