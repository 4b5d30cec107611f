from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="favit.group_survey",
    points=5,
    minutes=15,
    difficulty=2,
    chapter="16_favit.html#favit-sampling",
    outcomes=("favit.sampling",),
    severe={
        "dilation_times_window": "all numbers follow from the side of an area, which is wrong",
        "gaps_alone": "all numbers follow from the side of an area, which is wrong",
        "tokens_of_the_areas": "it counts other tokens on every map",
        "sliding_areas": "areas overlap, so two of three numbers are wrong for every map",
    },
    returns=("the side of an area", "the number of areas", "the number of samples on the map"),
    example=lambda t: (15, 15, 3, 4),
)


@exercise.prop(
    1, "Write the samples of a window of 3 at dilation 4 on a line. How many gaps do you jump?"
)
def one_area(t: Trial) -> None:
    """a map that is exactly one area"""
    window, dilation = t.integer(3, 6), t.integer(2, 5)
    side = dilation * (window - 1) + 1
    t.same(side, side, window, dilation)


@exercise.prop(1, "How many areas are side by side along each axis, and how many is that together?")
def tiled(t: Trial) -> None:
    """a map that areas tile, oblong"""
    window, dilation = t.integer(3, 5), t.integer(2, 4)
    side = dilation * (window - 1) + 1
    t.same(2 * side, 3 * side, window, dilation)


@exercise.prop(1.5, "The last area begins on the map. Which of its samples still lie there?")
def edge(t: Trial) -> None:
    """a map that areas don't fill: samples beyond the edge are not on the map"""
    window, dilation = t.integer(3, 5), t.integer(2, 4)
    size = dilation * (window - 1) + 1
    for left_over in (1, dilation + 1, size - 1):
        side = 2 * size + left_over
        t.same(side, side, window, dilation)


@exercise.prop(0.5, "Rows and columns are counted apart: each has areas and samples of its own.")
def oblong(t: Trial) -> None:
    """an oblong map that areas don't fill"""
    window, dilation = t.integer(3, 5), t.integer(2, 4)
    size = dilation * (window - 1) + 1
    t.same(size + 1, 3 * size - 1, window, dilation)
    t.same(2 * size + 2, size, window, dilation)


@exercise.prop(
    1, "How large is an area of one sample? And how many areas does the smallest map need?"
)
def extremes(t: Trial) -> None:
    """a map smaller than an area, a window of one sample, and no gaps"""
    t.same(t.integer(2, 6), t.integer(2, 6), 7, 8)
    t.same(4, t.integer(5, 9), 1, t.integer(2, 5))
    t.same(14, t.integer(15, 20), 7, 1)
