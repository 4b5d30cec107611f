from statistics import NormalDist

from course_lib.bank.ablations.plan_runs import exercise
from course_lib.bank.prelude import changed, math, torch


@exercise.answer
def reference(
    difference: float, spread: float, pairs: int, power: float = 0.8, quantile: float = 1.96
) -> tuple[float, int]:
    """The chance that a plan finds a difference, and the pairs that a target power needs."""
    normal = NormalDist()
    if spread == 0:
        return 1.0, 1
    chance = normal.cdf(abs(difference) * math.sqrt(pairs) / spread - quantile)
    wanted = (quantile + normal.inv_cdf(power)) * spread / difference
    return chance, max(1, math.ceil(wanted**2))


@exercise.mistake("The mean that you measure is not the true difference. How often is it smaller?")
def found_when_large_enough(difference, spread, pairs, power=0.8, quantile=1.96):
    """A true difference of q standard deviations is always found."""
    if spread == 0:
        return 1.0, 1
    z = abs(difference) * math.sqrt(pairs) / spread - quantile
    chance = 0.5 * (1 + math.erf(z / math.sqrt(2)))
    return chance, max(1, math.ceil((quantile * spread / difference) ** 2))


@exercise.mistake("The spread is that of the differences already. What do you count twice?")
def as_if_unpaired(difference, spread, pairs, power=0.8, quantile=1.96):
    """Two arms vary, so the variance counts twice."""
    from statistics import NormalDist

    if spread == 0:
        return 1.0, 1
    spread = spread * math.sqrt(2)
    chance = NormalDist().cdf(abs(difference) * math.sqrt(pairs) / spread - quantile)
    wanted = (quantile + NormalDist().inv_cdf(power)) * spread / difference
    return chance, max(1, math.ceil(wanted**2))


def right(difference, spread, pairs, power=0.8, quantile=1.96):
    """Base of the mistakes, itself right."""
    from statistics import NormalDist

    if spread == 0:
        return 1.0, 1
    chance = NormalDist().cdf(abs(difference) * math.sqrt(pairs) / spread - quantile)
    needed = (quantile + NormalDist().inv_cdf(power)) * spread / difference
    return chance, max(1, math.ceil(needed**2))


@exercise.mistake("With four times as many pairs, by which factor does the mean's spread shrink?")
@changed(
    right,
    ("math.sqrt(pairs)", "pairs"),
    ("/ difference", "/ abs(difference)"),
    ("needed**2", "needed"),
)
def halved_by_two_pairs():
    """The mean of n differences has an nth of one difference's spread."""


@exercise.mistake("Put the number that you return back in: is the chance large enough then?")
@changed(right, ("math.ceil", "math.floor"))
def rounded_down():
    """7.9 pairs are seven pairs."""


@exercise.mistake("Where exactly 16 pairs have the target chance, how many do you return?")
@changed(right, ("max(1, math.ceil", "math.floor"), ("needed**2))", "needed**2) + 1"))
def always_one_more():
    """The pairs are the next whole number above the solution."""


@exercise.mistake("What is your chance when the second arm's error is the larger one?")
@changed(right, ("abs(difference)", "difference"))
def signed_chance():
    """The first arm is the one with the larger error."""


@exercise.mistake("A chance of 0.8 lies how many standard deviations above the middle?")
@changed(right, ("NormalDist().inv_cdf(power)", "power"))
def chance_as_deviations():
    """A chance of 0.8 takes 0.8 standard deviations more."""


@exercise.mistake("Is the number that you return pairs, or runs?")
@changed(right, (", max(1", ", 2 * max(1"))
def runs_for_pairs():
    """The number asked for is that of all runs."""


@exercise.alternative
def by_trying(difference, spread, pairs, power=0.8, quantile=1.96):
    """Takes one pair more until the chance is large enough."""

    def found(n):
        if spread == 0:
            return 1.0
        z = abs(difference) / (spread / n**0.5) - quantile
        return (1 + math.erf(z / 2**0.5)) / 2

    n = 1
    while found(n) < power:
        n += 1
    return found(pairs), n


@exercise.alternative
def with_torch(difference, spread, pairs, power=0.8, quantile=1.96):
    """Computes with torch's normal distribution and gives tensors back."""
    apart = torch.tensor([difference, power], dtype=torch.float64)
    ratio = apart[0].abs() / spread
    wanted = (quantile + torch.special.ndtri(apart[1])) / ratio
    return torch.special.ndtr(ratio * pairs**0.5 - quantile), int(max(1, (wanted**2).ceil()))


@exercise.alternative
def with_numpy(difference, spread, pairs, power=0.8, quantile=1.96):
    """numpy's numbers come back; the border, not the mean, is measured."""
    from statistics import NormalDist

    import numpy as np

    if spread == 0:
        return np.float64(1), np.int64(1)
    mean = NormalDist(abs(difference), spread / np.sqrt(pairs))
    chance = 1 - mean.cdf(quantile * spread / np.sqrt(pairs))
    n = np.ceil(((quantile + NormalDist().inv_cdf(power)) * spread / difference) ** 2)
    return np.float64(chance), np.int64(max(n, 1))
