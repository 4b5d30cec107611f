from course_lib.bank.favit.dilated_windows import exercise
from course_lib.bank.prelude import F, Tensor, changed, math, torch
from course_lib.favit import dilated_windows as library_dilated_windows
from course_lib.favit import reflected


@exercise.answer
def reference(x: Tensor, window: int, dilation: int) -> Tensor:
    """The library's samples."""
    return library_dilated_windows(x, window, dilation)


def right(x, window, dilation):
    """Base of the mistakes, itself right."""
    size = dilation * (window - 1) + 1
    for axis in (2, 3):
        side = x.shape[axis]
        n = -(-side // size)
        places = reflected(n * size, side).view(n, size)[:, ::dilation].flatten()
        x = x.index_select(axis, places)
    areas = x.unflatten(3, (-1, window)).unflatten(2, (-1, window))
    return areas.permute(0, 1, 3, 5, 2, 4).flatten(4).flatten(2, 3)


@exercise.mistake("Where does the second area begin: right after the last sample of the first?")
@changed(right, ("(window - 1) + 1", "window"), ("// size", "// (size - dilation + 1)"))
def one_token_too_far():
    """An area is D times M tokens wide."""


@exercise.mistake("How far apart are the samples that you take of an area?")
@changed(right, (":dilation", "window"))
def corner_of_each_area():
    """A larger area gives a window of its first M rows and columns."""


@exercise.mistake("Which place of a window comes second: the one to the right, or the one below?")
@changed(right, ("3, 5, 2", "5, 3, 2"))
def places_down():
    """Places of a window are numbered down its columns."""


@exercise.mistake("Which axis counts the places of a window, which one the windows?")
@changed(right, ("3, 5, 2, 4", "2, 4, 3, 5"))
def windows_first():
    """Windows come first and the places in them second."""


@exercise.mistake("What lies beyond the edge of a map, according to `reflected`?")
@changed(right, ("reflected(n * size, side", "torch.arange(n * size).clamp(max=side - 1"))
def edge_repeated():
    """Beyond the edge its last row and column go on."""


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
