"""Positions by Legendre polynomials, which are orthogonal on [-1, 1]."""

from typing import Literal, get_args

import torch
from torch import Tensor

from course_lib.positions.tables import ComputedTables

LegendreMode = Literal["paper", "basis"]


def legendre_polynomials(x: Tensor, degree: int, *, fused: bool = True) -> Tensor:
    """Evaluate ``P_0 ... P_degree`` at points ``(...)``: ``(degree + 1, ...)``.

    ``P_0 = 1``, ``P_1 = x``, ``(n + 1) P_{n+1} = (2n + 1) x P_n - n P_{n-1}``: a recurrence that is
    stable on [-1, 1]. The sum over powers of x that Rodrigues' formula expands to is not: its terms
    grow to more digits than a double holds before they cancel. The result is in the precision of x
    and without a gradient.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 22.7.10.

    >>> legendre_polynomials(torch.tensor([-1.0, 0.5, 1.0]), 2)[2]
    tensor([ 1.0000, -0.1250,  1.0000])
    """
    if degree < 0:
        raise ValueError(f"degree is {degree}, wanted at least 0")
    if not x.is_floating_point():
        raise ValueError(f"x has dtype {x.dtype}, wanted floating-point numbers")
    points = x.detach().double()
    if not fused:
        orders = [torch.ones_like(points), points]
        for n in range(1, degree):
            orders.append(((2 * n + 1) * points * orders[n] - n * orders[n - 1]) / (n + 1))
        return torch.stack(orders[: degree + 1]).to(x.dtype)
    table = points.new_ones(degree + 1, *x.shape)
    rows = table.unbind()
    if degree > 0:
        rows[1].copy_(points)
    # With P_n = g_n Q_n and g_{n+1} = -n / (n + 1) g_{n-1}, Q_{n+1} = Q_{n-1} + a_n x Q_n.
    factors = [1.0, 1.0]
    for n in range(1, degree):
        factors.append(-n / (n + 1) * factors[n - 1])
        a = (2 * n + 1) / (n + 1) * factors[n] / factors[n + 1]
        torch.addcmul(rows[n - 1], points, rows[n], value=a, out=rows[n + 1])
    factor = points.new_tensor(factors[: degree + 1]).view(-1, *[1] * x.ndim)
    return table.mul_(factor).to(x.dtype)


def legendre_positions(
    length: int,
    d_model: int,
    *,
    mode: LegendreMode = "paper",
    normalise: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Encode the positions 1, 2, ... of a sequence: ``(T, D)``.

    - ``"paper"``: the position is the order of the polynomial, ``PE(n, i) = P_n(x_i)`` with
      ``x_i = -1 + 2 i / D``. Positions start at 1, since ``P_0`` is 1 everywhere and says nothing.
      The norm of row n falls like ``sqrt(D / (2n + 1))``, so late positions fade beside the tokens
      they are added to.
    - ``"basis"``: the channel is the order, ``PE(n, i) = P_i(x_n)`` with the points ``x_n`` spread
      evenly from -1 to 1 over the sequence. A position's code depends on how long the sequence is.

    With ``normalise`` each row has the norm ``sqrt(D / 2)`` of a sinusoidal code.

    Source: Aggarwal, PoPE: Legendre Orthogonal Polynomials Based Position Encoding for Large
    Language Models (2024), equations 14 and 15, for the first. (Another, rotary, PoPE means polar.)
    """
    if length < 1 or d_model < 1:
        raise ValueError(f"length is {length} and d_model {d_model}, wanted at least 1")
    if mode not in get_args(LegendreMode):
        raise ValueError(f"mode is {mode!r}, wanted one of {get_args(LegendreMode)}")
    if mode == "paper":
        channels = torch.arange(d_model, dtype=torch.float64) * (2 / d_model) - 1
        table = legendre_polynomials(channels, length)[1:]
    else:
        positions = torch.linspace(-1, 1, length, dtype=torch.float64)
        table = legendre_polynomials(positions, d_model - 1).T
    if normalise:
        table = table * ((d_model / 2) ** 0.5 / table.norm(dim=1, keepdim=True))
    return table.to(dtype)


class LegendrePE(ComputedTables):
    """Adds :func:`legendre_positions` to sequences of at most ``max_len`` embeddings."""

    table: Tensor

    def __init__(
        self, d_model: int, max_len: int, *, mode: LegendreMode = "paper", normalise: bool = False
    ) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len
        self.mode: LegendreMode = mode
        self.normalise = normalise
        self.keep_tables()

    def compute_tables(self) -> dict[str, Tensor]:
        """Positions of the longest sequence."""
        return {"table": self._compute(self.max_len)}

    def positions(self, length: int) -> Tensor:
        """The codes ``(T, D)`` of a sequence."""
        if length > self.max_len:
            raise ValueError(f"the sequence has length {length}, wanted at most {self.max_len}")
        if self.mode == "paper" or length == self.max_len:
            return self.table[:length]
        # The basis is spread over this sequence, not over the longest.
        return self._compute(length).to(self.table)

    def _compute(self, length: int) -> Tensor:
        return legendre_positions(
            length, self.d_model, mode=self.mode, normalise=self.normalise, dtype=torch.float64
        )

    def forward(self, x: Tensor) -> Tensor:
        """Add the positions to tokens ``(B, T, D)``."""
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, {self.d_model})")
        return x + self.positions(x.shape[1]).to(x.dtype)
