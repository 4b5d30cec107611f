from course_lib.bank.prelude import Exercise, Trial, torch
from grader.checks.protocol import Fixture, normal

exercise = Exercise(
    id="informer.judge_queries",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="17_informer.html#informer-sampling",
    outcomes=("informer.measure",),
    severe={
        "by_all_keys": "the largest score and the mean are those of other keys, at full cost",
        "one_sample_for_all": "all queries but the first are judged by the keys of another",
    },
    example=lambda t: (t.randn(6, 4), t.randn(8, 4), t.integers(0, 7, 6, 3)),
)


@exercise.prop(
    2, "For scores 3, 1 and 2 in the sample it is 1, however many keys there are besides."
)
def values(t: Trial) -> None:
    """the largest sampled score less the mean of the sampled scores"""
    T, S, d = t.integer(4, 7), t.integer(20, 30), 2 * t.integer(2, 5)
    # No key is drawn twice: what that counts for is asked below.
    samples = torch.stack([t.permutation(S)[:3] for _ in range(T)])
    t.same(t.randn(T, d), t.randn(S, d), samples)


@exercise.prop(
    0.5, "Row t of `samples` belongs to query t. Give two equal queries different samples."
)
def own_sample(t: Trial) -> None:
    """every query has its own sample"""
    q, k = t.randn(1, 6).expand(4, 6).clone(), t.randn(12, 6)
    samples = torch.stack([t.permutation(12)[:3] for _ in range(4)])
    got = t.a_tensor(t.call(q, k, samples), (4,))
    for i in range(4):
        alone = t.call(q[i : i + 1], k, samples[i : i + 1])
        t.close(got[i : i + 1], alone, f"the measure of query {i}", note="compared to alone")
    t.expect(bool((got != got[0]).any()), "equal queries with different samples measure alike")


@exercise.prop(0.5, "The mean of 5, 5 and 2 isn't that of 5 and 2.")
def drawn_twice(t: Trial) -> None:
    """a key that was drawn twice counts twice, and one key alone gives 0"""
    samples = torch.tensor([[0, 0, 1], [3, 2, 2], [4, 4, 0]])
    t.same(3 * t.randn(3, 4), t.randn(6, 4), samples)
    t.same(t.randn(3, 4), t.randn(6, 4), samples[:, :1], note="samples of one key")


@exercise.prop(
    0.25, "Index the axis of the keys, counted from the end, and leave those before it alone."
)
def heads(t: Trial) -> None:
    """heads before queries and keys, which share the samples"""
    samples = torch.stack([t.permutation(7)[:3] for _ in range(4)])
    q, k = t.randn(2, 3, 4, 6), t.randn(2, 3, 7, 6)
    got = t.a_tensor(t.call(q, k, samples), (2, 3, 4))
    for b, h in ((0, 2), (1, 1)):
        t.close(got[b, h], t.call(q[b, h], k[b, h], samples), f"head {h}", note="compared to alone")
    t.expect(not got[0, 2].equal(got[1, 1]), "two heads measure alike")


@exercise.prop(0.25, "Scaling the queries with `*=` scales the caller's.")
def no_side_effect(t: Trial) -> None:
    """what is handed in is left as it was"""
    t.unchanged(t.randn(5, 4), t.randn(6, 4), t.integers(0, 5, 5, 2))


@exercise.prop(
    1.5, "Fetch the keys of each sample first; then multiply each query with its own few."
)
def cheap(t: Trial) -> None:
    """only sampled scores are kept in memory"""
    T, d_head, U = 20_000, 8, 10
    seeds = t.integer(0, 10**6), t.integer(0, 10**6)
    samples = t.integers(0, T - 1, T, U)
    q, k = (
        Fixture("normal", {"shape": [T, d_head], "seed": seed, "dtype": "float32"})
        for seed in seeds
    )
    # Few of the queries: whether they are right is what the other requirements ask.
    queries, keys = (normal([T, d_head], seed) for seed in seeds)
    places = t.slices((T, 10))
    want = [t.a_tensor(t.call(queries[at], keys, samples[at]), (10,)) for (at,) in places]
    t.expect(all(bool(part.any()) for part in want), "all measures are 0")
    t.size_probe(
        q,
        k,
        samples,
        want=want,
        keep=places,
        memory=140,  # all scores: 1.5 GiB; the sampled keys and products: under 25 MiB
        cpu=4,
        why="20,000 queries, judged by 10 keys each",
    )
