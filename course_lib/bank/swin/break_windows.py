from collections.abc import Callable

from course_lib.bank.inputs import counterexample, tells_apart, whole
from course_lib.bank.prelude import Trial, math

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


def _break(t: Trial, *wrong: Callable[..., list[int]], most: int = MOST**2) -> None:
    rows, columns = t.values(t.call())
    rows, columns = whole(rows, 1, MOST, "rows"), whole(columns, 1, MOST, "columns")
    for function in wrong:
        tells_apart(t, number_windows, function, rows, columns)
    t.expect(rows * columns <= most, f"the grid has {rows * columns} tokens")


exercise = counterexample(
    "swin.break_windows",
    _break,
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
