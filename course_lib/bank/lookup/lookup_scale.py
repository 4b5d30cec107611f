"""Exercise ``lookup.lookup_scale``."""

import math

import torch
from torch.nn import functional as F

from course_lib.checks.compare import kind
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.lookup import lookup_scale

exercise = Exercise(
    id="lookup.lookup_scale",
    function="lookup_scale",
    reference=lookup_scale,
    points=4,
    minutes=25,
    difficulty=3,
    chapter="02_lookup.html#lookup-sharp",
    outcomes=("lookup.sharpness",),
    example=lambda t: (torch.tensor([1.0, 0.5]), torch.eye(2), 0.9),
)

NUMBER = "the scale"


def spread(t: Trial, n: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and keys of unlike lengths; no two scores are close, and the longest key wins."""
    query = t.randn(width)
    query = query / query.norm()
    # Scores 2, 1.4, 1.15, ... along the query, and 1 across it that scores nothing.
    along = torch.tensor([2.0, 1.4] + [1.15 - 0.2 * i for i in range(n - 2)])
    across = t.randn(n, width)
    across = F.normalize(across - (across @ query)[:, None] * query, dim=-1)
    return query, (along[:, None] * query + across)[t.permutation(n)]


def even(t: Trial, n: int, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and keys all of length 1, where the best match is also the nearest."""
    query = t.randn(width)
    query = query / query.norm()
    along = torch.tensor([0.95, 0.6, *(0.5 - 0.1 * i for i in range(n - 2))])[:n, None]
    across = t.randn(n, width)
    across = across - (across @ query)[:, None] * query
    across = across / across.norm(dim=-1, keepdim=True) * (1 - along**2).sqrt()
    return query, (along * query + across)[t.permutation(n)]


@exercise.prop(
    "with two keys the better one gets just the weight that is wanted",
    points=0.5,
    hint="Two keys: the weight is a sigmoid of the difference of the two scores.",
)
def two_keys(t: Trial) -> None:
    query, keys = even(t, 2, t.integer(2, 4))
    for least in (0.6, 0.9, 0.999):
        got = t.call(query, keys, least)
        t.close(got, t.want(query, keys, least), NUMBER, note=f"for a weight of {least}")


@exercise.prop(
    "with many keys each of them counts, not the runner-up alone",
    points=1,
    hint="Put your scale back into the softmax over *all* keys: is the largest weight `least`?",
)
def many_keys(t: Trial) -> None:
    for n in (t.integer(4, 6), 12):
        query, keys = even(t, n, 3)
        got = t.call(query, keys, 0.9)
        t.close(got, t.want(query, keys, 0.9), NUMBER, note=f"{n} keys")


@exercise.prop(
    "the best match has the largest inner product, be it the nearest key or not",
    points=0.5,
    hint="Attention sees k·q and nothing else. When is the largest product not the nearest key?",
)
def long_keys(t: Trial) -> None:
    side = t.randn(2).sign()
    query = torch.tensor([1.0, 0.0])
    # The first key is the query itself, the second is long and askew: it scores higher.
    keys = torch.stack([query, torch.stack([torch.tensor(3.0), 4.0 * side[0]])])
    t.close(t.call(query, keys, 0.95), t.want(query, keys, 0.95), NUMBER)


@exercise.prop(
    "no sharpening is needed for what equal weights give already: the scale is 0",
    points=0.5,
    hint="What are the weights of n keys at scale 0?",
)
def nothing_to_do(t: Trial) -> None:
    query, keys = spread(t, 5, 3)
    t.close(t.call(query, keys, 0.15), 0.0, NUMBER, note="a weight of 0.15 among 5 keys")
    same = t.randn(1, 3).expand(4, 3)
    t.close(t.call(query, same, 0.2), 0.0, NUMBER, note="a weight of 0.2 among 4 equal keys")
    got = t.call(query, keys, 0.5)
    t.expect(float(got) > 0, "a weight of 0.5 among 5 keys needs a positive scale")


@exercise.prop(
    "keys that match equally well cannot be told apart: the scale is infinite",
    points=0.5,
    hint="What is the limit of the largest weight if two keys share the best score?",
)
def ties(t: Trial) -> None:
    # Halves and quarters, so that the two best scores are equal to the last bit. The third key is
    # the farthest and looks the other way: no measure takes it for the best.
    best = 0.5 * t.integers(1, 4, 2)
    keys = torch.stack([best, best, best - 8.0])[t.permutation(3)]
    query = torch.tensor([0.25, 0.5])
    for least in (0.9, 0.5):
        note = f"two best keys, a weight of {least}"
        t.close(t.call(query, keys, least), math.inf, NUMBER, note=note)
    got = t.call(query, keys, 0.45)
    t.expect(
        0 < float(got) < math.inf, "a weight of 0.45 each can be reached, and is not at scale 0"
    )


@exercise.prop(
    "a query twice as long needs half the scale, and any size of number is found",
    points=1,
    hint="Does your search end before the answer? Let it grow until it is beyond it.",
)
def sizes(t: Trial) -> None:
    query, keys = spread(t, 4, 3)
    found = []
    for size in (1.0, 0.5, 2.0, 1e5, 1e-5):
        got = t.call(size * query, keys, 0.99)
        if isinstance(got, torch.Tensor) and got.numel() == 1:
            got = got.item()
        t.expect(isinstance(got, (int, float)), f"{NUMBER} is {kind(got)}, wanted a number")
        found.append(float(got) * size)
        t.close(found[-1], found[0], f"{NUMBER} times the length", note=f"length {size:g}")
    t.expect(found[0] > 0, "the scale is not positive")


@exercise.mistake("Put your scale into the softmax over all keys. Who takes the missing weight?")
def runner_up_only(query, keys, least):
    """Only the second-best key competes with the best."""
    scores = (keys.double() @ query.double()).sort(descending=True).values
    gap = (scores[0] - scores[1]).item()
    if least * len(scores) <= 1:
        return 0.0
    if gap == 0 and least >= 0.5:
        return math.inf
    return max(0.0, math.log(least / (1 - least)) / gap) if gap else 0.0


@exercise.mistake("Your scale is safe, but is it the smallest? Where are the other keys?")
def all_like_the_runner_up(query, keys, least):
    """Every other key competes as strongly as the second-best."""
    gaps = keys.double() @ query.double()
    gaps = gaps.max() - gaps
    losers = gaps[gaps > 0]
    winners = len(gaps) - len(losers)
    if least * len(gaps) <= 1:
        return 0.0
    if least * winners >= 1:
        return math.inf
    return math.log(len(losers) / (1 / least - winners)) / losers.min().item()


@exercise.mistake("exp(-gap) is a loser's share compared with what?")
def not_normalised(query, keys, least):
    """The weight of a key is exp of how far its score is below the best."""
    scores = keys.double() @ query.double()
    gaps = scores.max() - scores
    losers = gaps[gaps > 0]
    if least * len(gaps) <= 1:
        return 0.0
    if least * (len(gaps) - len(losers)) >= 1:
        return math.inf
    low, high = 0.0, 1.0
    while torch.exp(-high * losers).sum() > 1 - least:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if torch.exp(-middle * losers).sum() > 1 - least:
            low = middle
        else:
            high = middle
    return high


@exercise.mistake(
    "Which of two keys does attention prefer: the nearest, or the longest on its side?"
)
def nearest_key(query, keys, least):
    """The best match is the key at the smallest distance from the query."""
    scores = keys.double() @ query.double()
    best = (keys - query).norm(dim=-1).argmin()
    if least * len(scores) <= 1:
        return 0.0
    if least * (scores == scores[best]).sum() >= 1 or scores[best] < scores.max():
        return math.inf
    low, high = 0.0, 1.0
    while (high * scores).softmax(0)[best] < least:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if (middle * scores).softmax(0)[best] < least:
            low = middle
        else:
            high = middle
    return high


@exercise.mistake("Make one key ten times as long: do the weights stay as they were?")
def cosine(query, keys, least):
    """Attention compares directions; lengths make no difference."""
    scores = F.normalize(keys.double(), dim=-1) @ F.normalize(query.double(), dim=0)
    winners = (scores.max() - scores < 1e-12).sum().item()
    if least * len(scores) <= 1:
        return 0.0
    if least * winners >= 1:
        return math.inf
    low, high = 0.0, 1.0
    while (high * scores).softmax(0).max() < least:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if (middle * scores).softmax(0).max() < least:
            low = middle
        else:
            high = middle
    return high


@exercise.mistake("What weights does a query of length 0 give? Is that less than you want?")
def below_zero(query, keys, least):
    """At scale 0 no key has any weight yet, so the equation always has to be solved."""
    scores = keys.double() @ query.double()
    best = scores.argmax()
    winners = (scores == scores.max()).sum().item()
    if least * winners >= 1:
        return 0.0 if winners == len(scores) and least * winners == 1 else math.inf
    low, high = -1.0, 1.0
    while (high * scores).softmax(0)[best] < least and high < 1e12:
        high *= 2
    while (low * scores).softmax(0)[best] > least and low > -1e12:
        low *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if (middle * scores).softmax(0)[best] < least:
            low = middle
        else:
            high = middle
    return high


@exercise.mistake("Two keys with the same score: what weight has each, at any scale?")
def ties_told_apart(query, keys, least):
    """Any two keys can be told apart if the query is long enough."""
    scores = keys.double() @ query.double()
    if least * len(scores) <= 1:
        return 0.0
    low, high = 0.0, 1.0
    while (high * scores).softmax(0).max() < least and high < 1e9:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if (middle * scores).softmax(0).max() < least:
            low = middle
        else:
            high = middle
    return high


@exercise.mistake("Is there a root of d in the formula above? Your scale stands in its place.")
def divided_by_root_d(query, keys, least):
    """The scores of attention are always divided by the root of the width."""
    scores = keys.double() @ query.double() / math.sqrt(len(query))
    winners = (scores == scores.max()).sum().item()
    if least * len(scores) <= 1:
        return 0.0
    if least * winners >= 1:
        return math.inf
    low, high = 0.0, 1.0
    while (high * scores).softmax(0).max() < least:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if (middle * scores).softmax(0).max() < least:
            low = middle
        else:
            high = middle
    return high


@exercise.alternative
def doubling_and_halving(query, keys, least):
    """Doubles the scale until it is enough, then halves the interval, on the softmax itself."""
    scores = keys.double() @ query.double()
    scores = scores - scores.max()
    n, best = len(scores), int((scores == 0).sum())
    if least <= 1 / n:
        return 0.0
    if least >= 1 / best:
        return float("inf")
    low, high = 0.0, 1e-9
    while torch.softmax(high * scores, dim=0).max().item() < least:
        low, high = high, 2 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        enough = torch.softmax(middle * scores, dim=0).max().item() >= least
        low, high = (low, middle) if enough else (middle, high)
    return high


@exercise.alternative
def newton(query, keys, least):
    """Newton's method on the logarithm of the losers' share, which is convex, with a warning."""
    import warnings

    warnings.warn("Newton's method", stacklevel=1)
    products = [sum(a * b for a, b in zip(k, query.tolist(), strict=True)) for k in keys.tolist()]
    gaps = sorted(max(products) - p for p in products)
    n = len(gaps)
    best = gaps.count(0.0)
    if least * n <= 1:
        return 0.0
    if best == n or least * best >= 1:
        return math.inf
    gaps, target = gaps[best:], math.log(1 / least - best)
    c = 0.0
    for _ in range(50):
        terms = [math.exp(-c * (g - gaps[0])) for g in gaps]
        value = math.log(sum(terms)) - c * gaps[0] - target
        slope = -sum(g * x for g, x in zip(gaps, terms, strict=True)) / sum(terms)
        c -= value / slope
        if abs(value) < 1e-12:
            break
    return c
