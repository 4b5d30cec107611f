"""Fitting the table of a grid to another grid, with the weights written out."""

import torch
from torch import Tensor


def stretch_places(old: int, new: int) -> Tensor:
    """Middles of new cells ``(new,)``, counted in old cells, if both fill the same length."""
    if min(old, new) < 1:
        raise ValueError(f"there are {old} old and {new} new cells, wanted at least 1 of each")
    return (torch.arange(new, dtype=torch.float64) + 0.5) * (old / new) - 0.5


def stretch_weights(old: int, new: int) -> Tensor:
    """Measure how much each new cell takes of each old one: ``(new, old)``, rows sum to 1."""
    places = stretch_places(old, new).clamp(0, old - 1)
    return (1 - (places[:, None] - torch.arange(old)).abs()).clamp(min=0)


def stretch_grid(
    table: Tensor, old: tuple[int, int], new: tuple[int, int], *, n_prefix: int = 0
) -> Tensor:
    """Fit a table ``(n_prefix + rows * columns, D)`` to another grid: one matrix per direction.

    The explicit way for what :func:`course_lib.positions.resample_grid` does with smoother weights.
    Source: bilinear interpolation, as ``F.interpolate`` does it without aligning corners.

    >>> stretch_grid(torch.tensor([[9.0], [0.0], [1.0]]), (1, 2), (1, 4), n_prefix=1).T.tolist()
    [[9.0, 0.0, 0.25, 0.75, 1.0]]
    """
    if table.ndim != 2 or len(table) != n_prefix + old[0] * old[1]:
        raise ValueError(
            f"the table has shape {tuple(table.shape)}, wanted "
            f"({n_prefix} + {old[0]} * {old[1]}, D)"
        )
    down, across = (stretch_weights(n, m).to(table.dtype) for n, m in zip(old, new, strict=True))
    grid = table[n_prefix:].unflatten(0, old)
    fitted = torch.einsum("ar,bc,rcd->abd", down, across, grid)
    return torch.cat([table[:n_prefix], fitted.flatten(0, 1)])
