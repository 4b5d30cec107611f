"""Exercise ``ablations.plan_runs``."""

import math

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(difference: float, spread: float, quantile: float = 1.96) -> tuple[float, int]:
    """The spread at which single runs stop telling, and the runs that a given spread asks for."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    return largest, max(1, math.ceil((spread / largest) ** 2))


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


@exercise.prop(
    "the spread at which one run of each arm stops telling",
    points=1,
    hint="Both runs vary. How far does the difference of two runs spread, if each spreads by s?",
)
def limit(t: Trial) -> None:
    for _ in range(2):
        _limit(t, t.integer(1, 90) / 1000, 0.01)


@exercise.prop(
    "the sign of the difference doesn't matter",
    points=0.5,
    hint="A spread is never negative.",
)
def sign(t: Trial) -> None:
    difference = -t.integer(1, 90) / 1000
    t.same(difference, 2.0 * abs(difference))


@exercise.prop(
    "how many runs each arm needs at a given spread",
    points=1.5,
    hint="The mean of n runs spreads by s over the root of n. Solve for n.",
)
def runs(t: Trial) -> None:
    difference = t.integer(10, 90) / 1000
    for times in (1.15, 3.1, 7.7):
        t.same(difference, times * difference, note=f"a spread of {times} differences")


@exercise.prop(
    "however small the spread, each arm is run once",
    points=0.5,
    hint="What does rounding up make of 0?",
)
def at_least_one(t: Trial) -> None:
    difference = t.integer(10, 90) / 1000
    t.same(difference, 0.1 * difference)
    t.same(difference, 0.0, note="no spread at all")


@exercise.prop(
    "another quantile",
    points=0.5,
    hint="1.96 is the default. What comes in counts.",
)
def quantile(t: Trial) -> None:
    difference = t.integer(10, 90) / 1000
    for level in (2.576, 1.0):
        t.same(difference, 4.3 * difference, level, note=f"quantile {level}")


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
    return largest, 2 * max(1, math.ceil((spread / largest) ** 2))


@exercise.mistake("Put the number that you return back in: is the difference large enough then?")
def rounded_down(difference, spread, quantile=1.96):
    """2.9 runs are two runs."""
    largest = abs(difference) / (quantile * math.sqrt(2))
    return largest, max(1, math.floor((spread / largest) ** 2))


@exercise.mistake("What is your limit when the second arm is the larger one?")
def signed_limit(difference, spread, quantile=1.96):
    """The first arm is the one with the larger error."""
    largest = difference / (quantile * math.sqrt(2))
    return largest, max(1, math.ceil((spread / largest) ** 2))


@exercise.mistake("Is two standard errors what was asked for?")
def two_errors_always(difference, spread, quantile=1.96):
    """95 % are two standard errors, whatever is handed in."""
    largest = abs(difference) / (2 * math.sqrt(2))
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
