"""Exercise ``cheaper.take_in``."""

import math

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.efficient import Running, online_step


def reference(
    scores: Tensor, v: Tensor, largest: Tensor, total: Tensor, out: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The library's step, with the state as a plain tuple."""
    seen = online_step(scores, v, Running(largest, total, out))
    return seen.largest, seen.total, seen.out


exercise = Exercise(
    id="cheaper.take_in",
    function="take_in",
    reference=reference,
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
    return reference(scores, values, *nothing_yet(*rows, d_value=d_value, dtype=dtype))


@exercise.prop(
    "the first block: largest score, and the sum of exponentials",
    points=1,
    hint="Three scores 1, 0, 3: what are the largest and the sum of exp(score - largest)?",
)
def first_block(t: Trial) -> None:
    for n in (1, t.integer(2, 5)):
        args = t.randn(3, n), t.randn(n, 4), *nothing_yet(3, d_value=4)
        largest, total, _ = t.parts(t.call(*args), *exercise.returns)
        t.close(largest, t.want(*args)[0], "largest", note=f"{n} keys")
        t.close(total, t.want(*args)[1], "total", note=f"{n} keys")


@exercise.prop(
    "a later block with larger scores: what was summed is scaled down",
    points=1,
    hint="Both sums count in units of e to the old largest score. What is the new unit?",
)
def larger(t: Trial) -> None:
    t.same(t.randn(3, 4) + 4, t.randn(4, 5), *read(t, 3, 5), note="larger scores")
    t.same(t.randn(6, 4), t.randn(4, 5), *read(t, 6, 5), note="some rows with larger scores")


@exercise.prop(
    "a later block with smaller scores: what was summed stays",
    points=0.5,
    hint="The largest score so far may come from an earlier block.",
)
def smaller(t: Trial) -> None:
    t.same(t.randn(3, 4) - 9, t.randn(4, 5), *read(t, 3, 5), note="smaller scores")


@exercise.prop(
    "block after block is softmax at once, wherever the cuts are",
    points=1,
    hint="Take one key at a time. After each step, out / total is the average of what was seen.",
)
def whole(t: Trial) -> None:
    n = t.integer(8, 11)
    scores, v = 3 * t.randn(4, n), t.randn(n, 5)
    for cuts in ([1] * n, [n], [2, n - 5, 3]):
        seen = nothing_yet(4, d_value=5)
        for some, values in zip(scores.split(cuts, -1), v.split(cuts, 0), strict=True):
            found = t.call(some, values, *seen)
            largest, total, out = t.parts(found, "largest", "total", "out")
            seen = largest, total, out
        t.close(seen[2] / seen[1], scores.softmax(-1) @ v, "out / total", note=f"blocks of {cuts}")


@exercise.prop(
    "hidden keys, and blocks in which everything is hidden",
    points=1,
    hint="Print -inf - (-inf). Which number could stand in for a largest score of -inf?",
)
def hidden(t: Trial) -> None:
    # Small scores: where something has been seen, what was summed stays as it is.
    scores = (t.randn(3, 4) - 9).masked_fill(~t.keep_mask(3, 4), -math.inf)
    t.same(scores, t.randn(4, 2), *nothing_yet(3, d_value=2), note="some keys hidden")
    scores[1] = -math.inf
    t.same(scores, t.randn(4, 2), *nothing_yet(3, d_value=2), note="a row with nothing to see")
    t.same(scores, t.randn(4, 2), *read(t, 3, 2), note="a row with nothing new to see")
    state = list(reference(scores, t.randn(4, 2), *nothing_yet(3, d_value=2)))
    late = t.randn(3, 2) - 30
    t.same(late, t.randn(2, 2), *state, note="the first key that is visible comes late")


@exercise.prop(
    "large scores",
    points=0.5,
    hint="exp(100) is infinite in float32. Which exponents can be above 0 in your code?",
)
def large(t: Trial) -> None:
    for size in (1e4, -1e4):
        state = read(t, 3, 2, size=100)
        # Each score twice: a sum of one would hide a division by it.
        scores = (size + 100 * t.randn(3, 2)).repeat(1, 2)
        t.same(scores, t.randn(4, 2), *state, note=f"about {size:g}")


@exercise.prop(
    "any axes in front; gradients; nothing is changed in place",
    points=1,
    hint="Keys are the last axis of the scores and the last but one of the values.",
)
def the_rest(t: Trial) -> None:
    args = t.randn(2, 3, 4), t.randn(2, 4, 5), *read(t, 2, 3, 5)
    both = t.parts(t.call(*args), *exercise.returns)
    alone = t.parts(t.call(*(x[1] for x in args)), *exercise.returns)
    t.a_tensor(both[2], (2, 3, 5), "out")
    second = (both[2] / both[1])[1]
    t.close(second, alone[2] / alone[1], "out / total", note="(B, T, S), compared to alone")
    state = read(t, 2, 3, dtype=torch.float64)
    # Smaller scores: the largest stays, so that all five arguments matter.
    scores = t.randn(2, 4, dtype=torch.float64) - 5
    t.gradient(scores, t.randn(4, 3, dtype=torch.float64), *state)
    t.unchanged(t.randn(2, 4), t.randn(4, 3), *read(t, 2, 3))
    t.unchanged(t.randn(2, 4) + 5, t.randn(4, 3), *read(t, 2, 3))


@exercise.mistake("Old sums count in units of one number and new ones in units of another.")
def never_rescaled(scores, v, largest, total, out):
    """What has been summed stays as it is."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    weights = (scores - safe).exp()
    return new, total + weights.sum(-1, keepdim=True), out + weights @ v


@exercise.mistake("A larger score comes. Do the earlier ones count for more now, or for less?")
def rescaled_the_wrong_way(scores, v, largest, total, out):
    """The factor is e to the new largest score minus the old one."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor = (safe - largest.masked_fill(largest == -torch.inf, 0.0)).exp()
    weights = (scores - safe).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.mistake("There are two sums. Are both in the new unit?")
def total_alone(scores, v, largest, total, out):
    """Only the sum of the weights has to be rescaled."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    weights = (scores - safe).exp()
    total = total * (largest - safe).exp() + weights.sum(-1, keepdim=True)
    return new, total, out + weights @ v


@exercise.mistake("Print -inf - (-inf).")
def nothing_seen_is_a_number(scores, v, largest, total, out):
    """A block always has a key that may be seen."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    factor, weights = (largest - new).exp(), (scores - new).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.mistake("What becomes of the next step if out is an average already?")
def averages_at_every_step(scores, v, largest, total, out):
    """The output is divided by the sum in each step."""
    new = torch.maximum(largest, scores.amax(-1, keepdim=True))
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor, weights = (largest - safe).exp(), (scores - safe).exp()
    total = total * factor + weights.sum(-1, keepdim=True)
    return new, total, (out * factor + weights @ v) / total.masked_fill(total == 0, 1.0)


@exercise.mistake("A block of small scores comes after one of large ones. Which is the largest?")
def largest_of_this_block(scores, v, largest, total, out):
    """The largest score is that of the block at hand."""
    new = scores.amax(-1, keepdim=True)
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor, weights = (largest - safe).exp(), (scores - safe).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.mistake("One number for each row. Over which axes do you take the largest?")
def one_largest_for_all(scores, v, largest, total, out):
    """One largest score will do for all queries."""
    new = torch.maximum(largest, scores.amax()).amax().expand_as(largest).clone()
    safe = new.masked_fill(new == -torch.inf, 0.0)
    factor, weights = (largest - safe).exp(), (scores - safe).exp()
    return new, total * factor + weights.sum(-1, keepdim=True), out * factor + weights @ v


@exercise.alternative
def old_sums_as_a_key(scores, v, largest, total, out):
    """What has been seen is one more key, with the logarithm of its sum as score; prints."""
    import sys

    print("one step", file=sys.stderr)
    new = torch.maximum(largest, scores.max(dim=-1, keepdim=True).values)
    unit = torch.where(new.isinf(), torch.zeros_like(new), new)
    old = torch.exp(largest - unit)
    joined = torch.cat([old * total, torch.exp(scores - unit)], dim=-1)
    parts = torch.cat([(old * out).unsqueeze(-2)], dim=-2)
    return new, joined.sum(-1, keepdim=True), parts.squeeze(-2) + joined[..., 1:] @ v


@exercise.alternative
def key_by_key(scores, v, largest, total, out):
    """One key after the other, with a branch instead of a maximum."""
    for j in range(scores.shape[-1]):
        score = scores[..., j : j + 1]
        larger = score > largest
        both = (score == -torch.inf) & (largest == -torch.inf)
        gap = torch.where(both, -torch.inf, -(score - largest).abs())
        gap = torch.where(both, torch.full_like(gap, -torch.inf), gap)
        old = torch.where(larger, gap.exp(), torch.ones_like(gap))
        new = torch.where(larger, torch.ones_like(gap), gap.exp())
        total = total * old + new
        out = out * old + new * v[..., j : j + 1, :]
        largest = torch.where(larger, score, largest)
    return largest, total, out
