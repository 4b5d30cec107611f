from course_lib.bank.prelude import Exercise, Trial, math

exercise = Exercise(
    id="masks.leak_gap",
    points=2.5,
    minutes=15,
    difficulty=3,
    chapter="05_libraries.html#masks-finite",
    outcomes=("masks.finite",),
    example=lambda t: (-100.0, 3, 3, 0.25),
)


@exercise.prop(
    0.5, "With two keys a weight is 1 / (1 + exp(difference of the scores)). Solve for it."
)
def one_of_each(t: Trial) -> None:
    """one visible and one blocked key, for any share"""
    for share in (0.5, 0.01 * t.integer(10, 40), 0.01 * t.integer(60, 90)):
        t.same(-0.5 * t.integer(3, 12), 1, 1, share)


@exercise.prop(
    1, "The share belongs to all blocked keys together. Write the softmax as one fraction."
)
def any_number(t: Trial) -> None:
    """any number of visible and blocked keys, and any fill"""
    few, many = t.integer(2, 4), t.integer(6, 40)
    share = 0.01 * t.integer(10, 40)
    t.same(-5.0, few, many, share)
    t.same(-5.0, many, few, share)
    t.same(-10.0, many, many, 1 - share)
    for fill, visible, blocked, part in ((-1e4, 3, 3, 0.5), (-1e9, 2, 5, 0.9), (-1.0, 1, 9, 0.1)):
        t.same(fill, visible, blocked, part)


@exercise.prop(0.5, "Which score is so high that it wins after minus infinity was added?")
def nothing_leaks(t: Trial) -> None:
    """the lead is infinite if nothing leaks: fill -inf, or no blocked key"""
    t.same(-math.inf, t.integer(1, 5), t.integer(1, 5), 0.01 * t.integer(10, 90))
    t.same(-5.0, t.integer(1, 5), 0, 0.01 * t.integer(10, 90))


@exercise.prop(0.5, "There is no visible key to lose against. Which lead is then large enough?")
def empty_row(t: Trial) -> None:
    """in an empty row, blocked keys take every share at once: minus infinity"""
    t.same(-1e9, 0, t.integer(2, 9), 0.01 * t.integer(10, 90))
