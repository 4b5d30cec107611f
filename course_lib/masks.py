"""Who may attend to whom.

One convention holds everywhere in the course: a mask is a boolean tensor, ``True`` means *may
attend*, it broadcasts to the scores ``(B, H, T, S)``, and masks are combined with ``&``. The last
part of the module translates from and to the conventions of other libraries.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = [
    "block_mask",
    "causal_mask",
    "check_broadcastable",
    "check_mask",
    "from_additive",
    "from_blocked",
    "from_integers",
    "longformer_mask",
    "masked_softmax",
    "padding_mask",
    "sliding_window_mask",
    "to_additive",
    "to_blocked",
    "to_integers",
    "to_lengths",
]

# The weakest additive mask in wide use: Swin blocks with -100, Longformer with -10000.
WEAKEST_BLOCK = -100.0


# --------------------------------------------------------------------------- applying a mask


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax over the keys that a query may attend to; blocked keys get exactly 0.

    A row without any visible key becomes a row of zeros with a zero gradient. Plain
    ``masked_fill(-inf).softmax()`` would give NaN there, and a large finite number such as -1e9
    would give equal weights to keys that are all forbidden.

    Args:
        scores: Similarities ``(..., T, S)``; ``-inf`` counts as blocked.
        mask: Boolean, broadcastable to ``(..., T, S)``; ``True`` = may attend.

    Returns:
        Weights ``(..., T, S)``; each row sums to 1, or to 0 where nothing is visible.

    Raises:
        ValueError: If the mask is not boolean or does not fit the scores.

    Example:
        >>> scores = torch.zeros(2, 4)
        >>> mask = torch.tensor([[True, True, False, False], [False] * 4])
        >>> masked_softmax(scores, mask)
        tensor([[0.5000, 0.5000, 0.0000, 0.0000],
                [0.0000, 0.0000, 0.0000, 0.0000]])
    """
    if mask is not None:
        check_mask(mask, scores.shape)
        scores = scores.masked_fill(~mask, -math.inf)
    # Empty rows pass through the softmax as zeros, so that no NaN arises even on the way.
    empty = (scores == -math.inf).all(dim=-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(dim=-1)
    return weights.masked_fill(empty, 0.0)


def check_mask(mask: Tensor, shape: Sequence[int]) -> None:
    """Refuse a mask that is not boolean or does not fit scores of the given shape.

    Args:
        mask: The mask to check.
        shape: Shape of the scores, ``(..., T, S)``.

    Raises:
        ValueError: If the mask is not boolean, or as in :func:`check_broadcastable`.

    Example:
        >>> check_mask(torch.ones(4, 4), (2, 8, 4, 4))
        Traceback (most recent call last):
        ...
        ValueError: mask has dtype torch.float32, wanted torch.bool with True = may attend; \
convert it first: from_additive, from_blocked, from_integers or padding_mask
    """
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask has dtype {mask.dtype}, wanted torch.bool with True = may attend; convert it "
            "first: from_additive, from_blocked, from_integers or padding_mask"
        )
    check_broadcastable("mask", mask, shape)


def check_broadcastable(name: str, tensor: Tensor, shape: Sequence[int]) -> None:
    """Refuse a tensor that doesn't broadcast to scores, or does so along the wrong axis.

    Broadcasting aligns shapes from the right. A ``(B, T, S)`` mask against ``(B, H, T, S)`` scores
    therefore meets the heads with its batch axis, and if ``B == H`` nothing complains. So a tensor
    must have at most 2 dimensions or as many as the scores.

    Args:
        name: What to call the tensor in the error.
        tensor: A mask or a bias.
        shape: Shape of the scores, ``(..., T, S)``.

    Raises:
        ValueError: If the number of dimensions is ambiguous or a size is neither 1 nor equal.

    Example:
        >>> check_broadcastable("mask", torch.ones(8, 1, 1, 5), (8, 8, 5, 5))
        >>> check_broadcastable("mask", torch.ones(8, 5, 5), (8, 8, 5, 5))
        Traceback (most recent call last):
        ...
        ValueError: mask has shape (8, 5, 5), wanted 2 or 4 dimensions for scores (8, 8, 5, 5): \
with 3 its first axis would be matched with the wrong axis of the scores; insert an axis, e.g. \
mask[:, None]
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


# --------------------------------------------------------------------------- building a mask


def causal_mask(T: int, S: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Let each query see its own position and everything before it.

    With more keys than queries the queries are the *last* T of S positions, as when new tokens
    are decoded after S - T cached ones: the triangle is aligned at the bottom right.
    (``F.scaled_dot_product_attention(is_causal=True)`` aligns it at the top left instead.)

    Args:
        T: Number of queries.
        S: Number of keys, T if not given.
        device: Where to put the mask.

    Returns:
        Boolean mask ``(T, S)``.

    Raises:
        ValueError: If S < T, where the first queries would see nothing.

    Example:
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
        >>> causal_mask(2, 5).int()
        tensor([[1, 1, 1, 1, 0],
                [1, 1, 1, 1, 1]], dtype=torch.int32)
    """
    S = T if S is None else S
    if S < T:
        raise ValueError(f"got {T} queries and {S} keys, wanted at least as many keys as queries")
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(diagonal=S - T)


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Hide the padding after each sequence (the "valid lengths" convention, translated).

    Args:
        lengths: Number of real tokens of each sequence, integers ``(B,)``.
        max_len: Padded length S.

    Returns:
        Boolean mask ``(B, 1, 1, S)``: the same keys are hidden from every head and query.

    Raises:
        ValueError: If ``lengths`` is not an integer vector or a length is not in 0..max_len.

    Example:
        >>> padding_mask(torch.tensor([3, 1]), 4)[:, 0, 0].int()
        tensor([[1, 1, 1, 0],
                [1, 0, 0, 0]], dtype=torch.int32)
    """
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths has shape {tuple(lengths.shape)} and dtype {lengths.dtype}, "
            "wanted integers (B,)"
        )
    if lengths.numel() and not (0 <= int(lengths.min()) and int(lengths.max()) <= max_len):
        raise ValueError(f"lengths {lengths.tolist()} are not all in 0..{max_len}")
    return (torch.arange(max_len, device=lengths.device) < lengths[:, None])[:, None, None, :]


def sliding_window_mask(T: int, radius: int, *, device: torch.device | None = None) -> Tensor:
    """Let each position see its neighbours up to ``radius`` steps away on both sides.

    A window holds ``2 * radius + 1`` keys, fewer at the ends. (Libraries that speak of a *window
    size* w mean 2w + 1, w + 1 or w keys; a radius can't be misread.)

    Args:
        T: Sequence length.
        radius: Neighbours on each side, at least 0.
        device: Where to put the mask.

    Returns:
        Boolean mask ``(T, T)``.

    Raises:
        ValueError: If the radius is negative.

    Example:
        >>> sliding_window_mask(5, radius=1).sum(dim=1)
        tensor([2, 3, 3, 3, 2])
    """
    if radius < 0:
        raise ValueError(f"radius is {radius}, wanted at least 0")
    position = torch.arange(T, device=device)
    return (position[:, None] - position).abs() <= radius


def longformer_mask(
    T: int, radius: int, global_positions: Sequence[int], *, device: torch.device | None = None
) -> Tensor:
    """Sliding window plus a few positions that see everything and are seen by everyone.

    Source: Beltagy et al., Longformer (2020), section 3.1. The original gives the global
    positions projections of their own; a mask can only express the pattern.

    Args:
        T: Sequence length.
        radius: Neighbours on each side.
        global_positions: Indices of the global positions; negative ones count from the end.
        device: Where to put the mask.

    Returns:
        Boolean mask ``(T, T)``, symmetric.

    Raises:
        ValueError: If the radius is negative or a position lies outside the sequence.

    Example:
        >>> longformer_mask(5, radius=0, global_positions=[0]).int()
        tensor([[1, 1, 1, 1, 1],
                [1, 1, 0, 0, 0],
                [1, 0, 1, 0, 0],
                [1, 0, 0, 1, 0],
                [1, 0, 0, 0, 1]], dtype=torch.int32)
    """
    if any(not -T <= position < T for position in global_positions):
        raise ValueError(f"global_positions {list(global_positions)} are not all in {-T}..{T - 1}")
    is_global = torch.zeros(T, dtype=torch.bool, device=device)
    is_global[list(global_positions)] = True
    window = sliding_window_mask(T, radius, device=device)
    return window | is_global | is_global[:, None]


def block_mask(T: int, block_size: int, *, device: torch.device | None = None) -> Tensor:
    """Cut the sequence into blocks that see only themselves (a block-diagonal mask).

    Args:
        T: Sequence length; the last block is shorter if ``block_size`` does not divide it.
        block_size: Positions per block, at least 1.
        device: Where to put the mask.

    Returns:
        Boolean mask ``(T, T)``.

    Raises:
        ValueError: If ``block_size`` is less than 1.

    Example:
        >>> block_mask(4, block_size=2).int()
        tensor([[1, 1, 0, 0],
                [1, 1, 0, 0],
                [0, 0, 1, 1],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}, wanted at least 1")
    block = torch.arange(T, device=device) // block_size
    return block[:, None] == block


# --------------------------------------------------------------------------- other conventions


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Translate to the additive convention: 0 where attention is allowed, ``-inf`` elsewhere.

    Args:
        mask: Boolean mask of any shape, ``True`` = may attend.
        dtype: Floating-point type of the result.

    Returns:
        Tensor of the same shape, to be added to the scores before the softmax.

    Raises:
        ValueError: If the mask is not boolean.

    Example:
        >>> to_additive(causal_mask(2))
        tensor([[0., -inf],
                [0., 0.]])
    """
    _require_bool(mask)
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
        >>> to_blocked(causal_mask(2))
        tensor([[False,  True],
                [False, False]])
    """
    _require_bool(mask)
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
    _require_bool(blocked)
    return ~blocked


def to_integers(mask: Tensor) -> Tensor:
    """Translate to 1 = may attend, 0 = blocked, as tokenizers hand masks out.

    Args:
        mask: Boolean mask of any shape, ``True`` = may attend.

    Returns:
        ``int64`` tensor of the same shape.

    Raises:
        ValueError: If the mask is not boolean.

    Example:
        >>> to_integers(padding_mask(torch.tensor([2]), 3))
        tensor([[[[1, 1, 0]]]])
    """
    _require_bool(mask)
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
    _require_bool(mask)
    if mask.ndim != 4 or mask.shape[1:3] != (1, 1):
        raise ValueError(f"mask has shape {tuple(mask.shape)}, wanted (B, 1, 1, S)")
    lengths = mask[:, 0, 0].sum(dim=-1)
    if not torch.equal(padding_mask(lengths, mask.shape[-1]), mask):
        raise ValueError("mask hides a key before a visible one, so no length describes it")
    return lengths


def _require_bool(mask: Tensor) -> None:
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, wanted torch.bool")
