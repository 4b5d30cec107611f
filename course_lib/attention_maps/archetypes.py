"""Five kinds of attention map that recur in trained models, and a rule that tells them apart."""

from typing import Literal, get_args

import torch
from torch import Tensor

from course_lib.attention_maps.metrics import entropy
from course_lib.masks import causal_mask, check_mask

Archetype = Literal["diagonal", "vertical", "block", "heterogeneous", "uniform"]
ARCHETYPES: tuple[Archetype, ...] = get_args(Archetype)

# From where on a map counts as uniform: entropy, relative to the largest possible.
_UNIFORM = 0.9
# From where on a template explains a map: the share of attention that lies where it says.
_EXPLAINED = 0.5
# A block of nearly all tokens says nothing.
_LARGEST_BLOCK = 0.75
_SMALLEST_BLOCK = 2


def archetype(weights: Tensor, *, mask: Tensor | None = None) -> Archetype:
    """Name the kind of a map ``(T, S)``, one of :data:`ARCHETYPES`.

    *Uniform* if the relative entropy is at least 0.9. Else the kind whose best template explains
    most, if that is at least half: *diagonal* (each query looks at one fixed distance, or at its
    neighbours), *vertical* (all look at the same keys), *block* (each looks at its own run of
    neighbours). Else *heterogeneous*: what it looks at depends on what the words are.

    >>> archetype(torch.block_diag(torch.full((2, 2), 0.5), torch.full((3, 3), 1 / 3)))
    'block'
    """
    scores = archetype_scores(weights, mask=mask)
    if scores["uniform"] >= _UNIFORM:
        return "uniform"
    kinds: tuple[Archetype, ...] = ("diagonal", "vertical", "block")
    best = max(kinds, key=lambda kind: scores[kind])
    return best if scores[best] >= _EXPLAINED else "heterogeneous"


def archetype_scores(weights: Tensor, *, mask: Tensor | None = None) -> dict[Archetype, float]:
    """Measure how well each kind explains a map ``(T, S)``, from 0 to 1.

    For *uniform* the relative entropy. For the others the overlap ``sum_j min(w_ij, t_ij)``, mean
    over queries, with the best of the kind's templates t: one key at a fixed distance or three
    around the query; the same few columns for all queries, those that receive most (two, or an
    eighth of the keys if that is more); equal weights within blocks, the best division into runs.
    *Heterogeneous* is 1 minus the best of these three. Queries that see fewer than half as many
    keys as others don't count: among two keys almost any template fits.
    """
    if weights.ndim != 2:
        raise ValueError(f"weights has shape {tuple(weights.shape)}, wanted one map (T, S)")
    if mask is None:
        mask = torch.ones_like(weights, dtype=torch.bool)
    check_mask(mask, weights.shape)
    mask = mask.expand(weights.shape)
    if not weights.any():
        raise ValueError("weights are 0 everywhere, wanted at least one query that attends")
    filled = weights.sum(dim=-1) > 0
    visible = mask.sum(dim=-1)
    counted = filled & (2 * visible >= visible[filled].max())
    spread = entropy(weights, mask=mask, normalised=True).item()
    scores: dict[Archetype, float] = {
        "diagonal": _diagonal(weights, mask, counted),
        "vertical": _vertical(weights, mask, counted),
        "block": _block(weights, mask, counted),
    }
    scores["heterogeneous"] = 1 - max(scores.values())
    # With one visible key a query there is no choice, and so nothing that could be uniform.
    scores["uniform"] = 0.0 if spread != spread else spread
    return scores


def _vertical(weights: Tensor, mask: Tensor, counted: Tensor) -> float:
    mean = weights[counted].mean(dim=0)
    few = mean.topk(max(2, mean.numel() // 8)).indices
    mean = torch.zeros_like(mean).index_copy(0, few, mean[few])
    return _overlap(weights, mean.expand(weights.shape), mask, counted)


def _overlap(weights: Tensor, template: Tensor, mask: Tensor, counted: Tensor) -> float:
    template = template.masked_fill(~mask, 0.0)
    template = template / template.sum(dim=-1, keepdim=True).clamp(min=1e-9)
    rows = torch.minimum(weights, template).sum(dim=-1)
    return rows[counted].mean().item()


def _diagonal(weights: Tensor, mask: Tensor, counted: Tensor) -> float:
    n_queries, n_keys = weights.shape
    # In an oblong map the diagonal runs from corner to corner.
    own = torch.arange(n_queries) * ((n_keys - 1) / max(n_queries - 1, 1))
    if n_queries == n_keys:
        own = own.round()
    distance = (torch.arange(n_keys) - own[:, None]).to(weights)
    reach = max(1, n_keys // 4)
    shifts = range(-reach, reach + 1)
    single = [(distance - shift).abs() <= 0.5 for shift in shifts]
    templates = [*single, distance.abs() <= 1.5]
    return max(_overlap(weights, template.to(weights), mask, counted) for template in templates)


def _block(weights: Tensor, mask: Tensor, counted: Tensor) -> float:
    """The best division into runs, by dynamic programming over where a run ends."""
    n_queries, n_keys = weights.shape
    if n_queries != n_keys:
        return 0.0
    largest = max(_SMALLEST_BLOCK, int(_LARGEST_BLOCK * n_keys))
    best = [0.0] + [float("-inf")] * n_keys
    for end in range(_SMALLEST_BLOCK, n_keys + 1):
        for start in range(max(0, end - largest), end - _SMALLEST_BLOCK + 1):
            if best[start] == float("-inf"):
                continue
            run = slice(start, end)
            visible = mask[run, run].sum(dim=-1, keepdim=True).clamp(min=1)
            held = torch.minimum(weights[run, run], mask[run, run] / visible)
            value = held[counted[run]].sum().item()
            best[end] = max(best[end], best[start] + value)
    return max(best[-1], 0.0) / int(counted.sum())


def synthetic_map(
    kind: Archetype, n: int, generator: torch.Generator, *, noise: float = 0.1, causal: bool = False
) -> Tensor:
    """Draw a map ``(n, n)`` of a kind; ``noise`` is the random share of each row.

    There are at least 8 queries, or 16 if causal, where the first see too few keys to be of any
    kind. The generator draws what a kind leaves open.
    """
    if kind not in ARCHETYPES:
        raise ValueError(f"kind is {kind!r}, wanted one of {ARCHETYPES}")
    least = 16 if causal else 8
    if n < least:
        raise ValueError(f"n is {n}, wanted at least {least}")
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is {noise}, wanted a share from 0 to 1")

    def below(high: int) -> int:
        return int(torch.randint(high, (), generator=generator))

    places = torch.arange(n)
    if kind == "diagonal":
        # -1, 0 and 1 are one key at that distance, 2 is the neighbours on both sides.
        shift = below(2) - 1 if causal else below(4) - 1
        distance = places - places[:, None]
        template = distance.abs() <= 1 if shift == 2 else distance == shift
    elif kind == "vertical":
        columns = torch.randperm(n, generator=generator)[: 1 + below(2)]
        # The first key is the only one that all may see.
        columns = columns.clamp(max=0) if causal else columns
        template = torch.zeros(n, n).index_fill(1, columns, 1.0).bool()
    elif kind == "block":
        n_cuts = 1 + below(max(1, n // 4 - 1))
        candidates = torch.arange(2, n - 1, 2)
        cuts = candidates[torch.randperm(len(candidates), generator=generator)[: n_cuts + 1]]
        block = (places[:, None] >= cuts).sum(dim=1)
        template = block[:, None] == block
    elif kind == "uniform":
        template = torch.ones(n, n).bool()
    else:
        template = torch.zeros(n, n).bool()
        for query in range(n):
            seen = query + 1 if causal else n
            template[query, torch.randperm(seen, generator=generator)[: 1 + below(2)]] = True
    mask = causal_mask(n) if causal else torch.ones(n, n).bool()
    # Where a causal template leaves nothing, a query looks at itself.
    template = (template & mask) | (torch.eye(n).bool() & ~(template & mask).any(1, keepdim=True))
    weights = template / template.sum(dim=-1, keepdim=True)
    random = torch.rand(n, n, generator=generator) * mask
    return (1 - noise) * weights + noise * random / random.sum(dim=-1, keepdim=True)
