"""Positions on a grid."""

import torch
from torch import Tensor

from course_lib.positions.sinusoidal import sinusoidal_encoding


def spatial_positions(rows: int, columns: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Codes ``(rows * columns, D)`` by concatenation: half of the channels says y, half x.

    The frequencies are those of a line of half the width; D is divisible by 4. Other libraries
    order the channels otherwise: timm has the sines of y and x before their cosines.
    """
    if d_model < 4 or d_model % 4:
        raise ValueError(f"d_model is {d_model}, wanted a positive multiple of 4")
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    halves = [sinusoidal_encoding(axis, d_model // 2, base=base) for axis in (y, x)]
    return torch.cat(halves, dim=-1).flatten(0, 1)


def summed_positions(rows: int, columns: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Add a row code and a column code, ``(rows * columns, D)``, which loses what is what.

    Kept as a counter-example: (2, 5) and (5, 2) get the same sum, and of the 196 places of a grid
    of 14 x 14 only 105 can be told apart.
    """
    line = sinusoidal_encoding(torch.arange(max(rows, columns)), d_model, base=base)
    return (line[:rows, None] + line[:columns]).flatten(0, 1)
