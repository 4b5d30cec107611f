from typing import Any

from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="space.distinct_codes",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="11_space.html#space-added",
    outcomes=("space.collisions",),
    returns=("the number of codes", "the largest group"),
    example=lambda t: ("diagonal", 2, 3),
)


def _sides(t: Trial, least: int = 3) -> tuple[int, int]:
    """The sides of a grid that is not square, the shorter one first."""
    short = t.integer(least, 12)
    return short, short + t.integer(1, 7)


def _count(t: Trial, *asked: Any, note: str = "", which: int = 0) -> None:
    """Compare one of the two numbers: each is asked for by requirements of its own."""
    got, want = t.values(t.call(*asked)), t.want(*asked)
    t.close(got[which], want[which], exercise.returns[which], note=note or f"{asked}")


@exercise.prop(
    0.5, "Two places differ in their row or in their column. Can a half of the code hide it?"
)
def concatenated(t: Trial) -> None:
    """the number of codes: concatenated, one for each place"""
    short, long = _sides(t)
    _count(t, "concatenated", short, long)
    _count(t, "concatenated", long, short)


@exercise.prop(
    0.75, "Which place has the same sum as (2, 5)? Mark all places that have such a partner."
)
def added_square(t: Trial) -> None:
    """the number of codes: added, square grids"""
    n = t.integer(3, 30)
    _count(t, "added", n, n)
    _count(t, "added", 14, 14, note="the grid of an image of 224 x 224")


@exercise.prop(0.75, "In a grid of 3 x 10, does the place (2, 8) have a partner?")
def added_other(t: Trial) -> None:
    """the number of codes: added, grids that are wide or high"""
    short, long = _sides(t)
    _count(t, "added", short, long, note="wide")
    _count(t, "added", long, short, note="high")


@exercise.prop(0.5, "A grid of one row is a line.")
def a_line(t: Trial) -> None:
    """a single row or column shares nothing by addition, and nothing along diagonals"""
    n = t.integer(3, 20)
    for scheme in ("added", "diagonal"):
        _count(t, scheme, 1, n)
        _count(t, scheme, n, 1)


@exercise.prop(0.75, "What is the least sum of row and column, and what the greatest?")
def diagonals(t: Trial) -> None:
    """the number of codes: row + column, one for each diagonal"""
    short, long = _sides(t)
    _count(t, "diagonal", short, long)
    _count(t, "diagonal", long, short)
    _count(t, "diagonal", short, short)


@exercise.prop(0.75, "Write row * height + column into a grid of 2 x 5, then into one of 5 x 2.")
def wrong_stride(t: Trial) -> None:
    """the number of codes: rows counted with the wrong stride"""
    short, long = _sides(t)
    _count(t, "wrong stride", long, short, note="a high grid")
    _count(t, "wrong stride", short, short, note="a square")
    _count(t, "wrong stride", short, long, note="a wide grid")
    _count(t, "wrong stride", 2, 2 * t.integer(3, 9) + 1, note="two long rows")
    _count(t, "wrong stride", t.integer(4, 6), 3 * t.integer(4, 6) + 1, note="a band")


@exercise.prop(1, "List the codes of a grid of 2 x 5, and count how often each of them occurs.")
def largest_group(t: Trial) -> None:
    """in every scheme, how many places the largest group with one code has"""
    short, long = _sides(t)
    band = t.integer(4, 6), 3 * t.integer(4, 6) + 1
    for scheme in ("concatenated", "added", "diagonal", "wrong stride"):
        grids = ((short, long), (long, short), (short, short), (1, long), (long, 1))
        for grid in (*grids, (2, 9), band):
            _count(t, scheme, *grid, which=1)
