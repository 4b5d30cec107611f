from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="sinusoids.sinusoidal_table",
    points=5,
    minutes=20,
    difficulty=2,
    chapter="07_sinusoids.html#sinusoids-formula",
    outcomes=("sinusoids.code",),
    example=lambda t: (torch.arange(5), 8),
)


@exercise.prop(
    1, "Compute the row of position 1 by hand for d_model 4: four numbers, two frequencies."
)
def values(t: Trial) -> None:
    """sine and cosine of p / base^(2i/d_model), pair by pair"""
    t.same(torch.arange(t.integer(5, 9)), 2 * t.integer(4, 8), note="the first positions")
    t.same(torch.arange(3), 6, note="three pairs")


@exercise.prop(0.5, "Which channels stay as they are when the base changes?")
def base(t: Trial) -> None:
    """another base changes the frequencies"""
    for number in (float(t.integer(2, 9)), 500.0):
        t.same(torch.arange(4), 8, base=number, note=f"base {number:g}")


@exercise.prop(1, "The channels are a new last axis, whatever comes before it.")
def any_shape(t: Trial) -> None:
    """positions of any shape get a code each"""
    # Against the answer's own codes in a row.
    positions = t.integers(0, 40, 2, 3)
    table = t.a_tensor(t.call(positions, 8), (2, 3, 8), "the codes")
    t.close(table.flatten(0, 1), t.call(positions.flatten(), 8), "a table of codes")
    t.close(t.call(positions[1, 2], 8), table[1, 2], "the code of a position without axes")
    t.expect((table != table[0, 0, 0]).any(), "all channels of all codes are the same")


@exercise.prop(1, "The formula does not ask for whole numbers. Which line of yours does?")
def between(t: Trial) -> None:
    """positions between whole numbers and before 0 have codes, too"""
    # A code moves a little with every little step, on both sides of 0.
    places = torch.cat([torch.arange(-64.0, 64.0) / 32, t.integer(3, 9) + torch.arange(32.0) / 32])
    codes = t.a_tensor(t.call(places, 8), (160, 8), "the codes").clone()
    steps = (codes[1:] - codes[:-1]).abs().amax(-1)
    steps[127] = 0.02  # From one stretch of places to the other.
    t.expect((steps > 1e-3).all(), "some places 1/32 apart have the same code")
    t.expect((steps < 0.2).all(), "some places 1/32 apart have codes that are far apart")
    whole = t.a_tensor(t.call(torch.arange(-2, 2), 8), (4, 8), "the codes of whole numbers")
    t.close(whole, codes[:128:32], "the codes of -2 to 1 as whole numbers")


@exercise.prop(
    0.5,
    "Single precision keeps seven digits of an angle. How many of them are after the point"
    " when the angle is 100 000?",
)
def far(t: Trial) -> None:
    """far positions are as exact as near ones"""
    places = t.integers(200_000, 1_000_000, 6)
    t.same(places, 16, note="positions up to a million")
    t.same(places.double() + 0.3, 16, note="positions between them, in double precision")


@exercise.prop(0.5, "What is the exponent of the first pair, whatever the width?")
def narrow(t: Trial) -> None:
    """a code of width 2 is one wave of 2π positions, in float32"""
    t.same(t.integers(1, 50, 5), 2, exact=True)


@exercise.prop(0.5, "Look for operations that end in an underscore, and for `*=` on an argument.")
def no_side_effect(t: Trial) -> None:
    """the positions are left as they were"""
    t.unchanged(t.integers(0, 50, 6), 8)
    t.unchanged(torch.arange(5, dtype=torch.float64), 8)
