from course_lib.bank.swin.block_saving import exercise
from course_lib.swin import block_cost


@exercise.answer
def reference(
    rows: int, columns: int, d_model: int, window: int, mlp_ratio: int = 4
) -> tuple[float, float, float]:
    """Shares of pairs, of the attention layer and of the block."""
    whole = block_cost(rows, columns, d_model, mlp_ratio=mlp_ratio)
    cut = block_cost(rows, columns, d_model, window, mlp_ratio=mlp_ratio)
    layer = (cut.projections + cut.pairs) / (whole.projections + whole.pairs)
    return 1 - cut.pairs / whole.pairs, 1 - layer, 1 - cut.total / whole.total


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
    "The hidden layer of the feed-forward sub-layer: what leads into it, and what out of it?"
)
def one_map(rows, columns, d_model, window, mlp_ratio=4):
    """The feed-forward sub-layer is one matrix of D x 4D."""
    N, M2, D = rows * columns, min(rows, window) * min(columns, window), d_model
    tokens, ff = 4 * D, mlp_ratio * D
    return 1 - M2 / N, 2 * (N - M2) / (tokens + 2 * N), 2 * (N - M2) / (tokens + ff + 2 * N)


@exercise.mistake("How many tokens are in a window with a side of 7?")
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
