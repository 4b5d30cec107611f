from course_lib.bank.prelude import Exercise, Trial, torch

exercise = Exercise(
    id="ablations.plan_runs",
    points=4,
    minutes=25,
    difficulty=3,
    chapter="18_pairs.html#ablations-power",
    outcomes=("ablations.plan",),
    example=lambda t: (0.02, 0.03, 5),
    returns=("chance", "pairs"),
)


def _told(*args: float) -> str:
    return f"called with {', '.join(f'{arg:.4g}' for arg in args)}"


def _both(t: Trial, *args: float) -> tuple[float, int]:
    found, fewest = t.values(t.call(*args))
    return found, fewest


def _chance(t: Trial, *args: float) -> None:
    t.close(_both(t, *args)[0], t.want(*args)[0], "chance", note=_told(*args))


def _follows(t: Trial, *args: float) -> None:
    """Expect the fewest pairs whose chance, as the answer has it, is the target."""
    difference, spread, _, *rest = args
    n = _both(t, *args)[1]
    t.expect(float(n) == int(n) >= 1, f"pairs is {n}, expected a whole number; {_told(*args)}")
    power = rest[0] if rest else 0.8
    chances = [_both(t, difference, spread, int(m), *rest)[0] for m in (n, max(1, n - 1))]
    t.expect(
        chances[0] > power - 1e-6 and (n == 1 or chances[1] < power + 1e-6),
        f"pairs is {n}, where your chance is {chances[0]:.4g}, and {chances[1]:.4g} with one pair"
        f" fewer; expected the fewest with at least {power:g}; {_told(*args)}",
    )


@exercise.prop(
    1, "How far is the mean of n differences from the border, in its own standard deviations?"
)
def chance(t: Trial) -> None:
    """the chance that so many pairs find the difference"""
    for pairs in (2, 7, 20):
        difference = t.integer(10, 90) / 1000
        _chance(t, difference, 2.3 * difference, pairs)


@exercise.prop(
    0.5,
    "The mean that is measured lies above the true difference as often as below it. And what does"
    " rounding up make of a whole number?",
)
def half(t: Trial) -> None:
    """if d is q deviations of the mean, the chance is 1/2, and power 1/2 takes just these pairs"""
    # A quarter of the difference over the root of 16 pairs: powers of 2, so that nothing rounds.
    difference = 2.0 ** t.integer(-3, 1)
    args = (difference, 2 * difference, 16, 0.5, 2.0)
    found, fewest = _both(t, *args)
    t.close(float(found), 0.5, "chance", note=_told(*args))
    t.close(fewest, 16, "pairs", note=_told(*args))


@exercise.prop(1, "Put the number of pairs that you return in: which chance comes out?")
def pairs(t: Trial) -> None:
    """the fewest pairs that reach the target power, by your own chance"""
    difference = t.integer(10, 90) / 1000
    for times in (1.9, 3.1, 5.3):
        _follows(t, difference, times * difference, 3)


@exercise.prop(0.5, "Which arm is subtracted from which is a matter of taste.")
def sign(t: Trial) -> None:
    """the sign of the difference does not matter"""
    difference = t.integer(10, 90) / 1000
    there = _both(t, -difference, 2.1 * difference, 12)
    t.close(there, _both(t, difference, 2.1 * difference, 12), note="the difference is negative")
    t.expect(0.1 < there[0] < 1 and there[1] > 1, f"the chance of 12 pairs is {there[0]:.4g}")


@exercise.prop(0.5, "What does rounding up make of 0, and what does a division by 0?")
def at_least_one(t: Trial) -> None:
    """with little or no spread one pair is enough, and its chance is 1"""
    difference = t.integer(10, 90) / 1000
    for spread in (0.1 * difference, 0.0):
        got = _both(t, difference, spread, 4)
        t.close((float(got[0]), got[1]), (1.0, 1), note=_told(difference, spread, 4))


@exercise.prop(0.5, "0.8 and 1.96 are defaults. What comes in counts.")
def settings(t: Trial) -> None:
    """another power, another quantile"""
    difference = t.integer(10, 90) / 1000
    for power, quantile in ((0.95, 1.96), (0.9, 2.576), (0.5, 1.0)):
        args = (difference, 3.3 * difference, 4, power, quantile)
        _follows(t, *args)
        usual, here = _both(t, *args[:4], 0.0)[0], _both(t, *args)[0]
        apart = torch.special.ndtri(torch.tensor([float(usual), float(here)], dtype=torch.float64))
        t.close(
            (apart[0] - apart[1]).item(), quantile, "what the quantile changes", note=_told(*args)
        )
