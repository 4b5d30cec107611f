"""Exercise ``favit.informative_keys``."""

import math

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.favit import informative_keys as library_informative_keys


def reference(queries: Tensor, keys: Tensor, n_keep: int) -> Tensor:
    """The library's choice."""
    return library_informative_keys(queries, keys, n_keep)


exercise = Exercise(
    id="favit.informative_keys",
    function="informative_keys",
    reference=reference,
    points=6,
    minutes=25,
    difficulty=3,
    chapter="16_favit.html#favit-keys",
    outcomes=("favit.keys",),
    severe={"least_decided": "the queries that choose are the ones that should not"},
    example=lambda t: (t.randn(1, 1, 6, 4), t.randn(1, 1, 5, 4), 2),
)


def _asking(rows: list[list[float]]) -> Tensor:
    """Queries whose scaled scores with the unit vectors are these rows."""
    scores = torch.tensor(rows)
    return (scores * math.sqrt(scores.shape[1]))[None, None]


def _units(n: int) -> Tensor:
    return torch.eye(n)[None, None]


@exercise.prop(
    "of two queries the decided one chooses alone",
    points=1,
    hint="How many queries choose out of two? And which of the two has the sharper weights?",
)
def the_decided_one(t: Trial) -> None:
    order = t.permutation(5)
    decided = torch.tensor([6.0, 5.0, 4.0, -1.0, -2.0])[order].tolist()
    against = torch.tensor([0.0, 0.01, 0.02, 0.6, 0.5])[order].tolist()
    for rows in ([decided, against], [against, decided]):
        t.same(_asking(rows), _units(5), 3)


@exercise.prop(
    "decided means far from uniform by KL(P || U): not by KL(U || P), nor by the largest score",
    points=1,
    hint="The terms of the sum are weighted by P itself. What does a key that has next to no"
    " weight add?",
)
def direction(t: Trial) -> None:
    dislikes = [0.02, 0.01, 0.0, -0.01, 0.04, 0.03, 0.05, -12.0]
    prefers = [3.0, 0.2, 0.3, 0.1, -0.1, -0.2, -0.3, -0.4]
    order = t.permutation(8)
    rows = [torch.tensor(row)[order].tolist() for row in (dislikes, prefers)]
    t.same(_asking(rows), _units(8), 4)
    halves = [0.02, 0.01, 0.0, -0.01, -3.0, -3.01, -3.02, -3.03]
    one = [-0.03, -0.02, 0.0, 0.01, 0.03, 0.02, 0.04, 2.0]
    rows = [torch.tensor(row)[order].tolist() for row in (one, halves)]
    t.same(_asking(rows), _units(8), 4)


@exercise.prop(
    "the logarithm of the number of queries, rounded up, is how many choose",
    points=1,
    hint="The natural logarithm of 20 is 2.996. Who are the queries that choose?",
)
def how_many(t: Trial) -> None:
    rows = [[0.0] * 6 for _ in range(20)]
    places = t.permutation(20)[:3].tolist()
    rows[places[0]] = [9.0, 0.3, -2.0, 0.02, 0.01, 0.0]
    rows[places[1]] = [0.2, 8.0, -2.0, 0.01, 0.0, 0.02]
    rows[places[2]] = [0.1, 0.1, 7.0, 0.0, 0.02, 0.01]
    t.same(_asking(rows), _units(6), 3)


@exercise.prop(
    "many queries and keys, in batches and heads, at the temperature of the attention that follows",
    points=1.5,
    hint="Divide the scores by the root of the width first: it changes who is decided.",
)
def many(t: Trial) -> None:
    for n, k, width in ((40, 30, 16), (25, 60, 9), (70, 20, 16)):
        t.same(t.randn(3, 4, n, width), 1.5 * t.randn(3, 4, k, width), t.integer(6, 9))


@exercise.prop(
    "indices ascend; one query, all keys",
    points=0.5,
    hint="With all keys kept, the result is 0, 1, 2, … And ln 1 is 0, yet one key must be chosen.",
)
def edges(t: Trial) -> None:
    t.same(t.randn(2, 1, 5, 4), t.randn(2, 1, 7, 4), 7, exact=True)
    t.same(t.randn(2, 2, 1, 4), t.randn(2, 2, 7, 4), 3)


@exercise.prop(
    "scores of 10 000: a weight of 0 adds nothing",
    points=1,
    hint="What is 0 times the logarithm of 0 on a computer? `log_softmax` knows the logarithm.",
)
def large_scores(t: Trial) -> None:
    order = t.permutation(5)
    huge = torch.tensor([1e4, 9e3, -8e3, 1.0, 0.0])[order].tolist()
    mild = torch.tensor([-1.0, 0.5, 1.5, 1.2, 1.1])[order].tolist()
    # topk takes NaN for the largest: one that dislikes a key must not be chosen for it.
    dislikes = torch.tensor([0.0, 0.01, -1e4, 0.02, 0.03])[order].tolist()
    likes = torch.tensor([-1.0, 0.5, 3.5, 1.2, 1.1])[order].tolist()
    # Of the huge scores all weights but one are 0 and in no order, so that one key is asked for.
    for one, other, n_keep in ((huge, mild, 1), (dislikes, likes, 2)):
        for rows in ([one, other], [other, one]):
            t.same(_asking(rows), _units(5), n_keep)


@exercise.mistake("For which of the two directions is a disliked key a large term?")
def divergence_from_the_other_side(queries, keys, n_keep):
    """A divergence is a distance, the same from both sides."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    apart = -scores.log_softmax(-1).mean(-1)
    u = max(1, math.ceil(math.log(queries.shape[2])))
    index = apart.topk(u).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("Print the divergence of the query that you chose. Is it large?")
def least_decided(queries, keys, n_keep):
    """A small divergence is a small uncertainty."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    logs = scores.log_softmax(-1)
    u = max(1, math.ceil(math.log(queries.shape[2])))
    index = (logs.exp() * logs).sum(-1).topk(u, largest=False).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("Does a query without an opinion have a say in yours?")
def everybody_has_a_say(queries, keys, n_keep):
    """The keys that are liked on the whole are the informative ones."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    return scores.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("At which temperature will the queries attend, and at which do you judge them?")
def unscaled(queries, keys, n_keep):
    """A scale changes no order, so it can be left out."""
    scores = queries @ keys.transpose(2, 3)
    logs = scores.log_softmax(-1)
    u = max(1, math.ceil(math.log(queries.shape[2])))
    index = (logs.exp() * logs).sum(-1).topk(u).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("ln 20 is nearly 3. How many queries choose in yours?")
def rounded_down(queries, keys, n_keep):
    """The logarithm is cut to a whole number."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    logs = scores.log_softmax(-1)
    u = max(1, int(math.log(queries.shape[2])))
    index = (logs.exp() * logs).sum(-1).topk(u).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("What is averaged key by key: scores, or what a softmax has made of them?")
def weights_averaged(queries, keys, n_keep):
    """Weights and scores order the keys alike, also when several queries are averaged."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    logs = scores.log_softmax(-1)
    u = max(1, math.ceil(math.log(queries.shape[2])))
    index = (logs.exp() * logs).sum(-1).topk(u).indices
    chosen = logs.exp().gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake(
    "A query may be far from uniform without one key that stands out. Try two halves."
)
def largest_minus_mean(queries, keys, n_keep):
    """How far the largest score is above the mean says how far weights are from uniform."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    u = max(1, math.ceil(math.log(queries.shape[2])))
    index = (scores.amax(-1) - scores.mean(-1)).topk(u).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("Print the divergences of very large scores. Is each of them a number?")
def zero_times_infinity(queries, keys, n_keep):
    """0 times the logarithm of 0 is 0."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    weights = scores.softmax(-1)
    u = max(1, math.ceil(math.log(queries.shape[2])))
    apart = (weights * weights.log()).sum(-1).nan_to_num(-math.inf)
    index = apart.topk(u).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.alternative
def by_entropy(queries, keys, n_keep):
    """Sorts by the entropy, and marks queries and keys with booleans; prints to stderr."""
    import sys

    B, H, N, c = queries.shape
    print(N, "queries", file=sys.stderr)
    scores = torch.einsum("bhnc,bhkc->bhnk", queries, keys) * c**-0.5
    entropy = -torch.special.xlogy(scores.softmax(-1), scores.softmax(-1)).sum(-1)
    n_queries = 1
    while math.exp(n_queries) < N:
        n_queries += 1
    rank = entropy.argsort(-1).argsort(-1)
    total = (scores * (rank < n_queries)[..., None]).sum(2)
    kept = total.argsort(-1, descending=True).argsort(-1) < n_keep
    return torch.arange(keys.shape[2]).expand_as(kept)[kept].view(B, H, n_keep)


@exercise.alternative
def head_by_head(queries, keys, n_keep):
    """One head at a time, in lists."""
    rows = []
    for q, k in zip(queries.flatten(0, 1), keys.flatten(0, 1), strict=True):
        scores = (q @ k.mT) / math.sqrt(q.shape[1])
        logs = torch.log_softmax(scores, dim=1)
        divergence = (logs.exp() * (logs + math.log(len(k)))).sum(dim=1).tolist()
        best = sorted(range(len(q)), key=lambda i: -divergence[i])
        best = best[: max(math.ceil(math.log(len(q))), 1)]
        liked = sum(scores[i] for i in best).tolist()
        rows.append(sorted(sorted(range(len(k)), key=lambda j: -liked[j])[:n_keep]))
    return torch.tensor(rows).unflatten(0, queries.shape[:2])
