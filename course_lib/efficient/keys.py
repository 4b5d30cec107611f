"""Masks for mechanisms that hide a key from all queries or from none."""

import torch
from torch import Tensor

from course_lib.masks import check_mask


def expand_key_mask(
    key_mask: Tensor, batch: int, n_keys: int, device: torch.device | None = None
) -> Tensor:
    """Keys that count, ``(B, 1, S, 1)``, from a mask that is the same for every query and head.

    It broadcasts to keys and values ``(B, H, S, Dh)``. The device is not looked at if not given.
    """
    if any(size > 1 for size in key_mask.shape[-3:-1]):
        raise ValueError(
            f"key_mask has shape {tuple(key_mask.shape)}, wanted (B, 1, 1, S) or (S,): nothing can "
            "be hidden from a single query or head here"
        )
    check_mask(key_mask, (batch, 1, 1, n_keys), device)
    return key_mask.expand(batch, 1, 1, n_keys).transpose(-2, -1)
