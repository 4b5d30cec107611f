"""Exercise ``favit.dilated_windows``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.favit import dilated_windows as library_dilated_windows
from course_lib.favit import reflected


def reference(x: Tensor, window: int, dilation: int) -> Tensor:
    """The library's samples."""
    return library_dilated_windows(x, window, dilation)


exercise = Exercise(
    id="favit.dilated_windows",
    function="dilated_windows",
    reference=reference,
    points=6,
    minutes=25,
    difficulty=3,
    chapter="16_favit.html#favit-sampling",
    outcomes=("favit.sampling",),
    severe={"corner_of_each_area": "it has no dilation, and dilation is what is asked for"},
    given=(reflected,),
    forbidden=("patches",),
    example=lambda t: (torch.arange(36.0).view(1, 1, 6, 6), 2, 2),
)


def _size(window: int, dilation: int) -> int:
    return dilation * (window - 1) + 1


def samples(t: Trial, x: Tensor, window: int, dilation: int) -> None:
    """Compare which samples there are, in whatever order."""
    got, want = t.call(x, window, dilation), t.want(x, window, dilation)
    t.expect(isinstance(got, Tensor) and got.dim() == 4, "the result has no four axes")
    got, want = (s.flatten(2).sort(-1).values for s in (got, want))
    t.close(got, want, "the sorted samples", note=f"a map of {tuple(x.shape[2:])}")


@exercise.prop(
    "one area: its samples, row after row",
    points=1,
    hint="Which rows of the map are sampled, and which columns? Each row with each column.",
)
def one_area(t: Trial) -> None:
    window, dilation = t.integer(3, 4), t.integer(2, 4)
    side = _size(window, dilation)
    t.same(t.randn(1, 2, side, side), window, dilation)


@exercise.prop(
    "several areas, row after row, in an oblong map",
    points=1.5,
    hint="Number the areas as you read a page. Where does the second one begin?",
)
def several(t: Trial) -> None:
    window, dilation = t.integer(2, 4), t.integer(2, 3)
    side = _size(window, dilation)
    t.same(t.randn(2, 3, 2 * side, 3 * side), window, dilation)


@exercise.prop(
    "without gaps, windows are side by side", points=0.5, hint="At dilation 1 an area is a window."
)
def no_gaps(t: Trial) -> None:
    t.same(t.randn(1, 2, 6, 9), 3, 1)


@exercise.prop(
    "a map that areas don't fill goes on in the mirror",
    points=1.5,
    hint="`reflected` tells for each place behind the edge whose value stands there. Print some.",
)
def mirror(t: Trial) -> None:
    window, dilation = t.integer(3, 4), t.integer(2, 3)
    side = _size(window, dilation)
    samples(t, t.randn(1, 2, side + 2, 2 * side + 1), window, dilation)
    samples(t, t.randn(2, 1, 2 * side - 1, side + 1), window, dilation)


@exercise.prop(
    "a map much smaller than an area: mirrored again and again",
    points=1,
    hint="What does the padding of the library say to a mirror wider than the map?",
)
def small_maps(t: Trial) -> None:
    samples(t, t.randn(1, 2, t.integer(2, 5), t.integer(6, 8)), 4, 8)
    samples(t, t.randn(1, 1, 1, t.integer(2, 4)), 3, 2)


@exercise.prop(
    "gradients come back to every sample, and half precision stays what it is",
    points=0.5,
    hint="Pick values out of the map itself, and don't make a new tensor of numbers.",
)
def gradients(t: Trial) -> None:
    t.gradient(t.randn(1, 2, 7, 6, dtype=torch.float64), 3, 2)
    x = t.randn(1, 2, 7, 6)
    low, note = t.call(x.half(), 3, 2), "float16, compared to float32"
    t.close(low, t.call(x, 3, 2).half(), note=note, exact=True)
    before = x.clone()
    t.close(t.reply(x, 3, 2).after[0], before, "the map after the call")


@exercise.mistake("Where does the second area begin: right behind the last sample of the first?")
def one_token_too_far(x, window, dilation):
    """An area is D times M tokens wide."""
    size = dilation * window
    for axis in (2, 3):
        side = x.shape[axis]
        n = -(-side // (size - dilation + 1))
        places = reflected(n * size, side).view(n, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


@exercise.mistake("How far apart are the samples that you take of an area?")
def corner_of_each_area(x, window, dilation):
    """A larger area gives a window of its first M rows and columns."""
    size = dilation * (window - 1) + 1
    for axis in (2, 3):
        side = x.shape[axis]
        n = -(-side // size)
        places = reflected(n * size, side).view(n, size)[:, :window].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


@exercise.mistake("Which place of a window comes second: the one to the right, or the one below?")
def places_down(x, window, dilation):
    """Places of a window are numbered down its columns."""
    size = dilation * (window - 1) + 1
    for axis in (2, 3):
        side = x.shape[axis]
        n = -(-side // size)
        places = reflected(n * size, side).view(n, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 5, 3, 2, 4).flatten(4).flatten(2, 3)


@exercise.mistake("Which axis counts the places of a window, which one the windows?")
def windows_first(x, window, dilation):
    """Windows come first and the places in them second."""
    size = dilation * (window - 1) + 1
    for axis in (2, 3):
        side = x.shape[axis]
        n = -(-side // size)
        places = reflected(n * size, side).view(n, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 2, 4, 3, 5).flatten(4).flatten(2, 3)


@exercise.mistake("What stands behind the edge of a map, according to `reflected`?")
def edge_repeated(x, window, dilation):
    """Beyond the edge its last row and column go on."""
    size = dilation * (window - 1) + 1
    for axis in (2, 3):
        side = x.shape[axis]
        n = -(-side // size)
        places = torch.arange(n * size).clamp(max=side - 1).view(n, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


@exercise.mistake("Is the continuation of a map empty?")
def nothing_beyond(x, window, dilation):
    """Beyond the edge there are zeros."""
    size = dilation * (window - 1) + 1
    rows, columns = (-(-side // size) * size for side in x.shape[2:])
    x = F.pad(x, (0, columns - x.shape[3], 0, rows - x.shape[2]))
    for axis in (2, 3):
        places = torch.arange(x.shape[axis]).view(-1, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


@exercise.mistake("The library's mirror has a limit. Which of your maps exceed it?")
def mirrored_once(x, window, dilation):
    """The padding of the library mirrors as far as one likes."""
    size = dilation * (window - 1) + 1
    rows, columns = (-(-side // size) * size for side in x.shape[2:])
    x = F.pad(x, (0, columns - x.shape[3], 0, rows - x.shape[2]), mode="reflect")
    for axis in (2, 3):
        places = torch.arange(x.shape[axis]).view(-1, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


@exercise.alternative
def window_by_window(x, window, dilation):
    """Loops over areas and places, and prints to stderr."""
    import sys

    size = (window - 1) * dilation + 1
    rows, columns = x.shape[-2:]
    print(rows, columns, file=sys.stderr)
    down = reflected(rows + size, rows).tolist()
    across = reflected(columns + size, columns).tolist()
    windows = []
    for top in range(0, rows, size):
        for left in range(0, columns, size):
            places = [
                x[:, :, down[top + i * dilation], across[left + j * dilation]]
                for i in range(window)
                for j in range(window)
            ]
            windows.append(torch.stack(places, dim=2))
    return torch.stack(windows, dim=3)


@exercise.alternative
def by_views(x, window, dilation):
    """Continues the map, and lets windows be views of it that share memory."""
    size = dilation * (window - 1) + 1
    rows, columns = x.shape[2:]
    y = reflected(math.ceil(rows / size) * size, rows)
    z = reflected(math.ceil(columns / size) * size, columns)
    views = x[:, :, y][..., z].unfold(2, size, size).unfold(3, size, size)
    samples = views[..., ::dilation, ::dilation]
    return samples.flatten(2, 3).flatten(3, 4).transpose(2, 3)


@exercise.alternative
def by_one_gather(x, window, dilation):
    """One index into the flattened map."""
    size = dilation * (window - 1) + 1
    lines = []
    for side in x.shape[2:]:
        n = (side + size - 1) // size
        at = torch.arange(n)[:, None] * size + torch.arange(window) * dilation
        lines.append(reflected(n * size, side)[at])
    rows, columns = lines
    index = rows.T[:, None, :, None] * x.shape[3] + columns.T[None, :, None, :]
    return x.flatten(2)[:, :, index.reshape(window * window, -1)]
