"""Rotary positions on a grid: along the axes, or in learned directions."""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.positions.rotary import (
    Layout,
    rotary_angles,
    rotary_frequencies,
    rotate,
    rotate_by_table,
    rotation_table,
)
from course_lib.positions.tables import ComputedTables, without_autocast


def axial_angles(rows: int, columns: int, d_head: int, *, base: float = 100.0) -> Tensor:
    """Radians on a grid, ``(rows * columns, Dh / 2)``: half of the pairs turns by row.

    The other half turns by column. The score of two patches depends on how far they are apart,
    ``(dy, dx)``, but as a sum ``A(dy) + B(dx)``: one diagonal it cannot prefer to the other. Dh is
    divisible by 4.

    Source: Heo et al., Rotary Position Embedding for Vision Transformer (2024), axial frequency,
    whose base is 100 because a grid is shorter than a text; in its code columns come first.

    >>> axial_angles(2, 3, d_head=4).tolist()  # one pair for y, one for x
    [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    """
    _check_head(d_head)
    return rotary_angles(_places(rows, columns), d_head // 2, base=base).flatten(1)


def mixed_frequencies(
    d_head: int, n_heads: int, *, base: float = 10.0, generator: torch.Generator | None = None
) -> Tensor:
    """Radians per step down and to the right, ``(H, Dh / 2, 2)``, in which the pairs turn at first.

    Half of the pairs has frequencies ``base^(-4i/Dh)`` along one direction, which is drawn for each
    head, the other half the same ones at a right angle to it. (Turned by 0 they would be axial.)

    Source: Heo et al. (2024), mixed learnable frequency, and its code, whose base here is 10.
    """
    _check_head(d_head)
    sizes = rotary_frequencies(d_head // 2, base=base)
    turns = 2 * math.pi * torch.rand(n_heads, 1, generator=generator, dtype=torch.float64)
    directions = torch.cat([turns, turns + math.pi / 2], dim=1)
    directions = torch.stack([directions.sin(), directions.cos()], dim=-1)
    return (directions[:, :, None] * sizes[:, None]).flatten(1, 2)


def mixed_angles(rows: int, columns: int, frequencies: Tensor) -> Tensor:
    """Radians on a grid, ``(H, rows * columns, P)``, of radians ``(H, P, 2)`` per step.

    Example:
        A pair with the same frequency down and to the right sees a diagonal.

        >>> mixed_angles(2, 3, torch.tensor([[[1.0, 1.0]]])).view(2, 3)
        tensor([[0., 1., 2.],
                [1., 2., 3.]])
    """
    places = _places(rows, columns, frequencies.device).to(frequencies.dtype)
    return places @ frequencies.transpose(-2, -1)


class AxialRotary(ComputedTables):
    """Rotary positions along the axes of a grid, as ``MultiHeadAttention`` takes them.

    Tokens before the grid do not turn. The fast path uses sines and cosines that are kept.
    """

    table: Tensor

    def __init__(
        self,
        d_head: int,
        rows: int,
        columns: int,
        *,
        base: float = 100.0,
        n_prefix: int = 0,
        layout: Layout = "interleaved",
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.d_head = d_head
        self.rows, self.columns = rows, columns
        self.base = base
        self.n_prefix = n_prefix
        self.layout: Layout = layout
        self.fused = fused
        self.keep_tables()

    def compute_tables(self) -> dict[str, Tensor]:
        """Sines and cosines of each token."""
        return {"table": rotation_table(self._angles((self.rows, self.columns)), self.layout)}

    def _angles(self, grid: tuple[int, int]) -> Tensor:
        return _with_prefix(axial_angles(*grid, self.d_head, base=self.base), self.n_prefix)

    def forward(
        self, q: Tensor, k: Tensor, offset: int = 0, *, grid: tuple[int, int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Turn q and k ``(..., N, Dh)``; the offset is 0, as a grid has no end at which to go on.

        ``grid`` has rows and columns, if others than those of the module.
        """
        grid = (self.rows, self.columns) if grid is None else grid
        _check_tokens(q, k, offset, grid, self.n_prefix, self.d_head)
        if self.fused and grid == (self.rows, self.columns):
            return (
                rotate_by_table(q, self.table, self.layout),
                rotate_by_table(k, self.table, self.layout),
            )
        angles = self._angles(grid).to(q.device)
        return rotate(q, angles, self.layout), rotate(k, angles, self.layout)


class MixedRotary(nn.Module):
    """Rotary positions on a grid in learned directions, as ``MultiHeadAttention`` takes them.

    Each head of each layer has its own Dh numbers to learn, so a layer needs its own module.
    Tokens before the grid do not turn.
    """

    def __init__(
        self,
        d_head: int,
        n_heads: int,
        rows: int,
        columns: int,
        *,
        base: float = 10.0,
        n_prefix: int = 0,
        layout: Layout = "interleaved",
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.d_head = d_head
        self.rows, self.columns = rows, columns
        self.n_prefix = n_prefix
        self.layout: Layout = layout
        self.fused = fused
        frequencies = mixed_frequencies(d_head, n_heads, base=base, generator=generator)
        self.frequencies = nn.Parameter(frequencies.to(torch.get_default_dtype()))
        # Fails now rather than later if the layout is unknown.
        rotation_table(frequencies, layout)

    def forward(
        self, q: Tensor, k: Tensor, offset: int = 0, *, grid: tuple[int, int] | None = None
    ) -> tuple[Tensor, Tensor]:
        """Turn q and k ``(..., H, N, Dh)``; offset and grid as in :class:`AxialRotary`."""
        grid = (self.rows, self.columns) if grid is None else grid
        _check_tokens(q, k, offset, grid, self.n_prefix, self.d_head)
        frequencies = self.frequencies.to(
            torch.promote_types(self.frequencies.dtype, torch.float32)
        )
        angles = _with_prefix(mixed_angles(*grid, frequencies), self.n_prefix)
        if not self.fused:
            return rotate(q, angles, self.layout), rotate(k, angles, self.layout)
        table = rotation_table(angles, self.layout)
        return rotate_by_table(q, table, self.layout), rotate_by_table(k, table, self.layout)


def _outside_autocast(forward: Callable[..., tuple[Tensor, Tensor]]) -> Any:
    @functools.wraps(forward)
    def exact(self: MixedRotary, q: Tensor, *args: Any, **options: Any) -> tuple[Tensor, Tensor]:
        with without_autocast(q.device):
            return forward(self, q, *args, **options)

    return exact


# An angle of bfloat16 is off by a tenth of a radian at 20, and complex numbers of it don't exist.
# A statement, not a decorator: records of runs name the code of the class, which it leaves alone.
MixedRotary.forward = _outside_autocast(MixedRotary.forward)  # type: ignore[method-assign]


def _places(rows: int, columns: int, device: torch.device | None = None) -> Tensor:
    """Row and column of each patch, ``(rows * columns, 2)``."""
    return torch.cartesian_prod(
        torch.arange(rows, device=device), torch.arange(columns, device=device)
    )


def _with_prefix(angles: Tensor, n_prefix: int) -> Tensor:
    """Put tokens that turn by nothing in front."""
    return nn.functional.pad(angles, (0, 0, n_prefix, 0)) if n_prefix else angles


def _check_head(d_head: int) -> None:
    if d_head < 4 or d_head % 4:
        raise ValueError(f"d_head is {d_head}, wanted a positive multiple of 4")


def _check_tokens(
    q: Tensor, k: Tensor, offset: int, grid: tuple[int, int], n_prefix: int, d_head: int
) -> None:
    wanted = (n_prefix + grid[0] * grid[1], d_head)
    for name, x in (("q", q), ("k", k)):
        if x.shape[-2:] != wanted:
            raise ValueError(
                f"{name} has tokens and channels {tuple(x.shape[-2:])}, wanted {wanted} for a grid "
                f"{grid[0]} x {grid[1]} behind {n_prefix} tokens"
            )
    if offset:
        raise ValueError(f"offset is {offset}, wanted 0: a grid has no end at which to go on")
