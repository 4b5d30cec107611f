from course_lib.bank.favit.informative_keys import exercise
from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.favit import informative_keys as library_informative_keys


@exercise.answer
def reference(queries: Tensor, keys: Tensor, n_keep: int) -> Tensor:
    """The library's choice."""
    return library_informative_keys(queries, keys, n_keep)


def right(queries, keys, n_keep):
    """Base of the mistakes, itself right."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    logs = scores.log_softmax(-1)
    u = max(1, math.ceil(math.log(queries.shape[2])))
    index = (logs.exp() * logs).sum(-1).topk(u).indices
    chosen = scores.gather(2, index[..., None].expand(-1, -1, -1, keys.shape[2]))
    return chosen.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("For which of the two directions is a disliked key a large term?")
@changed(
    right,
    ("logs = scores.log_softmax", "apart = -scores.log_softmax(-1).mean"),
    ("(logs.exp() * logs).sum(-1)", "apart"),
)
def divergence_from_the_other_side():
    """A divergence is a distance, the same from both sides."""


@exercise.mistake("Print the divergence of the query that you chose. Is it large?")
@changed(right, ("topk(u)", "topk(u, largest=False)"))
def least_decided():
    """A small divergence is a small uncertainty."""


@exercise.mistake("Does a query without an opinion have a say in yours?")
def everybody_has_a_say(queries, keys, n_keep):
    """The keys that are liked on the whole are the informative ones."""
    scores = queries @ keys.transpose(2, 3) / math.sqrt(queries.shape[-1])
    return scores.mean(2).topk(n_keep).indices.sort().values


@exercise.mistake("At which temperature will the queries attend, and at which do you judge them?")
@changed(right, (") / math.sqrt(queries.shape[-1])", ")"))
def unscaled():
    """A scale changes no order, so it can be left out."""


@exercise.mistake("ln 20 is nearly 3. How many queries choose in yours?")
@changed(right, ("math.ceil", "int"))
def rounded_down():
    """The logarithm is cut to a whole number."""


@exercise.mistake("What is averaged key by key: scores, or what a softmax has made of them?")
@changed(right, ("scores.gather", "logs.exp().gather"))
def weights_averaged():
    """Weights and scores order the keys alike, also when several queries are averaged."""


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
