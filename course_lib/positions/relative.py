"""Distances of keys from queries, and a learned number per head for each range: T5's bias."""

import torch
from torch import Tensor, nn

from course_lib.positions.tables import keep_in_step

__all__ = ["RelativeBias", "relative_distance", "relative_shift", "spread_diagonals", "t5_bucket"]


def relative_distance(
    T: int, S: int | None = None, *, device: torch.device | None = None
) -> Tensor:
    """Offset of each key from each query, ``(T, S)``: position of key less position of query.

    The queries are the last T of S positions, as they are when earlier keys come from a cache.

    >>> relative_distance(2, 4)
    tensor([[-2, -1,  0,  1],
            [-3, -2, -1,  0]])
    """
    S = check_lengths(T, S)
    return torch.arange(S, device=device) - torch.arange(S - T, S, device=device)[:, None]


def check_lengths(T: int, S: int | None) -> int:
    """The number of keys; refuses fewer keys than queries."""
    S = T if S is None else S
    if not 0 <= T <= S:
        raise ValueError(f"got {T} queries and {S} keys, wanted at least as many keys as queries")
    return S


def relative_shift(scores: Tensor) -> Tensor:
    """Let each query have its own distances in the columns of its keys: ``(..., T, S)``.

    Column m of the scores ``(..., T, S + T - 1)`` is a distance, counted down. Query i needs it at
    key ``j = m - (T - 1 - i)``, so row i goes ``T - 1 - i`` places to the left. Read as one line,
    each row then begins one place before a whole row later: a view is all it takes.

    Source: Dai et al., Transformer-XL (2019), appendix B.

    >>> relative_shift(torch.tensor([[2, 1, 0, -1], [2, 1, 0, -1]])).tolist()
    [[1, 0, -1], [2, 1, 0]]
    """
    T, L = scores.shape[-2:]
    if L < T:
        raise ValueError(f"scores have {L} distances, wanted at least {T}, one per query")
    if T == 1:
        return scores  # a single row is where it belongs
    line = scores.flatten(-2)[..., T - 1 : T - 1 + T * (L - 1)]
    return line.unflatten(-1, (T, L - 1))[..., : L - T + 1]


def spread_diagonals(diagonals: Tensor, T: int, S: int) -> Tensor:
    """Make of one number for each distance, ``(..., T + S - 1)``, the matrix ``(..., T, S)``.

    Entry ``(i, j)`` is diagonal ``j - i + T - 1``: a lookup for T + S - 1 distances instead of T S
    pairs; the rest is copying.

    >>> spread_diagonals(torch.arange(-2, 3), 3, 3)[0]
    tensor([0, 1, 2])
    """
    if diagonals.shape[-1] != T + S - 1:
        raise ValueError(f"got {diagonals.shape[-1]} diagonals, wanted {T + S - 1}")
    return diagonals.unfold(-1, S, 1).flip(-2)


def t5_bucket(
    distance: Tensor, *, bidirectional: bool = True, n_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Sort distances ``(...)`` into buckets: one for each small one, wider and wider ones beyond.

    Of the n buckets of a side, the first ``e = n / 2`` take one distance each. A distance d beyond
    goes to ``e + floor(log(d / e) / log(max_distance / e) * (n - e))``, and all from
    ``max_distance`` on into the last. In both directions each side has half of the buckets, keys
    after the query the upper half, of which the first is never used: its distance would be 0.
    Otherwise keys after the query all go to bucket 0.

    Source: Raffel et al., Exploring the Limits of Transfer Learning (2020), section 2.1, and its
    code.

    >>> t5_bucket(torch.tensor([0, 1, -1, 7, 8, 11, 12, 127, 1000])).tolist()
    [0, 17, 1, 23, 24, 24, 25, 31, 31]
    """
    if distance.is_floating_point() or distance.is_complex() or distance.dtype == torch.bool:
        raise ValueError(f"distance has dtype {distance.dtype}, wanted integers")
    bounds = _bounds(n_buckets, bidirectional, max_distance).to(distance.device)
    # In a small type, or one without a sign, the number before 0 or after the largest is wrong.
    return _bucket(distance.long(), bounds, bidirectional)


def _bucket(distance: Tensor, bounds: Tensor, bidirectional: bool) -> Tensor:
    if not bidirectional:
        return torch.bucketize((-distance).clamp(min=0), bounds, right=True)
    return torch.bucketize(distance.abs(), bounds, right=True) + (distance > 0) * (len(bounds) + 1)


def _bounds(n_buckets: int, bidirectional: bool, max_distance: int) -> Tensor:
    """The first distance of every bucket of a side but the first."""
    n = n_buckets // 2 if bidirectional else n_buckets
    exact = n // 2
    if n_buckets < 2 or n_buckets % (4 if bidirectional else 2):
        raise ValueError(
            f"n_buckets is {n_buckets}, wanted a positive multiple of {4 if bidirectional else 2}"
        )
    if max_distance <= exact:
        raise ValueError(f"max_distance is {max_distance}, wanted more than {exact}")
    bounds = list(range(1, exact + 1))
    wide = n - exact
    for k in range(1, wide):
        # log(d / e) / log(m / e) >= k / w, without logarithms: d^w >= e^(w - k) m^k.
        d, least = bounds[-1], exact ** (wide - k) * max_distance**k
        while d**wide < least:
            d += 1
        bounds.append(d)
    return torch.tensor(bounds)


class RelativeBias(nn.Module):
    """A learned number per head and :func:`t5_bucket`: ``attend(x, bias=bias(T)[None])``.

    In T5 the first layer has one and all others use the same. T5 does not divide its scores by
    ``sqrt(Dh)``; in attention that does, the numbers are as they are, and the queries' projection
    has to be so much larger. The fast path looks up each distance once, not each pair.
    """

    bounds: Tensor

    def __init__(
        self,
        n_heads: int,
        *,
        bidirectional: bool = True,
        n_buckets: int = 32,
        max_distance: int = 128,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if n_heads < 1:
            raise ValueError(f"n_heads is {n_heads}, wanted at least 1")
        self.bidirectional = bidirectional
        self.fused = fused
        bounds = _bounds(n_buckets, bidirectional, max_distance)
        self.register_buffer("bounds", bounds, persistent=False)
        self.table = nn.Parameter(torch.empty(n_buckets, n_heads))
        nn.init.normal_(self.table, std=0.02, generator=generator)

    def forward(self, T: int, S: int | None = None) -> Tensor:
        """Look up the bias of each query and key, ``(H, T, S)``."""
        S = check_lengths(T, S)
        device = self.table.device
        if not self.fused or T == 0:
            buckets = _bucket(
                relative_distance(T, S, device=device), self.bounds, self.bidirectional
            )
            return self.table[buckets].movedim(-1, 0)
        distances = torch.arange(1 - S, T, device=device)
        buckets = _bucket(distances, self.bounds, self.bidirectional)
        return spread_diagonals(self.table[buckets].T, T, S)


keep_in_step(
    RelativeBias,
    lambda bias: {"bounds": _bounds(len(bias.table), bias.bidirectional, bias.max_distance)},
    remember=["max_distance"],
)
