"""Translating masks from and to the conventions of other libraries."""

import math

import torch
from torch import Tensor

from course_lib.masks.building import padding_mask
from course_lib.masks.softmax import certain, require_bool

# The weakest additive mask in wide use: Swin blocks with -100, Longformer with -10000.
WEAKEST_BLOCK = -100.0


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Translate to the additive convention: 0 = may attend, ``-inf`` = blocked, any shape.

    >>> to_additive(torch.tensor([True, False]))
    tensor([0., -inf])
    """
    require_bool(mask)
    # Not (1 - mask) * -inf: that is NaN wherever the mask is 1.
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


def from_additive(additive: Tensor) -> Tensor:
    """Translate to a mask from additive numbers: 0 = may attend, a very negative one = blocked.

    Accepts ``-inf`` and the finite numbers in use (-1e9, -10000, ``finfo.min``, -100). What lies
    between is a bias, not a mask, and is refused.
    """
    if not additive.is_floating_point():
        raise ValueError(f"additive mask has dtype {additive.dtype}, wanted a floating-point one")
    allowed = additive == 0
    stray = ~(allowed | (additive <= WEAKEST_BLOCK))
    if certain(stray.any()):
        raise ValueError(
            f"additive mask holds {additive[stray][0].item()}, wanted only 0 (may attend) and "
            f"numbers up to {WEAKEST_BLOCK} (blocked); pass other numbers as bias"
        )
    return allowed


def to_blocked(mask: Tensor) -> Tensor:
    """Translate a mask to ``True`` = blocked, as ``nn.MultiheadAttention`` reads boolean masks.

    Its type doesn't tell the two conventions apart: a mask that is not translated runs without an
    error and lets each query see exactly the wrong keys.
    """
    require_bool(mask)
    return ~mask


def from_blocked(blocked: Tensor) -> Tensor:
    """Translate from ``True`` = blocked to a mask, the inverse of :func:`to_blocked`."""
    require_bool(blocked)
    return ~blocked


def to_integers(mask: Tensor) -> Tensor:
    """Translate to 1 = may attend, 0 = blocked, as tokenizers hand masks out, ``int64``."""
    require_bool(mask)
    return mask.long()


def from_integers(integers: Tensor) -> Tensor:
    """Translate 1 = may attend, 0 = blocked, as tokenizers hand masks out, to a mask.

    Floating-point tensors are refused: a 0 may just as well be an additive "may attend".
    """
    if integers.is_floating_point() or integers.dtype == torch.bool:
        raise ValueError(f"integer mask has dtype {integers.dtype}, wanted integers")
    if certain(((integers != 0) & (integers != 1)).any()):
        raise ValueError(f"integer mask holds {integers.unique().tolist()}, wanted only 0 and 1")
    return integers == 1


def to_lengths(mask: Tensor) -> Tensor:
    """Valid lengths ``(B,)``, the inverse of :func:`padding_mask`; refuses what they can't say."""
    require_bool(mask)
    if mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, wanted (B, 1, 1, S)")
    lengths = mask[:, 0, 0].sum(dim=-1)
    if certain((padding_mask(lengths, mask.shape[-1]) != mask).any()):
        raise ValueError("mask hides a key before a visible one, so no length describes it")
    return lengths
