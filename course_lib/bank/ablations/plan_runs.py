"""Exercise ``ablations.plan_runs``."""

import math

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(difference: float, spread: float, quantile: float = 1.96) -> tuple[float, int]:
    """The spread at which single runs stop telling, and the runs that a given spread asks for."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    # Squared first: the square of a root of 2 is more than 2, and would ask for a run too many.
    return largest, max(1, math.ceil(2 * (quantile * spread / difference) ** 2))


exercise = Exercise(
    id="ablations.plan_runs",
    function="plan_runs",
    reference=reference,
    points=4,
    minutes=15,
    difficulty=2,
    chapter="18_ablations.html#ablations-spread",
    outcomes=("ablations.plan",),
    example=lambda t: (0.02, 0.03),
    returns=("limit", "runs"),
)


def _limit(t: Trial, *args: float) -> None:
    got = t.call(*args)
    t.expect(isinstance(got, (list, tuple)) and len(got) == 2, "wanted two values")
    shown = ", ".join(f"{arg:.4g}" for arg in args)
    t.close(got[0], t.want(*args)[0], "limit", note=f"called with {shown}")


def _parts(t: Trial, *args: float) -> tuple[float, int]:
    got = t.call(*args)
    t.close(got, (float(got[0]), got[1]))
    t.expect(got[0] != 0, "a limit of 0")
    return got[0], got[1]


def _follows(t: Trial, *args: float) -> None:
    """Expect the runs that follow from the limit which the answer gives itself."""
    limit, n = _parts(t, *args)
    exactly = (args[1] / limit) ** 2
    shown = ", ".join(f"{arg:.4g}" for arg in args)
    t.expect(
        exactly - 1e-6 <= n < exactly + 1 + 1e-6,
        f"runs is {n}, but from your limit {limit:.4g} follow {exactly:.4g}; called with {shown}",
    )


@exercise.prop(
    "the spread at which one run of each arm stops telling",
    points=1,
    hint="Both runs vary. How far does the difference of two runs spread, if each spreads by s?",
)
def limit(t: Trial) -> None:
    for _ in range(2):
        difference = t.integer(1, 90) / 1000
        got = t.call(difference, 0.01)
        note = f"called with {difference:.4g}, 0.01"
        t.close(got[0], t.want(difference, 0.01)[0], "limit", note=note)


@exercise.prop(
    "the sign of the difference doesn't matter",
    points=0.5,
    hint="A spread is never negative.",
)
def sign(t: Trial) -> None:
    difference = t.integer(1, 90) / 1000
    t.close(
        _parts(t, -difference, 2.0 * difference),
        _parts(t, difference, 2.0 * difference),
        note="the second arm is the larger one",
    )


@exercise.prop(
    "how many runs each arm needs at a given spread, by the limit",
    points=1,
    hint="The mean of n runs spreads by s over the root of n. Solve for n.",
)
def runs(t: Trial) -> None:
    difference = t.integer(10, 90)
    for times in (3.1, 5.3, 7.7):
        _follows(t, difference, times * difference)


@exercise.prop(
    "where exactly so many standard deviations will do, no run more",
    points=0.5,
    hint="Print `math.sqrt(2) ** 2`. When do you square, and when do you take a root?",
)
def exactly(t: Trial) -> None:
    # Halves and doubles of 1: 2 (q s / d)^2 is a whole number, whichever way it is computed.
    for times in (1, 2, 4):
        difference = 2.0 ** t.integer(-3, 1)
        quantile = 2.0 ** t.integer(0, 1)
        args = (difference, times * difference, quantile)
        got = t.call(*args)
        t.close(got[1], t.want(*args)[1], "runs", note="called with {}, {}, {}".format(*args))


@exercise.prop(
    "however small the spread, each arm is run once",
    points=0.5,
    hint="What does rounding up make of 0?",
)
def at_least_one(t: Trial) -> None:
    difference = t.integer(10, 90) / 1000
    for spread in (0.1 * difference, 0.0):
        runs = _parts(t, difference, spread)[1]
        t.close(runs, 1, "runs", note=f"called with {difference:.4g}, {spread:.4g}")


@exercise.prop(
    "another quantile",
    points=0.5,
    hint="1.96 is the default. What comes in counts.",
)
def quantile(t: Trial) -> None:
    difference = t.integer(10, 90)
    for level in (2.576, 1.0):
        args = (difference, 4.3 * difference, level)
        usual, here = _parts(t, *args[:2], 1.96)[0], _parts(t, *args)[0]
        t.close(here, usual * 1.96 / level, "limit", note=f"quantile {level}")
        _follows(t, *args)


@exercise.mistake("Both numbers come from a run. Which of the two doesn't vary in yours?")
def one_of_them_varies(difference, spread, quantile=1.96):
    """One of the two arms is the baseline, and a baseline is a fixed number."""
    largest = abs(difference) / quantile
    return largest, max(1, math.ceil((spread / largest) ** 2))


@exercise.mistake("Do deviations add up, or their squares?")
def spreads_add_up(difference, spread, quantile=1.96):
    """The difference of two runs spreads by twice as much as one run."""
    largest = abs(difference) / (2 * quantile)
    return largest, max(1, math.ceil((spread / largest) ** 2))


@exercise.mistake("With four times as many runs, by which factor does the mean's spread shrink?")
def halved_by_two_runs(difference, spread, quantile=1.96):
    """A mean of n runs spreads by an nth of one run's."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    return largest, max(1, math.ceil(spread / largest))


@exercise.mistake("Is that the number for each arm, or for both together?")
def both_arms_together(difference, spread, quantile=1.96):
    """The number of runs is that of the two arms together."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    return largest, 2 * max(1, math.ceil(2 * (quantile * spread / difference) ** 2))


@exercise.mistake("Put the number that you return back in: is the difference large enough then?")
def rounded_down(difference, spread, quantile=1.96):
    """2.9 runs are two runs."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    return largest, max(1, math.floor(2 * (quantile * spread / difference) ** 2))


@exercise.mistake("What is your limit when the second arm is the larger one?")
def signed_limit(difference, spread, quantile=1.96):
    """The first arm is the one with the larger error."""
    largest = difference / (quantile * math.sqrt(2))
    return largest, max(1, math.ceil(2 * (quantile * spread / difference) ** 2))


@exercise.mistake("Is two standard errors what was asked for?")
def two_errors_always(difference, spread, quantile=1.96):
    """95 % are two standard errors, whatever is handed in."""
    largest = abs(difference) / (2 * math.sqrt(2))
    return largest, max(1, math.ceil((spread / largest) ** 2))


@exercise.mistake(
    "Print `math.sqrt(2) ** 2` with all its digits. What does rounding up make of it?"
)
def root_is_squared(difference, spread, quantile=1.96):
    """The square of the root of 2 is 2, on a computer too."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    return largest, max(1, math.ceil((spread / largest) ** 2))


@exercise.alternative
def by_trying(difference, spread, quantile=1.96):
    """Takes one run more until the difference is large enough."""
    apart = abs(difference)
    n = 1
    while quantile * spread * (2 / n) ** 0.5 > apart:
        n += 1
    return apart / quantile / 2**0.5, n


@exercise.alternative
def by_variances(difference, spread, quantile=1.96):
    """Compares variances, and takes the root at the end; warns."""
    import warnings

    warnings.warn("variances", stacklevel=1)
    allowed = difference**2 / quantile**2
    wanted = -(-2 * spread**2 // allowed)
    return (allowed / 2) ** 0.5, 1 if wanted < 1 else int(wanted)


@exercise.alternative
def with_numpy(difference, spread, quantile=1.96):
    """numpy's numbers come back, one of them an integer."""
    import numpy as np

    runs = np.ceil(2 * np.square(np.float64(quantile) * spread / difference))
    return np.abs(np.float64(difference)) / (quantile * np.sqrt(2)), max(
        np.int64(1), np.int64(runs)
    )
