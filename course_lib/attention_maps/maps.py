"""Attention over an image: maps as grids, rollout through the layers, and how far heads look."""

from typing import Literal, get_args

import torch
from torch import Tensor

Fusion = Literal["mean", "max", "min"]


def attention_maps(
    weights: Tensor, grid: tuple[int, int], *, n_prefix: int = 1, query: int = 0
) -> Tensor:
    """Weights of one query of ``(..., T, T)`` on the patches, as ``(..., rows, columns)``.

    Weights on tokens that are no patches, such as the class token, are left out, so that a map sums
    to what the patches get together, not to 1. Query 0 is the class token where there is one.
    """
    _check_tokens(weights, grid, n_prefix)
    n_tokens = weights.shape[-1]
    if not -n_tokens <= query < n_tokens:
        raise ValueError(f"query is {query}, wanted one of {n_tokens} tokens")
    return weights[..., query, n_prefix:].unflatten(-1, grid)


def attention_rollout(weights: Tensor, *, residual: float = 0.5, fusion: Fusion = "mean") -> Tensor:
    """Follow attention from the last layer down to the input: ``(..., T, T)``; rows sum to 1.

    Heads are fused, the residual path is taken into account as ``(1 - r) A + r I``, and the layers
    are multiplied: row t says from which inputs token t of the last layer is mixed, if values,
    projections and feed-forward sub-layers are ignored. So it is a picture of how attention routes,
    not of what the model computes.

    Source: Abnar and Zuidema, Quantifying Attention Flow in Transformers (2020), section 3, with
    the mean of the heads and r = 0.5.

    Args:
        weights: Of all layers, ``(L, ..., H, T, T)``; rows sum to 1.
        residual: Share r of the residual path, in [0, 1]. 0 multiplies bare attention.
        fusion: How heads become one: ``"mean"``, or the ``"max"`` or ``"min"`` of each weight,
            after which rows are made to sum to 1 again.
    """
    if weights.ndim < 4 or weights.shape[-1] != weights.shape[-2] or weights.shape[0] < 1:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, wanted (L, ..., H, T, T), L >= 1"
        )
    if not 0 <= residual <= 1:
        raise ValueError(f"residual is {residual}, wanted a share in [0, 1]")
    if fusion not in get_args(Fusion):
        raise ValueError(f"fusion is {fusion!r}, wanted one of {get_args(Fusion)}")
    if fusion == "mean":
        fused = weights.mean(dim=-3)
    else:
        fused = weights.amax(dim=-3) if fusion == "max" else weights.amin(dim=-3)
        # The smallest weights of a row may all be 0; such a row keeps its residual path alone.
        fused = fused / fused.sum(-1, keepdim=True).clamp_min(torch.finfo(fused.dtype).tiny)
    identity = torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    layers = (1 - residual) * fused + residual * identity
    layers = layers / layers.sum(-1, keepdim=True).clamp_min(torch.finfo(layers.dtype).tiny)
    result = layers[0]
    for layer in layers[1:]:
        result = layer @ result
    return result


def grid_distances(
    rows: int,
    columns: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Tensor:
    """Euclidean distances between the N patches of a grid, in patches, ``(N, N)``."""
    y = torch.arange(rows, dtype=dtype, device=device).repeat_interleave(columns)
    x = torch.arange(columns, dtype=dtype, device=device).repeat(rows)
    return torch.hypot(y[:, None] - y, x[:, None] - x)


def attention_distance(
    weights: Tensor, grid: tuple[int, int], *, n_prefix: int = 1, patch_size: float = 1.0
) -> Tensor:
    """Mean distance of each patch from the patches that it looks at, weighted by attention.

    Patches ask, and only patches are looked at: what goes to the class token has no distance, and
    the rest of a row is made to sum to 1. Otherwise a head that looks at the class token would
    seem to look close by. The mean over ``(..., T, T)`` is ``(...)``, in pixels if ``patch_size``
    is the side of a patch in pixels.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), section 4.5.
    """
    _check_tokens(weights, grid, n_prefix)
    patches = weights[..., n_prefix:, n_prefix:]
    total = patches.sum(-1, keepdim=True).clamp_min(torch.finfo(patches.dtype).tiny)
    distances = grid_distances(*grid, dtype=weights.dtype, device=weights.device)
    return (patches / total * distances).sum(-1).mean(-1) * patch_size


def _check_tokens(weights: Tensor, grid: tuple[int, int], n_prefix: int) -> None:
    rows, columns = grid
    n_tokens = n_prefix + rows * columns
    if weights.ndim < 2 or weights.shape[-2:] != (n_tokens, n_tokens):
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}, wanted (..., {n_tokens}, {n_tokens}): "
            f"{n_prefix} tokens and {rows} rows of {columns} patches"
        )
