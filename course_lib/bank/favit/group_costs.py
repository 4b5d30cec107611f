from typing import Any

from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="favit.group_costs",
    points=5,
    minutes=15,
    difficulty=2,
    chapter="16_favit.html#favit-cost",
    outcomes=("favit.cost",),
    severe={
        "scores_alone": "all four numbers are half of what is asked for",
        "full_width": "all groups have the wrong width, and widths are what groups are",
    },
    returns=("the global group", "the local group", "the dilated group", "windows"),
    example=lambda t: (56, 56, 32, 8),
)


def some(t: Trial, places: tuple[int, ...], *args: int, **more: Any) -> None:
    """Compare some of the four counts."""
    got, want = t.values(t.call(*args, **more)), t.want(*args, **more)
    for place in places:
        t.close(
            got[place], want[place], exercise.returns[place], note=f"called with {args}, {more}"
        )


@exercise.prop(
    1, "Each group: queries times keys times channels, once for scores and once for values."
)
def stages(t: Trial) -> None:
    """the maps that FaViT was made for: the local group, and plain windows"""
    for side, reduction in ((56, 8), (28, 4), (14, 2)):
        some(t, (1, 3), side, side, 16 * t.integer(2, 8), reduction)


@exercise.prop(
    1,
    "How many tokens does the reduced map have when the map has twice the side? Each of them is a"
    " key.",
)
def larger(t: Trial) -> None:
    """the global group, on maps that the stride divides"""
    some(t, (0,), 56, 56, 32, 8)
    some(t, (0,), 112, 112, 32, 8)
    some(t, (0, 3), 28 * t.integer(3, 5), 28 * t.integer(3, 5), 64, 4)


@exercise.prop(1, "Where does the last kernel of a convolution without padding begin?")
def left_over(t: Trial) -> None:
    """a map that the stride doesn't divide: what doesn't fill a kernel is not read"""
    some(t, (0,), 49, 63, 32, 8)
    some(t, (0,), 35, 7 * t.integer(3, 9), 48, 4)


@exercise.prop(1, "What would a dilated group with dilation 1 be?")
def two_groups(t: Trial) -> None:
    """reduction 1: two groups, with an eighth and seven eighths"""
    some(t, (1, 2), 7, 7, 16 * t.integer(2, 9), 1)
    some(t, (0, 2), 14, 7, 8 * t.integer(3, 9), 1)


@exercise.prop(1, "How many keys are left when all windows are fused?")
def other_windows(t: Trial) -> None:
    """windows of another size"""
    window = t.integer(2, 5)
    some(t, (2, 3), window * t.integer(4, 9), window * t.integer(4, 9), 32, 2, window)
    some(t, (1, 3), 4 * window, 5 * window, 24, 1, window=window)
