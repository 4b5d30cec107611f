from course_lib.bank.prelude import Exercise, Trial, Wrong, torch
from grader.checks.protocol import Fixture


def slow_distance_scores(q, table):
    """A vector for each pair of a query and a key, looked up and multiplied."""
    T = q.shape[-2]
    index = torch.arange(T) - torch.arange(T)[:, None] + T - 1
    vectors = table[index]
    return torch.einsum("...id,ijd->...ij", q, vectors)


WHY = "256 queries of width 1024, with a vector for each of 65,536 pairs"


def _no_vectors(t: Trial) -> None:
    """Expect no vector for each pair, whatever the scores are."""
    shapes = [256, 1024], [511, 1024]
    q, table = (Fixture("normal", {"shape": shape, "seed": t.integer(0, 99)}) for shape in shapes)
    nothing, nowhere = torch.zeros(0), (slice(0, 0),)
    try:
        t.size_probe(q, table, want=[nothing], keep=[nowhere], memory=100, cpu=3, why=WHY)
    except Wrong as wrong:
        if str(wrong).startswith(WHY):
            raise


exercise = Exercise(
    id="relative.distance_scores",
    points=5,
    minutes=25,
    difficulty=4,
    chapter="08_relative.html#relative-shift",
    example=lambda t: (t.randn(2, 4, 6), t.randn(7, 6)),
    outcomes=("relative.distances",),
    severe={"vector_for_each_pair": "that none is made is the whole task; the slow way is given"},
)


@exercise.prop(
    1.5, "Let the table be 0, 1, 2, … in its only channel, and all queries 1: which numbers where?"
)
def values(t: Trial) -> None:
    """row i, column j: the product of query i and the vector of distance j - i"""
    T, d_head = t.integer(4, 7), 2 * t.integer(2, 4)
    t.same(t.randn(T, d_head), t.randn(2 * T - 1, d_head))
    _no_vectors(t)


@exercise.prop(0.5, "With one query the table has a single row. Does your indexing survive it?")
def few_queries(t: Trial) -> None:
    """one query alone, and two"""
    t.same(t.randn(1, 4), t.randn(1, 4), note="one query")
    t.same(t.randn(2, 4), t.randn(3, 4), note="two queries")
    _no_vectors(t)


@exercise.prop(0.5, "Count axes from the end.")
def leading_axes(t: Trial) -> None:
    """batches and heads before the queries"""
    T = t.integer(3, 5)
    q, table = t.randn(2, 3, T, 4), t.randn(2 * T - 1, 4)
    t.same(q, table, note="two sentences of three heads")
    t.same(q[1], table, note="one sentence")
    _no_vectors(t)


@exercise.prop(
    0.5, "Build the result from operations on `q` and `table`, without `.data` or `.item()`."
)
def gradients(t: Trial) -> None:
    """gradients reach the queries and the table"""
    t.gradient(t.randn(3, 4, dtype=torch.float64), t.randn(5, 4, dtype=torch.float64))
    _no_vectors(t)


@exercise.prop(0.5, "Reversing or scaling in place changes the caller's table.")
def no_side_effect(t: Trial) -> None:
    """what is handed in is left as it was"""
    t.unchanged(t.randn(4, 6), t.randn(7, 6))
    _no_vectors(t)


@exercise.prop(
    1.5, "There are 2T - 1 distances. Multiply first, and look numbers up instead of vectors."
)
def cheap(t: Trial) -> None:
    """no vector for each pair is ever made"""
    # In double precision, since sums of 1,024 products that nearly cancel are rounded too far.
    T, d_head = 512, 1024
    shapes = [T, d_head], [2 * T - 1, d_head]
    seeds = t.integer(0, 10**6), t.integer(0, 10**6)
    q, table = (
        Fixture("normal", {"shape": shape, "seed": seed, "dtype": "float64"})
        for shape, seed in zip(shapes, seeds, strict=True)
    )
    t.size_probe(
        q,
        table,
        keep=t.slices((T, 4), (T, 4)),
        memory=200,  # a vector for each pair: 2 GiB; one product and a lookup: under 40 MiB
        cpu=3,
        why="512 queries of width 1024, with a vector for each of 262,144 pairs",
    )
