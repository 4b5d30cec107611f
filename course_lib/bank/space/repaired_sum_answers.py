from course_lib.bank.prelude import Tensor, changed, torch
from course_lib.bank.space.grid_positions import line_code
from course_lib.bank.space.repaired_sum import colleagues_sum, exercise
from course_lib.positions import sinusoidal_encoding


@exercise.answer
def reference(height: int, width: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """Codes of rows and of columns from different stretches of one line, added."""
    line = sinusoidal_encoding(torch.arange(height + width), d_model, base=base)
    return (line[:height, None] + line[height:]).flatten(0, 1)


# The notebook hands this function out, so its source must not begin with a decorator.
exercise.mistake("Two things are wrong. Begin with the grid of 2 x 3 above: which place is which?")(
    colleagues_sum
)


@exercise.mistake("Rows and columns are in order now. Are (2, 5) and (5, 2)?")
def still_one_table(height, width, d_model, base=10_000.0):
    """A sum says both of its numbers."""
    line = line_code(torch.arange(max(height, width)), d_model, base)
    return (line[:height, None] + line[:width]).flatten(0, 1)


def two_tables(height, width, d_model, base=10_000.0):
    """Base of the mistakes: codes of two lines, added."""
    rows = line_code(torch.arange(height), d_model, base)
    columns = line_code(torch.arange(width), d_model, base)
    return (rows[:, None] + columns).flatten(0, 1)


@exercise.mistake("Which column now has the code of row 2? Look for a pair of places again.")
@changed(two_tables, ("torch.arange(width", "2 * torch.arange(width"))
def columns_count_double():
    """It is enough if the column's number is another one than the row's."""


@exercise.mistake("Which base may a caller pass for the rows?")
@changed(two_tables, ("width), d_model, base", "width), d_model, 100.0"))
def base_of_the_columns():
    """The rows' base is 10,000, so that columns with base 100 have other codes."""


@exercise.mistake(
    "How far are (0, 1) and (1, 0) apart? The fastest wave does not depend on the base at all."
)
@changed(two_tables, ("width), d_model,", "width), d_model, 10 *"))
def another_base_for_columns():
    """Ten times the base makes another code of each number."""


@exercise.mistake("Turns by base 10,000 and by 500,000: how far are (0, 1) and (1, 0) apart?")
@changed(two_tables, ("width), d_model, base", "width), d_model, 500_000.0"))
def base_of_long_texts():
    """Columns may have the base that language models with long texts turn by."""


@exercise.mistake("What is the difference at (1, 1), (2, 2), (3, 3)?")
@changed(two_tables, ("None] +", "None] -"))
def difference_instead():
    """A difference has an order, so it can be told from its reverse."""


@exercise.mistake("Is a * b another number than b * a?")
@changed(two_tables, ("None] +", "None] *"))
def product_instead():
    """A product mixes row and column so that both can be read off."""


@exercise.mistake("Where do your columns begin? In a high grid, is there a row of that number?")
@changed(two_tables, ("width),", "width) + width,"))
def offset_by_the_width():
    """Columns that begin after the last column are out of the rows' way."""


@exercise.mistake("The places differ now. Is place number 1 still to the right of number 0?")
def repaired_but_turned(height, width, d_model, base=10_000.0):
    """The order in which places are written down does not matter."""
    line = line_code(torch.arange(height + width), d_model, base)
    return (line[height:, None] + line[:height]).flatten(0, 1)


@exercise.mistake("Is the step from column 0 to column 1 the same in row 0 and in row 1?")
def number_in_a_line(height, width, d_model, base=10_000.0):
    """A code for the place's number is unique, so it serves a grid as well."""
    return line_code(torch.arange(height * width), d_model, base)


@exercise.alternative
def other_waves(height, width, d_model, base=10_000.0):
    """The columns' code is the rows' code with its channels in reverse order; warns."""
    import warnings

    warnings.warn("reversed", stacklevel=1)
    table = line_code(torch.arange(max(height, width)), d_model, base=base)
    codes = table[:height].unsqueeze(1) + table[:width].flip(-1).unsqueeze(0)
    return codes.reshape(height * width, d_model)


@exercise.alternative
def weighed(height, width, d_model, base=10_000.0):
    """The same table for both, but the columns count double."""
    n = torch.arange(height * width)
    down = line_code(n // width, d_model, base)
    return down + 2 * line_code(n % width, d_model, base)


@exercise.alternative
def before_zero(height, width, d_model, base=10_000.0):
    """Columns have negative numbers, from -1 down, written place by place."""
    codes = []
    for r in range(height):
        for c in range(width):
            pair = line_code(torch.tensor([r, -1 - c]), d_model, base)
            codes.append(pair.sum(0))
    return torch.stack(codes)
