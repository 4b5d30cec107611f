from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.swin.shift_mask import exercise
from course_lib.swin import Layout, window_mask


@exercise.answer
def reference(rows: int, columns: int, window: int, shift: int) -> Tensor:
    """The library's mask."""
    return window_mask(Layout((rows, columns), (window, window), (shift, shift)))


@exercise.mistake("Rolling back brings tokens home, with what they have heard. When did they hear?")
def nothing_leaks(rows, columns, window, shift):
    """The roll is undone after attention, so nothing leaks."""
    n = rows // window * (columns // window)
    return torch.ones(n, window**2, window**2, dtype=torch.bool)


def right(rows, columns, window, shift):
    """Base of the mistakes, itself right."""
    y, x = torch.arange(rows) >= rows - shift, torch.arange(columns) >= columns - shift
    region = 2 * y[:, None].int() + x.int()
    tiles = region.view(rows // window, window, columns // window, window).transpose(1, 2)
    flat = tiles.reshape(-1, window**2)
    return flat[:, :, None] == flat[:, None, :]


@exercise.mistake("In this course, what does True in a mask mean?")
@changed(right, ("== flat", "!= flat"))
def true_is_blocked():
    """True says that a pair is blocked."""


@exercise.mistake("What happens between your regions and the windows: has the image been rolled?")
@changed(right, (">= rows -", "<"), (">= columns -", "<"))
def regions_not_rolled():
    """Regions of the image are cut into windows as they lie."""


@exercise.mistake("Roll a column of 8 numbers by 1: how many have come round? And by 3?")
def rest_of_the_window(rows, columns, window, shift):
    """As many tokens come round as remain of a window when the shift is subtracted."""
    moved = (window - shift) % window
    y, x = torch.arange(rows) >= rows - moved, torch.arange(columns) >= columns - moved
    region = 2 * y[:, None].int() + x.int()
    tiles = region.view(rows // window, window, columns // window, window).transpose(1, 2)
    flat = tiles.reshape(-1, window**2)
    return flat[:, :, None] == flat[:, None, :]


@exercise.mistake("In the last window, is a token from the top right a neighbour of one from the"
                  " bottom left?")  # fmt: skip
@changed(right, ("2 * y[:", "y[:"), (".int() + x.int()", "| x"))
def round_or_not():
    """Tokens that came round any edge belong together."""


@exercise.mistake("Two tokens of the same row, at both ends of it: does your mask separate them?")
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
@changed(right, (").transpose(1, 2)", ")"), ("= tiles", "= tiles.permute(2, 0, 1, 3)"))
def windows_down_the_columns():
    """Windows are numbered down the columns."""


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
