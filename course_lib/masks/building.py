"""Building masks: who may see whom, by position, by length, by neighbourhood."""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.masks.softmax import certain, check_mask, require_bool


def causal_mask(T: int, S: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Let each query see its own position and everything before it, ``(T, S)``.

    With more keys than queries the queries are the *last* T of S positions, as when new tokens
    are decoded after S - T cached ones: the triangle is aligned at the bottom right.
    (``F.scaled_dot_product_attention(is_causal=True)`` aligns it at the top left instead.)

    >>> causal_mask(2, 5).int().tolist()
    [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    """
    S = T if S is None else S
    _check_length("T", T)
    if S < T:
        raise ValueError(f"got {T} queries and {S} keys, wanted at least as many keys as queries")
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(diagonal=S - T)


def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Hide the padding after each of B sequences, given their lengths ``(B,)``: ``(B, 1, 1, S)``.

    >>> padding_mask(torch.tensor([3, 1]), 4)[:, 0, 0].int().tolist()
    [[1, 1, 1, 0], [1, 0, 0, 0]]
    """
    _check_length("max_len", max_len)
    if lengths.ndim != 1 or lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(
            f"lengths has shape {tuple(lengths.shape)} and dtype {lengths.dtype}, "
            "wanted integers (B,)"
        )
    if certain(((lengths < 0) | (lengths > max_len)).any()):
        raise ValueError(f"lengths {lengths.tolist()} are not all in 0..{max_len}")
    return (torch.arange(max_len, device=lengths.device) < lengths[:, None])[:, None, None, :]


def sliding_window_mask(T: int, radius: int, *, device: torch.device | None = None) -> Tensor:
    """Let each position see its neighbours up to ``radius`` steps away on both sides, ``(T, T)``.

    A window holds ``2 * radius + 1`` keys, fewer at the ends. (Libraries that speak of a *window
    size* w mean 2w + 1, w + 1 or w keys; a radius can't be misread.)
    """
    _check_length("T", T)
    _check_length("radius", radius)
    position = torch.arange(T, device=device)
    return (position[:, None] - position).abs() <= radius


def dilated_window_mask(
    T: int, radius: int, dilation: int, *, device: torch.device | None = None
) -> Tensor:
    """Let each position see each ``dilation``-th neighbour, ``radius`` a side: ``(T, T)``.

    The window holds as many keys as the plain one and reaches ``dilation`` times as far. Positions
    that leave different remainders when divided by ``dilation`` never meet.

    Source: Beltagy et al., Longformer (2020), section 3.1, figure 2c.
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
    """Sliding window plus positions that see everything and are seen by everyone, ``(T, T)``.

    The original gives the global positions projections of their own; a mask can only express the
    pattern. Negative ones count from the end.

    Source: Beltagy et al., Longformer (2020), section 3.1.
    """
    _check_length("T", T)
    if any(not -T <= position < T for position in global_positions):
        raise ValueError(f"global_positions {list(global_positions)} are not all in {-T}..{T - 1}")
    is_global = torch.zeros(T, dtype=torch.bool, device=device)
    is_global[list(global_positions)] = True
    window = sliding_window_mask(T, radius, device=device)
    return window | is_global | is_global[:, None]


def block_mask(T: int, block_size: int, *, device: torch.device | None = None) -> Tensor:
    """Cut the sequence into blocks that see only themselves: ``(T, T)``."""
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}, wanted at least 1")
    _check_length("T", T)
    block = torch.arange(T, device=device) // block_size
    return block[:, None] == block


def combine_masks(*masks: Tensor | None) -> Tensor | None:
    """Allow what every mask allows, as ``&`` does; None stands for no mask.

    Masks that meet along wrong axes are refused.
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
