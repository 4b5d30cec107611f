"""ALiBi: scores fall with the distance, steeply in some heads and gently in others."""

import math

import torch
from torch import Tensor

from course_lib.positions.relative import check_lengths, relative_distance
from course_lib.positions.tables import ComputedTables


def alibi_slopes(n_heads: int) -> Tensor:
    """By how much a score falls from key to key: ``2^(-8/H), ..., 2^-8``, ``(H,)`` in float64.

    If H is no power of 2, the first heads get the slopes of the power below, and the others every
    second one of twice as many heads.

    Source: Press et al., Train Short, Test Long (2022), section 3, and its code for other H.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads is {n_heads}, wanted at least 1")
    whole = 2 ** int(math.log2(n_heads))
    exponents = [8 * (i + 1) / whole for i in range(whole)]
    exponents += [4 * (i + 1) / whole for i in range(0, 2 * (n_heads - whole), 2)]
    return 2 ** -torch.tensor(exponents, dtype=torch.float64)


def alibi_bias(n_heads: int, T: int, S: int | None = None) -> Tensor:
    """Lower each score by the distance times the head's slope: ``-slope |i - j|``, ``(H, T, S)``.

    With a causal mask the bias ``slope j`` does the same in one row: softmax does not see what all
    keys of a query have in common.
    """
    return alibi_slopes(n_heads)[:, None, None] * -relative_distance(T, S).abs()


class Alibi(ComputedTables):
    """The bias of ALiBi, kept for ``max_len`` positions: ``attend(x, bias=bias(T)[None])``."""

    table: Tensor

    def __init__(self, n_heads: int, *, max_len: int = 512, fused: bool = True) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.max_len = max_len
        self.fused = fused
        self.keep_tables()

    def compute_tables(self) -> dict[str, Tensor]:
        """The bias of all positions; of one on the explicit path, which uses none of it."""
        return {"table": alibi_bias(self.n_heads, self.max_len if self.fused else 1)}

    def forward(self, T: int, S: int | None = None) -> Tensor:
        """Look up the bias of each query and key, ``(H, T, S)``."""
        S = check_lengths(T, S)
        if self.fused and T <= self.max_len and S <= self.max_len:
            return self.table[:, self.max_len - T :, self.max_len - S :]
        return alibi_bias(self.n_heads, T, S).to(self.table)
