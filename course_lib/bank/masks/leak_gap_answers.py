from course_lib.bank.masks.leak_gap import exercise
from course_lib.bank.prelude import math, torch


@exercise.answer
def reference(fill: float, n_visible: int, n_blocked: int, share: float) -> float:
    """The lead in score with which blocked keys take this share of the weight."""
    if not n_blocked or fill == -math.inf:
        return math.inf
    if not n_visible:
        return -math.inf
    return math.log(share / (1 - share)) + math.log(n_visible / n_blocked) - fill


@exercise.mistake("Your number is right for one share only. Which one is it?")
def fill_alone(fill, n_visible, n_blocked, share):
    """A blocked key leaks as soon as its score exceeds the fill."""
    if n_blocked == 0:
        return math.inf
    return -math.inf if n_visible == 0 else -fill


@exercise.mistake("Do ten blocked keys leak as little as one? Look at the softmax's denominator.")
def counts_forgotten(fill, n_visible, n_blocked, share):
    """How many keys there are cancels out."""
    if n_blocked == 0:
        return math.inf
    if n_visible == 0:
        return -math.inf
    return math.log(share / (1 - share)) - fill


@exercise.mistake("Do more blocked keys make a leak harder, or easier?")
def counts_upside_down(fill, n_visible, n_blocked, share):
    """The more blocked keys there are, the more each must win."""
    if n_blocked == 0:
        return math.inf
    if n_visible == 0:
        return -math.inf
    return math.log(share / (1 - share)) + math.log(n_blocked / n_visible) - fill


@exercise.mistake("Is e to your result the share itself, or its proportion to the rest?")
def share_for_odds(fill, n_visible, n_blocked, share):
    """The logarithm of a weight is its score."""
    if n_blocked == 0:
        return math.inf
    if n_visible == 0:
        return -math.inf
    return math.log(share) + math.log(n_visible / n_blocked) - fill


@exercise.mistake("Whose share is it: that of each blocked key, or that of all together?")
def share_of_each(fill, n_visible, n_blocked, share):
    """The share is that of each single blocked key."""
    if n_blocked == 0:
        return math.inf
    if n_visible == 0:
        return -math.inf
    rest = 1 - share * n_blocked
    if rest <= 0:
        return math.inf
    return math.log(share * n_visible / rest) - fill


@exercise.mistake("Is a row without a visible key safe because its fill is large?")
def empty_row_is_safe(fill, n_visible, n_blocked, share):
    """Where nothing is visible, nothing can leak."""
    if n_blocked == 0 or n_visible == 0:
        return math.inf
    return math.log(share / (1 - share)) + math.log(n_visible / n_blocked) - fill


@exercise.alternative
def bisection(fill, n_visible, n_blocked, share):
    """Searches for the gap by halving an interval, with a sigmoid, and warns."""
    import warnings

    warnings.warn("searching instead of solving", stacklevel=1)
    if n_blocked == 0 or fill == float("-inf"):
        return math.inf
    if n_visible == 0:
        return -math.inf
    low, high = -100.0, 100.0
    for _ in range(100):
        lead = (low + high) / 2
        odds = math.exp(-lead) * n_visible / n_blocked
        if 1 / (1 + odds) < share:
            low = lead
        else:
            high = lead
    return high - fill


@exercise.alternative
def odds(fill, n_visible, n_blocked, share):
    """One logarithm of the odds, as a tensor."""
    if n_visible == 0:
        return -math.inf
    if min(n_blocked, 1) == 0:
        return math.inf
    ratio = torch.tensor(share * n_visible / (n_blocked * (1 - share)), dtype=torch.float64)
    return ratio.log() - fill
