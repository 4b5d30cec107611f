from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.swin.relative_index import exercise
from course_lib.positions.window import window_index


@exercise.answer
def reference(rows: int, columns: int) -> Tensor:
    """The library's index."""
    return window_index(rows, columns)


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
