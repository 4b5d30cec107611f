"""Blocks that see only themselves, each its own small attention.

What lies in different blocks never meets, however many layers follow: other patterns (shifted
windows, strides, global positions) exist to mend that.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import check_attention, fused_attention, scaled_dot_product_attention
from course_lib.masks import causal_mask, check_mask, combine_masks


def block_diagonal_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_size: int,
    *,
    causal: bool = False,
    key_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend within blocks of neighbours, as dense attention does with a block mask.

    Returns the output ``(..., T, Dv)``, 0 for a query that sees nothing, and the weights block by
    block ``(..., T / b, b, b)``, rounded up; where the last block is shorter, its rest is 0. The
    key mask is broadcastable to ``(..., 1, T)``.

    >>> q = k = torch.zeros(5, 2)
    >>> v = torch.tensor([[0.0], [2.0], [4.0], [6.0], [8.0]])
    >>> out, weights = block_diagonal_attention(q, k, v, block_size=2)
    >>> out[:, 0], weights.shape
    (tensor([1., 1., 5., 5., 8.]), torch.Size([3, 2, 2]))
    """
    blocks, mask = _cut(q, k, v, block_size, causal, key_mask)
    out, weights = scaled_dot_product_attention(*blocks, mask, scale=scale)
    T = q.shape[-2]
    if T % block_size:
        row = torch.arange(weights.shape[-3] * block_size, device=q.device).reshape(-1, block_size)
        weights = weights.masked_fill((row >= T)[..., None], 0.0)
    return out.flatten(-3, -2)[..., :T, :], weights


def fused_block_diagonal_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    block_size: int,
    *,
    causal: bool = False,
    key_mask: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Compute :func:`block_diagonal_attention` with the fused kernel, without the weights.

    Arguments as for :func:`block_diagonal_attention`.
    """
    blocks, mask = _cut(q, k, v, block_size, causal, key_mask)
    # The kernel wants exactly two axes before those of a block.
    N, n_blocks = math.prod(q.shape[:-2]), blocks[0].shape[-3]
    q_blocks, k_blocks, v_blocks = (x.reshape(N, *x.shape[-3:]) for x in blocks)
    if mask is not None and mask.ndim > 2:
        if math.prod(mask.shape[:-3]) != 1:
            mask = mask.expand(*q.shape[:-2], *mask.shape[-3:])
        mask = mask.reshape(math.prod(mask.shape[:-3]), n_blocks, *mask.shape[-2:])
    out = fused_attention(q_blocks, k_blocks, v_blocks, mask, scale=scale, dropout=dropout)
    return out.reshape(*q.shape[:-2], n_blocks * block_size, v.shape[-1])[..., : q.shape[-2], :]


def _cut(
    q: Tensor, k: Tensor, v: Tensor, block_size: int, causal: bool, key_mask: Tensor | None
) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor | None]:
    """Blocks ``(..., n, b, D)`` of all three, and what hides in them besides."""
    if block_size < 1:
        raise ValueError(f"block_size is {block_size}, wanted at least 1")
    check_attention(q, k, v, aligned=True)
    T = q.shape[-2]
    spare = -T % block_size
    sizes = ((T + spare) // block_size, block_size)
    masks: list[Tensor] = []
    if key_mask is not None:
        check_mask(key_mask, (*q.shape[:-2], 1, T), q.device)
        key_mask = torch.atleast_2d(key_mask)
        masks.append(key_mask.expand(*key_mask.shape[:-1], T))
    elif spare:
        masks.append(torch.ones(1, T, dtype=torch.bool, device=q.device))
    # (..., 1, T) to (..., n, 1, b): in every block, which of its keys are there.
    masks = [F.pad(m, (0, spare)).unflatten(-1, sizes).transpose(-3, -2) for m in masks]
    masks = [m[(None,) * (q.ndim + 1 - m.ndim)] for m in masks]
    if causal:
        masks.append(causal_mask(block_size, device=q.device))
    if spare:
        q, k, v = (F.pad(x, (0, 0, 0, spare)) for x in (q, k, v))
    q, k, v = (x.unflatten(-2, sizes) for x in (q, k, v))
    return (q, k, v), combine_masks(*masks)
