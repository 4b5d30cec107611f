"""Exercise ``space.distinct_codes``."""

from typing import Any

import torch

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(scheme: str, height: int, width: int) -> tuple[int, int]:
    """How many codes there are, and how many places share the most frequent one."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


exercise = Exercise(
    id="space.distinct_codes",
    function="distinct_codes",
    reference=reference,
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
    "concatenated: every place has a code of its own",
    points=0.5,
    hint="Two places differ in their row or in their column. Can a half of the code hide it?",
)
def concatenated(t: Trial) -> None:
    short, long = _sides(t)
    _count(t, "concatenated", short, long)
    _count(t, "concatenated", long, short)


@exercise.prop(
    "added, square grids",
    points=0.75,
    hint="Which place has the same sum as (2, 5)? Mark all places that have such a partner.",
)
def added_square(t: Trial) -> None:
    n = t.integer(3, 30)
    _count(t, "added", n, n)
    _count(t, "added", 14, 14, note="the grid of a picture of 224 x 224")


@exercise.prop(
    "added, grids that are wide or high",
    points=0.75,
    hint="In a grid of 3 x 10, does the place (2, 8) have a partner?",
)
def added_other(t: Trial) -> None:
    short, long = _sides(t)
    _count(t, "added", short, long, note="wide")
    _count(t, "added", long, short, note="high")


@exercise.prop(
    "a single row or column shares nothing by addition, and nothing along diagonals",
    points=0.5,
    hint="A grid of one row is a line.",
)
def a_line(t: Trial) -> None:
    n = t.integer(3, 20)
    for scheme in ("added", "diagonal"):
        _count(t, scheme, 1, n)
        _count(t, scheme, n, 1)


@exercise.prop(
    "the code of row + column: one for each diagonal",
    points=0.75,
    hint="What is the least sum of row and column, and what the greatest?",
)
def diagonals(t: Trial) -> None:
    short, long = _sides(t)
    _count(t, "diagonal", short, long)
    _count(t, "diagonal", long, short)
    _count(t, "diagonal", short, short)


@exercise.prop(
    "rows counted with the wrong stride",
    points=0.75,
    hint="Write row * height + column into a grid of 2 x 5, then into one of 5 x 2.",
)
def wrong_stride(t: Trial) -> None:
    short, long = _sides(t)
    _count(t, "wrong stride", long, short, note="a high grid")
    _count(t, "wrong stride", short, short, note="a square")
    _count(t, "wrong stride", short, long, note="a wide grid")
    _count(t, "wrong stride", 2, 2 * t.integer(3, 9) + 1, note="two long rows")
    _count(t, "wrong stride", t.integer(4, 6), 3 * t.integer(4, 6) + 1, note="a band")


@exercise.prop(
    "in every scheme, how many places the largest group with one code has",
    points=1,
    hint="List the codes of a grid of 2 x 5, and count how often each of them comes.",
)
def largest_group(t: Trial) -> None:
    short, long = _sides(t)
    band = t.integer(4, 6), 3 * t.integer(4, 6) + 1
    for scheme in ("concatenated", "added", "diagonal", "wrong stride"):
        grids = ((short, long), (long, short), (short, short), (1, long), (long, 1))
        for grid in (*grids, (2, 9), band):
            _count(t, scheme, *grid, which=1)


@exercise.mistake("Compute the sums of (2, 5) and (5, 2), or read the chapter's picture.")
def sums_differ(scheme, height, width):
    """A sum of two codes is a code of two numbers, so no place shares its own."""
    short = min(height, width)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Where does the partner of (2, 8) lie in a grid of 3 x 10?")
def every_place_has_a_partner(scheme, height, width):
    """Half of all places off the diagonal are lost, whatever the grid's form."""
    short = min(height, width)
    if scheme == "added":
        return (height * width + short) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("How many places lie on the diagonal, and who is their partner?")
def diagonal_shared_too(scheme, height, width):
    """With partners everywhere, half of the square is lost."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * short // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Are the codes of rows 0 and 3, added, those of 1 and 2, added?")
def sums_like_numbers(scheme, height, width):
    """Codes add up like the numbers they stand for."""
    short = min(height, width)
    if scheme in ("added", "diagonal"):
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Sums of row and column begin at 0. Where do they end, in a grid of 2 x 2?")
def one_diagonal_too_many(scheme, height, width):
    """A grid has as many diagonals as rows and columns together."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, min(height, -(-width // height))
    return height * width, 1


@exercise.mistake("Number a grid of 2 x 5 with the stride 2. Which number comes twice?")
def any_stride_counts(scheme, height, width):
    """Whatever the stride, row times stride plus column is another number each time."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    return height * width, 1


@exercise.mistake("A stride that is too large leaves gaps. Does it make numbers equal?")
def stride_too_large_collides(scheme, height, width):
    """A wrong stride makes places collide, whether it is too small or too large."""
    short, long = sorted((height, width))
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width != height:
        return (short - 1) * short + long, min(short, -(-long // short))
    return height * width, 1


@exercise.mistake("Two rows of 9, stride 2: can a number come more than twice? And in six rows?")
def as_many_as_fit(scheme, height, width):
    """As many places share a number as the stride fits into a row."""
    short = min(height, width)
    if scheme == "added":
        return height * width - short * (short - 1) // 2, min(short, 2)
    if scheme == "diagonal":
        return height + width - 1, short
    if scheme == "wrong stride" and width > height:
        return (height - 1) * height + width, -(-width // height)
    return height * width, 1


@exercise.alternative
def counted(scheme, height, width):
    """Counts how often each code occurs, and prints to stderr."""
    import sys
    from collections import Counter

    print("counting", file=sys.stderr)
    code = {
        "concatenated": lambda r, c: (r, c),
        "added": lambda r, c: frozenset((r, c)),
        "diagonal": lambda r, c: r + c,
        "wrong stride": lambda r, c: r * height + c,
    }[scheme]
    found = Counter(code(r, c) for r in range(height) for c in range(width))
    return len(found), max(found.values())


@exercise.alternative
def with_tensors(scheme, height, width):
    """Numbers the codes by tensors and lets `unique` count."""
    r = torch.arange(height)[:, None].expand(height, width)
    c = torch.arange(width)[None, :].expand(height, width)
    if scheme == "concatenated":
        number = r * width + c
    elif scheme == "added":
        number = torch.minimum(r, c) * (height + width) + torch.maximum(r, c)
    elif scheme == "diagonal":
        number = r + c
    else:
        number = r * height + c
    _, counts = number.unique(return_counts=True)
    return counts.numel(), int(counts.max())
