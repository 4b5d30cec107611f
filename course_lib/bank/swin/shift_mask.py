from course_lib.bank.prelude import Exercise, Tensor, Trial, torch

exercise = Exercise(
    id="swin.shift_mask",
    points=6,
    minutes=25,
    difficulty=4,
    chapter="15_swin.html#swin-shift",
    outcomes=("swin.shift",),
    severe={
        "true_is_blocked": "every entry is the opposite of what is asked for",
        "regions_not_rolled": "windows that need a mask have none, and others have one",
    },
    example=lambda t: (6, 9, 3, 1),
)


def _mask(t: Trial, rows: int, columns: int, window: int, shift: int) -> Tensor:
    """What the answer returns, if it is a mask of the right form."""
    n, N = rows // window * (columns // window), window**2
    return t.a_mask(t.call(rows, columns, window, shift), (n, N, N))


def _places(rows: int, columns: int, window: int, shift: int) -> Tensor:
    """Row and column in the image of each token of each window, (nW, N, 2)."""
    place = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    moved = place.view(rows, columns, 2).roll((-shift, -shift), (0, 1))
    tiles = moved.view(rows // window, window, columns // window, window, 2)
    return tiles.transpose(1, 2).reshape(-1, window**2, 2)


def corners(t: Trial, side: int, window: int, shift: int) -> None:
    """Compare the first window and the last, whose numbers nobody mistakes."""
    mask, want = _mask(t, side, side, window, shift), t.want(side, side, window, shift)
    note = f"windows of {window} in a grid of {side} x {side}, moved by {shift}"
    t.close(mask[0], want[0], "the mask of the first window", note=note)
    t.close(mask[-1], want[-1], "the mask of the last window", note=note)


@exercise.prop(
    1,
    "Write the numbers of a grid of 4 x 4 after the roll by 1 on paper. Which of the numbers in"
    " the last window touch in the image?",
)
def half(t: Trial) -> None:
    """square grids, moved by half a window: the first window and the last"""
    m = 2 * t.integer(1, 3)
    for n in (2, 3, t.integer(4, 9)):
        corners(t, n * m, m, m // 2)


@exercise.prop(1, "After a roll by 1, how many rows at the bottom have come from the top?")
def any_shift(t: Trial) -> None:
    """any other shift: the first window and the last"""
    m = t.integer(4, 7)
    for shift in (1, m - 1):
        corners(t, t.integer(2, 9) * m, m, shift)


@exercise.prop(1, "In which order are windows numbered, and in which order tokens of one?")
def any_shape(t: Trial) -> None:
    """grids that are wide or high"""
    m = t.integer(3, 4)
    t.same(m, t.integer(3, 9) * m, m, 1, note="a single row of windows")
    t.same(t.integer(4, 9) * m, 2 * m, m, m - 1, note="a high grid")


@exercise.prop(
    1, "Two tokens that are further apart in the image than a window is long can't be neighbours."
)
def border(t: Trial) -> None:
    """no token attends across the border of the image"""
    m = t.integer(3, 4)
    sizes = (2 * m, t.integer(3, 9) * m, m, m - 1)
    mask, place = _mask(t, *sizes), _places(*sizes)
    apart = (place[:, :, None] - place[:, None]).abs().amax(-1)
    t.expect(mask.any(), "no token attends to any other")
    wrong = (mask & (apart >= m)).nonzero()
    if len(wrong):
        w, i, j = wrong[0].tolist()
        a, b = (tuple(place[w, x].tolist()) for x in (i, j))
        t.expect(False, f"in window {w}, token {a} of the image attends to {b}, far away")


@exercise.prop(1, "Count the True in each window of your mask. Which windows should have no False?")
def neighbours(t: Trial) -> None:
    """tokens with the same offset in image and window attend to each other, and each to itself"""
    m = t.integer(3, 4)
    sizes = (t.integer(3, 9) * m, 2 * m, m, 1)
    mask, place = _mask(t, *sizes), _places(*sizes)
    apart = (place[:, :, None] - place[:, None]).abs().amax(-1)
    hidden = ((~mask) & (apart < m)).nonzero()
    if len(hidden):
        w, i, j = hidden[0].tolist()
        a, b = (tuple(place[w, x].tolist()) for x in (i, j))
        t.expect(False, f"in window {w}, token {a} of the image may not attend to {b}")
    t.expect(mask[0].all(), "the first window, which nothing came round into, is masked")
    t.expect(mask.equal(mask.mT), "a attends to b and b not to a")


@exercise.prop(
    1,
    "What is `rows - shift` for a shift of 0, and what does the slice from there hold? And"
    " `x[-0:]`?",
)
def still(t: Trial) -> None:
    """nothing is masked when nothing moves"""
    m = t.integer(2, 4)
    t.same(2 * m, t.integer(3, 9) * m, m, 0)
    t.same(m, m, m, 0, note="a single window")
