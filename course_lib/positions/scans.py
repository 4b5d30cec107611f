"""Orders in which the places of a grid can be read."""

from typing import Literal, get_args

import torch
from torch import Tensor

Scan = Literal["raster", "column", "snake", "zigzag", "spiral", "hilbert", "random"]


def scan_order(
    scan: Scan, rows: int, columns: int, *, generator: torch.Generator | None = None
) -> Tensor:
    """The places of a grid, counted row after row, in the order of a scan: ``(rows * columns,)``.

    ``"raster"`` goes row after row, ``"snake"`` too but turns round at each end, ``"column"``
    column after column; ``"zigzag"`` runs along the diagonals, up and down by turns, ``"spiral"``
    clockwise from the corner to the middle; ``"hilbert"`` finishes each quarter of a square, whose
    side is a power of two, before the next, and each quarter of that, without a jump; ``"random"``
    draws an order. Tokens in raster order are brought into the scan's by ``x[..., order, :]``.

    >>> scan_order("spiral", 3, 3).tolist()
    [0, 1, 2, 5, 8, 7, 6, 3, 4]
    >>> scan_order("zigzag", 3, 3).tolist()
    [0, 1, 3, 6, 4, 2, 5, 7, 8]
    """
    if scan not in get_args(Scan):
        raise ValueError(f"scan is {scan!r}, wanted one of {get_args(Scan)}")
    if min(rows, columns) < 1:
        raise ValueError(f"the grid is {rows} x {columns}, wanted at least 1 x 1")
    grid = torch.arange(rows * columns).view(rows, columns)
    if scan == "raster":
        return grid.flatten()
    if scan == "column":
        return grid.T.flatten()
    if scan == "hilbert":
        if rows != columns or rows & (rows - 1):
            raise ValueError(
                f"the grid is {rows} x {columns}, wanted a square whose side is a power of two "
                "for 'hilbert'"
            )
        return _hilbert(grid)
    if scan == "random":
        return torch.randperm(rows * columns, generator=generator)
    if scan == "snake":
        grid[1::2] = grid[1::2].flip(-1)
        return grid.flatten()
    if scan == "zigzag":
        # Row r of the mirrored grid's diagonal; an even one is run through upwards.
        diagonals = [grid.flip(-1).diagonal(columns - 1 - d) for d in range(rows + columns - 1)]
        turned = [line if d % 2 else line.flip(0) for d, line in enumerate(diagonals)]
        return torch.cat(turned)
    parts = []
    while grid.numel():
        parts.append(grid[0])
        grid = grid[1:].T.flip(0)  # what is left, turned so that its next side is on top
    return torch.cat(parts)


def _hilbert(grid: Tensor) -> Tensor:
    """From the upper left corner of a square to its upper right one."""
    half = len(grid) // 2
    if not half:
        return grid.flatten()
    left, right = grid.split(half, dim=1)
    # The first quarter mirrored along its diagonal, the last one along the other diagonal, so that
    # each begins where the one before has ended.
    return torch.cat(
        [
            _hilbert(left[:half].T),
            _hilbert(left[half:]),
            _hilbert(right[half:]),
            _hilbert(right[:half].flip(0, 1).T),
        ]
    )


def inverse_order(order: Tensor) -> Tensor:
    """Say for each place at which number it is read, ``(N,)``: the way back from an order ``(N,)``.

    >>> inverse_order(torch.tensor([1, 2, 0])).tolist()
    [2, 0, 1]
    """
    wanted = torch.arange(len(order), device=order.device)
    if order.ndim != 1 or not order.sort().values.equal(wanted):
        raise ValueError(f"order is {order.tolist()}, wanted a permutation of 0..N-1")
    return order.argsort()
