from course_lib.bank.prelude import Exercise, Trial, torch
from grader.checks.compare import name

exercise = Exercise(
    id="swin.relative_index",
    points=5,
    minutes=20,
    difficulty=3,
    chapter="15_stages.html#swin-bias",
    outcomes=("swin.bias",),
    severe={
        "sum_of_both": "it numbers distances along one line, and a window has two axes",
        "stride_of_the_window": "different offsets share a number in every window with two axes",
        "distances": "opposite offsets share a number",
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
    1, "For 2 x 2 the four rows are 4 3 1 0, 5 4 2 1, 7 6 4 3 and 8 7 5 4. Find out what 4 is."
)
def square(t: Trial) -> None:
    """square windows"""
    steps(t, 2, 2)
    n = t.integer(3, 12)
    steps(t, n, n)


@exercise.prop(
    1,
    "How many offsets does one row of their grid hold, if the window has 3 rows and 7 columns?",
)
def any_shape(t: Trial) -> None:
    """wide windows and high ones"""
    n = t.integer(2, 8)
    steps(t, n, n + t.integer(2, 8))
    steps(t, n + t.integer(2, 8), n)


@exercise.prop(1, "Collect the offsets of all pairs that got the same number.")
def one_number_an_offset(t: Trial) -> None:
    """equal offsets share a number, different ones don't"""
    rows = t.integer(2, 8)
    columns = rows + t.integer(1, 8)
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
    0.5, "The smallest number should be 0, for the offset that is smallest along both axes."
)
def fits_the_table(t: Trial) -> None:
    """numbers fit a table with one row for each offset"""
    rows = columns = t.integer(3, 12)
    n = (2 * rows - 1) * (2 * columns - 1)
    index = t.a_tensor(t.call(rows, columns), (rows * columns, rows * columns), "the index")
    least, most = int(index.min()), int(index.max())
    t.expect((least, most) == (0, n - 1), f"numbers from {least} to {most}, expected 0 to {n - 1}")
    middle = int(index[0, 0])
    t.expect(middle == n // 2, f"a token with itself has the number {middle}, expected {n // 2}")


@exercise.prop(0.5, "What does `table[index]` say to floating-point numbers?")
def looks_up(t: Trial) -> None:
    """the numbers have an integer dtype, so that they index a table as they are"""
    n = t.integer(3, 9)
    index = t.a_tensor(t.call(2, n), (2 * n, 2 * n), "the index")
    t.expect(index.dtype in (torch.int64, torch.int32), f"the index has dtype {name(index)}")


@exercise.prop(1, "A window of one row has offsets along one axis only.")
def thin(t: Trial) -> None:
    """a window of one row, of one column, of one token"""
    n = t.integer(3, 40)
    for shape in ((1, n), (n, 1), (1, 1)):
        steps(t, *shape)
