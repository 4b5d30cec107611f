"""Exercise ``swin.block_saving``."""

from typing import Any

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.swin import block_cost


def reference(
    rows: int, columns: int, d_model: int, window: int, mlp_ratio: int = 4
) -> tuple[float, float, float]:
    """Shares of pairs, of the attention layer and of the block."""
    whole = block_cost(rows, columns, d_model, mlp_ratio=mlp_ratio)
    cut = block_cost(rows, columns, d_model, window, mlp_ratio=mlp_ratio)
    layer = (cut.projections + cut.pairs) / (whole.projections + whole.pairs)
    return 1 - cut.pairs / whole.pairs, 1 - layer, 1 - cut.total / whole.total


exercise = Exercise(
    id="swin.block_saving",
    function="block_saving",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="15_swin.html#swin-savings",
    outcomes=("swin.savings",),
    severe={
        "pairs_are_the_block": "it has one number in place of three",
        "scores_alone": "it has one number in place of three",
        "side_is_tokens": "every number is that of another map",
        "what_remains": "every number is the opposite of what is asked for",
        "three_projections": "two of the three numbers are wrong for every map",
    },
    returns=("the share of the pairs", "the share of the layer", "the share of the block"),
    example=lambda t: (14, 14, 768, 7),
)


def _agree(t: Trial, place: int, *args: int, note: str = "", **options: Any) -> None:
    """Expect one of the three shares."""
    got, want = t.values(t.call(*args, **options)), t.want(*args, **options)
    what = exercise.returns[place]
    called = ", ".join([*map(str, args), *(f"{k}={v}" for k, v in options.items())])
    t.close(got[place], float(want[place]), what, note=f"{note or 'called'} with {called}")


@exercise.prop(
    "the share of the pairs that is saved",
    points=1,
    hint="With how many tokens is each token paired, with windows and without?",
)
def pairs(t: Trial) -> None:
    m = t.integer(2, 7)
    _agree(t, 0, t.integer(2, 5) * m, t.integer(6, 9) * m, 8 * t.integer(2, 9), m)


@exercise.prop(
    "the share of the attention layer",
    points=1.5,
    hint="How many matrices of D x D is each token multiplied with, whoever it attends to?",
)
def layer(t: Trial) -> None:
    _agree(t, 1, 14, 14, 768, 7)
    m = t.integer(3, 8)
    _agree(t, 1, t.integer(2, 5) * m, t.integer(2, 9) * m, 8 * t.integer(2, 9), m)


@exercise.prop(
    "the share of the whole block",
    points=1,
    hint="The feed-forward part has two matrices, of D x 4D and back.",
)
def block(t: Trial) -> None:
    _agree(t, 2, 56, 56, 96, 7)
    m = t.integer(3, 8)
    _agree(t, 2, t.integer(2, 5) * m, t.integer(2, 9) * m, 8 * t.integer(2, 9), m)


@exercise.prop(
    "feed-forward parts that are wider or narrower",
    points=0.5,
    hint="Where does `mlp_ratio` enter, and in how many matrices?",
)
def ratio(t: Trial) -> None:
    for mlp_ratio in (t.integer(1, 3), t.integer(5, 8)):
        _agree(t, 2, 12, 18, 8 * t.integer(2, 9), 6, mlp_ratio=mlp_ratio)


@exercise.prop(
    "a window that is not smaller than the grid, along one axis or both",
    points=1,
    hint="What does a window of 7 x 7 hold of a grid of 4 x 14? Not 49 tokens.",
)
def small_grids(t: Trial) -> None:
    m = t.integer(5, 8)
    for place in range(3):
        _agree(t, place, m, m, 32, m, note="one window")
        _agree(t, place, m - 1, m - 2, 32, m, note="less than a window")
        _agree(t, place, m - 2, 3 * m, 32, m, note="a low grid")
        _agree(t, place, 2 * m, m - 3, 32, m, note="a narrow grid")


@exercise.mistake("Which parts of a block don't know who attends to whom?")
def pairs_are_the_block(rows, columns, d_model, window, mlp_ratio=4):
    """What is saved of the pairs is saved of everything."""
    saved = 1 - min(rows, window) * min(columns, window) / (rows * columns)
    return saved, saved, saved


@exercise.mistake("A pair makes a score. What is done with its weight afterwards?")
def scores_alone(rows, columns, d_model, window, mlp_ratio=4):
    """A pair costs one product, that of query and key."""
    N, M2, D = rows * columns, min(rows, window) * min(columns, window), d_model
    tokens, ff = 4 * D, 2 * mlp_ratio * D
    return 1 - M2 / N, (N - M2) / (tokens + N), (N - M2) / (tokens + ff + N)


@exercise.mistake("Queries, keys, values: is there a fourth projection?")
def three_projections(rows, columns, d_model, window, mlp_ratio=4):
    """A layer has three projections, for queries, keys and values."""
    N, M2, D = rows * columns, min(rows, window) * min(columns, window), d_model
    tokens, ff = 3 * D, 2 * mlp_ratio * D
    return 1 - M2 / N, 2 * (N - M2) / (tokens + 2 * N), 2 * (N - M2) / (tokens + ff + 2 * N)


@exercise.mistake("What is in a block besides the attention layer, and how large is it?")
def no_feed_forward(rows, columns, d_model, window, mlp_ratio=4):
    """A block costs what its attention layer costs."""
    N, M2, D = rows * columns, min(rows, window) * min(columns, window), d_model
    layer = 2 * (N - M2) / (4 * D + 2 * N)
    return 1 - M2 / N, layer, layer


@exercise.mistake(
    "The hidden layer of the feed-forward part: who leads into it, and who out of it?"
)
def one_map(rows, columns, d_model, window, mlp_ratio=4):
    """The feed-forward part is one matrix of D x 4D."""
    N, M2, D = rows * columns, min(rows, window) * min(columns, window), d_model
    tokens, ff = 4 * D, mlp_ratio * D
    return 1 - M2 / N, 2 * (N - M2) / (tokens + 2 * N), 2 * (N - M2) / (tokens + ff + 2 * N)


@exercise.mistake("A window with a side of 7: how many tokens has it?")
def side_is_tokens(rows, columns, d_model, window, mlp_ratio=4):
    """A window of 7 has 7 tokens."""
    N, M, D = rows * columns, min(rows * columns, window), d_model
    tokens, ff = 4 * D, 2 * mlp_ratio * D
    return 1 - M / N, 2 * (N - M) / (tokens + 2 * N), 2 * (N - M) / (tokens + ff + 2 * N)


@exercise.mistake("Can windows make attention more expensive than it was? Try a grid of 4 x 4.")
def window_always_full(rows, columns, d_model, window, mlp_ratio=4):
    """A window always has all its tokens."""
    N, M2, D = rows * columns, window**2, d_model
    tokens, ff = 4 * D, 2 * mlp_ratio * D
    return 1 - M2 / N, 2 * (N - M2) / (tokens + 2 * N), 2 * (N - M2) / (tokens + ff + 2 * N)


@exercise.mistake("You were asked what is saved. Is that what you return?")
def what_remains(rows, columns, d_model, window, mlp_ratio=4):
    """The share of the cost that is left is what counts."""
    N, M2, D = rows * columns, min(rows, window) * min(columns, window), d_model
    tokens, ff = 4 * D, 2 * mlp_ratio * D
    return (
        M2 / N,
        (tokens + 2 * M2) / (tokens + 2 * N),
        (tokens + ff + 2 * M2) / (tokens + ff + 2 * N),
    )


@exercise.alternative
def with_fractions(rows, columns, d_model, window, mlp_ratio=4):
    """Counts parts exactly and divides at the end; warns."""
    import warnings
    from fractions import Fraction

    warnings.warn("exact", stacklevel=1)
    held = [side if side < window else window for side in (rows, columns)]
    all_pairs = 2 * d_model * (rows * columns) ** 2
    kept = 2 * d_model * rows * columns * held[0] * held[1]
    shares, base = [], 0
    for more in (0, 4 * d_model**2, 2 * mlp_ratio * d_model**2):
        base += rows * columns * more
        shares.append(float(Fraction(all_pairs - kept, base + all_pairs)))
    return tuple(shares)


@exercise.alternative
def counted_by_loops(rows, columns, d_model, window, mlp_ratio=4):
    """Lists the matrices that each token meets, and sums up."""
    neighbours = min(window, rows) * min(window, columns)
    everyone = rows * columns
    layer = sum(d_model * width for width in [d_model] * 4)
    hidden = mlp_ratio * d_model
    feed_forward = d_model * hidden + hidden * d_model
    cost = {n: 2 * n * d_model for n in (neighbours, everyone)}
    out = []
    for fixed in (0, layer, layer + feed_forward):
        out.append(1 - (fixed + cost[neighbours]) / (fixed + cost[everyone]))
    return out[0], out[1], out[2]
