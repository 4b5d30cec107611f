"""A learned number per head for each distance, or range of distances: T5's relative bias."""

import torch
from torch import Tensor, nn

from course_lib.positions.tables import keep_in_step

__all__ = ["RelativeBias", "relative_distance", "spread_diagonals", "t5_bucket"]


def relative_distance(
    T: int, S: int | None = None, *, device: torch.device | None = None
) -> Tensor:
    """How far each key is behind each query: ``position of key - position of query``.

    The queries are the last T of S positions, as they are when earlier keys come from a cache.

    Args:
        T: Number of queries.
        S: Number of keys, T if not given.
        device: Where to put it.

    Returns:
        Integers ``(T, S)``: negative for keys before the query, 0 for its own, positive after.

    Raises:
        ValueError: If there are fewer keys than queries, where the first queries have no place.

    Example:
        >>> relative_distance(2, 4)
        tensor([[-2, -1,  0,  1],
                [-3, -2, -1,  0]])
    """
    S = check_lengths(T, S)
    return torch.arange(S, device=device) - torch.arange(S - T, S, device=device)[:, None]


def check_lengths(T: int, S: int | None) -> int:
    """Refuse fewer keys than queries, if queries are the last of the keys' positions.

    Args:
        T: Number of queries.
        S: Number of keys, T if not given.

    Returns:
        Number of keys.

    Raises:
        ValueError: If there are fewer keys than queries or a number is negative.

    Example:
        >>> check_lengths(2, None), check_lengths(2, 5)
        (2, 5)
    """
    S = T if S is None else S
    if not 0 <= T <= S:
        raise ValueError(f"got {T} queries and {S} keys, wanted at least as many keys as queries")
    return S


def spread_diagonals(diagonals: Tensor, T: int, S: int) -> Tensor:
    """Make a matrix that depends on the distance alone of one number for each distance.

    A lookup for T + S - 1 distances instead of T S pairs; the rest is copying.

    Args:
        diagonals: One number for each distance, from the first key of the last query on,
            ``(..., T + S - 1)``.
        T: Number of queries.
        S: Number of keys.

    Returns:
        ``(..., T, S)``, where entry ``(i, j)`` is diagonal ``j - i + T - 1``.

    Raises:
        ValueError: If there is another number of diagonals.

    Example:
        >>> spread_diagonals(torch.arange(-2, 3), 3, 3)
        tensor([[ 0,  1,  2],
                [-1,  0,  1],
                [-2, -1,  0]])
    """
    if diagonals.shape[-1] != T + S - 1:
        raise ValueError(f"got {diagonals.shape[-1]} diagonals, wanted {T + S - 1}")
    return diagonals.unfold(-1, S, 1).flip(-2)


def t5_bucket(
    distance: Tensor, *, bidirectional: bool = True, n_buckets: int = 32, max_distance: int = 128
) -> Tensor:
    """Sort distances into buckets: one for each small distance, wider and wider ones beyond.

    Of the n buckets of a side, the first ``e = n / 2`` take one distance each. A distance d beyond
    goes to ``e + floor(log(d / e) / log(max_distance / e) * (n - e))``, and all from
    ``max_distance`` on into the last. In both directions each side has half of the buckets, keys
    after the query the upper half, of which the first is never used: its distance would be 0.

    Source: Raffel et al., Exploring the Limits of Transfer Learning (2020), section 2.1, and its
    code. Boundaries are found in whole numbers, so that no logarithm is rounded to the wrong side.

    Args:
        distance: Position of the key minus that of the query, integers of any shape ``(...)``.
        bidirectional: Whether keys after the query count; if not, they all go to bucket 0.
        n_buckets: Number of buckets.
        max_distance: Distance from which on all share the last bucket, with some before it.

    Returns:
        Integers ``(...)`` in 0..n_buckets - 1.

    Raises:
        ValueError: If the distances are not integers, the buckets cannot be halved so often, or
            ``max_distance`` is not beyond the buckets of one distance.

    Example:
        >>> t5_bucket(torch.tensor([0, 1, -1, 7, 8, 11, 12, 127, 1000])).tolist()
        [0, 17, 1, 23, 24, 24, 25, 31, 31]
        >>> t5_bucket(torch.tensor([5, 0, -15, -16, -1000]), bidirectional=False).tolist()
        [0, 0, 15, 16, 31]
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
    """A learned number per head and bucket of distances: ``attend(x, bias=bias(T)[None])``.

    In T5 the first layer has one and all others use the same. T5 does not divide its scores by
    ``sqrt(Dh)``; in attention that does, the numbers are as they are, and the queries' projection
    has to be so much larger.

    Source: as :func:`t5_bucket`.

    Args:
        n_heads: Number of heads H.
        bidirectional: Whether keys after the query count.
        n_buckets: Number of buckets.
        max_distance: Distance from which on all share the last bucket, with some before it.
        fused: Whether to look up each distance once, not each pair.
        generator: Source of the initial numbers; torch's global one if not given.

    Raises:
        ValueError: If there is no head, or the buckets don't fit as in :func:`t5_bucket`.

    Example:
        >>> bias = RelativeBias(n_heads=12)
        >>> sum(p.numel() for p in bias.parameters())
        384
        >>> numbers = bias(5)
        >>> numbers.shape, bool((numbers[:, 0, 1] == numbers[:, 3, 4]).all())
        (torch.Size([12, 5, 5]), True)
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
