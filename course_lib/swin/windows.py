"""Cutting a grid of tokens into windows, moving the windows, and who may see whom in them."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

Pair = tuple[int, int]


def window_partition(x: Tensor, window: Pair) -> Tensor:
    """Cut a grid into windows: ``(B, rows, columns, D)`` to ``(B * nW, N, D)``.

    All windows of the first image come first, row after row; tokens of a window row after row too.

    Example:
        >>> grid = torch.arange(8).view(1, 2, 4, 1)
        >>> window_partition(grid, (2, 2))[..., 0].tolist()
        [[0, 1, 4, 5], [2, 3, 6, 7]]
    """
    if x.ndim != 4:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, rows, columns, D)")
    B, rows, columns, D = x.shape
    _check_tiles(window, rows, columns)
    if (rows, columns) == window:
        return x.reshape(B, rows * columns, D)
    tiles = x.reshape(B, rows // window[0], window[0], columns // window[1], window[1], D)
    return tiles.transpose(2, 3).reshape(-1, window[0] * window[1], D)


def window_reverse(windows: Tensor, window: Pair, rows: int, columns: int) -> Tensor:
    """Put windows together again: ``(B * nW, N, D)`` to ``(B, rows, columns, D)``."""
    _check_tiles(window, rows, columns)
    n_windows = (rows // window[0]) * (columns // window[1])
    N = window[0] * window[1]
    if windows.ndim != 3 or windows.shape[0] % n_windows or windows.shape[1] != N:
        raise ValueError(
            f"windows have shape {tuple(windows.shape)}, wanted (B * {n_windows}, {N}, D)"
        )
    if n_windows == 1:
        return windows.reshape(-1, rows, columns, windows.shape[-1])
    D = windows.shape[-1]
    tiles = windows.reshape(-1, rows // window[0], columns // window[1], *window, D)
    return tiles.transpose(2, 3).reshape(-1, rows, columns, D)


def cyclic_shift(x: Tensor, shift: Pair) -> Tensor:
    """Move a grid ``(B, rows, columns, D)`` up and left, around its edges.

    Windows cut from the moved grid are windows moved down and to the right on the old one, and
    there are as many of them as before. A negative shift moves back.

    Example:
        >>> grid = torch.arange(6).view(1, 2, 3, 1)
        >>> cyclic_shift(grid, (0, 1))[0, ..., 0].tolist()
        [[1, 2, 0], [4, 5, 3]]
    """
    _check_grid(x)
    if shift == (0, 0):
        return x
    return x.roll((-shift[0], -shift[1]), dims=(1, 2))


@dataclass(frozen=True)
class Layout:
    """Cut of a grid into windows; of every pair the first is for rows, the second for columns.

    Example:
        >>> layout = Layout(grid=(8, 10), window=(4, 4), shift=(2, 2))
        >>> layout.padded, layout.n_windows, layout.masked
        ((8, 12), 6, True)
    """

    grid: Pair
    window: Pair
    shift: Pair

    @property
    def padded(self) -> Pair:
        """Sizes of the grid once windows tile it."""
        rows, columns = (-(-side // m) * m for side, m in zip(self.grid, self.window, strict=True))
        return rows, columns

    @property
    def n_windows(self) -> int:
        """Number of windows nW of a grid."""
        return (self.padded[0] // self.window[0]) * (self.padded[1] // self.window[1])

    @property
    def masked(self) -> bool:
        """Tell whether a window holds tokens that must not see each other."""
        return self.shift != (0, 0) or self.padded != self.grid


def window_layout(rows: int, columns: int, window: int, shift: int) -> Layout:
    """Decide how square windows, moved by less than their side, are laid on a grid.

    A window that is not smaller than the grid along an axis becomes as long as the grid, and does
    not move along it: it sees all there is.
    """
    if min(rows, columns, window) < 1:
        raise ValueError(
            f"the grid is {rows} x {columns} and window {window}, wanted at least 1 each"
        )
    if not 0 <= shift < window:
        raise ValueError(f"shift is {shift}, wanted at least 0 and less than window {window}")
    height, width = min(window, rows), min(window, columns)
    return Layout(
        grid=(rows, columns),
        window=(height, width),
        shift=(shift if rows > height else 0, shift if columns > width else 0),
    )


def window_mask(layout: Layout) -> Tensor:
    """Mask inside moved windows, in which nobody sees padding: boolean ``(nW, N, N)``.

    Cyclic shifting brings tokens from opposite sides of the grid into one window. Two tokens are
    real neighbours if, along each axis, both came round the edge or neither did. A window of
    nothing but padding has empty rows.

    Source: Liu et al., Swin Transformer (2021), section 3.2, "Efficient batch computation".

    Example:
        Three of four windows on an 8 x 8 grid touch its edge.

        >>> window_mask(Layout(grid=(8, 8), window=(4, 4), shift=(2, 2))).float().mean((1, 2))
        tensor([1.0000, 0.5000, 0.5000, 0.2500])
    """
    wrapped, real = [], []
    for side, length, shift in zip(layout.grid, layout.padded, layout.shift, strict=True):
        source = torch.arange(length) + shift
        wrapped.append(source >= length)
        real.append(source % length < side)
    down, right = wrapped
    region = _as_windows(2 * down[:, None].long() + right.long(), layout.window)
    exists = _as_windows(real[0][:, None] & real[1], layout.window)
    return (region[:, :, None] == region[:, None, :]) & exists[:, None, :]


def pad_grid(x: Tensor, sizes: Pair) -> Tensor:
    """Append zeros below and to the right, ``(B, rows, columns, D)`` to ``(B, *sizes, D)``."""
    _check_grid(x)
    rows, columns = x.shape[1:3]
    if rows > sizes[0] or columns > sizes[1]:
        raise ValueError(f"the grid is {rows} x {columns}, wanted at most {sizes[0]} x {sizes[1]}")
    if (rows, columns) == sizes:
        return x
    return F.pad(x, (0, 0, 0, sizes[1] - columns, 0, sizes[0] - rows))


def _check_grid(x: Tensor) -> None:
    if x.ndim != 4:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, rows, columns, D)")


def _as_windows(values: Tensor, window: Pair) -> Tensor:
    return window_partition(values[None, ..., None], window)[..., 0]


def _check_tiles(window: Pair, rows: int, columns: int) -> None:
    if min(window) < 1 or rows % window[0] or columns % window[1]:
        raise ValueError(
            f"the window is {window[0]} x {window[1]}, wanted sides that divide {rows} x {columns}"
        )
