"""ALiBi: scores fall with the distance, steeply in some heads and gently in others."""

import math

import torch
from torch import Tensor

from course_lib.positions.relative import check_lengths, relative_distance
from course_lib.positions.tables import ComputedTables


def alibi_slopes(n_heads: int) -> Tensor:
    """By how much a score falls from one key to the next: ``2^(-8/H), 2^(-16/H), ..., 2^-8``.

    If H is not a power of 2, the heads that fit into one get its slopes, and the others those of
    twice as many heads, every second from the first on.

    Source: Press et al., Train Short, Test Long (2022), section 3, and its code for H that is not
    a power of 2.

    Args:
        n_heads: Number of heads H.

    Returns:
        ``(H,)``, float64.

    Raises:
        ValueError: If there is no head.

    Example:
        >>> (1 / alibi_slopes(8)).tolist()
        [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]
        >>> (1 / alibi_slopes(5)).log2().tolist()
        [2.0, 4.0, 6.0, 8.0, 1.0]
    """
    if n_heads < 1:
        raise ValueError(f"n_heads is {n_heads}, wanted at least 1")
    whole = 2 ** int(math.log2(n_heads))
    exponents = [8 * (i + 1) / whole for i in range(whole)]
    exponents += [4 * (i + 1) / whole for i in range(0, 2 * (n_heads - whole), 2)]
    return 2 ** -torch.tensor(exponents, dtype=torch.float64)


def alibi_bias(n_heads: int, T: int, S: int | None = None) -> Tensor:
    """Lower each score by the distance times the head's slope: ``-slope |i - j|``.

    With a causal mask the bias ``slope j`` does the same in one row: softmax does not see what all
    keys of a query have in common.

    Source: Press et al. (2022), section 3, for keys before the query; the same after it.

    Args:
        n_heads: Number of heads H.
        T: Number of queries, the last of the positions.
        S: Number of keys, T if not given.

    Returns:
        ``(H, T, S)``, float64.

    Raises:
        ValueError: If there is no head or there are fewer keys than queries.

    Example:
        >>> alibi_bias(2, 3)[0] * 16
        tensor([[ 0., -1., -2.],
                [-1.,  0., -1.],
                [-2., -1.,  0.]], dtype=torch.float64)
    """
    return alibi_slopes(n_heads)[:, None, None] * -relative_distance(T, S).abs()


class Alibi(ComputedTables):
    """The bias of ALiBi, computed once and cut to length: ``attend(x, bias=bias(T)[None])``.

    Nothing is learned. A model trained on short texts keeps working on longer ones: what is far
    away weighs little, and the farther the less.

    Source: Press et al. (2022), section 3.

    Args:
        n_heads: Number of heads H.
        max_len: Positions up to which the bias is kept, H max_len^2 numbers; beyond, it is computed
            in each call.
        fused: Whether to use what is kept.

    Raises:
        ValueError: If there is no head.

    Example:
        >>> bias = Alibi(n_heads=8)
        >>> bias(3).shape, bias(1, 3)[0].tolist()  # the last query alone sees 3 keys
        (torch.Size([8, 3, 3]), [[-1.0, -0.5, 0.0]])
    """

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
        """Look up the bias of each query and key.

        Args:
            T: Number of queries, the last of the positions.
            S: Number of keys, T if not given.

        Returns:
            ``(H, T, S)``.

        Raises:
            ValueError: If there are fewer keys than queries.
        """
        S = check_lengths(T, S)
        if self.fused and T <= self.max_len and S <= self.max_len:
            return self.table[:, self.max_len - T :, self.max_len - S :]
        return alibi_bias(self.n_heads, T, S).to(self.table)
