from course_lib.bank.prelude import Tensor, changed, math, torch
from course_lib.bank.space.grid_positions import exercise, line_code
from course_lib.positions import spatial_positions


@exercise.answer
def reference(height: int, width: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """The library's table."""
    return spatial_positions(height, width, d_model, base=base)


def right(height, width, d_model, base=10_000.0):
    """Base of the mistakes, itself right."""
    if d_model % 4:
        raise ValueError("d_model")
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    halves = [line_code(axis, d_model // 2, base) for axis in (y, x)]
    return torch.cat(halves, dim=-1).flatten(0, 1)


@exercise.mistake("Which of your halves changes when you go one place to the right?")
@changed(right, ("(y, x)]", "(x, y)]"))
def column_first():
    """x comes before y, so the first half says the column."""


@exercise.mistake("How many places does a row of a grid of 2 x 3 have? Where does row 1 begin?")
def stride_is_the_height(height, width, d_model, base=10_000.0):
    """A place's number divided by the height is its row."""
    if d_model % 4:
        raise ValueError("d_model")
    n = torch.arange(height * width)
    return torch.cat(
        [line_code(axis, d_model // 2, base) for axis in (n // height, n % height)], -1
    )


@exercise.mistake("Which place of a grid of 2 x 3 is your second row of the table?")
@changed(right, ('indexing="ij"', 'indexing="xy"'))
def down_the_columns():
    """The places of a grid are numbered down the columns."""


@exercise.mistake("How slow is your slowest wave? Print the code of row 1 and compare its halves.")
@changed(right, ("// 2, base)", ", base)[..., : d_model // 2]"))
def half_of_a_wide_code():
    """Half of the channels of a wide code is a code of half the width."""


@exercise.mistake("Compare the codes of the places (0, 1) and (1, 0).")
def added(height, width, d_model, base=10_000.0):
    """Adding the codes of row and column keeps both, as adding a code to a token does."""
    if d_model % 4:
        raise ValueError("d_model")
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return (line_code(y, d_model, base) + line_code(x, d_model, base)).flatten(0, 1)


@exercise.mistake("The halves are side by side. Which channels does yours give to the row?")
@changed(right, ("torch.cat", "torch.stack"), ("flatten(", "flatten(-2).flatten("))
def channels_by_turns():
    """The channels of row and column alternate."""


@exercise.mistake("`torch.arange(2).repeat(3)` is 0 1 0 1 0 1. Is that what the rows need?")
def rows_repeated(height, width, d_model, base=10_000.0):
    """Rows and columns are both written out by repeating their list."""
    if d_model % 4:
        raise ValueError("d_model")
    y, x = torch.arange(height).repeat(width), torch.arange(width).repeat(height)
    return torch.cat([line_code(axis, d_model // 2, base) for axis in (y, x)], dim=-1)


@exercise.mistake("Call yours with a width of 9. How many channels come back?")
def whatever_fits(height, width, d_model, base=10_000.0):
    """A channel that is left over may be dropped."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    halves = [line_code(axis, d_model // 4 * 2, base) for axis in (y, x)]
    return torch.cat(halves, dim=-1).flatten(0, 1)


@exercise.alternative
def by_division(height, width, d_model, base=10_000.0):
    """Row and column of each place by division with remainder."""
    if d_model % 4 != 0:
        raise ValueError(f"{d_model} is no multiple of 4")
    n = torch.arange(height * width)
    rows = line_code(torch.div(n, width, rounding_mode="floor"), d_model // 2, base=base)
    return torch.hstack((rows, line_code(n % width, d_model // 2, base=base)))


@exercise.alternative
def place_by_place(height, width, d_model, base=10_000.0):
    """Plain Python, number by number; warns."""
    import warnings

    warnings.warn("slow", stacklevel=1)
    quarter, rest = divmod(d_model, 4)
    if rest:
        raise ValueError("four channels make a unit")
    table = torch.empty(height * width, d_model)
    for r in range(height):
        for c in range(width):
            for half, place in enumerate((r, c)):
                for i in range(quarter):
                    angle = place * base ** (-i / quarter)
                    channel = 2 * (half * quarter + i)
                    table[r * width + c, channel] = math.sin(angle)
                    table[r * width + c, channel + 1] = math.cos(angle)
    return table


@exercise.alternative
def broadcast(height, width, d_model, base=10_000.0):
    """Two line codes, expanded along the other axis."""
    if d_model & 3:
        raise ValueError("not divisible by 4")
    half = d_model >> 1
    down = line_code(torch.arange(height), half, base)[:, None, :].expand(-1, width, -1)
    across = line_code(torch.arange(width), half, base)[None].expand(height, -1, -1)
    return torch.cat([down, across], -1).reshape(-1, d_model)
