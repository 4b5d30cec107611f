"""Exercise ``seeing.break_distance``."""

import math
from collections.abc import Callable

from course_lib.bank.inputs import counterexample, tells_apart, whole
from course_lib.checks.trial import Trial

MOST = 100


def patch_distance(rows, columns, query, key):
    """Distance of two tokens that are patches; token 0 is the class token. This one is right."""
    (y, x), (v, u) = divmod(query - 1, columns), divmod(key - 1, columns)
    return math.hypot(y - v, x - u)


def by_rows(rows, columns, query, key):
    """Wrong."""
    (y, x), (v, u) = divmod(query - 1, rows), divmod(key - 1, rows)
    return math.hypot(y - v, x - u)


def from_zero(rows, columns, query, key):
    """Wrong."""
    (y, x), (v, u) = divmod(query, columns), divmod(key, columns)
    return math.hypot(y - v, x - u)


def reference() -> tuple[int, int, int, int]:
    """Two rows of three, and two patches on a diagonal."""
    return 2, 3, 2, 6


def _break(t: Trial, *wrong: Callable[..., float], most: int = MOST) -> None:
    rows, columns, query, key = t.values(t.call())
    rows, columns = whole(rows, 1, MOST, "rows"), whole(columns, 1, MOST, "columns")
    n = rows * columns
    query, key = (whole(i, 1, n, what) for i, what in ((query, "query"), (key, "key")))
    for function in wrong:
        tells_apart(t, patch_distance, function, rows, columns, query, key)
    t.expect(n <= most, f"the grid has {n} patches")


exercise = counterexample(
    "seeing.break_distance",
    _break,
    reference=reference,
    given=(patch_distance, by_rows, from_zero),
    returns=("rows", "columns", "query", "key"),
    minutes=10,
    difficulty=2,
    chapter="13_looking.html#seeing-distance",
    outcome="seeing.distance",
    apart={
        "rows and columns": (
            "`by_rows` gives another distance",
            "Where does the number of rows stand in place of the number of columns? For which"
            " grids is that the same?",
        ),
        "class token": (
            "`from_zero` gives another distance",
            "Every place is moved on by one. For which patches is that no step to the right?",
        ),
    },
    unit="patches",
    within={
        "small": (12, "Count all patches of the grid. Where do its lines have to break for both?"),
        "smallest": (
            6,
            "Which is the smallest grid that is not square and has more than one row and column?",
        ),
    },
)


@exercise.mistake("How do rows and columns of your grid differ?")
def square():
    """A mix-up of rows and columns shows on any grid."""
    return 4, 4, 2, 8


@exercise.mistake("Move both patches on by one. Does either of them change its row?")
def no_line_break():
    """A shift of all numbers by one changes all distances."""
    return 2, 3, 1, 4


@exercise.mistake("Where are the first and the last patch of a line after a step to the right?")
def one_line():
    """In a single row there is most to be mixed up."""
    return 1, 6, 1, 4


@exercise.mistake("What is the distance of a patch to itself, whatever its place?")
def same_patch():
    """One patch at the edge is enough."""
    return 2, 3, 3, 3


@exercise.mistake("Which rows and columns of your grid could you leave out?")
def real_grid():
    """The test has to have the size of a real picture."""
    return 7, 14, 13, 28


@exercise.mistake("Could you do without a row, or a column?")
def three_by_four():
    """Two different sides, neither of them 2, are the least."""
    return 3, 4, 4, 9


@exercise.alternative
def searches():
    """Tries small grids with the given functions, and prints to stderr."""
    import sys

    for n in range(1, 20):
        for rows in (r for r in range(1, n + 1) if n % r == 0):
            for query in range(1, n + 1):
                for key in range(query, n + 1):
                    found = rows, n // rows, query, key
                    right = patch_distance(*found)
                    if right != by_rows(*found) and right != from_zero(*found):
                        print("found", found, file=sys.stderr)
                        return found


@exercise.alternative
def three_rows():
    """A high grid, as a list."""
    return [3, 2, 2, 5]
