from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="reading.map_metrics",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="10_kinds.html#reading-metrics",
    outcomes=("reading.metrics",),
    returns=("entropy", "near_diagonal", "largest", "relative_position"),
    example=lambda t: _sample(t, 5, [5, 5], hidden=0),
)


def _sample(t: Trial, T: int, lengths: list[int], hidden: int = 1) -> tuple[Tensor, Tensor]:
    """Weights (B, 2, T, T) under a mask (B, T, T) that hides padding and a few keys of each row.

    Rows of padding are empty, and all visible weights are above 0.
    """
    mask = torch.zeros(len(lengths), T, T, dtype=torch.bool)
    for b, length in enumerate(lengths):
        mask[b, :length, :length] = True
        for i in range(length):
            # One key or more stays: the one three places on, counted round.
            for j in t.integers(0, length - 1, hidden).tolist():
                mask[b, i, j] = mask[b, i, j] and j == (i + 3) % length
    return _under(t, mask), mask


def _under(t: Trial, mask: Tensor, spread: float = 1.5) -> Tensor:
    scores = spread * t.randn(len(mask), 2, *mask.shape[1:])
    weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
    return weights.nan_to_num(0.0)


def _one(t: Trial, which: int, *args: Tensor | int, note: str = "") -> Tensor:
    """One of the four results, which must be right; the others may be wrong."""
    got = t.values(t.call(*args))
    want = t.want(*args)[which]
    value = t.a_tensor(got[which], tuple(want.shape), exercise.returns[which])
    t.close(value, want, exercise.returns[which], note=note)
    return value


@exercise.prop(
    1, "What is the entropy of a row of 8 equal weights? By what do you divide to get 1?"
)
def spread(t: Trial) -> None:
    """entropy of each row as a share of the largest it could have, then the mean"""
    _one(t, 0, *_sample(t, t.integer(6, 8), [6, 5], hidden=0))
    mask = torch.ones(1, 7, 7, dtype=torch.bool)
    _one(t, 0, torch.full((1, 2, 7, 7), 1 / 7), mask, note="equal weights")


@exercise.prop(1, "Under a causal mask, how large can the entropy of the third row be?")
def visible_keys(t: Trial) -> None:
    """the largest possible entropy is that of the keys which the query may see"""
    n = t.integer(6, 9)
    causal = torch.ones(2, n, n, dtype=torch.bool).tril()
    _one(t, 0, _under(t, causal), causal, note="a causal mask")
    _one(t, 0, *_sample(t, 8, [8, 6], hidden=4), note="keys hidden here and there")


@exercise.prop(
    0.5,
    "0 ln 0 is 0 by its limit. What does the machine say? And the map is still needed: write into"
    " tensors of your own.",
)
def zeros(t: Trial) -> None:
    """weights that are exactly 0 give no NaN, and what is handed in is left as it was"""
    weights, mask = _sample(t, 6, [6, 6], hidden=0)
    weights = torch.where(weights == weights.amax(-1, keepdim=True), 1.0, 0.0)
    weights[0, :, :3] = 0.5 * weights[0, :, :3] + 0.5 * weights[0, :, :3].roll(1, -1)
    _one(t, 0, weights, mask)
    t.unchanged(weights, mask)


@exercise.prop(
    1,
    "A head that looks at the previous token: how much of it lies on the main diagonal, how much"
    " in a band of radius 1?",
)
def band(t: Trial) -> None:
    """the band: attention to keys at most `radius` places away"""
    weights, mask = _sample(t, 8, [8, 7], hidden=1)
    for radius in (0, 1, 2):
        _one(t, 1, weights, mask, radius, note=f"radius {radius}")
    # The default.
    _one(t, 1, weights, mask)


@exercise.prop(0.5, "Every query has a largest weight.")
def largest(t: Trial) -> None:
    """the largest weight of each query, mean over queries"""
    _one(t, 2, *_sample(t, 7, [7, 7], hidden=1))


@exercise.prop(1, "A previous-token head should have about -1. The expected key position, minus?")
def relative(t: Trial) -> None:
    """where a query looks on average, minus its own place: looking back is below 0"""
    _one(t, 3, *_sample(t, 7, [7, 7], hidden=1))
    _one(t, 3, *_sample(t, 9, [9, 9], hidden=0), note="all keys visible")


@exercise.prop(
    1,
    "Divide by the number of queries that count, not by T. A query that sees one key: can its"
    " entropy say anything about the head?",
)
def who_counts(t: Trial) -> None:
    """queries with an empty row don't count, and those with one visible key not for the entropy"""
    weights, mask = _sample(t, 9, [4, 9], hidden=0)
    for which in range(4):
        _one(t, which, weights, mask, note="padded")
    n = t.integer(4, 6)
    few = torch.ones(1, n, n, dtype=torch.bool).tril()
    weights = _under(t, few)
    for which in range(4):
        _one(t, which, weights, few, note="the first query sees itself alone")
