from course_lib.attention import scaled_dot_product_attention
from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch
from course_lib.efficient import orthogonal_features
from grader.checks.compare import difference
from grader.checks.protocol import Fixture, normal


def colleagues_random_features(q, k, v, directions):
    """Attention by random features, as a colleague has it."""
    scale = q.shape[-1] ** -0.5

    def features(x):
        return torch.exp(x * scale @ directions.mT)

    weights = features(q) @ features(k).mT / len(directions)
    return weights @ v


exercise = Exercise(
    id="cheaper.random_features",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="14_state.html#cheaper-performer",
    outcomes=("cheaper.approximate",),
    example=lambda t: drawn(t, 1, 5, 5, 4, 4, m=6),
    forbidden=("attention",),
)


def drawn(
    t: Trial,
    B: int,
    T: int,
    S: int,
    Dh: int,
    Dv: int,
    *,
    m: int,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, ...]:
    """Queries, keys, values and directions."""
    shapes = (B, T, Dh), (B, S, Dh), (B, S, Dv), (m, Dh)
    return tuple(t.randn(*shape, dtype=dtype) for shape in shapes)


def averages_only(t: Trial) -> None:
    """What was handed out averages nothing, and a mean asks nobody: they earn nothing."""
    q, k, v, directions = drawn(t, 1, 4, 5, 4, 3, m=6)
    got = t.call(q, k, torch.ones_like(v), directions)
    given = colleagues_random_features(q, k, torch.ones_like(v), directions)
    t.expect(difference(got, given) is not None, "it is the colleague's function")
    mean = v.mean(-2, keepdim=True).expand(1, 4, 3)
    t.expect(difference(t.call(q, k, v, directions), mean) is not None, "all keys weigh alike")


def weights_of(t: Trial, q: Tensor, k: Tensor, directions: Tensor) -> Tensor:
    """The weights (T, S), read off by values of one 1 each, as shares of their row."""
    S = len(k)
    got = t.a_tensor(t.call(q, k, torch.eye(S, dtype=q.dtype), directions), (len(q), S))
    return got / got.sum(-1, keepdim=True)


def shares(t: Trial, q: Tensor, k: Tensor, directions: Tensor, note: str) -> None:
    """Compare the weights, whatever each row sums to."""
    want = t.want(q, k, torch.eye(len(k), dtype=q.dtype), directions)
    t.close(weights_of(t, q, k, directions), want, "the shares of the keys", note=note)


@exercise.prop(1, "What do the weights of a row add up to? Which step of the softmax does that?")
def averages(t: Trial) -> None:
    """an average of equal values is that value"""
    averages_only(t)
    q, k, _, directions = drawn(t, 2, 5, 6, 4, 4, m=8)
    row = t.randn(1, 1, 4)
    want = row.expand(2, 5, 4)
    t.close(t.call(q, k, row.expand(2, 6, 4).contiguous(), directions), want, "the average")


@exercise.prop(
    1,
    "The mean of exp(w·(q'+k')) over all directions w is exp(|q'+k'|²/2). Which of its"
    " terms must go?",
)
def lengths(t: Trial) -> None:
    """a longer key has no larger feature for its length: half its square is subtracted"""
    # In one channel the scale is 1, whichever root is taken.
    for m in (1, 5):
        k = t.randn(4, 1) * torch.tensor([0.3, 1.0, 1.7, 2.5])[:, None]
        shares(t, t.randn(3, 1), k, t.randn(m, 1), f"one channel, {m} directions")


@exercise.prop(1, "What must q' be for q'·k' to be q·k/√Dh?")
def scale(t: Trial) -> None:
    """queries and keys are scaled so that their products are divided by the root of the width"""
    # Keys of one length, so that whatever depends on it alone cancels in each row.
    for Dh in (4, 9):
        k = F.normalize(t.randn(5, Dh), dim=-1)
        shares(t, t.randn(3, Dh), k, t.randn(6, Dh), f"keys of length 1, {Dh} channels")


@exercise.prop(
    0.5,
    "Take one query, one key and one direction. What must the feature of the key be, and what is"
    " the output if there is one key only?",
)
def values(t: Trial) -> None:
    """all together: the formula, and attention itself with many features"""
    T = t.integer(5, 8)
    t.same(*drawn(t, 2, T, T, 4, 4, m=8))
    t.same(*drawn(t, 1, T, T, 3, 3, m=1), note="a single direction")
    t.same(*drawn(t, 1, 3, 1, 4, 4, m=5), note="a single key")
    q, k, v, _ = drawn(t, 1, 12, 12, 8, 8, m=1)
    # Short queries, so that few directions suffice; keys of different lengths.
    q, k = 0.3 * q, k * torch.linspace(0.1, 0.8, 12)[:, None]
    directions = orthogonal_features(4096, 8, generator=t.generator)
    got = t.same(q, k, v, directions, note="4,096 directions")
    exact, _ = scaled_dot_product_attention(q, k, v)
    t.expect((got - exact).norm() < 0.6 * exact.norm(), "with 4,096 directions it is not near")


@exercise.prop(0.5, "Sum over keys, not over queries. Count axes from the end.")
def shapes(t: Trial) -> None:
    """other numbers of keys than of queries, other widths, any axes in front"""
    averages_only(t)
    directions = t.randn(6, 9)
    for lead in ((2,), (2, 3), (1,)):
        q, k, v = t.randn(*lead, 4, 9), t.randn(*lead, 7, 9), t.randn(*lead, 7, 5)
        got = t.a_tensor(t.call(q, k, v, directions), (*lead, 4, 5))
        last = tuple(n - 1 for n in lead)
        alone = t.a_tensor(t.call(q[last], k[last], v[last], directions), (4, 5))
        t.close(got[last], alone, f"the last of {tuple(v.shape)}", note="compared to alone")


@exercise.prop(
    0.5, "Does the division cut the graph? Does an operation's name end in an underscore?"
)
def gradients(t: Trial) -> None:
    """gradients reach queries, keys and values; nothing is changed in place"""
    averages_only(t)
    t.gradient(*drawn(t, 1, 3, 4, 3, 3, m=4, dtype=torch.float64), but="directions")
    t.unchanged(*drawn(t, 1, 4, 5, 4, 4, m=6))


@exercise.prop(
    1.5,
    "(A B) C is A (B C). Which of the two has the smaller matrix in the middle? And the row sums"
    " are a product with ones.",
)
def small_bill(t: Trial) -> None:
    """100,000 queries and keys cost no matrix of 100,000 x 100,000"""
    # In double precision, since sums over so many keys nearly cancel.
    shapes = ([100_000, 4], [100_000, 4], [100_000, 4], [16, 4])
    seeds = [t.integer(0, 10**6) for _ in shapes]
    large = list(zip(shapes, seeds, ["float64"] * 4, strict=True))
    q, k, v, directions = (normal(*drawn) for drawn in large)
    # The same rows for few queries: whether they are right is what the other requirements ask.
    places = t.slices((100_000, 20))
    some = torch.cat([q[at] for (at,) in places])
    want = t.a_tensor(t.call(some, k, v, directions), (len(some), 4))
    t.expect(bool(want.any()), "all values are 0")
    t.size_probe(
        *(Fixture("normal", dict(zip(("shape", "seed", "dtype"), d, strict=True))) for d in large),
        want=want.split(20),
        keep=places,
        memory=400,  # all weights: 75 GiB; all features: 24 MiB
        cpu=4,
        why="100,000 queries with 16 features each",
    )
