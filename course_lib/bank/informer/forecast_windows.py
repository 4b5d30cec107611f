from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="informer.forecast_windows",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="17_forecast.html#informer-data",
    outcomes=("informer.protocol",),
    severe={
        "nothing_before_the_split": "no row of the split but the last ones is a target",
        "overlap": "the first target of each window is its last input",
    },
    example=lambda t: (t.randn(40, 2, dtype=torch.float64), 20, 0, 9, 6, 3),
    returns=("the inputs", "the targets"),
)


def _series(t: Trial, rows: int, channels: int) -> Tensor:
    # The level rises and the swings grow: each stretch has a mean and a spread of its own.
    time = torch.arange(rows, dtype=torch.float64)[:, None] / rows
    return (1 + 2 * time) * t.randn(rows, channels, dtype=torch.float64) + 9 * time


def _pair(t: Trial, *args: object) -> tuple[Tensor, Tensor]:
    got = t.values(t.call(*args))
    want = t.want(*args)
    return tuple(  # type: ignore[return-value]
        t.a_tensor(g, w.shape, what)
        for g, w, what in zip(got, want, ("the inputs", "the targets"), strict=True)
    )


def _windows(t: Trial, *args: object) -> Tensor:
    """Inputs and targets of each window in one row, of however many windows there are."""
    got, want = t.parts(t.call(*args)), t.want(*args)
    for g, w, what in zip(got, want, exercise.returns, strict=True):
        t.expect(len(got[0]) > 0 and g.ndim == 3, f"{what} are not windows (N, rows, columns)")
        t.a_tensor(g, (len(got[0]), *w.shape[1:]), what)
    return torch.cat(got, dim=1)


def _digits(t: Trial, *args: object) -> None:
    """Compare the first window with the one that it comes nearest to: which ones there are is asked
    on its own.
    """
    got, want = _windows(t, *args)[0], torch.cat(t.want(*args), dim=1)
    nearest = want[int((want - got).abs().amax((1, 2)).argmin())]
    t.close(got, nearest, "the first window, against the one that it comes nearest to")


def _unit(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Windows in units of their own: which rows they hold does not depend on the scale."""
    both = torch.cat([x, y], dim=1).double()
    rows = both.flatten(0, 1)
    both = ((both - rows.mean(0)) / rows.std(0).clamp(min=1e-9)).float()
    return both[:, : x.shape[1]], both[:, x.shape[1] :]


def _which(t: Trial, note: str, *args: object) -> None:
    """Compare which rows are in which window, whatever the scale."""
    got, want = _unit(*_pair(t, *args)), _unit(*t.want(*args))
    for g, w, what in zip(got, want, exercise.returns, strict=True):
        t.close(g, w, what, note=f"{note}, with the scale taken out")


@exercise.prop(1.5, "Add 100 to the rows of the test. Should anything before them change?")
def scaled(t: Trial) -> None:
    """each column is standardised by the training rows' mean and deviation"""
    n, seq_len, pred_len = t.integer(20, 26), t.integer(4, 6), t.integer(2, 4)
    values = _series(t, 50, t.integer(2, 4))
    _digits(t, values, n, 30, 32 + pred_len, seq_len, pred_len)


@exercise.prop(
    1, "Let the series be 0, 1, 2, … and undo the scale: what are the first window's numbers?"
)
def consecutive(t: Trial) -> None:
    """targets begin right after their inputs, and windows lie one row apart"""
    values, seq_len, pred_len = _series(t, 60, 2), t.integer(5, 8), t.integer(2, 4)
    both = _windows(t, values, 30, 30, 50, seq_len, pred_len)
    t.expect(len(both) > pred_len, f"there are {len(both)} windows, expected one for each row")
    # Against each other: the scale and the ends of the split are asked apart.
    t.close(both[1:, :-1], both[:-1, 1:], "a window without its last row", note="against the next")
    t.expect((both[:, 1:] != both[:, :-1]).any(-1).all(), "a row comes twice in a window")
    t.expect((both[1:] != both[:-1]).any(), "all windows are equal")


@exercise.prop(
    1, "Inputs may lie in the split before: they are known by then. How many windows is that?"
)
def all_targets(t: Trial) -> None:
    """every row of the split is a target, the first and the last one, too"""
    seq_len, pred_len = t.integer(4, 8), t.integer(2, 3)
    for first, note in ((30, "a split in the middle"), (45, "the last split")):
        _which(t, note, _series(t, 60, 2), 30, first, first + 15, seq_len, pred_len)


@exercise.prop(0.5, "A slice that begins at -5 begins elsewhere. Where?")
def nothing_before(t: Trial) -> None:
    """with fewer than seq_len rows before the split, the first window begins at row 0"""
    _which(t, "from row 0", _series(t, 40, 2), 20, 0, 20, 6, 2)
    few = t.integer(2, 5)
    _which(t, "fewer rows before than needed", _series(t, 40, 2), 20, few, 25, 7, 2)


@exercise.prop(
    0.5, "In single precision, how many digits of 10 000 000.25 are kept after the point?"
)
def digits(t: Trial) -> None:
    """large numbers keep their digits; what comes out is single precision"""
    args = _series(t, 40, 2) + 1e7, 20, 20, 40, 5, 2
    _digits(t, *args)
    for part, what in zip(t.values(t.call(*args)), exercise.returns, strict=True):
        t.close(part.dtype, torch.float32, f"the dtype of {what}")


@exercise.prop(0.5, "`values -= mean` changes the caller's series.")
def no_side_effect(t: Trial) -> None:
    """the series is left as it was"""
    t.unchanged(_series(t, 40, 2), 20, 20, 30, 5, 2)
