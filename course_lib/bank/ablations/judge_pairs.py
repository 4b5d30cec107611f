"""Exercise ``ablations.judge_pairs``."""

import math

from torch import Tensor

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(first: Tensor, second: Tensor, quantile: float) -> tuple[float, float, str]:
    """The mean difference, half of its interval's width, and what that decides."""
    differences = (first.double() - second.double()).tolist()
    n = len(differences)
    mean = math.fsum(differences) / n
    if n == 1:
        return mean, math.inf, "undecided"
    variance = math.fsum((d - mean) ** 2 for d in differences) / (n - 1)
    half = quantile * math.sqrt(variance / n)
    if abs(mean) <= half:
        return mean, half, "undecided"
    return mean, half, "lower" if mean < 0 else "higher"


exercise = Exercise(
    id="ablations.judge_pairs",
    function="judge_pairs",
    reference=reference,
    points=4.5,
    minutes=20,
    difficulty=2,
    chapter="18_ablations.html#ablations-spread",
    outcomes=("ablations.decide",),
    example=lambda t: (0.6 + 0.1 * t.randn(3).abs(), 0.5 + 0.1 * t.randn(3).abs(), 4.303),
    returns=("mean", "half", "verdict"),
)


def _arms(t: Trial, n: int, gap: float, common: float, own: float) -> tuple[Tensor, Tensor]:
    """Errors of two arms: the seeds' common luck, each arm's own, and a gap."""
    luck = common * _centred(t.randn(n))
    first, second = (own * _centred(t.randn(n)) for _ in range(2))
    return 0.6 + gap + luck + first, 0.6 + luck + second


def _centred(x: Tensor) -> Tensor:
    return (x - x.mean()) / x.std()


def verdict(t: Trial, first: Tensor, second: Tensor, quantile: float, note: str) -> float:
    """Expect the right decision, and return half of the width, which is asked for elsewhere."""
    got, want = t.values(t.call(first, second, quantile)), t.want(first, second, quantile)
    t.close(got[0], want[0], "mean", note=note)
    t.close(got[2], want[2], "verdict", note=note)
    return float(got[1])


@exercise.prop(
    "the mean of first - second", points=0.5, hint="Which of the two is taken away from the other?"
)
def mean(t: Trial) -> None:
    a, b = _arms(t, t.integer(3, 6), 0.1, 0.05, 0.02)
    want = t.want(a, b, 4.303)
    got = t.values(t.call(a, b, 4.303))
    t.close(got[0], want[0], "mean")


@exercise.prop(
    "half the width of the interval, from the differences of pairs",
    points=1.5,
    hint="Take the difference seed by seed first. Its spread, over the root of how many?",
)
def half(t: Trial) -> None:
    for n in (3, t.integer(4, 8)):
        a, b = _arms(t, n, 0.1, 0.2, 0.03)
        want, got = t.want(a, b, 2.5), t.call(a, b, 2.5)
        t.close(got[1], want[1], "half", note=f"{n} pairs")


@exercise.prop(
    "an interval that excludes 0 decides, on its side",
    points=1,
    hint="A negative mean says that the first arm's error is lower.",
)
def decided(t: Trial) -> None:
    for gap in (-0.3, 0.3):
        verdict(t, *_arms(t, t.integer(4, 6), gap, 0.5, 0.02), 2.776, f"gap {gap}")


@exercise.prop(
    "an interval with 0 inside leaves it undecided",
    points=0.5,
    hint="Is 0 further from the mean than half the width?",
)
def undecided(t: Trial) -> None:
    for gap in (-0.01, 0.01):
        verdict(t, *_arms(t, t.integer(3, 5), gap, 0.02, 0.3), 4.303, f"gap {gap}")
    same = t.randn(3)
    verdict(t, same, same, 4.303, "the same errors twice")


@exercise.prop(
    "one pair never decides: half is infinite",
    points=0.5,
    hint="How far apart are two runs with other seeds? One pair can't say.",
)
def one_pair(t: Trial) -> None:
    t.same(0.5 + 0.01 * t.randn(1), 0.9 + 0.01 * t.randn(1), 12.7)


@exercise.prop(
    "the quantile that is handed in counts, and more of it decides less",
    points=0.5,
    hint="Three seeds have a wider interval than thirty with the same spread. Where is that?",
)
def quantile(t: Trial) -> None:
    a, b = _arms(t, 4, 0.1, 0.3, 0.05)
    little = verdict(t, a, b, 0.2, "a small quantile")
    much = verdict(t, a, b, 40.0, "a large quantile")
    t.close(much, 200 * little, "half", note="quantile 40, compared to 200 times that of 0.2")


@exercise.mistake("Your spread of three differences: is it divided by three, or by two?")
def divided_by_n(first, second, quantile):
    """The variance of n differences is their mean square."""
    d = first.double() - second.double()
    n = len(d)
    if n == 1:
        return float(d), math.inf, "undecided"
    mean = float(d.mean())
    half = quantile * float(d.std(unbiased=False)) / math.sqrt(n)
    verdict = "undecided" if abs(mean) <= half else "lower" if mean < 0 else "higher"
    return mean, half, verdict


@exercise.mistake(
    "With a hundred seeds you know the mean better than with three. Does yours shrink?"
)
def spread_of_one(first, second, quantile):
    """The mean of n runs is as uncertain as a single run."""
    d = first.double() - second.double()
    if len(d) == 1:
        return float(d), math.inf, "undecided"
    mean, half = float(d.mean()), quantile * float(d.std())
    verdict = "undecided" if abs(mean) <= half else "lower" if mean < 0 else "higher"
    return mean, half, verdict


@exercise.mistake("Seeds that are hard for both arms: do they make your interval wider?")
def not_paired(first, second, quantile):
    """The two arms' variances are added up, whichever seeds they had."""
    a, b = first.double(), second.double()
    mean = float(a.mean() - b.mean())
    if len(a) == 1:
        return mean, math.inf, "undecided"
    half = quantile * math.sqrt(float(a.var() + b.var()) / len(a))
    verdict = "undecided" if abs(mean) <= half else "lower" if mean < 0 else "higher"
    return mean, half, verdict


@exercise.mistake("When would your function ever say 'undecided'?")
def the_better_mean_wins(first, second, quantile):
    """The lower mean wins."""
    d = first.double() - second.double()
    mean = float(d.mean())
    half = quantile * float(d.std()) / math.sqrt(len(d)) if len(d) > 1 else math.inf
    return mean, half, "lower" if mean < 0 else "higher"


@exercise.mistake("Which interval is to exclude 0: that of each arm, or that of the difference?")
def intervals_overlap(first, second, quantile):
    """Two arms differ when their own intervals don't overlap."""
    a, b = first.double(), second.double()
    n, mean = len(a), float((a - b).mean())
    if n == 1:
        return mean, math.inf, "undecided"
    half = quantile * float((a - b).std()) / math.sqrt(n)
    reach = quantile * float(a.std() + b.std()) / math.sqrt(n)
    verdict = "undecided" if abs(mean) <= reach else "lower" if mean < 0 else "higher"
    return mean, half, verdict


@exercise.mistake("One run each, and the verdict is certain? Run the same arm with another seed.")
def one_pair_is_enough(first, second, quantile):
    """Without a second pair there is no spread, so the interval has no width."""
    d = first.double() - second.double()
    mean = float(d.mean())
    half = quantile * float(d.std()) / math.sqrt(len(d)) if len(d) > 1 else 0.0
    verdict = "undecided" if abs(mean) <= half else "lower" if mean < 0 else "higher"
    return mean, half, verdict


@exercise.mistake(
    "These are errors. Is the arm with the lower error at a positive or a negative mean?"
)
def larger_is_better(first, second, quantile):
    """A positive difference means that the first arm's error is the lower one."""
    d = first.double() - second.double()
    mean = float(d.mean())
    if len(d) == 1:
        return mean, math.inf, "undecided"
    half = quantile * float(d.std()) / math.sqrt(len(d))
    verdict = "undecided" if abs(mean) <= half else "lower" if mean > 0 else "higher"
    return mean, half, verdict


@exercise.alternative
def by_statistics(first, second, quantile):
    """Takes mean and spread from the standard library; warns."""
    import statistics
    import warnings

    warnings.warn("statistics", stacklevel=1)
    d = [float(a) - float(b) for a, b in zip(first, second, strict=True)]
    mean = statistics.fmean(d)
    half = math.inf
    if len(d) > 1:
        half = quantile * statistics.stdev(d) / len(d) ** 0.5
    if mean - half <= 0 <= mean + half:
        return mean, half, "undecided"
    return mean, half, ("higher", "lower")[mean < 0]


@exercise.alternative
def by_all_pairs_of_pairs(first, second, quantile):
    """Takes the variance from how far every two differences are apart."""
    d = (first - second).double()
    n = d.numel()
    mean = d.sum().item() / n
    if n < 2:
        return mean, float("inf"), "undecided"
    apart = (d[:, None] - d[None, :]).square().sum().item() / (2 * n * (n - 1))
    half = quantile * (apart / n) ** 0.5
    low, high = mean - half, mean + half
    if low > 0:
        return mean, half, "higher"
    return mean, half, "lower" if high < 0 else "undecided"


@exercise.alternative
def with_numpy(first, second, quantile):
    """Mean and deviation are numpy's, and so are the numbers that come back."""
    import numpy as np

    differences = (first - second).double().numpy()
    mean, n = differences.mean(), len(differences)
    half = quantile * differences.std(ddof=1) / np.sqrt(n) if n > 1 else np.float64(np.inf)
    if abs(mean) > half:
        return mean, half, "higher" if mean > 0 else "lower"
    return mean, half, "undecided"
