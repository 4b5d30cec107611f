from course_lib.bank.favit.group_survey import exercise
from course_lib.bank.prelude import math, torch
from course_lib.favit import group_survey as library_group_survey


@exercise.answer
def reference(rows: int, columns: int, window: int, dilation: int) -> tuple[int, int, int]:
    """The library's survey."""
    return library_group_survey(rows, columns, window, dilation)


@exercise.mistake("Where does the last sample of a window lie, and what comes after it?")
def dilation_times_window(rows, columns, window, dilation):
    """M samples at distance D take D times M places."""
    size = dilation * window
    areas, samples = 1, 1
    for side in (rows, columns):
        along = math.ceil(side / size)
        areas *= along
        samples *= sum(a * size + i * dilation < side for a in range(along) for i in range(window))
    return size, areas, samples


@exercise.mistake("How many posts does a fence of six gaps have?")
def gaps_alone(rows, columns, window, dilation):
    """The side of an area is the distance from its first sample to its last."""
    size = dilation * (window - 1)
    areas, samples = 1, 1
    for side in (rows, columns):
        along = math.ceil(side / size)
        areas *= along
        samples *= sum(a * size + i * dilation < side for a in range(along) for i in range(window))
    return size, areas, samples


@exercise.mistake("What becomes of the tokens after the last whole area?")
def only_whole_areas(rows, columns, window, dilation):
    """What doesn't fill an area is left out."""
    size = dilation * (window - 1) + 1
    areas = max(rows // size, 1) * max(columns // size, 1)
    return size, areas, areas * window**2


@exercise.mistake("On the task's line, are all samples of the last area on the map?")
def all_samples_on_the_map(rows, columns, window, dilation):
    """Every area has all of its samples on the map."""
    size = dilation * (window - 1) + 1
    areas = math.ceil(rows / size) * math.ceil(columns / size)
    return size, areas, areas * window**2


@exercise.mistake("Try a map of one row and many columns.")
def square_maps(rows, columns, window, dilation):
    """Both axes are alike."""
    size = dilation * (window - 1) + 1
    along = math.ceil(rows / size)
    samples = sum(a * size + i * dilation < rows for a in range(along) for i in range(window))
    return size, along**2, samples**2


@exercise.mistake("What lies between two samples: is it looked at?")
def tokens_of_the_areas(rows, columns, window, dilation):
    """A group reads all tokens of its areas."""
    size = dilation * (window - 1) + 1
    return size, math.ceil(rows / size) * math.ceil(columns / size), rows * columns


@exercise.mistake("Do areas overlap? Where does the second one begin?")
def sliding_areas(rows, columns, window, dilation):
    """An area begins at every token, as a convolution's does."""
    size = dilation * (window - 1) + 1
    areas = max(rows - size + 1, 1) * max(columns - size + 1, 1)
    return size, areas, areas * window**2


@exercise.alternative
def by_marking(rows, columns, window, dilation):
    """Marks samples on a canvas that is larger than the map, and cuts the map out of it."""
    reach = dilation * (window - 1)
    areas = [-(-side // (reach + 1)) for side in (rows, columns)]
    canvas = torch.zeros([n * (reach + 1) for n in areas], dtype=torch.bool)
    for top in range(areas[0]):
        for left in range(areas[1]):
            y, x = top * (reach + 1), left * (reach + 1)
            canvas[y : y + reach + 1 : dilation, x : x + reach + 1 : dilation] = True
    return reach + 1, areas[0] * areas[1], int(canvas[:rows, :columns].sum())


@exercise.alternative
def by_formula(rows, columns, window, dilation):
    """Whole areas have M samples, and the piece that is left over what fits into it; warns."""
    import warnings

    warnings.warn("integers only", stacklevel=1)
    size = 1 + (window - 1) * dilation
    (down, bottom), (across, right) = divmod(rows, size), divmod(columns, size)
    lines = (
        down * window + math.ceil(bottom / dilation),
        across * window + math.ceil(right / dilation),
    )
    return size, (down + (bottom > 0)) * (across + (right > 0)), lines[0] * lines[1]
