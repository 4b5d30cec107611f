"""Exercise ``cheaper.window_attention``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.fixtures import normal
from course_lib.checks.protocol import Fixture
from course_lib.checks.trial import Trial
from course_lib.efficient import banded_attention


def reference(q: Tensor, k: Tensor, v: Tensor, radius: int) -> Tensor:
    """The library's output, without the band of weights."""
    return banded_attention(q, k, v, radius)[0]


def masked_attention(q, k, v, radius):
    """Attention within a window, with all T x T scores."""
    place = torch.arange(q.shape[-2])
    near = (place[:, None] - place).abs() <= radius
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~near, -torch.inf).softmax(dim=-1) @ v


exercise = Exercise(
    id="cheaper.window_attention",
    function="window_attention",
    reference=reference,
    points=6,
    minutes=30,
    difficulty=3,
    chapter="14_cheaper.html#cheaper-window",
    outcomes=("cheaper.band",),
    example=lambda t: (*drawn(t, 6, 4), 1),
    forbidden=("attention",),
)


def drawn(t: Trial, *shape: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    """Queries, keys and values of one shape."""
    return tuple(t.randn(*shape, dtype=dtype) for _ in range(3))


def affordable(t: Trial) -> None:
    """What is right and costs everything earns nothing: it is what was handed out.

    A band never touches values that are a thousand places away, and a product of all weights
    with all values does: 0 times NaN is NaN.
    """
    q, k, v = drawn(t, 2500, 2)
    v[1600:] = torch.nan
    got = t.a_tensor(t.call(q, k, v, 2), v.shape)
    t.expect(
        bool(got[50:100].isfinite().all()),
        "of 2,500 queries the 50th multiplies values that are 1,500 places away, with weights of 0:"
        " all pairs are computed",
    )


@exercise.prop(
    "in the middle, each query attends to its neighbours on both sides; never to all keys",
    points=1.5,
    hint="Compare with `masked_attention` for T = 9 and radius 1, row by row. Which keys does the"
    " fifth query see?",
)
def middle(t: Trial) -> None:
    affordable(t)
    for radius in (1, 2, 3):
        T = t.integer(9, 12)
        q, k, v = drawn(t, T, 4)
        got = t.a_tensor(t.call(q, k, v, radius), v.shape)[radius : T - radius]
        want = t.want(q, k, v, radius)[radius : T - radius]
        t.close(got, want, f"rows {radius} to {T - radius - 1}", note=f"radius {radius}")


@exercise.prop(
    "at both ends, the weights are shared among the keys that exist",
    points=0.5,
    hint="Compare with `masked_attention` for T = 5 and radius 1, row by row. Which keys does the"
    " first query see?",
)
def ends(t: Trial) -> None:
    affordable(t)
    for radius in (1, 2, 3):
        q, k, v = drawn(t, t.integer(8, 12), 4)
        # Scores of 0: every key counts alike, so that it matters only which ones are there.
        t.same(0 * q, k, v, radius, note=f"all scores are 0, radius {radius}")


@exercise.prop(
    "radius 0 returns the values",
    points=0.5,
    hint="How many keys does a query see then, and what is a softmax over one score?",
)
def itself(t: Trial) -> None:
    affordable(t)
    t.same(*drawn(t, t.integer(4, 6), 4), 0, note="radius 0")


@exercise.prop(
    "a radius beyond the ends is full attention",
    points=0.5,
    hint="How many of your offsets lie outside of the sequence altogether?",
)
def beyond(t: Trial) -> None:
    affordable(t)
    T = t.integer(4, 6)
    t.same(*drawn(t, T, 4), T - 1, note="a radius of T - 1")
    t.same(*drawn(t, T, 4), T + 3, note="a radius of T + 3")


@exercise.prop(
    "any axes in front, and values of another width",
    points=0.5,
    hint="Count axes from the end: time is -2, the channels are -1.",
)
def shapes(t: Trial) -> None:
    affordable(t)
    for lead in ((2,), (2, 3)):
        (q, k), v = drawn(t, *lead, 7, 9)[:2], t.randn(*lead, 7, 5)
        got = t.a_tensor(t.call(q, k, v, 2), v.shape)
        last = tuple(n - 1 for n in lead)
        alone = t.a_tensor(t.call(q[last], k[last], v[last], 2), v[last].shape)
        t.close(
            got[last], alone, f"the last sequence of {tuple(v.shape)}", note="compared to alone"
        )
        t.expect(not torch.equal(alone, v[last]), "the values come back as they were")


@exercise.prop(
    "large scores and half precision; gradients reach queries, keys and values",
    points=0.5,
    hint="What stands at the places that lie outside of the sequence, and what does a softmax make"
    " of it if all other scores are -10 000?",
)
def large(t: Trial) -> None:
    affordable(t)
    q, k, v = drawn(t, 6, 4)
    ones = torch.ones_like(v)
    for sign in (-1, 1):
        got = t.call(100 * sign * q.abs(), 100 * k.abs(), ones, 1)
        t.close(got, ones, "the average of ones", note=f"scores with the sign of {sign}")
    narrow = t.call(q.bfloat16(), k.bfloat16(), v.bfloat16(), 1)
    want, note = t.call(q, k, v, 1).bfloat16(), "bfloat16, compared to float32"
    t.close(narrow, want, note=note, exact=True)
    t.gradient(*drawn(t, 5, 3, dtype=torch.float64), 1)


@exercise.prop(
    "80,000 positions with radius 8 cost no matrix of 80,000 x 80,000; nothing is changed in place",
    points=2,
    hint="17 scores a query are needed. How many rows and columns has your largest tensor?",
)
def small_bill(t: Trial) -> None:
    affordable(t)
    t.unchanged(*drawn(t, 6, 4), 2)
    shape, seeds = [80_000, 4], [t.integer(0, 10**6) for _ in range(3)]
    q, k, v = (normal(shape, seed) for seed in seeds)
    # The same rows out of 100: whether they are right is what the other requirements ask.
    places, want = t.slices((80_000, 20)), []
    for (at,) in places:
        near = slice(max(at.start - 40, 0), at.stop + 40)
        few = t.a_tensor(t.call(*(x[near] for x in (q, k, v)), 8), v[near].shape)
        t.expect(not torch.equal(few, v[near]), "the values come back as they were")
        want.append(few[at.start - near.start :][:20])
    t.size_probe(
        *(Fixture("normal", {"shape": shape, "seed": seed}) for seed in seeds),
        8,
        want=want,
        keep=places,
        memory=500,  # scores of all pairs: 24 GiB; copies of 17 keys for each query: 21 MiB
        cpu=7,
        timed=True,  # all pairs in pieces: a minute; a loop over the queries: 3 seconds
        why="80,000 queries with 17 keys each",
    )


@exercise.mistake("A mask hides what has been computed. What would you have to not compute?")
def mask_is_enough(q, k, v, radius):
    """With a mask on them, hidden scores cost nothing."""
    place = torch.arange(q.shape[-2])
    near = (place[:, None] - place).abs() <= radius
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~near, -torch.inf).softmax(dim=-1) @ v


@exercise.mistake("How many keys does a query in the middle see with radius 1? Count the middle.")
def radius_is_the_width(q, k, v, radius):
    """The window holds `radius` keys, half of them on each side."""
    T = q.shape[-2]
    offsets = range(-(radius // 2), radius // 2 + 1)
    place = torch.arange(T)[:, None] + torch.tensor(list(offsets))
    inside = (place >= 0) & (place < T)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("Which key is one before the first?")
def round_and_round(q, k, v, radius):
    """Before the first position comes the last one."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    index = place % T
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(dim=-1).unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("What weight does a key get whose score is 0? And what did you pad with?")
def zeros_weigh_nothing(q, k, v, radius):
    """Keys that are padded with zeros get no weight."""
    T = q.shape[-2]
    k, v = (F.pad(x, (0, 0, radius, radius)) for x in (k, v))
    index = torch.arange(T)[:, None] + torch.arange(2 * radius + 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(dim=-1).unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("Do the neighbours behind a query count, too?")
def only_backwards(q, k, v, radius):
    """A window reaches back only."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, 1)
    index = place.clamp(min=0)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(place < 0, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("You moved the keys by an offset. By which one do the values move?")
def values_the_other_way(q, k, v, radius):
    """Keys move one way and values the other."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    inside = (place >= 0) & (place < T)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index.flip(-1), :]).sum(-2)


@exercise.mistake("By what are scores divided, and has that to do with how many keys there are?")
def root_of_the_window(q, k, v, radius):
    """Scores are divided by the root of the number of keys in the window."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    inside = (place >= 0) & (place < T)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(2 * radius + 1)
    weights = scores.masked_fill(~inside, -torch.inf).softmax(dim=-1)
    return (weights.unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.mistake("Clamped indices point at the first key several times. Does it count each time?")
def clamps_and_forgets(q, k, v, radius):
    """An index that is clamped to the sequence needs nothing more."""
    T = q.shape[-2]
    place = torch.arange(T)[:, None] + torch.arange(-radius, radius + 1)
    index = place.clamp(0, T - 1)
    scores = (q.unsqueeze(-2) * k[..., index, :]).sum(-1) / math.sqrt(q.shape[-1])
    return (scores.softmax(dim=-1).unsqueeze(-1) * v[..., index, :]).sum(-2)


@exercise.alternative
def blocks_of_queries(q, k, v, radius):
    """Blocks of queries, each with the stretch of keys around it; warns."""
    import warnings

    warnings.warn("cutting into blocks", stacklevel=1)
    T, parts = q.shape[-2], []
    for start in range(0, T, 64):
        stop = min(start + 64, T)
        first, last = max(0, start - radius), min(T, stop + radius)
        query = torch.arange(start, stop)[:, None]
        near = (query - torch.arange(first, last)).abs() <= radius
        scores = q[..., start:stop, :] @ k[..., first:last, :].mT / q.shape[-1] ** 0.5
        weights = scores.masked_fill(~near, -math.inf).softmax(dim=-1)
        parts.append(weights @ v[..., first:last, :])
    return torch.cat(parts, dim=-2)


@exercise.alternative
def padded_windows(q, k, v, radius):
    """Windows as views into padded keys and values."""
    T, width = q.shape[-2], 2 * radius + 1
    near_k = F.pad(k, (0, 0, radius, radius)).unfold(-2, width, 1)  # (..., T, Dh, width)
    near_v = F.pad(v, (0, 0, radius, radius)).unfold(-2, width, 1)
    there = F.pad(torch.ones(T, dtype=torch.bool), (radius, radius)).unfold(0, width, 1)
    scores = torch.einsum("...td,...tdw->...tw", q / q.shape[-1] ** 0.5, near_k)
    weights = torch.where(there, scores, -torch.inf).softmax(-1)
    return torch.einsum("...tw,...tdw->...td", weights, near_v)


@exercise.alternative
def offset_by_offset(q, k, v, radius):
    """One offset after the other, with sums that are rescaled to the largest score so far."""
    T, scale = q.shape[-2], q.shape[-1] ** -0.5
    wide = torch.float32 if q.dtype is torch.bfloat16 else q.dtype
    largest = torch.full(q.shape[:-1], -math.inf, dtype=wide)
    total = torch.zeros(q.shape[:-1], dtype=wide)
    out = torch.zeros(*q.shape[:-1], v.shape[-1], dtype=wide)
    place = torch.arange(T)
    for offset in sorted(range(-radius, radius + 1), key=abs):
        there = (place + offset >= 0) & (place + offset < T)
        at = (place + offset).clamp(0, T - 1)
        score = (q * k[..., at, :]).sum(-1).to(wide) * scale
        score = score.masked_fill(~there, -math.inf)
        new = torch.maximum(largest, score)
        rescale, weight = (largest - new).exp(), (score - new).exp()
        total = total * rescale + weight
        out = out * rescale[..., None] + weight[..., None] * v[..., at, :].to(wide)
        largest = new
    return (out / total[..., None]).to(v.dtype)


@exercise.alternative
def softmax_in_single(q, k, v, radius):
    """A softmax in single precision, cast back, as large models write it."""
    place = torch.arange(q.shape[-2])[:, None] + torch.arange(-radius, radius + 1)
    index = place.clamp(0, q.shape[-2] - 1)
    scores = torch.einsum("...td,...twd->...tw", q, k[..., index, :]) * q.shape[-1] ** -0.5
    scores = scores.masked_fill(place != index, -torch.inf)
    weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.einsum("...tw,...twd->...td", weights, v[..., index, :])
