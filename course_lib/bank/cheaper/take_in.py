from course_lib.bank.prelude import Exercise, Tensor, Trial, math, torch

exercise = Exercise(
    id="cheaper.take_in",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="14_cheaper.html#cheaper-tiled",
    outcomes=("cheaper.online",),
    example=lambda t: (t.randn(2, 3), t.randn(3, 4), *read(t, 2, 4)),
    returns=("largest", "total", "out"),
)


def nothing_yet(
    *shape: int, d_value: int, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor, Tensor]:
    """The state before the first block."""
    column = torch.zeros(*shape, 1, dtype=dtype)
    return column - math.inf, column, torch.zeros(*shape, d_value, dtype=dtype)


def read(
    t: Trial, *shape: int, n: int = 3, size: float = 1.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, ...]:
    """The state after n keys; the last number of the shape is the width of the values."""
    *rows, d_value = shape
    scores = size * t.randn(*rows, n, dtype=dtype)
    values = t.randn(*rows[:-1], n, d_value, dtype=dtype)
    return exercise.reference(scores, values, *nothing_yet(*rows, d_value=d_value, dtype=dtype))


@exercise.prop(1, "Three scores 1, 0, 3: what are the largest and the sum of exp(score - largest)?")
def first_block(t: Trial) -> None:
    """the first block: largest score, and the sum of exponentials"""
    for n in (1, t.integer(2, 5)):
        args = t.randn(3, n), t.randn(n, 4), *nothing_yet(3, d_value=4)
        largest, total, _ = t.parts(t.call(*args))
        t.close(largest, t.want(*args)[0], "largest", note=f"{n} keys")
        t.close(total, t.want(*args)[1], "total", note=f"{n} keys")


@exercise.prop(1, "Both sums count in units of e to the old largest score. What is the new unit?")
def larger(t: Trial) -> None:
    """a later block with larger scores: what was summed is scaled down"""
    t.same(t.randn(3, 4) + 4, t.randn(4, 5), *read(t, 3, 5), note="larger scores")
    t.same(t.randn(6, 4), t.randn(4, 5), *read(t, 6, 5), note="some rows with larger scores")


@exercise.prop(0.5, "The largest score so far may come from an earlier block.")
def smaller(t: Trial) -> None:
    """a later block with smaller scores: what was summed stays"""
    t.same(t.randn(3, 4) - 9, t.randn(4, 5), *read(t, 3, 5), note="smaller scores")


@exercise.prop(
    1, "Take one key at a time. After each step, out / total is the average of what was seen."
)
def whole(t: Trial) -> None:
    """block by block gives softmax at once, wherever the cuts are"""
    n = t.integer(8, 11)
    scores, v = 3 * t.randn(4, n), t.randn(n, 5)
    for cuts in ([1] * n, [n], [2, n - 5, 3]):
        seen = nothing_yet(4, d_value=5)
        for some, values in zip(scores.split(cuts, -1), v.split(cuts, 0), strict=True):
            found = t.call(some, values, *seen)
            largest, total, out = t.parts(found, "largest", "total", "out")
            seen = largest, total, out
        t.close(seen[2] / seen[1], scores.softmax(-1) @ v, "out / total", note=f"blocks of {cuts}")


@exercise.prop(1, "Print -inf - (-inf). Which number could stand in for a largest score of -inf?")
def hidden(t: Trial) -> None:
    """hidden keys, and blocks in which everything is hidden"""
    # Small scores: where something has been seen, what was summed stays as it is.
    scores = (t.randn(3, 4) - 9).masked_fill(~t.keep_mask(3, 4), -math.inf)
    t.same(scores, t.randn(4, 2), *nothing_yet(3, d_value=2), note="some keys hidden")
    scores[1] = -math.inf
    t.same(scores, t.randn(4, 2), *nothing_yet(3, d_value=2), note="a row with nothing to see")
    t.same(scores, t.randn(4, 2), *read(t, 3, 2), note="a row with nothing new to see")
    state = list(exercise.reference(scores, t.randn(4, 2), *nothing_yet(3, d_value=2)))
    late = t.randn(3, 2) - 30
    t.same(late, t.randn(2, 2), *state, note="the first key that is visible comes late")


@exercise.prop(0.5, "exp(100) is infinite in float32. Which exponents can be above 0 in your code?")
def large(t: Trial) -> None:
    """large scores"""
    for size in (1e4, -1e4):
        state = read(t, 3, 2, size=100)
        # Each score twice: a sum of one would hide a division by it.
        scores = (size + 100 * t.randn(3, 2)).repeat(1, 2)
        t.same(scores, t.randn(4, 2), *state, note=f"about {size:g}")


@exercise.prop(1, "Keys are the last axis of the scores and the last but one of the values.")
def the_rest(t: Trial) -> None:
    """any axes in front; gradients; nothing is changed in place"""
    args = t.randn(2, 3, 4), t.randn(2, 4, 5), *read(t, 2, 3, 5)
    both = t.parts(t.call(*args))
    alone = t.parts(t.call(*(x[1] for x in args)))
    t.a_tensor(both[2], (2, 3, 5), "out")
    second = (both[2] / both[1])[1]
    t.close(second, alone[2] / alone[1], "out / total", note="(B, T, S), compared to alone")
    state = read(t, 2, 3, dtype=torch.float64)
    # Smaller scores: the largest stays, so that all five arguments matter.
    scores = t.randn(2, 4, dtype=torch.float64) - 5
    t.gradient(scores, t.randn(4, 3, dtype=torch.float64), *state)
    t.unchanged(t.randn(2, 4), t.randn(4, 3), *read(t, 2, 3))
    t.unchanged(t.randn(2, 4) + 5, t.randn(4, 3), *read(t, 2, 3))
