from course_lib.bank.ablations.judge_pairs import exercise
from course_lib.bank.prelude import Tensor, math


@exercise.answer
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


@exercise.mistake("Your spread of three differences: is it divided by three, or by two?")
def divided_by_n(first, second, quantile):
    """The variance of n differences is their mean squared deviation."""
    d = first.double() - second.double()
    n = len(d)
    if n == 1:
        return float(d), math.inf, "undecided"
    mean = float(d.mean())
    half = quantile * float(d.std(unbiased=False)) / math.sqrt(n)
    verdict = "undecided" if abs(mean) <= half else "lower" if mean < 0 else "higher"
    return mean, half, verdict


@exercise.mistake(
    "With a hundred seeds you know the mean better than with three. Does `half` shrink?"
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


@exercise.mistake("Which interval decides: that of each arm, or that of the difference?")
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
    "These are errors. If the first arm's is lower, is the mean positive or negative?"
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
