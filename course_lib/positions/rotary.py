"""Rotary positions: queries and keys are turned by where they stand."""

from typing import Literal, get_args

import torch
from torch import Tensor

from course_lib.positions.tables import ComputedTables

# Which channels make a pair: neighbours (0, 1), (2, 3), ... or, of d channels that turn, those half
# the way apart, (0, d/2), (1, d/2 + 1), ...
Layout = Literal["interleaved", "half_split"]
_LAYOUTS = get_args(Layout)


def rotary_frequencies(
    d_rotary: int, *, base: float = 10_000.0, device: torch.device | None = None
) -> Tensor:
    """By how much each pair of channels turns from one position to the next: ``base^(-2i/d)``.

    Source: Su et al., RoFormer (2021), section 3.2.2.

    Args:
        d_rotary: Number d of channels that turn, even.
        base: Ratio of the longest period to the shortest in the limit of a wide d.
        device: Where to put them.

    Returns:
        Radians ``(d / 2,)``, float64.

    Raises:
        ValueError: If d is not a positive even number.

    Example:
        >>> rotary_frequencies(8)
        tensor([1.0000, 0.1000, 0.0100, 0.0010], dtype=torch.float64)
    """
    if d_rotary < 2 or d_rotary % 2:
        raise ValueError(f"d_rotary is {d_rotary}, wanted a positive even number")
    pairs = torch.arange(0, d_rotary, 2, dtype=torch.float64, device=device)
    return base ** -(pairs / d_rotary)


def rotary_angles(positions: Tensor, d_rotary: int, *, base: float = 10_000.0) -> Tensor:
    """Angles by which a token turns: its position times each frequency.

    Args:
        positions: Numbers of any shape ``(...)``; they need not be whole.
        d_rotary: Number d of channels that turn, even.
        base: As in :func:`rotary_frequencies`.

    Returns:
        Radians ``(..., d / 2)``, float64: in single precision the angle of a late position would
        be off in the fourth digit.

    Raises:
        ValueError: If d is not a positive even number.

    Example:
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
        angles: Radians, broadcastable to ``(..., T, P)``, one for each of P pairs. The first 2P
            channels turn, the rest stays.
        layout: ``"interleaved"`` pairs neighbours; ``"half_split"`` pairs channels P apart.

    Returns:
        ``(..., T, Dh)``.

    Raises:
        ValueError: If there are more pairs than channels for them, the layout is unknown, or x is
            no floating-point ``(..., T, Dh)``.

    Example:
        A quarter turn of the first pair. What a pair is, is a convention: with the wrong one the
        scores are others, though they still depend on the distance alone.

        >>> x = torch.tensor([[1.0, 0.0, 5.0, 0.0]])
        >>> angles = torch.tensor([[torch.pi / 2, 0.0]])
        >>> rotate(x, angles).round().int().tolist()
        [[0, 1, 5, 0]]
        >>> rotate(x, angles, "half_split").round().int().tolist()
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
    """Bring angles into the form that :func:`rotate_by_table` wants, to be used many times.

    Args:
        angles: Radians ``(..., T, P)``.
        layout: As in :func:`rotate`.
        dtype: Of the table, single precision at least; that of the angles if not given.

    Returns:
        Interleaved: ``(..., T, P, 2)``, the cosine and the sine, which are one complex number.
        Half split: ``(2, ..., T, 2P)``, the cosines twice, and the sines with either sign.

    Raises:
        ValueError: If the layout is unknown.

    Example:
        >>> rotation_table(torch.zeros(3, 4)).shape
        torch.Size([3, 4, 2])
        >>> rotation_table(torch.zeros(3, 4), "half_split").shape
        torch.Size([2, 3, 8])
    """
    _check_layout(layout)
    cos, sin = angles.cos().to(dtype), angles.sin().to(dtype)
    if layout == "interleaved":
        return torch.stack([cos, sin], dim=-1)
    return torch.stack([torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)])


def rotate_by_table(x: Tensor, table: Tensor, layout: Layout = "interleaved") -> Tensor:
    """Compute :func:`rotate` in fewer passes over the memory.

    Neighbouring channels are read as complex numbers, which one product turns. Channels half the
    way apart change places once, so that two products of whole rows are enough.

    Args:
        x: Queries or keys ``(..., T, Dh)``.
        table: As :func:`rotation_table` makes it, ``(..., T, P, 2)`` or ``(2, ..., T, 2P)``, where
            ``...`` broadcasts to that of x. In single precision at least.
        layout: As in :func:`rotate`.

    Returns:
        ``(..., T, Dh)``, in the precision of x.

    Raises:
        ValueError: If there are more pairs than channels for them, the layout is unknown, or x is
            no floating-point ``(..., T, Dh)``.

    Example:
        >>> x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
        >>> angles = rotary_angles(torch.arange(5), 8)
        >>> table = rotation_table(angles).float()
        >>> torch.allclose(rotate_by_table(x, table), rotate(x, angles), atol=1e-6)
        True
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

    Args:
        weight: Weight ``(H * Dh, D)`` or bias ``(H * Dh,)`` of the projection.
        n_heads: Number of heads H.
        to: The wanted layout; the weight is in the other one.
        d_rotary: Channels of a head that turn; all Dh if not given.

    Returns:
        The rows in their new order, ``(H * Dh, D)`` or ``(H * Dh,)`` as given.

    Raises:
        ValueError: If H does not divide the rows, the layout is unknown, or a head has fewer
            channels than are to turn.

    Example:
        >>> rows = torch.arange(8)
        >>> convert_rotary_layout(rows, n_heads=1, to="half_split")
        tensor([0, 2, 4, 6, 1, 3, 5, 7])
        >>> convert_rotary_layout(rows, n_heads=1, to="half_split", d_rotary=4)
        tensor([0, 2, 1, 3, 4, 5, 6, 7])
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

    Source: Su et al., RoFormer (2021), section 3.2.2.

    Args:
        d_head: Width Dh of a head.
        d_rotary: How many of its channels turn, the first ones; all if not given.
        base: As in :func:`rotary_frequencies`.
        layout: As in :func:`rotate`.
        max_len: Positions whose sines and cosines are kept; those of later ones are computed in
            each call.
        fused: Whether to use the kept ones, on the fast path.

    Raises:
        ValueError: If the channels that turn are not an even number of those that there are, or
            ``max_len`` is negative.

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
        """Turn queries and keys.

        Args:
            q: Queries ``(..., T, Dh)`` at positions ``offset``, ``offset + 1``, ...
            k: Keys ``(..., S, Dh)`` at positions that begin at ``offset`` too.
            offset: Position of the first of either, the number of keys in a cache.

        Returns:
            Both, ``(..., T, Dh)`` and ``(..., S, Dh)``.

        Raises:
            ValueError: If a head has another width or the offset is negative.
        """
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
