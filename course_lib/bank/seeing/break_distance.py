from collections.abc import Callable

from course_lib.bank.inputs import counterexample, tells_apart, whole
from course_lib.bank.prelude import Trial, math

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
    given=(patch_distance, by_rows, from_zero),
    returns=("rows", "columns", "query", "key"),
    minutes=10,
    difficulty=2,
    chapter="13_looking.html#seeing-distance",
    outcome="seeing.distance",
    apart={
        "rows and columns": (
            "`by_rows` gives another distance",
            "Where is the number of rows used in place of the number of columns? For which"
            " grids is that the same?",
        ),
        "class token": (
            "`from_zero` gives another distance",
            "Every place is moved on by one. For which patches is that no step to the right?",
        ),
    },
    unit="patches",
    within={
        "small": (12, "Count all patches. After which one must a row end, so that both are wrong?"),
        "smallest": (
            6,
            "Which is the smallest grid that is not square and has more than one row and column?",
        ),
    },
)
