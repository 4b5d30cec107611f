from course_lib.bank.prelude import Exercise, Trial, Wrong, math
from grader.checks.compare import kind

exercise = Exercise(
    id="attention.saturation_lead",
    points=3,
    minutes=15,
    difficulty=3,
    chapter="03_scale.html#attention-saturation",
    outcomes=("attention.saturation",),
    example=lambda t: (2, 0.01),
)


def _share(t: Trial) -> float:
    return t.integer(2, 20) / 100


@exercise.prop(
    1,
    "First solve w(1 - w) = share/4 for the larger w. Then ask which lead gives that w: with two"
    " keys, w is the logistic function of it.",
)
def two_keys(t: Trial) -> None:
    """the lead over a single other key"""
    for share in (0.01, _share(t), 1e-4):
        t.same(2, share, note=f"share={share:g}")


@exercise.prop(1, "All losers score 0. What do they add to the denominator of the winner's weight?")
def more_keys(t: Trial) -> None:
    """the lead over many other keys"""
    for n_keys in (3, t.integer(5, 50), t.integer(60, 1000)):
        t.same(n_keys, _share(t), note=f"n_keys={n_keys}")
    t.same(n_keys, note=f"n_keys={n_keys}, the share left at 0.01")


@exercise.prop(0.5, "Put your lead into a softmax and let torch differentiate the largest weight.")
def slope(t: Trial) -> None:
    """put into a softmax, your lead gives the target slope"""
    n_keys, share = t.integer(3, 50), _share(t)
    lead = t.call(n_keys, share)
    try:
        lead = float(lead)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"the result is {kind(lead)}, expected a number") from None
    winner = 1 / (1 + (n_keys - 1) * math.exp(min(700.0, -lead)))
    found = 4 * winner * (1 - winner)
    t.expect(
        winner >= 0.5,
        f"at a lead of {lead:.4g} over {n_keys - 1} keys the winner's weight is {winner:.4g},"
        " expected at least 0.5",
    )
    t.expect(
        abs(found - share) < 1e-3 * share,
        f"at a lead of {lead:.4g} over {n_keys - 1} keys the winner's weight is {winner:.4g} and"
        f" its slope {found:.3g} of the largest, expected {share:g}",
    )


@exercise.prop(0.5, "At which weight is w(1 - w) largest? Against how many keys is it reached?")
def largest_slope(t: Trial) -> None:
    """a share of 1 gives the lead at which the slope is largest"""
    t.same(2, 1.0, note="n_keys=2")
    n_keys = t.integer(10, 200)
    t.same(n_keys, 1.0, note=f"n_keys={n_keys}")
