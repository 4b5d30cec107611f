from collections.abc import Callable

from course_lib.bank.prelude import Exercise, Tensor, Trial, torch
from course_lib.favit import average_neighbouring_channels, informative_keys


def _alike(one: Tensor, other: Tensor) -> bool:
    return torch.allclose(one, other, rtol=1e-3, atol=1e-4)


exercise = Exercise(
    id="favit.name_operator",
    points=6,
    minutes=25,
    difficulty=3,
    chapter="16_favit.html#favit-fusion",
    outcomes=("favit.fusion",),
    example=lambda t: _sample(t, "mean", 4, 3, 6),
)


def _experiment(
    t: Trial, windows: Tensor, fuse: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, ...]:
    """Run an operator on windows, and in two other orders.

    The orders are not their own inverse, and leave nothing in its place.
    """
    order, channels = (torch.arange(n).roll(t.integer(1, 2)) for n in windows.shape[1:])
    queries = 2 * t.randn(1, 1, 30, windows.shape[2])
    return (
        windows,
        fuse(windows, queries),
        order,
        fuse(windows[:, order], queries),
        channels,
        fuse(windows[..., channels], queries[..., channels]),
    )


def _linear(t: Trial, windows: Tensor, weight: Tensor, bias: float = 0.0) -> tuple[Tensor, ...]:
    return _experiment(t, windows, lambda w, q: torch.einsum("lwc,w->lc", w, weight) + bias)


def _sample(t: Trial, name: str, L: int, nW: int, c: int) -> tuple[Tensor, ...]:
    """Random windows, and what an operator makes of them."""
    windows = t.randn(L, nW, c)
    if name == "linear":
        return _linear(t, windows, t.randn(nW), t.randn(1).item())
    matrix = t.randn(c, nW * c)
    if name == "pointwise preserving the sum":
        matrix = matrix - matrix.mean(0) + 1 / (nW * c)

    def fuse(w: Tensor, q: Tensor) -> Tensor:
        if name == "mean":
            return w.mean(1)
        if name == "max":
            return w.amax(1)
        if name == "channels":
            return average_neighbouring_channels(w[None, None])[0, 0]
        if name == "select":
            samples = w.flatten(0, 1)
            return samples[informative_keys(q, samples[None, None], L)[0, 0]]
        return w.flatten(1) @ matrix.T

    found = _experiment(t, windows, fuse)
    # Samples that are one at each place stay in order, however windows are exchanged.
    if name == "select" and _alike(found[1], found[3]):
        return _sample(t, name, L, nW, c)
    return found


def _contrast(t: Trial, name: str, other: str) -> None:
    """An operator, and one that is easily taken for it."""
    for L, nW, c in ((9, 5, 7), (4, t.integer(3, 6), t.integer(8, 12)), (16, 6, 5)):
        t.same(*_sample(t, name, L, nW, c))
    t.same(*_sample(t, other, 9, 5, 7))


@exercise.prop(1, "Sums in another order differ in their last digit. How do you compare?")
def mean(t: Trial) -> None:
    """ "mean": ignores the order of windows, and treats every channel alike"""
    _contrast(t, "mean", "linear")


@exercise.prop(
    1,
    "Mean and maximum both stay when windows move. What do their values have to do with the"
    " windows'?",
)
def maximum(t: Trial) -> None:
    """ "max": ignores the order of windows, too"""
    _contrast(t, "max", "mean")


@exercise.prop(1, "Which of the two exchanges does a weighted sum of windows notice?")
def linear(t: Trial) -> None:
    """ "linear": windows have weights, channels move along"""
    _contrast(t, "linear", "pointwise")
    # Marks of a selection: whole rows, all of them, and exactly.
    weight = torch.tensor([1.0, -0.5, 0.3, 0.7, -0.9])
    windows = t.randn(9, 5, 7)
    windows[0, 1:] = 0
    t.same(*_linear(t, windows, weight), note="one row is a sample")
    t.same(*_linear(t, t.randn(9, 5, 7), weight, -20.0), note="less than all samples")
    windows = t.randn(9, 5, 7)
    windows[..., 2] = 0
    t.same(*_linear(t, windows, weight), note="one channel is 0")
    digits = t.integers(-1, 1, 9, 5, 7).float()
    digits[:, 0] = t.randn(9, 1).sign()
    weight = torch.tensor([0.0, 0.0, -1.0, 0.0, 0.0])
    t.same(*_linear(t, digits, weight), note="single numbers are in the samples")


@exercise.prop(
    1, "Both exchanges change more than the order of the result. Which other operator does that?"
)
def pointwise(t: Trial) -> None:
    """ "pointwise": a matrix for all windows and channels together"""
    _contrast(t, "pointwise", "channels")
    t.same(*_sample(t, "pointwise preserving the sum", 9, 5, 7))


@exercise.prop(
    1, "The chapter shows what it makes of 0 to 11. Can you say what it must be for any windows?"
)
def channels(t: Trial) -> None:
    """ "channels": the mean of neighbouring channels"""
    _contrast(t, "channels", "pointwise")


@exercise.prop(1, "Look at whole rows of the result: where have you seen them before?")
def select(t: Trial) -> None:
    """ "select": some of the samples, as they are"""
    _contrast(t, "select", "max")
