"""Exercise ``favit.fuse_windows``."""

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def colleagues_fuse_windows(windows: Tensor, operator: str, weight: Tensor | None = None) -> Tensor:
    """Fuse windows (B, H, L, nW, c) place by place to (B, H, L, c), with three faults."""
    B, H, L, nW, c = windows.shape
    if operator == "mean":
        pooled = F.adaptive_avg_pool2d(windows.flatten(3).flatten(0, 1), (L, c))
        return pooled.unflatten(0, (B, H))
    if operator == "max":
        largest = torch.zeros_like(windows[:, :, :, 0])
        for window in windows.unbind(3):
            largest = torch.maximum(largest, window)
        return largest
    assert weight is not None
    return (windows * weight).sum(3)


def reference(windows: Tensor, operator: str, weight: Tensor | None = None) -> Tensor:
    """Mean, maximum or weighted sum along the fourth axis."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3)
    if operator != "linear" or weight is None:
        raise ValueError(f"operator is {operator!r}, wanted 'mean', 'max' or 'linear'")
    return (windows * weight[:, None]).sum(3)


exercise = Exercise(
    id="favit.fuse_windows",
    function="fuse_windows",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=2,
    chapter="16_favit.html#favit-fusion",
    outcomes=("favit.fusion",),
    given=(colleagues_fuse_windows,),
    example=lambda t: (t.randn(1, 1, 2, 4, 4), "linear", t.randn(4)),
)


@exercise.prop(
    "mean: over windows, and never over channels",
    points=1,
    hint="Which axis of (B, H, L, nW, c) is gone? And if you flatten: channels and windows then lie"
    " in one row. Who stands beside whom?",
)
def mean(t: Trial) -> None:
    t.same(t.randn(2, 3, 9, t.integer(3, 5), t.integer(6, 8)), "mean")
    windows = t.randn(1, 2, 4, 4, 4)
    order = t.permutation(4)
    here, there = (t.call(w, "mean") for w in (windows, windows[:, :, :, order]))
    t.close(here, windows.mean(3), "the mean")
    t.close(there, here, "the mean", note="windows in another order")


@exercise.prop(
    "max: also where all windows are negative",
    points=1,
    hint="What is the maximum of -3 and -2? What does yours begin with, and what does it return?",
)
def maximum(t: Trial) -> None:
    windows = t.randn(1, 2, 9, t.integer(3, 5), 6)
    t.same(windows, "max")
    t.same(-1 - windows.abs(), "max", note="all negative")


@exercise.prop(
    "linear: each window has its weight, whether or not there are as many as channels",
    points=1.5,
    hint="Against which axis does a tensor (nW,) line up in a product with (B, H, L, nW, c)?",
)
def linear(t: Trial) -> None:
    for n_windows, width in ((t.integer(2, 3), t.integer(5, 6)), (4, 4)):
        t.same(t.randn(2, 1, 4, n_windows, width), "linear", t.randn(n_windows))


@exercise.prop(
    "one window is returned as it is by mean and max, in its own dtype",
    points=0.5,
    hint="What is the mean of a single window?",
)
def one_window(t: Trial) -> None:
    for operator in ("mean", "max"):
        t.same(t.randn(1, 2, 4, 1, 5, dtype=torch.float16), operator, exact=True)
        t.same(t.randn(1, 2, 4, 1, 5), operator)


@exercise.prop(
    "another operator is a ValueError",
    points=0.5,
    hint="What does yours do when it is asked for 'median'?",
)
def unknown(t: Trial) -> None:
    windows = t.randn(1, 1, 4, 3, 3)
    t.raises(windows, "median", t.randn(3), why="the operator is 'median'")
    t.same(windows, "mean")


@exercise.prop(
    "gradients reach windows and weights",
    points=0.5,
    hint="Stay with tensors from the first line to the last.",
)
def gradients(t: Trial) -> None:
    windows = t.randn(1, 1, 2, 3, 4, dtype=torch.float64)
    t.gradient(windows, "linear", t.randn(3, dtype=torch.float64))
    t.gradient(windows, "mean")
    t.gradient(windows, "max")


@exercise.mistake("Run the three symptoms on your version.")
def as_it_was(windows, operator, weight=None):
    """The shapes are right, so the function is."""
    return colleagues_fuse_windows(windows, operator, weight)


@exercise.mistake("Of which numbers is the first value the mean? The first symptom tells.")
def pools_channels(windows, operator, weight=None):
    """An average that leaves c of nW times c numbers averages windows."""
    if operator == "mean":
        return colleagues_fuse_windows(windows, operator)
    if operator == "max":
        return windows.amax(3)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.mistake("Give it windows in which every number is negative.")
def begins_at_zero(windows, operator, weight=None):
    """A maximum can begin at 0."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3).clamp(min=0)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.mistake("Try a weighted sum with three windows and five channels.")
def weights_of_channels(windows, operator, weight=None):
    """A tensor of weights finds its axis by itself."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3)
    if operator != "linear":
        raise ValueError(operator)
    return (windows * weight).sum(3)


@exercise.mistake("Are the weights of a linear operator shares of a whole?")
def weights_sum_to_one(windows, operator, weight=None):
    """Weights of a sum are shares, so they are divided by their total."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight / weight.sum())


@exercise.mistake("Of -3 and 2, which is the larger one?")
def largest_size(windows, operator, weight=None):
    """The maximum is the value that is furthest from 0."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        index = windows.abs().argmax(3, keepdim=True)
        return windows.gather(3, index).squeeze(3)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.mistake("What comes back for an operator that does not exist?")
def else_is_linear(windows, operator, weight=None):
    """What is neither mean nor maximum is a weighted sum."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.amax(3)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.mistake("Call `backward` on a maximum. Which windows get a gradient?")
def maximum_is_no_number_to_learn_from(windows, operator, weight=None):
    """What is chosen needs no gradient."""
    if operator == "mean":
        return windows.mean(3)
    if operator == "max":
        return windows.detach().amax(3)
    if operator != "linear":
        raise ValueError(operator)
    return torch.einsum("bhlwc,w->bhlc", windows, weight)


@exercise.alternative
def window_after_window(windows, operator, weight=None):
    """Adds up or compares one window after the other; warns."""
    import warnings

    warnings.warn("a loop", stacklevel=1)
    if operator not in {"mean", "max", "linear"}:
        raise ValueError("no such operator")
    first, *others = windows.unbind(dim=-2)
    if operator == "max":
        for other in others:
            first = torch.where(other > first, other, first)
        return first
    factors = [1 / windows.shape[-2]] * windows.shape[-2] if operator == "mean" else weight.unbind()
    total = first * factors[0]
    for other, factor in zip(others, factors[1:], strict=True):
        total = total + other * factor
    return total


@exercise.alternative
def by_matrix_product(windows, operator, weight=None):
    """Brings the windows to the end and multiplies with a vector, or sorts."""
    last = windows.transpose(-1, -2)
    match operator:
        case "max":
            return last.sort(dim=-1).values[..., -1]
        case "mean":
            n = last.shape[-1]
            return (last @ last.new_ones(n, 1)).squeeze(-1) / n
        case "linear":
            return last @ weight
    raise ValueError(f"{operator} is unknown")
