from course_lib.bank.prelude import Exercise, F, Tensor, Trial, torch


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


exercise = Exercise(
    id="favit.fuse_windows",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="16_favit.html#favit-fusion",
    outcomes=("favit.fusion",),
    given=(colleagues_fuse_windows,),
    example=lambda t: (t.randn(1, 1, 2, 4, 4), "linear", t.randn(4)),
)


@exercise.prop(
    1,
    "Which axis of (B, H, L, nW, c) is gone? And if you flatten: channels and windows then lie in"
    " one row. Which numbers are neighbours?",
)
def mean(t: Trial) -> None:
    """mean: over windows, and never over channels"""
    t.same(t.randn(2, 3, 9, t.integer(3, 5), t.integer(6, 8)), "mean")
    windows = t.randn(1, 2, 4, 4, 4)
    order = t.permutation(4)
    here, there = (t.call(w, "mean") for w in (windows, windows[:, :, :, order]))
    t.close(here, windows.mean(3), "the mean")
    t.close(there, here, "the mean", note="windows in another order")


@exercise.prop(
    1, "What is the maximum of -3 and -2? What does yours begin with, and what does it return?"
)
def maximum(t: Trial) -> None:
    """max: also where all windows are negative"""
    windows = t.randn(1, 2, 9, t.integer(3, 5), 6)
    t.same(windows, "max")
    t.same(-1 - windows.abs(), "max", note="all negative")


@exercise.prop(
    1.5, "Against which axis does a tensor (nW,) line up in a product with (B, H, L, nW, c)?"
)
def linear(t: Trial) -> None:
    """linear: each window has its weight, whether or not there are as many as channels"""
    for n_windows, width in ((t.integer(2, 3), t.integer(5, 6)), (4, 4)):
        t.same(t.randn(2, 1, 4, n_windows, width), "linear", t.randn(n_windows))


@exercise.prop(0.5, "What is the mean of a single window?")
def one_window(t: Trial) -> None:
    """one window is returned as it is by mean and max, in its own dtype"""
    for operator in ("mean", "max"):
        t.same(t.randn(1, 2, 4, 1, 5, dtype=torch.float16), operator, exact=True)
        t.same(t.randn(1, 2, 4, 1, 5), operator)


@exercise.prop(0.5, "What does yours do when it is asked for 'median'?")
def unknown(t: Trial) -> None:
    """another operator is a ValueError"""
    windows = t.randn(1, 1, 4, 3, 3)
    t.raises(windows, "median", t.randn(3), why="the operator is 'median'")
    t.same(windows, "mean")


@exercise.prop(0.5, "Stay with tensors from the first line to the last.")
def gradients(t: Trial) -> None:
    """gradients reach windows and weights"""
    windows = t.randn(1, 1, 2, 3, 4, dtype=torch.float64)
    t.gradient(windows, "linear", t.randn(3, dtype=torch.float64))
    t.gradient(windows, "mean")
    t.gradient(windows, "max")
