from course_lib.bank.prelude import math, torch
from course_lib.bank.swin.break_windows import exercise, number_windows, whole_across, whole_down


@exercise.answer
def reference() -> tuple[int, int]:
    """A single column of three tokens."""
    return 3, 1


@exercise.mistake("What is cut at the edge of your grid?")
def even_sides():
    """Any grid that is not square shows what is wrong with windows."""
    return 4, 6


@exercise.mistake("What do windows below the first row do in your grid?")
def one_row():
    """A grid of one row and one of one column are the same to windows."""
    return 1, 3


@exercise.mistake("Your grid has two rows of tokens. How many rows of windows is that?")
def two_rows():
    """A column too many is all that a cut window needs."""
    return 2, 3


@exercise.mistake("One of the two sides is even. Which function is right then?")
def odd_columns():
    """One odd side is enough."""
    return 4, 3


@exercise.mistake("One of the two sides is even. Which function is right then?")
def odd_rows():
    """Windows are cut at the bottom only."""
    return 3, 4


@exercise.mistake("Take columns away, two at a time. When does a wrong function become right?")
def three_by_three():
    """A grid needs a whole window in both directions."""
    return 3, 3


@exercise.mistake(
    "Take rows and columns away, two at a time. When does a wrong function become right?"
)
def real_grid():
    """The test has to have the size of a real map."""
    return 7, 7


@exercise.alternative
def searches():
    """Tries grids in the order of their size, and prints to stderr."""
    import sys

    grids = sorted(((r, c) for r in range(1, 9) for c in range(1, 9)), key=math.prod)
    for grid in grids:
        if number_windows(*grid) not in (whole_across(*grid), whole_down(*grid)):
            print("found", grid, file=sys.stderr)
            return grid


@exercise.alternative
def as_tensors():
    """Two tensors of one number."""
    return list(torch.tensor([3, 1]))
