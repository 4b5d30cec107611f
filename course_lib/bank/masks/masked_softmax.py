"""Exercise ``masks.masked_softmax``."""

import math

import torch
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.masks import masked_softmax

exercise = Exercise(
    id="masks.masked_softmax",
    function="masked_softmax",
    reference=masked_softmax,
    points=6,
    minutes=20,
    difficulty=3,
    chapter="05_masks.html#masks-empty",
    outcomes=("masks.empty",),
    example=lambda t: (t.randn(2, 3, 4), t.keep_mask(2, 3, 4)),
    forbidden=("attention",),
)


def _with_empty_rows(t: Trial, *shape: int) -> torch.Tensor:
    mask = t.keep_mask(*shape)
    mask[..., -1, :] = False
    return mask


@exercise.prop(
    "without a mask it is the plain softmax",
    points=0.5,
    hint="Over which axis must the weights of a query sum to 1?",
)
def no_mask(t: Trial) -> None:
    t.same(t.randn(2, 3, 4, 5))
    t.same(t.randn(3, 4))


@exercise.prop(
    "a blocked key gets exactly 0, the others share a weight of 1",
    points=1,
    hint="Print one row of your weights: is anything left on a blocked key, is the sum 1?",
)
def partly_blocked(t: Trial) -> None:
    scores, mask = t.randn(2, 3, 5), t.keep_mask(2, 3, 5)
    # Blocked keys that would win if they were not masked.
    scores = scores.masked_fill(~mask, 3.0)
    weights = t.a_tensor(t.same(scores, mask), (2, 3, 5))
    t.expect((weights[~mask] == 0).all(), "a blocked key still has some weight")
    t.same(t.randn(3, 4), torch.ones(3, 4, dtype=torch.bool), note="a mask of nothing but True")


@exercise.prop(
    "masks (T, S) and (B, 1, 1, S) reach every head and query of scores (B, H, T, S)",
    points=0.5,
    hint="Does every step of yours broadcast, the last ones too?",
)
def broadcasting(t: Trial) -> None:
    # Against the same mask in full: whether its weights are right is asked elsewhere.
    scores = t.randn(3, 2, 4, 5)
    for mask in (t.keep_mask(4, 5), t.keep_mask(3, 1, 1, 5), _with_empty_rows(t, 4, 5)):
        full = t.a_tensor(t.call(scores, mask.expand_as(scores).clone()), scores.shape)
        t.expect((full != full[0, 0, 0, 0]).any(), "all weights are the same")
        t.close(t.call(scores, mask), full, note=f"mask {tuple(mask.shape)}, against it in full")


@exercise.prop(
    "a row without a visible key becomes exactly 0",
    points=1,
    hint="What should a query take from nothing? Is that what a softmax over nothing gives?",
)
def empty_rows(t: Trial) -> None:
    weights = t.same(t.randn(2, 3, 4), _with_empty_rows(t, 2, 3, 4))
    t.expect((weights[:, -1] == 0).all(), "an empty row has weights other than 0")


@exercise.prop(
    "gradients are right in full rows and exactly 0 in empty ones",
    points=1,
    hint="Call backward on a sum of squares and print the gradient of an empty row.",
)
def gradients(t: Trial) -> None:
    scores, mask = t.randn(2, 3, 4, dtype=torch.float64), _with_empty_rows(t, 2, 3, 4)
    t.gradient(scores, mask)
    # Weights that are wrong there have a gradient that fits them.
    found = t.vjp((scores, mask), [t.randn(2, 3, 4, dtype=torch.float64)]).inputs[0]
    t.expect(found is None or (found[:, -1] == 0).all(), "a gradient passes through an empty row")


@exercise.prop(
    "very large scores do no harm, on visible keys or on blocked ones",
    points=0.5,
    hint="Try visible keys that score -10000 beside blocked ones that score +10000.",
)
def large_scores(t: Trial) -> None:
    mask = t.keep_mask(3, 6)
    scores = 1e4 * (1 + t.randn(3, 6).abs())
    t.same(torch.where(mask, -scores, scores), mask, note="the blocked ones higher")
    t.same(torch.where(mask, scores, -scores), mask, note="the visible ones higher")


@exercise.prop(
    "what stands at a blocked key does not matter, be it NaN",
    points=0.5,
    hint="Padding may hold anything. What becomes of a NaN that is added to, or multiplied?",
)
def garbage(t: Trial) -> None:
    scores, mask = t.randn(3, 5), t.keep_mask(3, 5)
    t.same(scores.masked_fill(~mask, math.nan), mask, note="NaN at the blocked keys")
    t.same(scores.masked_fill(~mask, math.inf), mask, note="inf at the blocked keys")


@exercise.prop(
    "half precision works and stays half precision, in both its forms",
    points=0.5,
    hint="What is the largest float16? Does every number you fill in fit, in your dtype?",
)
def half(t: Trial) -> None:
    for dtype in (torch.float16, torch.bfloat16):
        scores, mask = t.randn(2, 3, 4, dtype=dtype), _with_empty_rows(t, 2, 3, 4)
        exact = t.a_tensor(t.call(scores.float(), mask), (2, 3, 4))
        note = f"{dtype}, against float32"
        t.close(t.call(scores, mask), exact.to(dtype), note=note, exact=True)


@exercise.prop(
    "the arguments are left as they were",
    points=0.5,
    hint="Look for operations that end in an underscore, and for assignments into an argument.",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(2, 3, 5), t.keep_mask(2, 3, 5))


@exercise.mistake("What does the softmax see if every score of a row is your number?")
def minus_a_billion(scores, mask=None):
    """Any very negative number is as good as minus infinity."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1)


@exercise.mistake("It fits every dtype. What does a row look like that holds nothing else?")
def smallest_number(scores, mask=None):
    """The smallest number of the dtype is as good as minus infinity."""
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1)


@exercise.mistake("After your mask is applied, do the weights of a row still sum to 1?")
def multiplied_afterwards(scores, mask=None):
    """Masking means to set unwanted weights to zero, whenever that is done."""
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask.to(weights.dtype)


@exercise.mistake("If a blocked key wins the softmax by far, what is left to renormalise?")
def renormalised(scores, mask=None):
    """Zeroing weights and dividing by what is left is the same as masking the scores."""
    weights = scores.softmax(-1)
    if mask is None:
        return weights
    weights = weights * mask.to(weights.dtype)
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


@exercise.mistake("A row of nothing but -inf: what is its largest score, and what is left then?")
def empty_rows_forgotten(scores, mask=None):
    """There is always something to attend to."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(-1)


@exercise.mistake("The NaN is gone from the weights. Is it gone from the gradient?")
def nan_replaced(scores, mask=None):
    """A NaN that is replaced afterwards has done no harm."""
    if mask is None:
        return scores.softmax(-1)
    blocked = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
    return (scores + blocked).softmax(-1).nan_to_num(0.0)


@exercise.mistake("In this course, what does True in a mask mean? Test yours with a single True.")
def inverted(scores, mask=None):
    """True in a mask marks what is hidden, as in nn.MultiheadAttention."""
    if mask is None:
        return scores.softmax(-1)
    scores = scores.masked_fill(mask, -torch.inf)
    empty = mask.all(-1, keepdim=True)
    return scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


@exercise.mistake("The caller may want to look at the scores again: are they still there?")
def masks_in_place(scores, mask=None):
    """The scores are used up anyway, so they can be overwritten."""
    if mask is None:
        return scores.softmax(-1)
    empty = ~mask.any(-1, keepdim=True)
    if scores.requires_grad:
        scores = scores.clone()
    scores.masked_fill_(~mask, -torch.inf)
    return scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


@exercise.mistake("What if a blocked key scores 150 more than all others?")
def minus_a_hundred(scores, mask=None):
    """Scores are small numbers, so that -100 hides a key."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -100.0)
    return scores.softmax(-1)


@exercise.mistake("What if the visible keys score -10000, too?")
def minus_ten_thousand(scores, mask=None):
    """-10000 fits half precision and hides a key there as everywhere."""
    if mask is not None:
        scores = scores.masked_fill(~mask, -10_000.0)
    return scores.softmax(-1)


@exercise.mistake("A blocked key that scores 20000: is it hidden when 10000 is taken off?")
def ten_thousand_less(scores, mask=None):
    """A mask of -10000 for blocked keys and 0 for others is added to the scores."""
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -10_000.0
    return scores.softmax(-1)


@exercise.alternative
def filled_twice(scores, mask=None):
    """Overwrites the NaN of empty rows; the first fill keeps it from the gradient."""
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = mask.logical_not()
    weights = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
    return weights.masked_fill(hidden, 0)


@exercise.alternative
def exponentials(scores, mask=None):
    """Writes the softmax out over the visible keys, and warns about empty rows."""
    import warnings

    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    mask = mask.expand(scores.shape)
    if not mask.any(-1).all():
        warnings.warn("some queries see nothing", stacklevel=1)
    top = torch.where(mask, scores, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    exponent = torch.where(mask, scores - top.detach(), torch.zeros_like(scores))
    e = exponent.exp() * mask
    total = e.sum(-1, keepdim=True)
    return e / (total + (total == 0).to(total.dtype))


@exercise.alternative
def loop_over_rows(scores, mask=None):
    """A softmax over the visible keys of one row at a time."""
    if mask is None:
        return scores.softmax(-1)
    mask = mask.broadcast_to(scores.shape).reshape(-1, scores.shape[-1])
    rows = []
    for row, seen in zip(scores.reshape(-1, scores.shape[-1]), mask, strict=True):
        weights = torch.zeros_like(row)
        if seen.any():
            weights = weights.masked_scatter(seen, row[seen].softmax(0))
        rows.append(weights)
    return torch.stack(rows).reshape(scores.shape)


@exercise.alternative
def softmax_in_single(scores, mask=None):
    """A softmax in single precision, cast back, as large models write it."""
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    lowest = torch.finfo(scores.dtype).min
    weights = F.softmax(scores.masked_fill(~mask, lowest), dim=-1, dtype=torch.float32)
    return weights.to(scores.dtype).masked_fill(~mask, 0.0)
