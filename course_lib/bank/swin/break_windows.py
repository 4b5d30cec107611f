"""Exercise ``swin.break_windows``."""

import math
from collections.abc import Callable

import torch

from course_lib.bank.inputs import counterexample, tells_apart, whole
from course_lib.checks.trial import Trial

MOST = 40


def number_windows(rows, columns):
    """Number of the 2 x 2 window of each token; those at the edge may be cut. This one is right."""
    across = math.ceil(columns / 2)
    return [(i // columns // 2) * across + i % columns // 2 for i in range(rows * columns)]


def whole_across(rows, columns):
    """Wrong."""
    across = columns // 2
    return [(i // columns // 2) * across + i % columns // 2 for i in range(rows * columns)]


def whole_down(rows, columns):
    """Wrong."""
    across, last = math.ceil(columns / 2), max(rows // 2 - 1, 0)
    return [min(i // columns // 2, last) * across + i % columns // 2 for i in range(rows * columns)]


def reference() -> tuple[int, int]:
    """A single column of three tokens."""
    return 3, 1


def _break(t: Trial, *wrong: Callable[..., list[int]], most: int = MOST**2) -> None:
    rows, columns = t.values(t.call())
    rows, columns = whole(rows, 1, MOST, "rows"), whole(columns, 1, MOST, "columns")
    for function in wrong:
        tells_apart(t, number_windows, function, rows, columns)
    t.expect(rows * columns <= most, f"the grid has {rows * columns} tokens")


exercise = counterexample(
    "swin.break_windows",
    _break,
    reference=reference,
    given=(number_windows, whole_across, whole_down),
    returns=("rows", "columns"),
    minutes=10,
    difficulty=2,
    chapter="15_swin.html#swin-sizes",
    outcome="swin.windows",
    apart={
        "across": (
            "`whole_across` gives other numbers",
            "When do `columns // 2` and `math.ceil(columns / 2)` differ? In which row of windows"
            " is the number of windows across used for the first time?",
        ),
        "down": (
            "`whole_down` gives other numbers",
            "Which row of windows is the last for it? When is there one more?",
        ),
    },
    unit="tokens",
    within={
        "small": (9, "Three rows are needed. How many columns?"),
        "smallest": (3, "Which is the smallest odd number? May it be a side of a grid?"),
    },
)


@exercise.mistake("What is cut at the edge of your grid?")
def even_sides():
    """Any grid that is not square shows what is wrong with windows."""
    return 4, 6


@exercise.mistake("What do windows below the first row do in your grid?")
def one_row():
    """A grid of one row and one of one column are the same to windows."""
    return 1, 3


@exercise.mistake("How often does your grid reach the second row of windows?")
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
