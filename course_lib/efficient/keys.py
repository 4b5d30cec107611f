"""Masks for mechanisms that hide a key from all queries or from none."""

import torch
from torch import Tensor

from course_lib.masks import check_mask


def expand_key_mask(
    key_mask: Tensor, batch: int, n_keys: int, device: torch.device | None = None
) -> Tensor:
    """Which keys count, from a mask that says the same to every query and head.

    Args:
        key_mask: Boolean, ``(B, 1, 1, S)`` or ``(S,)``; ``True`` = may be attended to.
        batch: Number of sequences B.
        n_keys: Number of keys S.
        device: Where the keys are; not looked at if not given.

    Returns:
        Boolean mask ``(B, 1, S, 1)``, which broadcasts to keys and values ``(B, H, S, Dh)``.

    Raises:
        ValueError: If the mask is not boolean, does not fit or differs between queries or heads.

    Example:
        >>> from course_lib.masks import padding_mask
        >>> mask = padding_mask(torch.tensor([1, 2]), 2)
        >>> expand_key_mask(mask, batch=2, n_keys=2)[:, 0, :, 0].int()
        tensor([[1, 0],
                [1, 1]], dtype=torch.int32)
    """
    if any(size > 1 for size in key_mask.shape[-3:-1]):
        raise ValueError(
            f"key_mask has shape {tuple(key_mask.shape)}, wanted (B, 1, 1, S) or (S,): nothing can "
            "be hidden from a single query or head here"
        )
    check_mask(key_mask, (batch, 1, 1, n_keys), device)
    return key_mask.expand(batch, 1, 1, n_keys).transpose(-2, -1)
