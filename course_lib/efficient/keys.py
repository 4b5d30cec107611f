"""Masks for mechanisms that hide a key from all queries or from none."""

from __future__ import annotations

from torch import Tensor

from course_lib.masks import check_mask

__all__ = ["key_mask"]


def key_mask(mask: Tensor, batch: int, n_keys: int) -> Tensor:
    """Which keys count, from a mask that says the same to every query and head.

    Args:
        mask: Boolean, ``(B, 1, 1, S)`` or ``(S,)``; ``True`` = may be attended to.
        batch: Number of sequences B.
        n_keys: Number of keys S.

    Returns:
        Boolean mask ``(B, 1, S, 1)``, which broadcasts to keys and values ``(B, H, S, Dh)``.

    Raises:
        ValueError: If the mask is not boolean, does not fit or differs between queries or heads.

    Example:
        >>> import torch
        >>> from course_lib.masks import padding_mask
        >>> key_mask(padding_mask(torch.tensor([1, 2]), 2), batch=2, n_keys=2)[:, 0, :, 0].int()
        tensor([[1, 0],
                [1, 1]], dtype=torch.int32)
    """
    if any(size > 1 for size in mask.shape[-3:-1]):
        raise ValueError(
            f"mask has shape {tuple(mask.shape)}, wanted (B, 1, 1, S) or (S,): nothing can be "
            "hidden from a single query or head here"
        )
    check_mask(mask, (batch, 1, 1, n_keys))
    return mask.expand(batch, 1, 1, n_keys).transpose(-2, -1)
