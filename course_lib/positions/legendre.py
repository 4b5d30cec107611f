"""Positions by Legendre polynomials.

``P_0 = 1``, ``P_1 = x``, ``(n + 1) P_{n+1} = (2n + 1) x P_n - n P_{n-1}`` are orthogonal on
[-1, 1]. Two encodings can be made of them, and they are not the same: in the paper's the *position*
is the order of the polynomial and the channels are points of [-1, 1]; in the other the *channel* is
the order and the positions are points, as the channels of the sinusoidal code are sines.
"""

from typing import Literal, get_args

import torch
from torch import Tensor

from course_lib.positions.tables import ComputedTables

LegendreMode = Literal["paper", "basis"]


def legendre_polynomials(x: Tensor, degree: int, *, fused: bool = True) -> Tensor:
    """Evaluate ``P_0 ... P_degree`` by the recurrence of three terms.

    The recurrence is stable on [-1, 1]. The sum over powers of x that Rodrigues' formula expands
    to is not: its terms grow to more digits than a double holds before they cancel. The work is
    done in double precision, which costs little and keeps orders in the hundreds exact to the last
    digits of a float.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 22.7.10.

    Args:
        x: Points of any shape ``(...)``.
        degree: Highest order.
        fused: Whether to take the fast path, with one operation for each order: multiples of the
            polynomials, chosen so that ``P_{n-1}`` has no factor in the recurrence.

    Returns:
        ``(degree + 1, ...)``, row n holds ``P_n``; in the precision of x and without a gradient,
        for positions are nothing that is trained.

    Raises:
        ValueError: If the degree is negative or x holds no floating-point numbers.

    Example:
        >>> legendre_polynomials(torch.tensor([-1.0, 0.5, 1.0]), 3)
        tensor([[ 1.0000,  1.0000,  1.0000],
                [-1.0000,  0.5000,  1.0000],
                [ 1.0000, -0.1250,  1.0000],
                [-1.0000, -0.4375,  1.0000]])
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
    """Encode the positions 1, 2, ... of a sequence.

    - ``"paper"``: ``PE(n, i) = P_n(x_i)`` with ``x_i = -1 + 2 i / D``. Positions start at 1, since
      ``P_0`` is 1 everywhere and says nothing. The norm of row n falls like
      ``sqrt(D / (2n + 1))``, so late positions fade beside the tokens they are added to.
    - ``"basis"``: ``PE(n, i) = P_i(x_n)`` with the points ``x_n`` spread evenly from -1 to 1 over
      the sequence. The code of a position depends on how long the sequence is.

    Source: Aggarwal, PoPE: Legendre Orthogonal Polynomials Based Position Encoding for Large
    Language Models (2024), equations 14 and 15, for the first. (Another, rotary, PoPE means polar.)

    Args:
        length: Number of positions T.
        d_model: Width D.
        mode: ``"paper"`` or ``"basis"``.
        normalise: Whether to give each row the norm ``sqrt(D / 2)`` of a sinusoidal code.
        dtype: Of the table.

    Returns:
        Table ``(T, D)``, to be added to the token embeddings.

    Raises:
        ValueError: If a size is not positive or the mode unknown.

    Example:
        In the paper's code position 1 is the line from -1 to 1, and position 40 is short.

        >>> legendre_positions(2, 4)
        tensor([[-1.0000, -0.5000,  0.0000,  0.5000],
                [ 1.0000, -0.1250, -0.5000, -0.1250]])
        >>> legendre_positions(40, 512).norm(dim=1)[[0, 39]]
        tensor([13.0640,  2.6698])
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
    """Adds Legendre positions to embeddings.

    Args:
        d_model: Width D.
        max_len: Longest sequence.
        mode: As in :func:`legendre_positions`.
        normalise: Whether all positions are equally strong.

    Raises:
        ValueError: If a size is not positive or the mode unknown.

    Example:
        >>> add = LegendrePE(8, max_len=10)
        >>> x = torch.zeros(2, 5, 8)
        >>> torch.equal(add(x)[1], legendre_positions(5, 8))
        True
    """

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
        """Give the codes of a sequence.

        Args:
            length: Number of positions T.

        Returns:
            Table ``(T, D)``.

        Raises:
            ValueError: If the sequence is too long.
        """
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
        """Add the positions.

        Args:
            x: Tokens ``(B, T, D)``.

        Returns:
            Tokens ``(B, T, D)``.

        Raises:
            ValueError: If x has another width or is too long.
        """
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, {self.d_model})")
        return x + self.positions(x.shape[1]).to(x.dtype)
