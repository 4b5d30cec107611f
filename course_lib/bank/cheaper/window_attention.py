from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch
from grader.checks.protocol import Fixture, normal


def masked_attention(q, k, v, radius):
    """Attention within a window, with all T x T scores."""
    place = torch.arange(q.shape[-2])
    near = (place[:, None] - place).abs() <= radius
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    return scores.masked_fill(~near, -torch.inf).softmax(dim=-1) @ v


exercise = Exercise(
    id="cheaper.window_attention",
    points=6,
    minutes=30,
    difficulty=3,
    chapter="14_patterns.html#cheaper-window",
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
    1.5,
    "Compare with `masked_attention` for T = 9 and radius 1, row by row. Which keys does the"
    " fifth query see?",
)
def middle(t: Trial) -> None:
    """in the middle, each query attends to its neighbours on both sides; never to all keys"""
    affordable(t)
    for radius in (1, 2, 3):
        T = t.integer(9, 12)
        q, k, v = drawn(t, T, 4)
        got = t.a_tensor(t.call(q, k, v, radius), v.shape)[radius : T - radius]
        want = t.want(q, k, v, radius)[radius : T - radius]
        t.close(got, want, f"rows {radius} to {T - radius - 1}", note=f"radius {radius}")


@exercise.prop(
    0.5,
    "Compare with `masked_attention` for T = 5 and radius 1, row by row. Which keys does the"
    " first query see?",
)
def ends(t: Trial) -> None:
    """at both ends, the weights are shared among the keys that exist"""
    affordable(t)
    for radius in (1, 2, 3):
        q, k, v = drawn(t, t.integer(8, 12), 4)
        # Scores of 0: every key counts alike, so that it matters only which ones are there.
        t.same(0 * q, k, v, radius, note=f"all scores are 0, radius {radius}")


@exercise.prop(0.5, "How many keys does a query see then, and what is a softmax over one score?")
def itself(t: Trial) -> None:
    """radius 0 returns the values"""
    affordable(t)
    t.same(*drawn(t, t.integer(4, 6), 4), 0, note="radius 0")


@exercise.prop(0.5, "How many of your offsets lie outside of the sequence altogether?")
def beyond(t: Trial) -> None:
    """a radius beyond the ends is full attention"""
    affordable(t)
    T = t.integer(4, 6)
    t.same(*drawn(t, T, 4), T - 1, note="a radius of T - 1")
    t.same(*drawn(t, T, 4), T + 3, note="a radius of T + 3")


@exercise.prop(0.5, "Count axes from the end: time is -2, the channels are -1.")
def shapes(t: Trial) -> None:
    """any axes in front, and values of another width"""
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
    0.5,
    "What is at the places outside of the sequence, and what does a softmax make of"
    " it if all other scores are -10 000?",
)
def large(t: Trial) -> None:
    """large scores and half precision; gradients reach queries, keys and values"""
    affordable(t)
    q, k, v = drawn(t, 6, 4)
    t.usual(q, k, v, 1)
    for size in (-1e8, 1e8):
        t.same(size * q.abs(), k.abs(), v, 1, note=f"queries times {size:g}")
    narrow = t.call(q.bfloat16(), k.bfloat16(), v.bfloat16(), 1)
    want, note = t.call(q, k, v, 1).bfloat16(), "bfloat16, compared to float32"
    t.close(narrow, want, note=note, exact=True)
    t.gradient(*drawn(t, 5, 3, dtype=torch.float64), 1)


@exercise.prop(2, "Each query needs 17 scores. How large is your largest tensor?")
def small_bill(t: Trial) -> None:
    """80,000 positions with radius 8 cost no matrix of 80,000 x 80,000; nothing is changed
    in place
    """
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
