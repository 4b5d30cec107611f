"""Exercise ``attention.saturation_lead``."""

import math

import torch

from course_lib.checks.compare import kind
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial, Wrong
from course_lib.scaling import saturation_lead

exercise = Exercise(
    id="attention.saturation_lead",
    function="saturation_lead",
    reference=saturation_lead,
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
    "the lead over a single other key",
    points=1,
    hint="First solve w(1 - w) = share/4 for the larger w. Then ask which lead gives that w: with"
    " two keys, w is the logistic function of it.",
)
def two_keys(t: Trial) -> None:
    for share in (0.01, _share(t), 1e-4):
        t.same(2, share, note=f"share={share:g}")


@exercise.prop(
    "the lead over many other keys",
    points=1,
    hint="All losers score 0. What do they add to the denominator of the winner's weight?",
)
def more_keys(t: Trial) -> None:
    for n_keys in (3, t.integer(5, 50), t.integer(60, 1000)):
        t.same(n_keys, _share(t), note=f"n_keys={n_keys}")
    t.same(n_keys, note=f"n_keys={n_keys}, the share left at 0.01")


@exercise.prop(
    "put into a softmax, your lead gives the slope that was asked for",
    points=0.5,
    hint="Put your lead into a softmax and let torch differentiate the largest weight.",
)
def slope(t: Trial) -> None:
    n_keys, share = t.integer(3, 50), _share(t)
    lead = t.call(n_keys, share)
    try:
        lead = float(lead)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong(f"the result is {kind(lead)}, wanted a number") from None
    winner = 1 / (1 + (n_keys - 1) * math.exp(min(700.0, -lead)))
    found = 4 * winner * (1 - winner)
    t.expect(
        winner >= 0.5,
        f"at a lead of {lead:.4g} over {n_keys - 1} keys the winner's weight is {winner:.4g},"
        " wanted at least half of it",
    )
    t.expect(
        abs(found - share) < 1e-3 * share,
        f"at a lead of {lead:.4g} over {n_keys - 1} keys the winner's weight is {winner:.4g} and"
        f" its slope {found:.3g} of the largest, wanted {share:g}",
    )


@exercise.prop(
    "a share of 1 gives the lead at which the slope is largest",
    points=0.5,
    hint="At which weight is w(1 - w) largest? Against how many keys is it reached?",
)
def largest_slope(t: Trial) -> None:
    t.same(2, 1.0, note="n_keys=2")
    n_keys = t.integer(10, 200)
    t.same(n_keys, 1.0, note=f"n_keys={n_keys}")


@exercise.mistake(
    "Compute the slope at a lead of 20, far below any overflow. Is it still worth training on?"
)
def overflow(n_keys, share=0.01):
    """The gradient dies when exp overflows."""
    return math.log(torch.finfo(torch.float32).max)


@exercise.mistake("Give the winner a lead of 3 over one key, then over a thousand: what changes?")
def one_rival(n_keys, share=0.01):
    """Only the lead over the runner-up matters, not how many keys there are."""
    return 2 * math.atanh(math.sqrt(1 - share)) if share < 1 else 0.0


@exercise.mistake("Who are the winner's rivals? Count them.")
def rival_of_itself(n_keys, share=0.01):
    """The winner competes with all n keys."""
    root = math.sqrt(1 - share)
    return math.log((1 + root) ** 2 / share) + math.log(n_keys)


@exercise.mistake("How does w itself enter the slope, when w is not near 1?")
def what_is_missing(n_keys, share=0.01):
    """The slope of a weight is what it still lacks to 1."""
    winner = 1 - share / 2
    return math.log(winner / (1 - winner)) + math.log(n_keys - 1)


@exercise.mistake("What is the largest value that w(1 - w) can have?")
def share_of_one(n_keys, share=0.01):
    """At its steepest a weight follows its score one to one."""
    winner = (1 + math.sqrt(max(0.0, 1 - 4 * share))) / 2
    return math.log(winner / (1 - winner)) + math.log(n_keys - 1)


@exercise.mistake("Double all scores. Do the weights keep their ratio?")
def proportional(n_keys, share=0.01):
    """Weights are in proportion to the scores."""
    root = math.sqrt(1 - share)
    return (n_keys - 1) * (1 + root) ** 2 / share


@exercise.alternative
def inverse_tanh(n_keys, share=0.01):
    """Uses that a two-key softmax is (1 + tanh(lead / 2)) / 2."""
    if share == 1:
        return math.log(n_keys - 1)
    return 2 * math.atanh(math.sqrt(1 - share)) + math.log(n_keys - 1)


@exercise.alternative
def bisection(n_keys, share=0.01):
    """Searches the lead with torch's own gradient, and warns about it."""
    import warnings

    warnings.warn("searching", stacklevel=1)

    def slope(lead):
        scores = torch.zeros(n_keys, dtype=torch.float64)
        scores[0] = lead
        scores.requires_grad_()
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(scores.softmax(0)[0], scores)
        return 4 * gradient[0].item()

    low = math.log(n_keys - 1)
    high = low + 100
    while high - low > 1e-9:
        middle = (low + high) / 2
        if slope(middle) > share:
            low = middle
        else:
            high = middle
    return low
