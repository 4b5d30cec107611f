"""Exercise ``reading.archetypes``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.attention_maps import ARCHETYPES
from course_lib.checks.compare import kind
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong


def draw_map(kind: str, n: int, generator: torch.Generator, noise: float = 0.1) -> Tensor:
    """Draw a map of a kind.

    Args:
        kind: "diagonal", "vertical", "block", "uniform" or "heterogeneous".
        n: Number of queries and of keys, at least 10.
        generator: Source of what a kind leaves open, and of the noise.
        noise: Share of each row that is random.

    Returns:
        Weights (n, n) whose rows sum to 1.
    """

    def below(high: int) -> int:
        return int(torch.randint(high, (), generator=generator))

    def some(n: int, k: int) -> Tensor:
        return torch.randperm(n, generator=generator)[:k]

    places = torch.arange(n)
    distance = places - places[:, None]
    looks = torch.ones(n, n)
    if kind == "diagonal":
        shift = below(4) - 1
        looks = (distance.abs() <= 1 if shift == 2 else distance == shift).float()
        # Where the key would lie outside, a query looks at itself.
        looks += torch.eye(n) * (looks.sum(-1, keepdim=True) == 0)
    elif kind == "vertical":
        looks = torch.zeros(n, n).index_fill(1, some(n, 1 + below(2)), 1.0)
    elif kind == "block":
        borders = 2 + 2 * some(n // 2 - 1, 2 + below(n // 4 - 1))
        block = (places[:, None] >= borders).sum(-1)
        looks = (block[:, None] == block).float()
    elif kind == "heterogeneous":
        looks = torch.stack([F.one_hot(some(n, 1 + below(2)), n).sum(0) for _ in range(n)]).float()
    random = torch.rand(n, n, generator=generator)
    made = [weights / weights.sum(-1, keepdim=True) for weights in (looks, random)]
    return (1 - noise) * made[0] + noise * made[1]


def reference(weights: Tensor) -> list[str]:
    """A rule of five thresholds; that of the library tries more templates and takes longer."""
    T = weights.shape[-1]
    places = torch.arange(T)
    distance = places - places[:, None]
    found = []
    for one in weights:
        bands = [float(one.diagonal(shift).sum()) / T for shift in (-1, 0, 1)]
        alike = torch.minimum(one[1:], one[:-1]).sum(-1)
        if torch.special.entr(one).sum() > 0.9 * T * math.log(T):
            found.append("uniform")
        elif one.sum(0).topk(2).values.sum() > 0.62 * T:
            found.append("vertical")
        elif max(bands) > 0.55 or (
            one[distance.abs() <= 1].sum() > 0.7 * T and alike.median() < 0.85
        ):
            found.append("diagonal")
        elif (alike > 0.75).float().mean() > 0.4:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


# Over 40 seeds and all properties the reference names all of the maps rightly; the margin is 0.05.
LEVEL = 0.95
_N_MAPS = 25

exercise = Exercise(
    id="reading.archetypes",
    function="archetypes",
    reference=reference,
    points=5,
    minutes=30,
    difficulty=4,
    chapter="10_reading.html#reading-archetypes",
    outcomes=("reading.kinds",),
    example=lambda t: (torch.stack([draw_map(kind, 10, t.generator) for kind in ARCHETYPES]),),
    severe={
        "sharp_is_vertical": "four kinds of five get one name",
        "by_entropy": "one number cannot tell five kinds apart",
        "no_remainder": "whatever is no clear map gets the name of another kind",
    },
)


def _level(t: Trial, maps: Tensor, kinds: list[str], note: str = "") -> None:
    """Expect nearly all maps to be named rightly."""
    got = t.call(maps)
    if not isinstance(got, (list, tuple)) or len(got) != len(kinds):
        raise Wrong(f"the result is {kind(got)}, wanted a list of {len(kinds)} names")
    right = sum(name == kind for name, kind in zip(got, kinds, strict=True)) / len(kinds)
    missed = [(k, g) for g, k in zip(got, kinds, strict=True) if g != k]
    t.expect(
        right >= LEVEL,
        f"{note}{right:.0%} of {len(kinds)} maps are named rightly, wanted {LEVEL:.0%}"
        + (f"; a map that is {missed[0][0]} was called {missed[0][1]!r}" if missed else ""),
    )


def _tell(t: Trial, *kinds: str, noise: float = 0.15) -> None:
    """As many maps of each of some kinds."""
    order = [kinds[i % len(kinds)] for i in range(_N_MAPS * len(kinds))]
    # A band of a given width is a block in small maps and next to nothing in large ones.
    n = t.integer(12, 13)
    _level(t, torch.stack([draw_map(kind, n, t.generator, noise) for kind in order]), order)


@exercise.prop(
    f"uniform or not: at least {LEVEL:.0%} of new maps are named rightly",
    points=1,
    hint="Which number of a row is largest when all weights are equal?",
)
def even(t: Trial) -> None:
    _tell(t, "uniform", "heterogeneous")


@exercise.prop(
    f"diagonals, also beside the main one and three wide: {LEVEL:.0%}",
    points=1,
    hint="Go through the distances: for which of them does a band hold most?",
)
def diagonals(t: Trial) -> None:
    _tell(t, "diagonal", "heterogeneous")


@exercise.prop(
    f"one or two columns that all queries look at: {LEVEL:.0%}",
    points=1,
    hint="What does each key get from all queries together?",
)
def columns(t: Trial) -> None:
    _tell(t, "vertical", "diagonal")


@exercise.prop(
    f"blocks of any sizes: {LEVEL:.0%}",
    points=1,
    hint="Two neighbours in one block look at the same keys; two on both sides of a border at none"
    " in common.",
)
def blocks(t: Trial) -> None:
    _tell(t, "block", "vertical")


@exercise.prop(
    f"all five, with more noise: {LEVEL:.0%}",
    points=1,
    hint="Print the numbers your rule looks at for twenty maps of each kind: where is the gap?",
)
def all_five(t: Trial) -> None:
    _tell(t, *ARCHETYPES, noise=0.3)


@exercise.mistake(
    "A head that looks at the previous token: how much of it is on the main diagonal?"
)
def main_diagonal_only(weights):
    """A diagonal map has its weight on the main diagonal."""
    found = []
    n = weights.shape[-1]
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        column = one.mean(0).topk(2).values.sum()
        cuts = [c for c in range(2, n - 1) if one[c - 1].minimum(one[c]).sum() < 0.5]
        runs = torch.tensor([sum(c <= i for c in cuts) for i in range(n)])
        inside = (one * (runs[:, None] == runs)).sum(-1).mean()
        if share > 0.9:
            found.append("uniform")
        elif one.diagonal().mean() > 0.5:
            found.append("diagonal")
        elif column > 0.6:
            found.append("vertical")
        elif inside > 0.6 and 0 < len(cuts) < n / 2:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake("Shift the columns of your map about: would your number for a column notice?")
def sharp_is_vertical(weights):
    """A map with large weights away from the diagonal is made of columns."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        near = (places - places[:, None]).abs() <= 1
        cuts = [c for c in range(2, n - 1) if one[c - 1].minimum(one[c]).sum() < 0.5]
        if share > 0.9:
            found.append("uniform")
        elif (one * near).sum(-1).mean() > 0.55:
            found.append("diagonal")
        elif 0 < len(cuts) < n / 3 and one.amax(-1).mean() < 0.6:
            found.append("block")
        elif one.amax(-1).mean() > 0.5:
            found.append("vertical")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake("Noise of 0.3 in every row: does a uniform map reach an entropy of exactly ln T?")
def exactly_uniform(weights):
    """A uniform map has equal weights."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    for one in weights:
        bands = [one.diagonal(k).sum() / (n - abs(k)) for k in (-1, 0, 1)]
        near = (one * ((places - places[:, None]).abs() <= 1)).sum(-1).mean()
        column = one.mean(0).topk(2).values.sum()
        cuts = [c for c in range(2, n - 1) if one[c - 1].minimum(one[c]).sum() < 0.5]
        runs = torch.tensor([sum(c <= i for c in cuts) for i in range(n)])
        inside = (one * (runs[:, None] == runs)).sum(-1).mean()
        if (one - 1 / n).abs().max() < 1e-3:
            found.append("uniform")
        elif max(bands) > 0.5 or near > 0.6:
            found.append("diagonal")
        elif column > 0.6:
            found.append("vertical")
        elif inside > 0.6 and 0 < len(cuts) < n / 2:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake(
    "A column, a diagonal and content: the entropy of all three is low. What else is?"
)
def by_entropy(weights):
    """How widely a head spreads its attention says what kind it is."""
    n = weights.shape[-1]
    spread = torch.special.entr(weights).sum(-1).mean(-1) / math.log(n)
    edges = torch.tensor([0.35, 0.45, 0.6, 0.9])
    names = ["diagonal", "vertical", "heterogeneous", "block", "uniform"]
    return [names[int(i)] for i in torch.bucketize(spread, edges)]


@exercise.mistake("In a block of six, how far from the query may a key be?")
def block_is_a_wide_band(weights):
    """Blocks are a wide band around the diagonal."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    distance = (places - places[:, None]).abs()
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        column = one.mean(0).topk(2).values.sum()
        if share > 0.9:
            found.append("uniform")
        elif column > 0.6:
            found.append("vertical")
        elif (one * (distance <= 1)).sum(-1).mean() > 0.55:
            found.append("diagonal")
        elif (one * (distance <= 4)).sum(-1).mean() > 0.6:
            found.append("block")
        else:
            found.append("heterogeneous")
    return found


@exercise.mistake(
    "Name a map of each kind that your rule would call so. Is there one for all five?"
)
def no_remainder(weights):
    """Every map is one of the four regular kinds, whichever comes nearest."""
    found = []
    n = weights.shape[-1]
    places = torch.arange(n)
    for one in weights:
        share = torch.special.entr(one).sum(-1).mean() / math.log(n)
        near = (one * ((places - places[:, None]).abs() <= 1)).sum(-1).mean()
        column = one.mean(0).topk(2).values.sum()
        if share > 0.9:
            found.append("uniform")
        elif column > max(0.6, near):
            found.append("vertical")
        elif near > 0.55:
            found.append("diagonal")
        else:
            found.append("block")
    return found


@exercise.alternative
def by_templates(weights):
    """Overlaps with templates: bands, the two largest columns, and blocks between cuts."""
    found = []
    T = weights.shape[-1]
    index = torch.arange(T)
    gap = index[None] - index[:, None]
    for one in weights:
        if torch.special.entr(one).sum() >= 0.9 * T * math.log(T):
            found.append("uniform")
            continue
        bands = [(gap == k).float() for k in (-1, 0, 1)] + [(gap.abs() <= 1) / 3]
        top = one.mean(0).topk(2)
        columns = torch.zeros(T, T)
        columns[:, top.indices] = top.values / top.values.sum()
        alike = torch.minimum(one[1:], one[:-1]).sum(-1)
        run = torch.cat([torch.zeros(1), (alike < 0.5).cumsum(0)])
        same = (run[None] == run[:, None]).float()
        if same.sum(-1).median() < 2 or run[-1] == 0:
            same = torch.zeros(T, T)
        score = {
            "diagonal": max(torch.minimum(one, band).sum() / T for band in bands),
            "vertical": torch.minimum(one, columns).sum() / T,
            "block": torch.minimum(one, same / same.sum(-1, keepdim=True).clamp(min=1)).sum() / T,
        }
        best = max(score, key=lambda kind: float(score[kind]))
        found.append(best if score[best] >= 0.5 else "heterogeneous")
    return found


@exercise.alternative
def by_comparing_rows(weights):
    """Compares rows with each other, as they stand and shifted along; prints to stderr."""
    import sys

    T = weights.size(-1)
    names = []
    for w in weights:
        spread = -(w.clamp(min=1e-12).log() * w).sum(1).mean() / math.log(T)
        common = torch.minimum(w.unsqueeze(0), w.unsqueeze(1)).sum(2)
        along = torch.minimum(w[:-1, :-1], w[1:, 1:]).sum(1).mean()
        neighbours = common.diagonal(1)
        if float(spread) > 0.9:
            names.append("uniform")
        elif common.mean() > 0.62:
            names.append("vertical")
        elif (neighbours > 0.6).float().mean() > 0.35 and neighbours.min() < 0.5:
            names.append("block")
        elif along > 0.5:
            names.append("diagonal")
        else:
            names.append("heterogeneous")
    print(len(names), "maps", file=sys.stderr)
    return names
