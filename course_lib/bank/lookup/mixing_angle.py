from course_lib.bank.prelude import Exercise, Trial, math

exercise = Exercise(
    id="lookup.mixing_angle",
    points=3,
    minutes=12,
    difficulty=2,
    chapter="02_lookup.html#lookup-sharp",
    outcomes=("lookup.sharpness",),
    example=lambda t: (10.0, 0.9),
)

NUMBER = "the angle"


@exercise.prop(
    1.5, "Two keys of length 1 at an angle: what are their scores for a query `scale` times one?"
)
def values(t: Trial) -> None:
    """at this angle, in degrees, the first key has the target weight"""
    for scale, least in ((3.0 + t.integer(0, 4), 0.9), (20.0, 0.99), (2.0, 0.8), (1.5, 0.9)):
        t.same(scale, least, note=f"scale {scale:g}, weight {least}")


@exercise.prop(0.5, "For small angles 1 - cos is about half the angle squared (in radians).")
def near(t: Trial) -> None:
    """very near keys: a hundred times the scale, a tenth of the angle"""
    scale = float(t.integer(4000, 9000))
    t.same(scale, 0.95, note=f"scale {scale:g}")
    t.same(100 * scale, 0.95, note=f"scale {100 * scale:g}")


@exercise.prop(
    0.5, "Where does your formula have no solution? Which angle gives the largest difference?"
)
def out_of_reach(t: Trial) -> None:
    """if even opposite keys mix, no angle is enough: the answer is infinite"""
    for scale in (0.1 * t.integer(1, 10), 1.2):
        t.close(t.call(scale, 0.95), math.inf, NUMBER, note=f"scale {scale:g}, weight 0.95")
    t.expect(t.call(3.0, 0.95) < math.inf, "at scale 3, a weight of 0.95 can be had")


@exercise.prop(0.5, "What weight does the first of two equal keys get?")
def one_half(t: Trial) -> None:
    """equal keys share evenly, so a weight up to one half needs no angle at all"""
    for scale, least in ((0.1 * t.integer(1, 9), 0.3), (8.0, 0.5), (8.0, 0.2)):
        t.close(t.call(scale, least), 0.0, NUMBER, note=f"scale {scale:g}, weight {least}")
    t.expect(t.call(8.0, 0.55) > 0, "at scale 8, a weight of 0.55 takes an angle")
