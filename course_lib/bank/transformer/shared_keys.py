"""Exercise ``transformer.shared_keys``."""

import math

import torch
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.checks.exercise import Exercise
from course_lib.checks.fixtures import normal
from course_lib.checks.protocol import Fixture
from course_lib.checks.trial import Trial
from course_lib.masks import causal_mask


def reference(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The library's attention, one group after the other."""
    T, S = q.shape[2], k.shape[2]
    mask, groups = causal_mask(T, S), q.unflatten(1, (k.shape[1], -1)).unbind(1)
    outs = []
    for g, queries in enumerate(groups):
        # The heads of a group stand below each other, each with a mask of its own.
        masks = mask.repeat(queries.shape[1], 1)
        out, _ = scaled_dot_product_attention(queries.flatten(1, 2), k[:, g], v[:, g], mask=masks)
        outs.append(out.unflatten(1, (-1, T)))
    return torch.cat(outs, dim=1)


exercise = Exercise(
    id="transformer.shared_keys",
    function="shared_keys",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="09_cache.html#transformer-cache-cost",
    outcomes=("transformer.cache",),
    example=lambda t: drawn(t, 4, 2, 2, 3),
    forbidden=("attention",),
)


def drawn(
    t: Trial,
    H: int,
    G: int,
    T: int,
    S: int,
    Dh: int = 4,
    Dv: int = 4,
    B: int = 2,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Queries of H heads, and keys and values of G heads."""
    shapes = (B, H, T, Dh), (B, G, S, Dh), (B, G, S, Dv)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


@exercise.prop(
    "as many key heads as query heads: each head attends with its own",
    points=0.5,
    hint="With one query head to a group nothing is shared. What does one query of width Dh see?",
)
def own_keys(t: Trial) -> None:
    for H in (1, t.integer(2, 4)):
        t.same(*drawn(t, H, H, 1, t.integer(3, 6)), note=f"{H} of each, one new token")


@exercise.prop(
    "neighbouring query heads share a key head",
    points=1,
    hint="Four query heads, two key heads: which of them do heads 0 and 1 use? And in which order"
    " do the four outputs come back?",
)
def groups(t: Trial) -> None:
    for H, G in ((4, 2), (6, 3), (6, 2)):
        T = t.integer(3, 5)  # nothing is cached: where the mask begins then is asked below
        t.same(*drawn(t, H, G, T, T), note=f"{H} query heads, {G} key heads, {T} new tokens")


@exercise.prop(
    "a single key head serves all query heads",
    points=0.5,
    hint="All queries meet the same keys. What is left that tells the heads apart?",
)
def one_for_all(t: Trial) -> None:
    t.same(*drawn(t, t.integer(2, 4), 1, 1, t.integer(3, 6)), note="one key head, one new token")


@exercise.prop(
    "several new tokens, the last of the text: none looks at those that come after it",
    points=1,
    hint="The first of T new tokens behind S - T cached ones: how many keys may it see? Write the"
    " mask of one head, then ask whether another head needs another one.",
)
def no_future(t: Trial) -> None:
    for H, G, T, S in ((2, 2, 2, 5), (4, 1, 3, 3), (4, 2, 2, t.integer(4, 6))):
        q, k, v = drawn(t, H, G, T, S)
        before = t.a_tensor(t.call(q, k, v), (2, H, T, 4))
        later = torch.arange(S) == S - 1
        others = (torch.where(later[:, None], 3 * x + 1, x) for x in (k, v))
        after = t.call(q, *others)
        note = f"{H} query heads, {G} key heads, {T} new of {S} tokens, the last one changed"
        t.close(after[:, :, :-1], before[:, :, :-1], "the output of those before it", note=note)
        t.expect((after[:, :, -1] != before[:, :, -1]).any(), "the last output has not changed")
        # The token before it may be seen by all but the first of them.
        near = torch.where(torch.arange(S)[:, None] == S - T, 3 * v + 1, v)
        moved = (t.call(q, k, near) != before).any(-1)
        t.expect(moved.all(), f"{note}: a new token does not look at the first new one")
    t.same(*drawn(t, 2, 2, 3, 5), note="3 new of 5 tokens")


@exercise.prop(
    "values of another width, large scores",
    points=0.5,
    hint="The scores are divided by the root of a width: whose?",
)
def widths(t: Trial) -> None:
    t.same(*drawn(t, 2, 2, 4, 4, 9, 5), note="Dh = 9, Dv = 5")
    q, k, v = drawn(t, 2, 2, 4, 4)
    t.same(1e3 * q, k, v, note="large scores")


@exercise.prop(
    "gradients reach queries, keys and values; nothing is changed in place",
    points=0.5,
    hint="Does anything in your function cut the graph, or write into what it was given?",
)
def gradients(t: Trial) -> None:
    t.gradient(*drawn(t, 4, 2, 2, 3, 2, 2, 1, torch.float64))
    t.unchanged(*drawn(t, 4, 2, 2, 3))


@exercise.prop(
    "64 query heads on two key heads of 8,000 tokens, in two texts, cost no copy of them",
    points=1,
    hint="64 heads with a query each, or one head with 64 queries: which numbers differ? Remember"
    " that a product of batches copies what has to be repeated.",
)
def no_copy(t: Trial) -> None:
    shapes = ([2, 64, 1, 128], [2, 2, 8_000, 128], [2, 2, 8_000, 128])
    seeds = [t.integer(0, 10**6) for _ in shapes]
    large = list(zip(shapes, seeds, strict=True))
    t.size_probe(
        *(Fixture("normal", {"shape": shape, "seed": seed}) for shape, seed in large),
        want=[reference(*(normal(shape, seed) for shape, seed in large))],
        keep=t.slices(),
        memory=100,  # a copy of the keys for each query head: 500 MiB; all scores: 4 MiB
        cpu=10,
        why="the keys take 16 MiB once",
    )


@exercise.mistake("Four query heads, two key heads. Which one does query head 1 use?")
def every_other_head(q, k, v):
    """Query heads take the key heads in turn."""
    B, H, T, Dh = q.shape
    G, S = k.shape[1:3]
    rows = q.reshape(B, H // G, G, T, Dh).transpose(1, 2).reshape(B, G, -1, Dh)
    scores = (rows @ k.mT / math.sqrt(Dh)).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    out = (weights.flatten(2, 3) @ v).unflatten(2, (-1, T))
    return out.transpose(1, 2).reshape(B, H, T, -1)


@exercise.mistake("Right numbers. How often do the keys lie in memory while you compute?")
def copied_for_each_head(q, k, v):
    """Every query head needs keys and values of its own, so they are repeated first."""
    each = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(each, dim=1) for x in (k, v))
    past = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~past, -torch.inf).softmax(-1) @ v


@exercise.mistake("Two query heads share a key head. Do they ask the same question?")
def one_query_for_a_group(q, k, v):
    """Heads that share keys share one query, too: their mean."""
    B, H, T, Dh = q.shape
    G, S = k.shape[1:3]
    mean = q.unflatten(1, (G, -1)).mean(2)
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    scores = (mean @ k.mT / math.sqrt(Dh)).masked_fill(~past, -torch.inf)
    return (scores.softmax(-1) @ v).repeat_interleave(H // G, dim=1)


@exercise.mistake("Three tokens are new. May the first of them look at the third?")
def no_mask(q, k, v):
    """What is in the cache is the past, so no mask is needed."""
    G, T = k.shape[1], q.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    weights = (rows @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
    return (weights @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("One new token behind ten cached ones: which keys does your mask let it see?")
def mask_from_the_top_left(q, k, v):
    """The first query sees the first key, however many keys are cached."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    scores = (rows @ k.mT / math.sqrt(q.shape[-1])).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril()
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights.flatten(2, 3) @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("Stacked queries of two heads: is the second head's first query a later token?")
def mask_of_stacked_rows(q, k, v):
    """Queries of a group that stand below each other are one text, under one staircase."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    scores = rows @ k.mT / math.sqrt(q.shape[-1])
    past = torch.ones(scores.shape[2], S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("Between which vectors is the inner product taken, and how wide are they?")
def root_of_a_groups_width(q, k, v):
    """Scores are divided by the root of the width of all queries that share the keys."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    width = q.shape[1] // G * q.shape[-1]
    scores = (rows @ k.mT / math.sqrt(width)).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    return (weights.flatten(2, 3) @ v).unflatten(2, (-1, T)).flatten(1, 2)


@exercise.mistake("Number your heads before and after. In which order do they come back?")
def heads_in_another_order(q, k, v):
    """It makes no difference whether groups or the heads of a group come first."""
    G, T, S = k.shape[1], q.shape[2], k.shape[2]
    rows = q.unflatten(1, (G, -1)).flatten(2, 3)
    scores = (rows @ k.mT / math.sqrt(q.shape[-1])).unflatten(2, (-1, T))
    past = torch.ones(T, S, dtype=torch.bool).tril(S - T)
    weights = scores.masked_fill(~past, -torch.inf).softmax(-1)
    out = (weights.flatten(2, 3) @ v).unflatten(2, (-1, T))
    return out.transpose(1, 2).flatten(1, 2)


@exercise.alternative
def head_by_head(q, k, v):
    """One query head after the other, each with its key head; prints to stderr."""
    import sys

    print("head by head", file=sys.stderr)
    each, T, S = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    later = torch.arange(S) > torch.arange(S - T, S)[:, None]
    outs = []
    for head in range(q.shape[1]):
        scores = q[:, head] @ k[:, head // each].transpose(-2, -1) * q.shape[-1] ** -0.5
        weights = torch.softmax(scores.masked_fill(later, float("-inf")), dim=-1)
        outs.append(weights @ v[:, head // each])
    return torch.stack(outs, dim=1)


@exercise.alternative
def by_names(q, k, v):
    """An axis for the heads of a group, and sums by the names of axes."""
    B, H, T, Dh = q.shape
    G, S = k.shape[1], k.shape[2]
    scores = torch.einsum("bgntd,bgsd->bgnts", q.view(B, G, H // G, T, Dh) / math.sqrt(Dh), k)
    bias = torch.zeros(T, S, dtype=q.dtype)
    bias[torch.arange(S) > torch.arange(S - T, S)[:, None]] = -math.inf
    weights = (scores + bias).softmax(dim=-1)
    return torch.einsum("bgnts,bgsd->bgntd", weights, v).reshape(B, H, T, -1)
