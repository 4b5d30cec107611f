"""Exercise ``reading.map_metrics``."""

import math

import torch
from torch import Tensor

from course_lib.attention_maps import diagonality, entropy, max_weight, mean_relative_position
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(
    weights: Tensor, mask: Tensor, radius: int = 1
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four numbers of the library for each map."""
    return (
        entropy(weights, mask=mask[:, None], normalised=True),
        diagonality(weights, radius),
        max_weight(weights),
        mean_relative_position(weights),
    )


exercise = Exercise(
    id="reading.map_metrics",
    function="map_metrics",
    reference=reference,
    points=6,
    minutes=25,
    difficulty=3,
    chapter="10_reading.html#reading-metrics",
    outcomes=("reading.metrics",),
    returns=("entropy", "near_diagonal", "largest", "relative_position"),
    example=lambda t: _sample(t, 5, [5, 5], hidden=0),
)


def _sample(t: Trial, T: int, lengths: list[int], hidden: int = 1) -> tuple[Tensor, Tensor]:
    """Weights (B, 2, T, T) under a mask (B, T, T) that hides padding and a few keys of each row.

    Rows of padding are empty, and all visible weights are above 0.
    """
    mask = torch.zeros(len(lengths), T, T, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, :length, :length] = True
        for i in range(length):
            # One key or more stays: the one three places on, counted round.
            for j in t.integers(0, length - 1, hidden).tolist():
                mask[b, i, j] = mask[b, i, j] and j == (i + 3) % length
    return _under(t, mask), mask


def _under(t: Trial, mask: Tensor, spread: float = 1.5) -> Tensor:
    scores = spread * t.randn(len(mask), 2, *mask.shape[1:])
    weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
    return weights.nan_to_num(0.0)


def _one(t: Trial, which: int, *args: Tensor | int, note: str = "") -> Tensor:
    """One of the four results, which must be right; the others may be wrong."""
    got = t.values(t.call(*args))
    want = t.want(*args)[which]
    value = t.a_tensor(got[which], tuple(want.shape), exercise.returns[which])
    t.close(value, want, exercise.returns[which], note=note)
    return value


@exercise.prop(
    "entropy of each row as a share of the largest it could have, then the mean",
    points=1,
    hint="What is the entropy of a row of 8 equal weights? By what do you divide to get 1?",
)
def spread(t: Trial) -> None:
    _one(t, 0, *_sample(t, t.integer(6, 8), [6, 5], hidden=0))
    mask = torch.ones(1, 7, 7, dtype=torch.bool)
    _one(t, 0, torch.full((1, 2, 7, 7), 1 / 7), mask, note="equal weights")


@exercise.prop(
    "the largest possible entropy is that of the keys which the query may see",
    points=1,
    hint="Under a causal mask, how large can the entropy of the third row be?",
)
def visible_keys(t: Trial) -> None:
    n = t.integer(6, 9)
    causal = torch.ones(2, n, n, dtype=torch.bool).tril()
    _one(t, 0, _under(t, causal), causal, note="a causal mask")
    _one(t, 0, *_sample(t, 8, [8, 6], hidden=4), note="keys hidden here and there")


@exercise.prop(
    "weights that are exactly 0 give no NaN, and what is handed in is left as it was",
    points=0.5,
    hint="0 ln 0 is 0 by its limit. What does the machine say? And the map is still needed: write"
    " into tensors of your own.",
)
def zeros(t: Trial) -> None:
    weights, mask = _sample(t, 6, [6, 6], hidden=0)
    weights = torch.where(weights == weights.amax(-1, keepdim=True), 1.0, 0.0)
    weights[0, :, :3] = 0.5 * weights[0, :, :3] + 0.5 * weights[0, :, :3].roll(1, -1)
    _one(t, 0, weights, mask)
    t.unchanged(weights, mask)


@exercise.prop(
    "the band: attention to keys at most `radius` places away",
    points=1,
    hint="A head that looks at the previous token: how much of it lies on the main diagonal, how"
    " much in a band of radius 1?",
)
def band(t: Trial) -> None:
    weights, mask = _sample(t, 8, [8, 7], hidden=1)
    for radius in (1, 0, 2):
        _one(t, 1, weights, mask, radius, note=f"radius {radius}")
    # The default.
    _one(t, 1, weights, mask)


@exercise.prop(
    "the largest weight of each query, mean over queries",
    points=0.5,
    hint="Every query has a largest weight.",
)
def largest(t: Trial) -> None:
    _one(t, 2, *_sample(t, 7, [7, 7], hidden=1))


@exercise.prop(
    "where a query looks on average, minus where it stands: behind itself is below 0",
    points=1,
    hint="A previous-token head should have about -1. The expected key position, minus?",
)
def relative(t: Trial) -> None:
    _one(t, 3, *_sample(t, 7, [7, 7], hidden=1))
    _one(t, 3, *_sample(t, 9, [9, 9], hidden=0), note="all keys visible")


@exercise.prop(
    "queries with an empty row don't count, and those with one visible key not for the entropy",
    points=1,
    hint="Divide by the number of queries that count, not by T. A query that sees one key: can its"
    " entropy say anything about the head?",
)
def who_counts(t: Trial) -> None:
    weights, mask = _sample(t, 9, [4, 9], hidden=0)
    for which in range(4):
        _one(t, which, weights, mask, note="padded")
    n = t.integer(4, 6)
    few = torch.ones(1, n, n, dtype=torch.bool).tril()
    weights = _under(t, few)
    for which in range(4):
        _one(t, which, weights, few, note="the first query sees itself alone")


@exercise.mistake("Which keys may the third query of a causal model see? That is where it ends.")
def all_keys(weights, mask, radius=1):
    """The largest entropy is ln T for every query."""
    T = weights.shape[-1]
    counted = mask.any(-1)[:, None]
    choice = counted & (mask.sum(-1)[:, None] > 1)
    own = torch.arange(T)
    near = (own - own[:, None]).abs() <= radius
    h = torch.special.entr(weights).sum(-1) / math.log(T)
    n = counted.sum(-1)
    looks = (weights * own).sum(-1) - own
    return (
        (h * choice).sum(-1) / choice.sum(-1),
        ((weights * near).sum(-1) * counted).sum(-1) / n,
        (weights.amax(-1) * counted).sum(-1) / n,
        (looks * counted).sum(-1) / n,
    )


@exercise.mistake("How many queries ask in a sentence of 4 that is padded to 9?")
def padding_counts(weights, mask, radius=1):
    """A row of zeros adds nothing to a sum, so it can stay in the mean."""
    T = weights.shape[-1]
    own = torch.arange(T)
    near = (own - own[:, None]).abs() <= radius
    visible = mask.sum(-1)[:, None].expand(weights.shape[:-1])
    h = torch.special.entr(weights).sum(-1) / visible.clamp(min=2).log()
    looks = ((weights * own).sum(-1) - own) * (visible > 0)
    return (
        h.mean(-1),
        (weights * near).sum(-1).mean(-1),
        weights.amax(-1).mean(-1),
        looks.mean(-1),
    )


@exercise.mistake("A query that sees one key has entropy 0. Is the head therefore sharp?")
def no_choice_counts(weights, mask, radius=1):
    """A query with a single visible key is a query of entropy 0."""
    T = weights.shape[-1]
    counted = mask.any(-1)[:, None]
    own = torch.arange(T)
    near = (own - own[:, None]).abs() <= radius
    h = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    n = counted.sum(-1)
    looks = (weights * own).sum(-1) - own
    return (
        (h * counted).sum(-1) / n,
        ((weights * near).sum(-1) * counted).sum(-1) / n,
        (weights.amax(-1) * counted).sum(-1) / n,
        (looks * counted).sum(-1) / n,
    )


@exercise.mistake("Compute by hand what a head that looks at the previous token gets for radius 1.")
def main_diagonal(weights, mask, radius=1):
    """A diagonal head is one with its weight on the main diagonal."""
    T = weights.shape[-1]
    counted = mask.any(-1)[:, None]
    choice = counted & (mask.sum(-1)[:, None] > 1)
    own = torch.arange(T)
    h = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    n = counted.sum(-1)
    looks = (weights * own).sum(-1) - own
    return (
        (h * choice).sum(-1) / choice.sum(-1),
        (torch.diagonal(weights, dim1=-2, dim2=-1) * counted).sum(-1) / n,
        (weights.amax(-1) * counted).sum(-1) / n,
        (looks * counted).sum(-1) / n,
    )


@exercise.mistake("Two queries, each sure of another key: is the mean of their rows sure, too?")
def of_the_mean_row(weights, mask, radius=1):
    """The entropy of a head is the entropy of its average row."""
    T = weights.shape[-1]
    counted = mask.any(-1)[:, None]
    own = torch.arange(T)
    near = (own - own[:, None]).abs() <= radius
    n = counted.sum(-1)
    row = (weights * counted[..., None]).sum(-2) / n[..., None]
    h = torch.special.entr(row).sum(-1) / n.clamp(min=2).log()
    looks = (weights * own).sum(-1) - own
    return (
        h,
        ((weights * near).sum(-1) * counted).sum(-1) / n,
        (weights.amax(-1) * counted).sum(-1) / n,
        (looks * counted).sum(-1) / n,
    )


@exercise.mistake("The previous token is at -1. What do you get for it?")
def query_minus_key(weights, mask, radius=1):
    """A relative position is how far the query is ahead of what it looks at."""
    T = weights.shape[-1]
    counted = mask.any(-1)[:, None]
    choice = counted & (mask.sum(-1)[:, None] > 1)
    own = torch.arange(T)
    near = (own - own[:, None]).abs() <= radius
    h = torch.special.entr(weights).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    n = counted.sum(-1)
    looks = own - (weights * own).sum(-1)
    return (
        (h * choice).sum(-1) / choice.sum(-1),
        ((weights * near).sum(-1) * counted).sum(-1) / n,
        (weights.amax(-1) * counted).sum(-1) / n,
        (looks * counted).sum(-1) / n,
    )


@exercise.mistake("What is 0 * log(0) on a machine?")
def log_of_zero(weights, mask, radius=1):
    """A weight of 0 times its logarithm is 0 by itself."""
    T = weights.shape[-1]
    counted = mask.any(-1)[:, None]
    choice = counted & (mask.sum(-1)[:, None] > 1)
    own = torch.arange(T)
    near = (own - own[:, None]).abs() <= radius
    h = -(weights * weights.log()).sum(-1) / mask.sum(-1)[:, None].clamp(min=2).log()
    n = counted.sum(-1)
    looks = (weights * own).sum(-1) - own
    return (
        (h * choice).sum(-1) / choice.sum(-1),
        ((weights * near).sum(-1) * counted).sum(-1) / n,
        (weights.amax(-1) * counted).sum(-1) / n,
        (looks * counted).sum(-1) / n,
    )


@exercise.mistake("Print the map before and after your call: is it still the same?")
def zeros_written_over(weights, mask, radius=1):
    """What the entropy needs is written into the map, as the map is done with by then."""
    T = weights.shape[-1]
    sees = mask.sum(-1)[:, None]
    own = torch.arange(T)
    away = own - own[:, None]
    n = (sees > 0).sum(-1)
    near = (weights * (away.abs() <= radius)).sum((-2, -1)) / n
    largest = weights.amax(-1).sum(-1) / n
    looks = (weights * away).sum((-2, -1)) / n
    weights[weights == 0] = 1
    share = -(weights * weights.log()).sum(-1) / sees.clamp(min=2).log()
    return share.sum(-1) / (sees > 1).sum(-1), near, largest, looks


@exercise.alternative
def row_by_row(weights, mask, radius=1):
    """Goes through the rows in plain Python, and prints to stderr."""
    import sys

    print("row by row", file=sys.stderr)
    B, H, T, _ = weights.shape
    out = torch.zeros(4, B, H)
    for b in range(B):
        for h in range(H):
            spread, band, top, looks = [], [], [], []
            for i in range(T):
                seen = mask[b, i].nonzero()[:, 0].tolist()
                if not seen:
                    continue
                row = weights[b, h, i].tolist()
                band.append(sum(row[j] for j in seen if abs(j - i) <= radius))
                top.append(max(row))
                looks.append(sum(row[j] * (j - i) for j in seen))
                if len(seen) > 1:
                    nats = -sum(row[j] * math.log(row[j]) for j in seen if row[j] > 0)
                    spread.append(nats / math.log(len(seen)))
            for n, found in enumerate((spread, band, top, looks)):
                out[n, b, h] = sum(found) / len(found)
    return tuple(out)


@exercise.alternative
def by_nanmean(weights, mask, radius=1):
    """Writes NaN where nothing counts and lets the mean leave it out; distances by subtraction."""
    own = torch.arange(weights.shape[-1])
    apart = own.view(1, -1) - own.view(-1, 1)
    empty = ~mask.any(dim=-1).unsqueeze(1)
    log_w = torch.where(weights > 0, weights, torch.ones_like(weights)).log()
    nats = -torch.einsum("bhij,bhij->bhi", weights, log_w)
    share = nats / mask.sum(dim=-1).log().unsqueeze(1)
    share = share.masked_fill((mask.sum(dim=-1) < 2).unsqueeze(1), torch.nan)
    in_band = weights.masked_fill(apart.abs() > radius, 0).sum(dim=-1)
    away = torch.einsum("bhij,ij->bhi", weights, apart.to(weights))
    rest = [x.masked_fill(empty, torch.nan) for x in (in_band, weights.max(dim=-1)[0], away)]
    return tuple(x.nanmean(dim=-1) for x in (share, *rest))
