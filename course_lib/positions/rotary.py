"""Rotary positions: queries and keys are turned by where they stand."""

from typing import Literal, get_args

import torch
from torch import Tensor

from course_lib.positions.tables import ComputedTables

# Pairs of channels: neighbours (0, 1), (2, 3), ... or, of d channels that turn, those half
# the way apart, (0, d/2), (1, d/2 + 1), ...
Layout = Literal["interleaved", "half_split"]
_LAYOUTS = get_args(Layout)


def rotary_frequencies(
    d_rotary: int, *, base: float = 10_000.0, device: torch.device | None = None
) -> Tensor:
    """Radians ``(d / 2,)`` that pairs of channels turn from place to place: ``base^(-2i/d)``.

    Source: Su et al., RoFormer (2021), section 3.2.2.
    """
    if d_rotary < 2 or d_rotary % 2:
        raise ValueError(f"d_rotary is {d_rotary}, wanted a positive even number")
    pairs = torch.arange(0, d_rotary, 2, dtype=torch.float64, device=device)
    return base ** -(pairs / d_rotary)


def rotary_angles(positions: Tensor, d_rotary: int, *, base: float = 10_000.0) -> Tensor:
    """Radians ``(..., d / 2)`` by which tokens turn: positions ``(...)`` times frequencies.

    In float64: in single precision the angle of a late position is off in the fourth digit.

    >>> rotary_angles(torch.tensor([0, 1, 500]), 4).tolist()
    [[0.0, 0.0], [1.0, 0.01], [500.0, 5.0]]
    """
    frequencies = rotary_frequencies(d_rotary, base=base, device=positions.device)
    return positions[..., None].double() * frequencies


def rotate(x: Tensor, angles: Tensor, layout: Layout = "interleaved") -> Tensor:
    """Turn pairs of channels: ``(a, b)`` becomes ``(a cos - b sin, a sin + b cos)``.

    The product of a query turned by ``m t`` and a key turned by ``n t`` depends on ``m - n`` alone:
    two absolute positions make a relative one, and nothing is added to the scores.

    Source: Su et al., RoFormer (2021), section 3.4.2.

    Args:
        x: Queries or keys ``(..., T, Dh)``.
        angles: Radians, broadcastable to ``(..., T, P)``. The first 2P channels turn.
        layout: ``"interleaved"`` pairs neighbours; ``"half_split"`` pairs channels P apart.

    Example:
        A quarter turn of the first pair. With the wrong layout the scores are others, though they
        still depend on the distance alone.

        >>> x, angles = torch.tensor([[1.0, 0.0, 5.0, 0.0]]), torch.tensor([[torch.pi / 2, 0.0]])
        >>> for layout in ("interleaved", "half_split"):
        ...     print(rotate(x, angles, layout).round().int().tolist())
        [[0, 1, 5, 0]]
        [[-5, 0, 1, 0]]
    """
    _check_pairs(x, 2 * angles.shape[-1], layout)
    dtype = torch.promote_types(x.dtype, torch.float32)
    turning, rest = x.tensor_split([2 * angles.shape[-1]], dim=-1)
    turned = _turn(turning, angles.cos().to(dtype), angles.sin().to(dtype), layout)
    return torch.cat([turned.to(x.dtype), rest], dim=-1)


def _turn(x: Tensor, cos: Tensor, sin: Tensor, layout: Layout) -> Tensor:
    if layout == "interleaved":
        a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


def rotation_table(
    angles: Tensor, layout: Layout = "interleaved", *, dtype: torch.dtype | None = None
) -> Tensor:
    """Bring radians ``(..., T, P)`` into the form that :func:`rotate_by_table` wants.

    Interleaved: ``(..., T, P, 2)``, the cosine and the sine, which are one complex number.
    Half split: ``(2, ..., T, 2P)``, the cosines twice, and the sines with either sign.
    The dtype is that of the angles if not given.
    """
    _check_layout(layout)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    if layout == "interleaved":
        return torch.stack([cos, sin], dim=-1)
    return torch.stack([torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)])


def rotate_by_table(x: Tensor, table: Tensor, layout: Layout = "interleaved") -> Tensor:
    """Compute :func:`rotate` of x ``(..., T, Dh)`` in fewer passes over the memory.

    Neighbouring channels are read as complex numbers, which one product turns. Channels half the
    way apart change places once, so that two products of whole rows are enough. The leading axes
    of the :func:`rotation_table` broadcast to those of x, whose precision the result has.
    """
    width = 2 * table.shape[-2] if layout == "interleaved" else table.shape[-1]
    _check_pairs(x, width, layout, "(..., T, Dh)")
    if width < x.shape[-1]:
        turning, rest = x.tensor_split([width], dim=-1)
        return torch.cat([rotate_by_table(turning, table, layout), rest], dim=-1)
    if layout == "interleaved" and torch.compiler.is_compiling():
        # A compiler joins the steps of the formula by itself, but not those with complex numbers.
        return _turn(x, table[..., 0], table[..., 1], layout).to(x.dtype)
    if layout == "interleaved":
        pairs = torch.view_as_complex(_paired(x.to(table.dtype)))
        return torch.view_as_real(pairs * torch.view_as_complex(table)).flatten(-2).to(x.dtype)
    cos, sin = table.unbind()
    return torch.addcmul(x * cos, x.roll(width // 2, dims=-1), sin).to(x.dtype)


def _paired(x: Tensor) -> Tensor:
    """See neighbours as pairs; copied where a pair cannot be read as one complex number."""
    pairs = x.unflatten(-1, (-1, 2))
    even = all(stride % 2 == 0 for stride in pairs.stride()[:-1]) and x.storage_offset() % 2 == 0
    return (
        pairs
        if even and pairs.stride(-1) == 1
        else pairs.clone(memory_format=torch.contiguous_format)
    )


def convert_rotary_layout(
    weight: Tensor, n_heads: int, *, to: Layout, d_rotary: int | None = None
) -> Tensor:
    """Reorder the rows of a query or key projection, so that they fit the other layout.

    Queries and keys must both be converted; scores stay what they were. Values have no positions.
    The weight ``(H * Dh, D)`` or bias ``(H * Dh,)`` is not in the layout ``to``.

    >>> convert_rotary_layout(torch.arange(8), n_heads=1, to="half_split")
    tensor([0, 2, 4, 6, 1, 3, 5, 7])
    """
    _check_layout(to)
    if n_heads < 1 or len(weight) % n_heads:
        raise ValueError(f"n_heads is {n_heads}, wanted a divisor of the {len(weight)} rows")
    d_head = len(weight) // n_heads
    d_rotary = _check_rotary(d_head, d_rotary)
    order = torch.arange(d_head, device=weight.device)
    shape = (-1, 2) if to == "half_split" else (2, -1)
    order[:d_rotary] = order[:d_rotary].view(shape).T.flatten()
    return weight.unflatten(0, (n_heads, d_head))[:, order].flatten(0, 1)


class Rotary(ComputedTables):
    """Rotary positions on a line, as ``MultiHeadAttention`` takes them.

    Args:
        d_rotary: How many channels of a head turn, the first ones; all if not given.
        layout: As in :func:`rotate`.
        max_len: Positions whose sines and cosines are kept for the fast path; those of later ones
            are computed in each call.

    Example:
        Positions 5 and 7 meet like positions 105 and 107.

        >>> q, k = torch.randn(2, 1, 1, 1, 64, generator=torch.Generator().manual_seed(0))
        >>> rotary = Rotary(64)
        >>> def score(m, n):
        ...     return (rotary(q, k, m)[0] * rotary(q, k, n)[1]).sum().item()
        >>> f"{score(5, 7):.4f} {score(105, 107):.4f} {score(5, 8):.4f}"
        '-10.2800 -10.2800 -10.7468'
    """

    table: Tensor

    def __init__(
        self,
        d_head: int,
        *,
        d_rotary: int | None = None,
        base: float = 10_000.0,
        layout: Layout = "interleaved",
        max_len: int = 2048,
        fused: bool = True,
    ) -> None:
        super().__init__()
        _check_layout(layout)
        self.d_head = d_head
        self.d_rotary = _check_rotary(d_head, d_rotary)
        if max_len < 0:
            raise ValueError(f"max_len is {max_len}, wanted at least 0")
        self.base = base
        self.layout: Layout = layout
        self.max_len = max_len
        self.fused = fused
        self.keep_tables()

    def compute_tables(self) -> dict[str, Tensor]:
        """Sines and cosines of the first positions."""
        angles = rotary_angles(torch.arange(self.max_len), self.d_rotary, base=self.base)
        return {"table": rotation_table(angles, self.layout)}

    def forward(self, q: Tensor, k: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        """Turn q ``(..., T, Dh)`` and k ``(..., S, Dh)``, whose first are both at ``offset``."""
        for name, x in (("q", q), ("k", k)):
            if x.ndim < 2 or x.shape[-1] != self.d_head:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}, wanted heads (..., T, {self.d_head})"
                )
        if offset < 0:
            raise ValueError(f"offset is {offset}, wanted at least 0")
        return self._turn(q, offset), self._turn(k, offset)

    def _turn(self, x: Tensor, offset: int) -> Tensor:
        length = x.shape[-2]
        if self.fused and offset + length <= self.max_len:
            axis = -3 if self.layout == "interleaved" else -2
            return rotate_by_table(x, self.table.narrow(axis, offset, length), self.layout)
        positions = torch.arange(offset, offset + length, device=x.device)
        return rotate(x, rotary_angles(positions, self.d_rotary, base=self.base), self.layout)


def _check_layout(layout: str) -> None:
    if layout not in _LAYOUTS:
        raise ValueError(f"layout is {layout!r}, wanted one of {_LAYOUTS}")


def _check_pairs(x: Tensor, width: int, layout: str, axes: str = "(..., Dh)") -> None:
    _check_layout(layout)
    if x.ndim < axes.count(",") or not x.is_floating_point():
        raise ValueError(
            f"x has shape {tuple(x.shape)} and dtype {x.dtype}, wanted {axes} and a "
            "floating-point one"
        )
    if width > x.shape[-1]:
        raise ValueError(f"x has {x.shape[-1]} channels, wanted at least {width} to turn")


def _check_rotary(d_head: int, d_rotary: int | None) -> int:
    d_rotary = d_head if d_rotary is None else d_rotary
    if d_rotary < 2 or d_rotary % 2 or d_rotary > d_head:
        raise ValueError(f"d_rotary is {d_rotary}, wanted an even number from 2 to d_head {d_head}")
    return d_rotary
