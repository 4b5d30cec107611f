from course_lib.bank.prelude import Exercise, Trial

exercise = Exercise(
    id="ablations.legendre_table",
    points=5,
    minutes=25,
    difficulty=3,
    chapter="18_changes.html#ablations-legendre",
    outcomes=("ablations.legendre",),
    severe={
        "begins_at_order_zero": "every row is that of another position",
        "channel_is_the_order": "the table lies on its side",
        "both_ends": "every number but a row's first is taken at another point",
        "shifted_factors": "every row but the first is another polynomial",
        "chebyshev": "every row but the first is another polynomial",
    },
    example=lambda t: (4, 6),
)


@exercise.prop(
    1, "For d_model 4 the first row is -1, -0.5, 0, 0.5: which order is that, at which points?"
)
def first_position(t: Trial) -> None:
    """position 1 is the line from -1 upwards, sampled at the channels"""
    for d_model in (4, t.integer(5, 12)):
        t.same(1, d_model, note=f"d_model {d_model}")


@exercise.prop(
    1.5, "At x = -0.5 the orders 0 to 4 are 1, -0.5, -0.125, 0.4375, -0.2890625. Print yours."
)
def recurrence(t: Trial) -> None:
    """later positions follow from the two before them"""
    t.same(t.integer(3, 6), t.integer(4, 9))
    t.same(t.integer(7, 12), 16)


@exercise.prop(
    1, "All values lie between -1 and 1. How large are the numbers that you compute them from?"
)
def far(t: Trial) -> None:
    """far positions are as exact as near ones"""
    t.same(t.integer(60, 90), t.integer(6, 10), note="some 75 positions")
    t.same(t.integer(480, 520), t.integer(6, 10), note="some 500 positions")


@exercise.prop(
    1, "Each of D / 2 pairs of a sinusoidal code contributes sin² + cos². How long is the code?"
)
def normalised(t: Trial) -> None:
    """normalised, every position has the length of a sinusoidal code"""
    T, d_model = t.integer(5, 12), 2 * t.integer(3, 8)
    t.same(T, d_model, normalise=True)
    t.same(T, d_model, True, note="as the third argument")


@exercise.prop(0.5, "With one channel there is one point. Where does the formula put it?")
def widths(t: Trial) -> None:
    """one channel, in float32, and an odd number of them"""
    t.same(t.integer(3, 6), 1, note="one channel", exact=True)
    t.same(t.integer(3, 6), 2 * t.integer(2, 5) + 1, note="an odd width")
