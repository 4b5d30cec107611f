from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.start import see
from course_lib.bank.start.log_sum_exp import exercise


@exercise.answer
def reference(scores: Tensor) -> Tensor:
    """The logarithm of the sum of exponentials of each row."""
    return scores.logsumexp(-1)


@exercise.mistake(see("logsumexp", "Print `torch.tensor(100.0).exp()`."))
def typed(scores):
    """A right formula makes right code."""
    return scores.exp().sum(-1).log()


@exercise.mistake(see("logsumexp", "One row at +2000, one at -2000: what is left of the second?"))
def one_maximum_for_all(scores):
    """It is enough to subtract the largest score of the whole tensor."""
    top = scores.max()
    return (scores - top).exp().sum(-1).log() + top


@exercise.mistake(see("logsumexp", "Add 5 to all scores. By how much must the result rise?"))
def not_put_back(scores):
    """Subtracting the maximum changes nothing, so it need not be added again."""
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
