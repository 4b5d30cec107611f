"""Measures of one attention map."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from course_lib.masks import check_mask

# --------------------------------------------------------------------------- how concentrated


def entropy(
    weights: Tensor,
    *,
    mask: Tensor | None = None,
    queries: Tensor | None = None,
    normalised: bool = False,
) -> Tensor:
    """Measure how widely attention is spread: ``- sum_j w_ij ln w_ij``, from 0 for one key to ln S.

    Under a causal mask query 0 has entropy 0 whatever the head does. ``normalised`` divides each
    row by the logarithm of the number of keys that it may see, and leaves out rows with one key.

    Args:
        weights: ``(..., T, S)``; each map gives a number ``(...)``, the mean over its queries. A
            query whose row is empty or holds NaN does not count; a map without any gives NaN.
        mask: Boolean, broadcastable to ``(..., T, S)``; ``True`` = may attend. All keys if not
            given.
        queries: Boolean ``(T,)`` or broadcastable to ``(..., T)``: which queries count, such as
            those that are no padding.

    Example:
        >>> causal = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3] * 3])
        >>> entropy(causal, mask=causal > 0, normalised=True)
        tensor(1.)
    """
    counted = _counted(weights, queries)
    rows = torch.special.entr(weights).sum(dim=-1)
    if normalised:
        visible = _visible(weights, mask)
        counted = counted & (visible > 1)
        rows = rows / visible.clamp(min=2).log()
    return _mean(rows, counted)


def uniform_heads(
    weights: Tensor, *, mask: Tensor | None = None, tolerance: float = 1e-3
) -> Tensor:
    """Tell whether each map attends to all visible keys alike: boolean ``(...)``.

    Their normalised :func:`entropy` is within the tolerance of 1; how far they look, or where, says
    nothing about training. ``weights`` ``(..., T, S)`` and mask as for :func:`entropy`.

    Example:
        >>> uniform_heads(torch.stack([torch.eye(4), torch.full((4, 4), 0.25)]))
        tensor([False,  True])
    """
    return entropy(weights, mask=mask, normalised=True) > 1 - tolerance


def max_weight(weights: Tensor, *, queries: Tensor | None = None) -> Tensor:
    """Measure how much the most attended key of a query gets. Arguments as for :func:`entropy`."""
    return _mean(weights.amax(dim=-1), _counted(weights, queries))


def top_mass(weights: Tensor, k: int, *, queries: Tensor | None = None) -> Tensor:
    """Measure how much the k most attended keys get together. Arguments as for :func:`entropy`."""
    if not 1 <= k <= weights.shape[-1]:
        raise ValueError(f"k is {k}, wanted 1 to {weights.shape[-1]} keys")
    return _mean(weights.topk(k, dim=-1).values.sum(dim=-1), _counted(weights, queries))


# --------------------------------------------------------------------------- where it goes


def mean_relative_position(
    weights: Tensor, *, queries: Tensor | None = None, first_query: int = 0
) -> Tensor:
    """Measure how far behind (negative) or ahead of itself a query looks: ``sum_j w_ij (j - i)``.

    A head that looks both ways and one that looks at itself both have 0. Query 0 is at
    ``first_query``, above 0 with cached keys. Other arguments as for :func:`entropy`.
    """
    own, keys = _places(weights, first_query)
    looks = (weights * keys).sum(dim=-1) - own * weights.sum(dim=-1)
    return _mean(looks, _counted(weights, queries))


def offset_score(
    weights: Tensor, offset: int, *, queries: Tensor | None = None, first_query: int = 0
) -> Tensor:
    """Attention to the key at a fixed distance: -1 the previous, 1 the next token.

    Queries whose key would lie outside do not count; a perfect previous-token head has 1, and an
    induction head at 1 - P on P tokens, repeated. Arguments as for :func:`mean_relative_position`.

    >>> previous = torch.eye(4).roll(-1, dims=1)
    >>> offset_score(previous, -1), offset_score(previous, 1)
    (tensor(1.), tensor(0.))
    """
    own, keys = _places(weights, first_query)
    there = keys == own[:, None] + offset
    return _mean((weights * there).sum(dim=-1), _counted(weights, queries) & there.any(dim=-1))


def diagonality(
    weights: Tensor,
    radius: int = 0,
    *,
    queries: Tensor | None = None,
    first_query: int = 0,
    stretch: bool = False,
) -> Tensor:
    """Measure how much attention falls on the diagonal, or on a band of a ``radius`` around it.

    With radius 0 a previous-token head has 0, although its map is a diagonal too: use radius 1, or
    :func:`offset_score`. With ``stretch`` the diagonal runs from corner to corner of an oblong
    map, as it does for an alignment in the same order between sentences of different lengths.
    Other arguments as for :func:`mean_relative_position`.
    """
    if radius < 0:
        raise ValueError(f"radius is {radius}, wanted at least 0")
    own, keys = _places(weights, first_query)
    if stretch:
        n_queries, n_keys = weights.shape[-2:]
        own = own * ((n_keys - 1) / max(n_queries - 1, 1))
    near = (keys - own[:, None]).abs() <= radius + 0.5
    return _mean((weights * near).sum(dim=-1), _counted(weights, queries))


def monotonicity(weights: Tensor, *, queries: Tensor | None = None) -> Tensor:
    """Tell whether later queries look at later keys: Kendall's tau of where they look on average.

    1 for an alignment in the same order, -1 for one in the reverse order, about 0 for scattered
    ones; pairs that look at the same place are neither. Arguments as for :func:`entropy`.
    """
    counted = _counted(weights, queries)
    _, keys = _places(weights, 0)
    place = (weights * keys).sum(dim=-1) / weights.sum(dim=-1).clamp(min=1e-9)
    step = place[..., None, :] - place[..., None]
    # Rounding makes equal places differ.
    order = torch.where(step.abs() < 1e-4, 0.0, step.sign())
    pairs = (counted[..., None, :] & counted[..., None]).triu(diagonal=1)
    return (order * pairs).sum(dim=(-2, -1)) / pairs.sum(dim=(-2, -1))


def received(weights: Tensor, *, queries: Tensor | None = None) -> Tensor:
    """Measure how much attention each key gets from a query on average, ``(..., S)``; it sums to 1.

    The first key may be a sink. Arguments as for :func:`entropy`.
    """
    return _mean(weights.mT, _counted(weights, queries)[..., None, :])


def stripe_score(weights: Tensor, n_columns: int = 1, *, queries: Tensor | None = None) -> Tensor:
    """Attention on the ``n_columns`` keys that get most of it. Arguments as for :func:`entropy`."""
    if not 1 <= n_columns <= weights.shape[-1]:
        raise ValueError(f"n_columns is {n_columns}, wanted 1 to {weights.shape[-1]}")
    return received(weights, queries=queries).topk(n_columns, dim=-1).values.sum(dim=-1)


def block_score(
    weights: Tensor,
    query_blocks: Tensor,
    key_blocks: Tensor | None = None,
    *,
    queries: Tensor | None = None,
) -> Tensor:
    """Measure how much attention stays within a query's own block, such as a phrase or a sentence.

    The blocks are numbers, broadcastable to ``(..., T)`` and ``(..., S)``; those of the keys are
    those of the queries if not given. Other arguments as for :func:`entropy`.
    """
    key_blocks = query_blocks if key_blocks is None else key_blocks
    query_blocks = _fitted("query_blocks", query_blocks, weights.shape[:-1])
    key_blocks = _fitted("key_blocks", key_blocks, (*weights.shape[:-2], weights.shape[-1]))
    own = query_blocks[..., :, None] == key_blocks[..., None, :]
    return _mean((weights * own).sum(dim=-1), _counted(weights, queries))


# --------------------------------------------------------------------------- what it finds


def column_score(
    weights: Tensor,
    columns: Tensor,
    *,
    mask: Tensor | None = None,
    queries: Tensor | None = None,
    relative: bool = False,
) -> Tensor:
    """Measure how much attention goes to marked keys: punctuation, rare words, the class token.

    A separator head has a high score on punctuation, a copy head on rare words and names. Half of
    all keys marked means a score of 1/2 by chance; ``relative`` divides by what a query would give
    that attends to all visible keys alike, and leaves out those that see no marked key.
    ``columns`` is boolean, broadcastable to ``(..., S)``. Other arguments as for :func:`entropy`.

    >>> weights = torch.tensor([[0.1, 0.1, 0.8], [0.2, 0.2, 0.6]])
    >>> full_stop = torch.tensor([False, False, True])
    >>> column_score(weights, full_stop), column_score(weights, full_stop, relative=True)
    (tensor(0.7000), tensor(2.1000))
    """
    if columns.dtype != torch.bool:
        raise ValueError(f"columns has dtype {columns.dtype}, wanted torch.bool")
    columns = _fitted("columns", columns, (*weights.shape[:-2], weights.shape[-1]))
    marked = columns[..., None, :]
    rows = (weights * marked).sum(dim=-1)
    counted = _counted(weights, queries)
    if relative:
        seen = (
            torch.ones_like(weights, dtype=torch.bool) if mask is None else _checked(mask, weights)
        )
        expected = (seen & marked).sum(dim=-1) / _visible(weights, mask).clamp(min=1)
        counted = counted & (expected > 0)
        rows = rows / expected.clamp(min=torch.finfo(weights.dtype).tiny)
    return _mean(rows, counted)


def relation_score(
    weights: Tensor,
    links: Tensor,
    *,
    queries: Tensor | None = None,
    by: Literal["best", "mass"] = "best",
) -> Tensor:
    """Accuracy of a query that looks for a related word: a verb its subject, "it" its noun.

    ``links`` is boolean, broadcastable to ``(..., T, S)``; queries without a link do not count.
    ``"best"`` asks whether the most attended key is linked, ``"mass"`` how much attention linked
    keys get. Compare with :func:`relation_baseline`. Other arguments as for :func:`entropy`.

    Source: Clark et al., What Does BERT Look At? (2019), section 4.2, for ``"best"``.

    Example:
        "the dogs bark": the verb 2 agrees with 1.

        >>> links = torch.zeros(3, 3, dtype=torch.bool)
        >>> links[2, 1] = True
        >>> weights = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.4, 0.3]])
        >>> relation_score(weights, links), relation_score(weights, links, by="mass")
        (tensor(1.), tensor(0.4000))
    """
    if by not in ("best", "mass"):
        raise ValueError(f"by is {by!r}, wanted 'best' or 'mass'")
    _checked(links, weights, "links")
    links = links.expand(weights.shape)
    if by == "best":
        best = weights.argmax(dim=-1, keepdim=True)
        rows = links.gather(-1, best).squeeze(-1).to(weights.dtype)
    else:
        rows = (weights * links).sum(dim=-1)
    return _mean(rows, _counted(weights, queries) & links.any(dim=-1))


def relation_baseline(links: Tensor, *, queries: Tensor | None = None) -> tuple[float, int]:
    """The best score on links ``(..., T, S)`` of a head that looks at one distance, and which.

    A head that beats chance may know no more than that subjects come two words before their verb.

    Source: Clark et al. (2019), section 4.2.
    """
    if links.dtype != torch.bool or links.ndim < 2:
        raise ValueError(f"links is {links.dtype} {tuple(links.shape)}, wanted boolean (..., T, S)")
    if queries is not None:
        links = links & _fitted("queries", queries, links.shape[:-1])[..., None]
    with_link = int(links.any(dim=-1).sum())
    if not with_link:
        raise ValueError("links holds no link, wanted at least one")
    n_queries, n_keys = links.shape[-2:]
    hits = {
        offset: int(links.diagonal(offset, dim1=-2, dim2=-1).sum())
        for offset in range(1 - n_queries, n_keys)
    }
    best = max(hits, key=lambda offset: (hits[offset], -abs(offset)))
    return hits[best] / with_link, best


# --------------------------------------------------------------------------- shared


def _counted(weights: Tensor, queries: Tensor | None) -> Tensor:
    """Queries ``(..., T)`` that count: asked for, and with a row that is not empty."""
    if weights.ndim < 2 or not weights.is_floating_point():
        raise ValueError(
            f"weights is {weights.dtype} {tuple(weights.shape)}, wanted floats (..., T, S)"
        )
    filled = weights.sum(dim=-1) > 0
    if queries is None:
        return filled
    if queries.dtype != torch.bool:
        raise ValueError(f"queries has dtype {queries.dtype}, wanted torch.bool")
    return filled & _fitted("queries", queries, filled.shape)


def _fitted(name: str, tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """The tensor in a shape; its axes must be one or all, or a batch could meet the heads."""
    fits = tensor.ndim in (1, len(shape)) and all(
        have in (1, want) for have, want in zip(tensor.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}, wanted 1 or {len(shape)} dimensions that "
            f"broadcast to {tuple(shape)}"
        )
    return tensor.expand(tuple(shape))


def _visible(weights: Tensor, mask: Tensor | None) -> Tensor:
    """Count how many keys each query ``(..., T)`` may see."""
    if mask is None:
        return weights.new_full(weights.shape[:-1], weights.shape[-1])
    return _checked(mask, weights).expand(weights.shape).sum(dim=-1).to(weights.dtype)


def _checked(mask: Tensor, weights: Tensor, name: str = "mask") -> Tensor:
    try:
        check_mask(mask, weights.shape)
    except ValueError as error:
        raise ValueError(str(error).replace("mask has", f"{name} has", 1)) from None
    return mask


def _places(weights: Tensor, first_query: int) -> tuple[Tensor, Tensor]:
    """Positions of queries ``(T,)`` and keys ``(S,)``."""
    n_queries, n_keys = weights.shape[-2:]
    places = torch.arange(max(n_queries + first_query, n_keys), device=weights.device)
    places = places.to(weights.dtype)
    return places[first_query : first_query + n_queries], places[:n_keys]


def _mean(rows: Tensor, counted: Tensor) -> Tensor:
    return torch.where(counted, rows, 0.0).sum(dim=-1) / counted.sum(dim=-1)
