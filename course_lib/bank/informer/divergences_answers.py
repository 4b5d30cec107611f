from course_lib.bank.informer.divergences import exercise
from course_lib.bank.prelude import F, Tensor, math, torch
from course_lib.informer import sparsity_measure


@exercise.answer
def reference(scores: Tensor) -> tuple[Tensor, Tensor]:
    """How far the weights are from uniform, seen from either side."""
    log_weights = scores.log_softmax(dim=-1)
    log_n = math.log(scores.shape[-1])
    return sparsity_measure(scores) - log_n, (log_weights.exp() * log_weights).sum(-1) + log_n


@exercise.mistake("In `KL(A ‖ B)`, under which of the two are the logarithms averaged?")
def swapped(scores):
    """KL(A ‖ B) is a mean under B."""
    log_p = scores.log_softmax(-1)
    log_n = math.log(scores.shape[-1])
    return (log_p.exp() * log_p).sum(-1) + log_n, -log_p.mean(-1) - log_n


@exercise.mistake("What do you get for four equal scores? And what is their distance from uniform?")
def without_the_constant(scores):
    """The number of keys is a constant and may be left out."""
    log_p = scores.log_softmax(-1)
    return scores.logsumexp(-1) - scores.mean(-1), (log_p.exp() * log_p).sum(-1)


@exercise.mistake("What does your function return for weights of exactly 0?")
def logarithm_of_weights(scores):
    """The logarithm of a softmax is taken after it."""
    p = scores.softmax(-1)
    n = scores.shape[-1]
    return -p.log().mean(-1) - math.log(n), (p * p.log()).sum(-1) + math.log(n)


@exercise.mistake("Print the answer for weights (1/2, 1/2) and (1, 0): in which unit is it?")
def bits(scores):
    """Information is counted in bits."""
    log_p = scores.log_softmax(-1)
    log_n = math.log(scores.shape[-1])
    kl = -log_p.mean(-1) - log_n, (log_p.exp() * log_p).sum(-1) + log_n
    return kl[0] / math.log(2), kl[1] / math.log(2)


@exercise.mistake("U gives each key 1/S. Is the factor in your first sum?")
def sum_over_keys(scores):
    """KL(U ‖ P) is a plain sum over the keys."""
    log_p = scores.log_softmax(-1)
    log_n = math.log(scores.shape[-1])
    return (-log_p - log_n).sum(-1), (log_p.exp() * log_p).sum(-1) + log_n


@exercise.mistake("Is the mean over keys the same as the mean under the weights?")
def one_for_both(scores):
    """Both directions say the same."""
    log_p = scores.log_softmax(-1)
    kl = -log_p.mean(-1) - math.log(scores.shape[-1])
    return kl, kl.clone()


@exercise.mistake("Is the entropy large or small for sharp weights?")
def entropy(scores):
    """Entropy says how far weights are from uniform."""
    log_p = scores.log_softmax(-1)
    return -log_p.mean(-1) - math.log(scores.shape[-1]), -(log_p.exp() * log_p).sum(-1)


@exercise.mistake("What do you get for scores 0 and 20,000? And what is the logarithm of 1e-9?")
def floor_under_the_weights(scores):
    """A weight of 0 may be raised a little, so that it has a logarithm."""
    p = scores.softmax(-1)
    log_p = p.clamp(min=1e-9).log()
    log_n = math.log(scores.shape[-1])
    return -log_p.mean(-1) - log_n, (p * log_p).sum(-1) + log_n


@exercise.alternative
def by_cross_entropy(scores):
    """Both are cross-entropies less an entropy."""
    n = scores.shape[-1]
    even = torch.full_like(scores, 1 / n)
    log_p = F.log_softmax(scores, dim=-1)
    p = log_p.exp()
    cross = -(even * log_p).sum(-1)
    own = -(p * log_p).sum(-1)
    return cross - math.log(n), math.log(n) - own


@exercise.alternative
def by_the_library(scores):
    """Torch's divergence, whose first argument is the logarithm of the second; warns."""
    import warnings

    warnings.warn("mind the order", stacklevel=1)
    log_p = scores - scores.logsumexp(dim=-1, keepdim=True)
    log_u = torch.full_like(log_p, -math.log(scores.size(-1)))
    first = F.kl_div(log_p, log_u, reduction="none", log_target=True).sum(-1)
    return first, F.kl_div(log_u, log_p, reduction="none", log_target=True).sum(-1)
