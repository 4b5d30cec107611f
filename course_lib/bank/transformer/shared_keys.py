from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from grader.checks.protocol import Fixture

exercise = Exercise(
    id="transformer.shared_keys",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="09_sharing.html#transformer-shared",
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
    0.5, "With one query head per group nothing is shared. What does one query of width Dh see?"
)
def own_keys(t: Trial) -> None:
    """as many key heads as query heads: each head attends with its own"""
    for H in (1, t.integer(2, 4)):
        t.same(*drawn(t, H, H, 1, t.integer(3, 6)), note=f"{H} of each, one new token")


@exercise.prop(
    1,
    "Four query heads, two key heads: which of them do heads 0 and 1 use? And in which order do"
    " the four outputs come back?",
)
def groups(t: Trial) -> None:
    """neighbouring query heads share a key head"""
    for H, G in ((4, 2), (6, 3), (6, 2)):
        T = t.integer(3, 5)  # nothing is cached: where the mask begins then is asked below
        t.same(*drawn(t, H, G, T, T), note=f"{H} query heads, {G} key heads, {T} new tokens")


@exercise.prop(0.5, "All queries meet the same keys. What is left that tells the heads apart?")
def one_for_all(t: Trial) -> None:
    """a single key head serves all query heads"""
    t.same(*drawn(t, t.integer(2, 4), 1, 1, t.integer(3, 6)), note="one key head, one new token")


@exercise.prop(
    1,
    "The first of T new tokens after S - T cached ones: how many keys may it see? Write the mask"
    " of one head, then ask whether another head needs another one.",
)
def no_future(t: Trial) -> None:
    """several new tokens, the last of the text: none looks at those that come after it"""
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


@exercise.prop(0.5, "The scores are divided by the root of a width: whose?")
def widths(t: Trial) -> None:
    """values of another width, large scores"""
    t.same(*drawn(t, 2, 2, 4, 4, 9, 5), note="Dh = 9, Dv = 5")
    q, k, v = drawn(t, 2, 2, 4, 4)
    for size in (1e8, -1e8):
        t.same(size * q, k, v, note=f"queries times {size:g}")


@exercise.prop(
    0.5, "Does anything in your function cut the graph, or write into what it was given?"
)
def gradients(t: Trial) -> None:
    """gradients reach queries, keys and values; nothing is changed in place"""
    t.gradient(*drawn(t, 4, 2, 2, 3, 2, 2, 1, torch.float64))
    t.unchanged(*drawn(t, 4, 2, 2, 3))


@exercise.prop(
    1,
    "64 heads with a query each, or one head with 64 queries: which numbers differ? Remember that"
    " a product of batches copies what has to be repeated.",
)
def no_copy(t: Trial) -> None:
    """64 query heads on two key heads of 8,000 tokens, in two texts, cost no copy of them"""
    shapes = ([2, 64, 1, 128], [2, 2, 8_000, 128], [2, 2, 8_000, 128])
    seeds = [t.integer(0, 10**6) for _ in shapes]
    large = list(zip(shapes, seeds, strict=True))
    t.size_probe(
        *(Fixture("normal", {"shape": shape, "seed": seed}) for shape, seed in large),
        keep=t.slices((2, 1), (64, 4)),
        memory=100,  # a copy of the keys for each query head: 500 MiB; all scores: 4 MiB
        cpu=10,
        why="the keys take 16 MiB once",
    )
