"""Positions on a grid."""

import torch
from torch import Tensor

from course_lib.positions.sinusoidal import sinusoidal_encoding


def spatial_positions(rows: int, columns: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode a grid by concatenation: the first half of the channels says y, the second x.

    The frequencies are those of a line of half the width. Other libraries order the channels in
    other ways: timm has the sines of y and x before their cosines, for instance.

    Args:
        rows: Rows of the grid.
        columns: Its columns.
        d_model: Width D, divisible by 4: each half needs pairs of sine and cosine.
        base: As in :func:`course_lib.positions.sinusoidal_encoding`.

    Returns:
        Table ``(rows * columns, D)``, float32, row after row.

    Raises:
        ValueError: If D is not a positive multiple of 4.

    Example:
        >>> table = spatial_positions(2, 3, d_model=8).unflatten(0, (2, 3))
        >>> torch.equal(table[1, 0, :4], table[1, 2, :4])  # same row, same first half
        True
        >>> torch.equal(table[0, 2, 4:], table[1, 2, 4:])  # same column, same second half
        True
    """
    if d_model < 4 or d_model % 4:
        raise ValueError(f"d_model is {d_model}, wanted a positive multiple of 4")
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    halves = [sinusoidal_encoding(axis, d_model // 2, base=base) for axis in (y, x)]
    return torch.cat(halves, dim=-1).flatten(0, 1)


def summed_positions(rows: int, columns: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode a grid by addition of a row code and a column code, which loses what is what.

    Kept as a counter-example: (2, 5) and (5, 2) get the same sum, and of the 196 places of a grid
    of 14 x 14 only 105 can be told apart.

    Args:
        rows: Rows of the grid.
        columns: Its columns.
        d_model: Width D, even.
        base: As in :func:`course_lib.positions.sinusoidal_encoding`.

    Returns:
        Table ``(rows * columns, D)``, float32, row after row.

    Raises:
        ValueError: If D is not a positive even number.

    Example:
        >>> table = summed_positions(6, 6, d_model=8).unflatten(0, (6, 6))
        >>> torch.equal(table[2, 5], table[5, 2])
        True
    """
    line = sinusoidal_encoding(torch.arange(max(rows, columns)), d_model, base=base)
    return (line[:rows, None] + line[:columns]).flatten(0, 1)
