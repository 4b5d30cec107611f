from course_lib.bank.lookup.lookup_scale import exercise
from course_lib.bank.prelude import F, math, torch
from course_lib.lookup import lookup_scale

reference = exercise.answer(lookup_scale)


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


@exercise.mistake("Does attention see how far a key is from the query, or only their product?")
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


@exercise.mistake("Is there a root of d in the formula above? Your scale takes its place.")
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
