"""Exercise ``relative.distance_scores``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.fixtures import normal
from course_lib.checks.protocol import Fixture
from course_lib.checks.trial import Trial, Wrong
from course_lib.positions import relative_shift


def slow_distance_scores(q, table):
    """A vector for each pair of a query and a key, looked up and multiplied."""
    T = q.shape[-2]
    index = torch.arange(T) - torch.arange(T)[:, None] + T - 1
    vectors = table[index]
    return torch.einsum("...id,ijd->...ij", q, vectors)


def reference(q: Tensor, table: Tensor) -> Tensor:
    """Each query meets each distance once; rows are then shifted into place."""
    return relative_shift(q @ table.mT)


WHY = "256 queries of width 1024, with a vector for each of 65,536 pairs"


def _no_vectors(t: Trial) -> None:
    """Expect no vector for each pair, whatever the scores are."""
    shapes = [1, 256, 1024], [511, 1024]
    q, table = (Fixture("normal", {"shape": shape, "seed": t.integer(0, 99)}) for shape in shapes)
    nothing, nowhere = torch.zeros(0), (slice(0, 0),)
    try:
        t.size_probe(q, table, want=[nothing], keep=[nowhere], memory=100, cpu=3, why=WHY)
    except Wrong as wrong:
        if str(wrong).startswith(WHY):
            raise


exercise = Exercise(
    id="relative.distance_scores",
    function="distance_scores",
    reference=reference,
    points=5,
    minutes=25,
    difficulty=4,
    chapter="08_relative.html#relative-shift",
    example=lambda t: (t.randn(2, 4, 6), t.randn(7, 6)),
    outcomes=("relative.distances",),
    severe={"vector_for_each_pair": "that none is made is the whole task; the slow way is given"},
)


@exercise.prop(
    "query i meets the vector of distance j - i in column j",
    points=1.5,
    hint="Let the table be 0, 1, 2, … in its only channel, and all queries 1: which numbers where?",
)
def values(t: Trial) -> None:
    T, d_head = t.integer(4, 7), 2 * t.integer(2, 4)
    t.same(t.randn(2, T, d_head), t.randn(2 * T - 1, d_head))
    _no_vectors(t)


@exercise.prop(
    "one query alone, and two",
    points=0.5,
    hint="With one query the table has a single row. Does your indexing survive it?",
)
def few_queries(t: Trial) -> None:
    one = t.a_tensor(t.call(t.randn(3, 1, 4), t.randn(1, 4)), (3, 1, 1), "the score of one query")
    t.expect((one != 0).all(), "one query and one vector have a score of 0")
    two, table = t.randn(2, 4), t.randn(3, 4)
    alone = t.a_tensor(t.call(two, table), (2, 2), "the scores of two queries without heads")
    t.close(t.call(two[None], table), alone[None], "two queries of one head")
    _no_vectors(t)


@exercise.prop("batches and heads before the queries", points=0.5, hint="Count axes from the end.")
def leading_axes(t: Trial) -> None:
    T = t.integer(3, 5)
    q, table = t.randn(2, 3, T, 4), t.randn(2 * T - 1, 4)
    scores = t.a_tensor(t.call(q, table), (2, 3, T, T))
    t.expect((scores[0] != scores[1]).any(), "two sentences have the same scores")
    for part in ((0, 1), (1, 2), (1,)):
        t.close(t.call(q[part], table), scores[part], f"q[{part}] alone")
    _no_vectors(t)


@exercise.prop(
    "gradients reach the queries and the table",
    points=0.5,
    hint="Build the result from operations on `q` and `table`, without `.data` or `.item()`.",
)
def gradients(t: Trial) -> None:
    t.gradient(t.randn(1, 3, 4, dtype=torch.float64), t.randn(5, 4, dtype=torch.float64))
    _no_vectors(t)


@exercise.prop(
    "what is handed in is left as it was",
    points=0.5,
    hint="Reversing or scaling in place changes the caller's table.",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(2, 4, 6), t.randn(7, 6))
    _no_vectors(t)


@exercise.prop(
    "no vector for each pair is ever made",
    points=1.5,
    hint="There are 2T - 1 distances. Multiply first, and look numbers up instead of vectors.",
)
def cheap(t: Trial) -> None:
    # In double precision, since sums of 1,024 products that nearly cancel are rounded too far.
    T, d_head = 512, 1024
    shapes = [1, T, d_head], [2 * T - 1, d_head]
    seeds = t.integer(0, 10**6), t.integer(0, 10**6)
    q, table = (
        Fixture("normal", {"shape": shape, "seed": seed, "dtype": "float64"})
        for shape, seed in zip(shapes, seeds, strict=True)
    )
    want = reference(*(normal(*drawn, "float64") for drawn in zip(shapes, seeds, strict=True)))
    places = t.slices((1, 1), (T, 4), (T, 4))
    t.size_probe(
        q,
        table,
        want=[want[place] for place in places],
        keep=places,
        memory=200,  # a vector for each pair: 2 GiB; one product and a lookup: under 40 MiB
        cpu=3,
        why="512 queries of width 1024, with a vector for each of 262,144 pairs",
    )


@exercise.mistake("How many numbers has your largest tensor, and how many of its rows differ?")
def vector_for_each_pair(q, table):
    """Scores of pairs need a vector for each pair."""
    T = q.shape[-2]
    places = torch.arange(T)
    vectors = table[places[None, :] - places[:, None] + T - 1]
    return (q.unsqueeze(-2) * vectors).sum(-1)


@exercise.mistake("Which row of the table belongs to a key that stands *before* its query?")
def query_minus_key(q, table):
    """The distance is the query's position less the key's."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = places[:, None] - places + T - 1
    met = q @ table.mT
    return met.gather(-1, index.expand(*q.shape[:-1], T))


@exercise.mistake("Print `q @ table.mT` for queries that are all alike. Which entries do you want?")
def not_shifted(q, table):
    """The first T columns are those of the keys."""
    return (q @ table.mT)[..., q.shape[-2] - 1 :]


@exercise.mistake("Row 0 begins at distance 0. Where does row 1 begin: one to the left, or right?")
def shifted_the_wrong_way(q, table):
    """Each row moves one place to the right of the one before."""
    T = q.shape[-2]
    met = q @ table.mT
    rows = [met[..., i, i : i + T] for i in range(T)]
    return torch.stack(rows, dim=-2)


@exercise.mistake("Which row of the table has distance 0? Count for T = 3.")
def one_row_off(q, table):
    """Distance 0 is in row T of the table."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = (places - places[:, None] + T).clamp(max=2 * T - 2)
    return (q @ table.mT).gather(-1, index.expand(*q.shape[:-1], T))


@exercise.mistake("Does the task ask for scaled scores?")
def divided_by_the_root(q, table):
    """Whatever is called a score has been divided by the root of the width."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = (places - places[:, None] + T - 1).expand(*q.shape[:-1], T)
    return (q @ table.mT).gather(-1, index) / q.shape[-1] ** 0.5


@exercise.mistake("Do `index[i, j]` and `index[j, i]` name the same distance?")
def symmetric(q, table):
    """A distance has no sign."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = (places - places[:, None]).abs() + T - 1
    return (q @ table.mT).gather(-1, index.expand(*q.shape[:-1], T))


@exercise.alternative
def row_by_row(q, table):
    """Each query meets its own stretch of the table; prints to stderr."""
    import sys

    print("rows", file=sys.stderr)
    T = q.size(-2)
    rows = [q[..., i, :] @ table[T - 1 - i : 2 * T - 1 - i].mT for i in range(T)]
    return torch.stack(rows, dim=-2)


@exercise.alternative
def numbers_looked_up(q, table):
    """One product with all distances, then a number for each pair."""
    T = q.shape[-2]
    places = torch.arange(T)
    index = places - places.unsqueeze(1) + (T - 1)
    return torch.take_along_dim(q @ table.T, index.expand(q.shape[:-1] + (T,)), dim=-1)


@exercise.alternative
def padded_and_reshaped(q, table):
    """Pads each row by a number, reads all as one line and cuts it anew."""
    T = q.shape[-2]
    met = q @ table.mT
    empty = met.new_zeros(*met.shape[:-1], 1)
    line = torch.cat([empty, met], dim=-1).reshape(*met.shape[:-2], 2 * T, T)
    moved = line[..., 1:, :].reshape(met.shape)
    return moved[..., :T] if T > 1 else met
