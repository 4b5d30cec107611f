"""Positions on a grid."""

import torch
from torch import Tensor

from course_lib.positions.sinusoidal import sinusoidal_encoding

__all__ = ["spatial_positions"]


def spatial_positions(height: int, width: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Encode a grid by concatenation: the first half of the channels says y, the second x.

    Adding a row code and a column code from the same table instead would give (2, 5) and (5, 2)
    the same sum.

    Args:
        height: Rows.
        width: Columns.
        d_model: Width D, divisible by 4: each half needs pairs of sine and cosine.
        base: As in :func:`course_lib.positions.sinusoidal_encoding`.

    Returns:
        Table ``(height * width, D)``, float32, row after row.

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
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    halves = [sinusoidal_encoding(axis, d_model // 2, base=base) for axis in (y, x)]
    return torch.cat(halves, dim=-1).flatten(0, 1)
