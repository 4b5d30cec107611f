"""Exercise ``start.log_sum_exp``."""

import math

import torch
from torch import Tensor

from course_lib.bank.start import see
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(scores: Tensor) -> Tensor:
    """The logarithm of the sum of exponentials of each row."""
    return scores.logsumexp(-1)


exercise = Exercise(
    id="start.log_sum_exp",
    function="log_sum_exp",
    reference=reference,
    points=3,
    minutes=10,
    difficulty=2,
    chapter="00_start.html#start-logsumexp",
    outcomes=("start.logsumexp",),
    example=lambda t: (t.randn(3, 3),),
)


@exercise.prop(
    "the soft maximum of each row",
    points=1,
    hint=see("logsumexp", "Two scores of 0: what must come out? And over which axis is summed?"),
)
def values(t: Trial) -> None:
    t.same(t.randn(3, t.integer(4, 7)))
    t.same(t.randn(2, 3, 4), note="three axes")


@exercise.prop(
    "very large and very small scores do no harm",
    points=1,
    hint=see("logsumexp", "What is the largest number whose exponential fits into a float?"),
)
def large(t: Trial) -> None:
    t.same(1e3 * t.randn(4, 5))
    t.same(t.randn(3, 5) + torch.tensor([[-2000.0], [0.0], [2000.0]]), note="rows far apart")


@exercise.prop(
    "a row of minus infinity has the soft maximum minus infinity",
    points=0.5,
    hint=see("logsumexp", "What is minus infinity minus minus infinity?"),
)
def nothing(t: Trial) -> None:
    scores = t.randn(3, 4)
    scores[t.integer(0, 2)] = -math.inf
    t.same(scores)


@exercise.prop(
    "gradients are the softmax",
    points=0.5,
    hint=see("autograd", "Is the record of what was done cut somewhere?"),
)
def gradients(t: Trial) -> None:
    t.gradient(t.randn(2, 3, dtype=torch.float64))


@exercise.mistake(see("logsumexp", "Print `torch.tensor(100.0).exp()`."))
def typed(scores):
    """A formula is right, so its code is."""
    return scores.exp().sum(-1).log()


@exercise.mistake(see("logsumexp", "One row at +2000, one at -2000: what is left of the second?"))
def one_maximum_for_all(scores):
    """It is enough to take the largest of all scores away."""
    top = scores.max()
    return (scores - top).exp().sum(-1).log() + top


@exercise.mistake(see("logsumexp", "Add 5 to all scores. By how much must the result rise?"))
def not_put_back(scores):
    """What is taken away first changes nothing, so nothing has to be put back."""
    top = scores.max(-1, keepdim=True).values
    return (scores - top).exp().sum(-1).log()


@exercise.mistake(see("broadcasting", "For scores (2, 7), how many soft maxima are asked for?"))
def over_the_wrong_axis(scores):
    """The first axis is the one that is summed."""
    return scores.logsumexp(0)


@exercise.mistake(see("logsumexp", "A row of nothing but minus infinity: what do you subtract?"))
def infinite_minus_infinite(scores):
    """The largest score can always be taken away."""
    top = scores.max(-1, keepdim=True).values
    return (scores - top).exp().sum(-1).log() + top.squeeze(-1)


@exercise.alternative
def finite_maximum(scores):
    """Takes away the maximum where there is one, and warns."""
    import warnings

    warnings.warn("careful with infinity", stacklevel=1)
    top = scores.amax(dim=-1, keepdim=True).detach()
    top = torch.where(top.isfinite(), top, torch.zeros_like(top))
    return torch.log(torch.exp(scores - top).sum(dim=-1)) + top[..., 0]


@exercise.alternative
def pair_by_pair(scores):
    """Takes in one score at a time."""
    total, *rest = scores.unbind(-1)
    for score in rest:
        total = torch.logaddexp(total, score)
    return total
