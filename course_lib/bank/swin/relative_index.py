"""Exercise ``swin.relative_index``."""

import torch
from torch import Tensor

from course_lib.checks.compare import name
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.positions.window import window_index


def reference(rows: int, columns: int) -> Tensor:
    """The library's index."""
    return window_index(rows, columns)


exercise = Exercise(
    id="swin.relative_index",
    function="relative_index",
    reference=reference,
    points=5,
    minutes=20,
    difficulty=3,
    chapter="15_swin.html#swin-bias",
    outcomes=("swin.bias",),
    severe={
        "sum_of_both": "it numbers distances along one line, and a window has two axes",
        "stride_of_the_window": "different offsets share a number in every window with two axes",
        "distances": "half of the offsets that the table is for do not occur",
    },
    example=lambda t: (2, 2),
)


def steps(t: Trial, rows: int, columns: int) -> None:
    """Compare the numbers, whichever the first of them is."""
    got, want = t.call(rows, columns), t.want(rows, columns)
    got = t.a_tensor(got, want.shape, "the index")
    note = f"{rows} x {columns}, from the number of token 0 with itself on"
    t.close((got - got[0, 0]).long(), want - want[0, 0], "the index", note=note)


@exercise.prop(
    "square windows",
    points=1,
    hint="For 2 x 2 the four rows are 4 3 1 0, 5 4 2 1, 7 6 4 3 and 8 7 5 4. Find out what 4 is.",
)
def square(t: Trial) -> None:
    steps(t, 2, 2)
    n = t.integer(3, 5)
    steps(t, n, n)


@exercise.prop(
    "wide windows and high ones",
    points=1,
    hint="How many offsets has one row of the grid of offsets, if the window has 3 rows and 7"
    " columns?",
)
def any_shape(t: Trial) -> None:
    n = t.integer(2, 3)
    steps(t, n, n + t.integer(2, 4))
    steps(t, n + t.integer(2, 4), n)


@exercise.prop(
    "equal offsets share a number, different ones don't",
    points=1,
    hint="Collect the offsets of all pairs that got the same number.",
)
def one_number_an_offset(t: Trial) -> None:
    rows = t.integer(2, 4)
    columns = rows + t.integer(1, 3)
    for shape in ((rows, columns), (columns, rows)):
        N = shape[0] * shape[1]
        index = t.a_tensor(t.call(*shape), (N, N), "the index").flatten()
        place = torch.cartesian_prod(torch.arange(shape[0]), torch.arange(shape[1]))
        offset = (place[:, None] - place).flatten(0, 1)
        both = torch.cat([offset, index[:, None].to(offset.dtype)], dim=1)
        offsets, pairs = len(offset.unique(dim=0)), len(both.unique(dim=0))
        numbers = len(index.unique())
        t.expect(pairs == offsets, f"{shape}: pairs with one offset have several numbers")
        t.expect(numbers == offsets, f"{shape}: {offsets} offsets, but {numbers} different numbers")


@exercise.prop(
    "numbers fit a table with one row for each offset",
    points=0.5,
    hint="The smallest number should be 0, for the offset that is smallest along both axes.",
)
def fits_the_table(t: Trial) -> None:
    rows = columns = t.integer(3, 5)
    n = (2 * rows - 1) * (2 * columns - 1)
    index = t.a_tensor(t.call(rows, columns), (rows * columns, rows * columns), "the index")
    least, most = int(index.min()), int(index.max())
    t.expect((least, most) == (0, n - 1), f"numbers from {least} to {most}, wanted 0 to {n - 1}")
    middle = int(index[0, 0])
    t.expect(middle == n // 2, f"a token with itself has the number {middle}, wanted {n // 2}")


@exercise.prop(
    "a table can be looked into by the numbers as they are: their dtype is one of whole numbers",
    points=0.5,
    hint="What does `table[index]` say to numbers with a point?",
)
def looks_up(t: Trial) -> None:
    index = t.a_tensor(t.call(2, 3), (6, 6), "the index")
    t.expect(index.dtype in (torch.int64, torch.int32), f"the index has dtype {name(index)}")


@exercise.prop(
    "a window of one row, of one column, of one token",
    points=1,
    hint="A window of one row has offsets along one axis only.",
)
def thin(t: Trial) -> None:
    n = t.integer(3, 7)
    for shape in ((1, n), (n, 1), (1, 1)):
        steps(t, *shape)


@exercise.mistake("In a window of 3 x 7, how many offsets to the side are there?")
def stride_of_rows(rows, columns):
    """The stride is twice the number of rows, less one."""
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    down, right = r[:, None] - r + rows - 1, c[:, None] - c + columns - 1
    return down * (2 * rows - 1) + right


@exercise.mistake("How many different numbers are there for 7 x 7? There should be 169.")
def sum_of_both(rows, columns):
    """Offsets of row and column may be added up."""
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    return (r[:, None] - r + rows - 1) + (c[:, None] - c + columns - 1)


@exercise.mistake("Columns differ by -(w - 1) to w - 1. How many numbers is that?")
def stride_of_the_window(rows, columns):
    """Offsets are numbered with the stride of places: the number of columns."""
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    down, right = r[:, None] - r + rows - 1, c[:, None] - c + columns - 1
    return down * columns + right


@exercise.mistake("Is the offset query minus key, or the other way round? Compare the first row.")
def key_minus_query(rows, columns):
    """It makes no difference which way an offset points."""
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    down, right = r - r[:, None] + rows - 1, c - c[:, None] + columns - 1
    return down * (2 * columns - 1) + right


@exercise.mistake("Does one step to the left get the number of one step to the right?")
def distances(rows, columns):
    """An offset is a distance, without direction."""
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    down, right = (r[:, None] - r).abs(), (c[:, None] - c).abs()
    return down * (2 * columns - 1) + right


@exercise.mistake("What does `table[-1]` return, and what did you want?")
def negative_numbers(rows, columns):
    """Negative numbers are fine, as an index may count from the end."""
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    return (r[:, None] - r) * (2 * columns - 1) + (c[:, None] - c)


@exercise.mistake("Number the tokens of a window of 2 x 3 row after row. What is token 1's place?")
def tokens_down_the_columns(rows, columns):
    """Tokens of a window are numbered down its columns."""
    r = torch.arange(rows).repeat(columns)
    c = torch.arange(columns).repeat_interleave(rows)
    down, right = r[:, None] - r + rows - 1, c[:, None] - c + columns - 1
    return down * (2 * columns - 1) + right


@exercise.alternative
def from_places(rows, columns):
    """Numbers places with the wide stride; their differences number the offsets. Warns."""
    import warnings

    warnings.warn("differences of numbers", stacklevel=1)
    stride = 2 * columns - 1
    number = (torch.arange(rows)[:, None] * stride + torch.arange(columns)).flatten()
    return number[:, None] - number[None, :] + number[-1]


@exercise.alternative
def by_dictionary(rows, columns):
    """Sorts the offsets and looks each up."""
    places = [(r, c) for r in range(rows) for c in range(columns)]
    offsets = sorted({(a - r, b - c) for a, b in places for r, c in places})
    number = {offset: n for n, offset in enumerate(offsets)}
    return torch.tensor([[number[a - r, b - c] for r, c in places] for a, b in places])


@exercise.alternative
def in_narrow_integers(rows, columns):
    """Both offsets as 32-bit integers."""
    y, x = (
        part.flatten().int()
        for part in torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    )
    down, right = (a[:, None] - a + n - 1 for a, n in ((y, rows), (x, columns)))
    return down * (2 * columns - 1) + right
