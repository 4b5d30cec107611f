"""Exercise ``swin.shift_mask``."""

import torch
from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.swin import Layout, window_mask


def reference(rows: int, columns: int, window: int, shift: int) -> Tensor:
    """The library's mask."""
    return window_mask(Layout((rows, columns), (window, window), (shift, shift)))


exercise = Exercise(
    id="swin.shift_mask",
    function="shift_mask",
    reference=reference,
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
    """Row and column in the picture of each token of each window, (nW, N, 2)."""
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
    "square grids, moved by half a window: the first window and the last",
    points=1,
    hint="Write the numbers of a grid of 4 x 4 after the roll by 1 on paper. Which of the numbers"
    " in the last window touch in the picture?",
)
def half(t: Trial) -> None:
    m = 2 * t.integer(1, 2)
    for n in (2, 3):
        corners(t, n * m, m, m // 2)


@exercise.prop(
    "any other shift: the first window and the last",
    points=1,
    hint="After a roll by 1, how many rows at the bottom have come from the top?",
)
def any_shift(t: Trial) -> None:
    m = t.integer(4, 5)
    for shift in (1, m - 1):
        corners(t, 2 * m, m, shift)


@exercise.prop(
    "grids that are wide or high",
    points=1,
    hint="In which order are windows numbered, and in which order tokens of one?",
)
def any_shape(t: Trial) -> None:
    m = t.integer(3, 4)
    t.same(m, 3 * m, m, 1, note="a single row of windows")
    t.same(4 * m, 2 * m, m, m - 1, note="a high grid")


@exercise.prop(
    "no token attends across the border of the picture",
    points=1,
    hint="Two tokens that are further apart in the picture than a window is long can't be"
    " neighbours.",
)
def border(t: Trial) -> None:
    m = t.integer(3, 4)
    sizes = (2 * m, 3 * m, m, m - 1)
    mask, place = _mask(t, *sizes), _places(*sizes)
    apart = (place[:, :, None] - place[:, None]).abs().amax(-1)
    t.expect(mask.any(), "no token attends to any other")
    wrong = (mask & (apart >= m)).nonzero()
    if len(wrong):
        w, i, j = wrong[0].tolist()
        a, b = (tuple(place[w, x].tolist()) for x in (i, j))
        t.expect(False, f"in window {w}, token {a} of the picture attends to {b}, far away")


@exercise.prop(
    "real neighbours in a window attend to each other, and everyone to itself",
    points=1,
    hint="Count the True in each window of your mask. Which windows should have no False?",
)
def neighbours(t: Trial) -> None:
    m = t.integer(3, 4)
    sizes = (3 * m, 2 * m, m, 1)
    mask, place = _mask(t, *sizes), _places(*sizes)
    apart = (place[:, :, None] - place[:, None]).abs().amax(-1)
    hidden = ((~mask) & (apart < m)).nonzero()
    if len(hidden):
        w, i, j = hidden[0].tolist()
        a, b = (tuple(place[w, x].tolist()) for x in (i, j))
        t.expect(False, f"in window {w}, token {a} of the picture may not attend to {b}")
    t.expect(mask[0].all(), "the first window, which nothing came round into, is masked")
    t.expect(mask.equal(mask.mT), "a attends to b and b not to a")


@exercise.prop(
    "nothing is masked when nothing moves",
    points=1,
    hint="What is `rows - shift` for a shift of 0, and what does the slice from there hold? And"
    " `x[-0:]`?",
)
def still(t: Trial) -> None:
    m = t.integer(2, 4)
    t.same(2 * m, 3 * m, m, 0)
    t.same(m, m, m, 0, note="a single window")


@exercise.mistake("Rolling back brings tokens home, with what they have heard. When did they hear?")
def nothing_leaks(rows, columns, window, shift):
    """The roll is undone after attention, so nothing leaks."""
    n = rows // window * (columns // window)
    return torch.ones(n, window**2, window**2, dtype=torch.bool)


@exercise.mistake("In this course, what does True in a mask mean?")
def true_is_blocked(rows, columns, window, shift):
    """True says that a pair is blocked."""
    y, x = torch.arange(rows) >= rows - shift, torch.arange(columns) >= columns - shift
    region = 2 * y[:, None].int() + x.int()
    tiles = region.view(rows // window, window, columns // window, window).transpose(1, 2)
    flat = tiles.reshape(-1, window**2)
    return flat[:, :, None] != flat[:, None, :]


@exercise.mistake("What happens between your regions and the windows: has the picture been rolled?")
def regions_not_rolled(rows, columns, window, shift):
    """Regions of the picture are cut into windows as they lie."""
    y, x = torch.arange(rows) < shift, torch.arange(columns) < shift
    region = 2 * y[:, None].int() + x.int()
    tiles = region.view(rows // window, window, columns // window, window).transpose(1, 2)
    flat = tiles.reshape(-1, window**2)
    return flat[:, :, None] == flat[:, None, :]


@exercise.mistake("Roll a column of 8 numbers by 1: how many have come round? Try any odd shift.")
def rest_of_the_window(rows, columns, window, shift):
    """As many tokens come round as remain of a window when the shift is taken off."""
    moved = (window - shift) % window
    y, x = torch.arange(rows) >= rows - moved, torch.arange(columns) >= columns - moved
    region = 2 * y[:, None].int() + x.int()
    tiles = region.view(rows // window, window, columns // window, window).transpose(1, 2)
    flat = tiles.reshape(-1, window**2)
    return flat[:, :, None] == flat[:, None, :]


@exercise.mistake("In the last window, is a token from the top right a neighbour of one from the"
                  " bottom left?")  # fmt: skip
def round_or_not(rows, columns, window, shift):
    """Tokens that came round any edge belong together."""
    y, x = torch.arange(rows) >= rows - shift, torch.arange(columns) >= columns - shift
    region = y[:, None] | x
    tiles = region.view(rows // window, window, columns // window, window).transpose(1, 2)
    flat = tiles.reshape(-1, window**2)
    return flat[:, :, None] == flat[:, None, :]


@exercise.mistake("Two tokens of the same row, at both ends of it: does your mask part them?")
def either_axis(rows, columns, window, shift):
    """It is enough that two tokens are on the same side along one axis."""
    y, x = torch.arange(rows) >= rows - shift, torch.arange(columns) >= columns - shift
    same = []
    for side in (y[:, None].expand(rows, columns), x.expand(rows, columns)):
        tiles = side.reshape(rows // window, window, columns // window, window).transpose(1, 2)
        flat = tiles.reshape(-1, window**2)
        same.append(flat[:, :, None] == flat[:, None, :])
    return same[0] | same[1]


@exercise.mistake("Which windows of a wide grid does your mask touch? Number them row after row.")
def windows_down_the_columns(rows, columns, window, shift):
    """Windows are numbered down the columns."""
    y, x = torch.arange(rows) >= rows - shift, torch.arange(columns) >= columns - shift
    region = 2 * y[:, None].int() + x.int()
    tiles = region.view(rows // window, window, columns // window, window)
    flat = tiles.permute(2, 0, 1, 3).reshape(-1, window**2)
    return flat[:, :, None] == flat[:, None, :]


@exercise.alternative
def uncut_plan(rows, columns, window, shift):
    """Numbers the windows of the plan with narrow ones at the edge, then rolls and cuts."""
    y = torch.div(torch.arange(rows) - shift, window, rounding_mode="floor")
    x = torch.div(torch.arange(columns) - shift, window, rounding_mode="floor")
    number = (y[:, None] * (columns + 7) + x).roll((-shift, -shift), (0, 1))
    cut = torch.stack([part.flatten() for band in number.split(window) for part in
                       band.split(window, dim=1)])  # fmt: skip
    return cut.unsqueeze(2).eq(cut.unsqueeze(1))


@exercise.alternative
def pair_by_pair(rows, columns, window, shift):
    """Plain Python: where each token comes from, and whether two of them are near; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    masks = []
    for top in range(0, rows, window):
        for left in range(0, columns, window):
            home = [
                ((top + i + shift) % rows, (left + j + shift) % columns)
                for i in range(window)
                for j in range(window)
            ]
            turned = [
                ((top + i + shift) // rows, (left + j + shift) // columns)
                for i in range(window)
                for j in range(window)
            ]
            masks.append([[turned[a] == turned[b] for b in range(len(home))]
                          for a in range(len(home))])  # fmt: skip
    return torch.tensor(masks)


@exercise.alternative
def nine_regions(rows, columns, window, shift):
    """The published way: three slices along each axis, nine regions, a difference that is 0."""
    image = torch.zeros(rows, columns)
    if shift:
        cuts = (slice(0, -window), slice(-window, -shift), slice(-shift, None))
        for number, (h, w) in enumerate([(h, w) for h in cuts for w in cuts]):
            image[h, w] = number
    tiles = image.unflatten(1, (-1, window)).unflatten(0, (-1, window)).permute(0, 2, 1, 3)
    flat = tiles.flatten(2).flatten(0, 1)
    return (flat.unsqueeze(1) - flat.unsqueeze(2)) == 0
