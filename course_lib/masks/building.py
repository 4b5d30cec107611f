"""Building masks: who may see whom, by position, by length, by neighbourhood."""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.masks.softmax import check_mask, require_bool


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
        ValueError: If T is negative, or S < T, where the first queries would see nothing.

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
    _check_length("T", T)
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
    _check_length("max_len", max_len)
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths has shape {tuple(lengths.shape)} and dtype {lengths.dtype}, "
            "wanted integers (B,)"
        )
    # What a tensor holds is nothing that a compiler or the meta device could tell.
    told = not (torch.compiler.is_compiling() or lengths.is_meta) and lengths.numel()
    if told and not (0 <= int(lengths.min()) and int(lengths.max()) <= max_len):
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
        ValueError: If the length or the radius is negative.

    Example:
        >>> sliding_window_mask(5, radius=1).sum(dim=1)
        tensor([2, 3, 3, 3, 2])
    """
    _check_length("T", T)
    _check_length("radius", radius)
    position = torch.arange(T, device=device)
    return (position[:, None] - position).abs() <= radius


def dilated_window_mask(
    T: int, radius: int, dilation: int, *, device: torch.device | None = None
) -> Tensor:
    """Let each position see every ``dilation``-th neighbour, up to ``radius`` on both sides.

    The window holds as many keys as the plain one and reaches ``dilation`` times as far. Positions
    that leave different remainders when divided by ``dilation`` never meet.

    Source: Beltagy et al., Longformer (2020), section 3.1, figure 2c.

    Args:
        T: Sequence length.
        radius: Neighbours on each side, at least 0.
        dilation: Distance between them, at least 1; with 1 it is :func:`sliding_window_mask`.
        device: Where to put the mask.

    Returns:
        Boolean mask ``(T, T)``.

    Raises:
        ValueError: If the length or the radius is negative or the dilation is less than 1.

    Example:
        >>> dilated_window_mask(6, radius=1, dilation=2).int()
        tensor([[1, 0, 1, 0, 0, 0],
                [0, 1, 0, 1, 0, 0],
                [1, 0, 1, 0, 1, 0],
                [0, 1, 0, 1, 0, 1],
                [0, 0, 1, 0, 1, 0],
                [0, 0, 0, 1, 0, 1]], dtype=torch.int32)
    """
    if dilation < 1:
        raise ValueError(f"dilation is {dilation}, wanted at least 1")
    _check_length("T", T)
    _check_length("radius", radius)
    position = torch.arange(T, device=device)
    same_track = (position[:, None] - position) % dilation == 0
    return sliding_window_mask(T, radius * dilation, device=device) & same_track


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
        ValueError: If the length or the radius is negative or a position lies outside the sequence.

    Example:
        >>> longformer_mask(5, radius=0, global_positions=[0]).int()
        tensor([[1, 1, 1, 1, 1],
                [1, 1, 0, 0, 0],
                [1, 0, 1, 0, 0],
                [1, 0, 0, 1, 0],
                [1, 0, 0, 0, 1]], dtype=torch.int32)
    """
    _check_length("T", T)
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
        ValueError: If ``block_size`` is less than 1 or the length negative.

    Example:
        >>> block_mask(4, block_size=2).int()
        tensor([[1, 1, 0, 0],
                [1, 1, 0, 0],
                [0, 0, 1, 1],
                [0, 0, 1, 1]], dtype=torch.int32)
    """
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}, wanted at least 1")
    _check_length("T", T)
    block = torch.arange(T, device=device) // block_size
    return block[:, None] == block


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Allow what every mask allows, as ``&`` does, and refuse masks that meet along wrong axes.

    Args:
        masks: Boolean masks that broadcast to the same scores; None stands for no mask.

    Returns:
        Boolean mask, as large as the masks broadcast to, or None if none was given.

    Raises:
        ValueError: If a mask is not boolean or does not fit the others.

    Example:
        A decoder sees neither the future nor the padding.

        >>> both = combine_masks(causal_mask(3), padding_mask(torch.tensor([3, 2]), 3))
        >>> both.shape, both[1, 0].int()
        (torch.Size([2, 1, 3, 3]), tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 0]], dtype=torch.int32))
    """
    given = [mask for mask in masks if mask is not None]
    if not given:
        return None
    for mask in given:
        require_bool(mask)
    n_axes = max(mask.ndim for mask in given)
    sizes = [(1,) * (n_axes - mask.ndim) + tuple(mask.shape) for mask in given]
    shape = [next((n for n in column if n != 1), 1) for column in zip(*sizes, strict=True)]
    combined = given[0]
    for mask in given:
        check_mask(mask, shape)
        combined = combined & mask
    return combined


def _check_length(name: str, length: int) -> None:
    if length < 0:
        raise ValueError(f"{name} is {length}, wanted at least 0")
