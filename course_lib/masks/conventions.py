"""Translating masks from and to the conventions of other libraries.

There are four besides the course's own: additive numbers, ``True`` = blocked, integers, and valid
lengths. The last is translated by :func:`course_lib.masks.padding_mask` and :func:`to_lengths`.
"""

import math

import torch
from torch import Tensor

from course_lib.masks.building import padding_mask
from course_lib.masks.softmax import require_bool

# The weakest additive mask in wide use: Swin blocks with -100, Longformer with -10000.
WEAKEST_BLOCK = -100.0


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Translate to the additive convention: 0 where attention is allowed, ``-inf`` elsewhere.

    Args:
        mask: Boolean mask of any shape, ``True`` = may attend.
        dtype: Floating-point type of the result.

    Returns:
        Tensor of the same shape ``(...)``, to be added to the scores before the softmax.

    Raises:
        ValueError: If the mask is not boolean.

    Example:
        >>> from course_lib.masks import causal_mask
        >>> to_additive(causal_mask(2))
        tensor([[0., -inf],
                [0., 0.]])
    """
    require_bool(mask)
    # Not (1 - mask) * -inf: that is NaN wherever the mask is 1.
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -math.inf)


def from_additive(additive: Tensor) -> Tensor:
    """Translate from the additive convention: 0 = may attend, a very negative number = blocked.

    Accepts ``-inf`` as well as the finite numbers in use (-1e9, -10000, ``finfo.min``, -100).
    What lies between is a bias, not a mask, and would be lost.

    Args:
        additive: Floating-point tensor of any shape.

    Returns:
        Boolean mask of the same shape.

    Raises:
        ValueError: If the tensor is not floating point or holds anything else, NaN included.

    Example:
        >>> from_additive(torch.tensor([0.0, -1e9, float("-inf")]))
        tensor([ True, False, False])
    """
    if not additive.is_floating_point():
        raise ValueError(f"additive mask has dtype {additive.dtype}, wanted a floating-point one")
    allowed = additive == 0
    stray = ~(allowed | (additive <= WEAKEST_BLOCK))
    if stray.any():
        raise ValueError(
            f"additive mask holds {additive[stray][0].item()}, wanted only 0 (may attend) and "
            f"numbers up to {WEAKEST_BLOCK} (blocked); pass other numbers as bias"
        )
    return allowed


def to_blocked(mask: Tensor) -> Tensor:
    """Translate to ``True`` = blocked, as ``nn.MultiheadAttention`` reads boolean masks.

    Args:
        mask: Boolean mask of any shape, ``True`` = may attend.

    Returns:
        The inverted mask. Its type doesn't tell the two conventions apart: a mask that is not
        translated runs without an error and lets each query see exactly the wrong keys.

    Raises:
        ValueError: If the mask is not boolean.

    Example:
        >>> from course_lib.masks import causal_mask
        >>> to_blocked(causal_mask(2))
        tensor([[False,  True],
                [False, False]])
    """
    require_bool(mask)
    return ~mask


def from_blocked(blocked: Tensor) -> Tensor:
    """Translate from ``True`` = blocked, as ``nn.MultiheadAttention`` reads boolean masks.

    Args:
        blocked: Boolean tensor of any shape, ``True`` = must not attend.

    Returns:
        Boolean mask of the same shape, ``True`` = may attend.

    Raises:
        ValueError: If the tensor is not boolean.

    Example:
        >>> from_blocked(torch.tensor([False, True]))
        tensor([ True, False])
    """
    require_bool(blocked)
    return ~blocked


def to_integers(mask: Tensor) -> Tensor:
    """Translate to 1 = may attend, 0 = blocked, as tokenizers hand masks out.

    Args:
        mask: Boolean mask of any shape, ``True`` = may attend.

    Returns:
        ``int64`` tensor of the same shape ``(...)``.

    Raises:
        ValueError: If the mask is not boolean.

    Example:
        >>> to_integers(padding_mask(torch.tensor([2]), 3))
        tensor([[[[1, 1, 0]]]])
    """
    require_bool(mask)
    return mask.long()


def from_integers(integers: Tensor) -> Tensor:
    """Translate from 1 = may attend, 0 = blocked, as tokenizers hand masks out.

    Floating-point tensors are refused: there a 0 may just as well be an additive "may attend".

    Args:
        integers: Integer tensor of any shape that holds only 0 and 1.

    Returns:
        Boolean mask of the same shape.

    Raises:
        ValueError: If the tensor is not of integers or holds other numbers.

    Example:
        >>> from_integers(torch.tensor([1, 0]))
        tensor([ True, False])
    """
    if integers.is_floating_point() or integers.dtype == torch.bool:
        raise ValueError(f"integer mask has dtype {integers.dtype}, wanted integers")
    if ((integers != 0) & (integers != 1)).any():
        raise ValueError(f"integer mask holds {integers.unique().tolist()}, wanted only 0 and 1")
    return integers == 1


def to_lengths(mask: Tensor) -> Tensor:
    """Translate to valid lengths, the inverse of :func:`padding_mask`.

    Args:
        mask: Boolean mask ``(B, 1, 1, S)`` in which the visible keys come first.

    Returns:
        Integers ``(B,)``.

    Raises:
        ValueError: If the mask has another shape, or if it can't be said by lengths alone: a
            causal mask, padding on the left, a hole.

    Example:
        >>> to_lengths(padding_mask(torch.tensor([3, 1]), 4))
        tensor([3, 1])
    """
    require_bool(mask)
    if mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, wanted (B, 1, 1, S)")
    lengths = mask[:, 0, 0].sum(dim=-1)
    if not torch.equal(padding_mask(lengths, mask.shape[-1]), mask):
        raise ValueError("mask hides a key before a visible one, so no length describes it")
    return lengths
