"""Exercise ``informer.divergences``."""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial
from course_lib.informer import sparsity_measure


def reference(scores: Tensor) -> tuple[Tensor, Tensor]:
    """How far the weights are from uniform, seen from either side."""
    log_weights = scores.log_softmax(dim=-1)
    log_n = math.log(scores.shape[-1])
    return sparsity_measure(scores) - log_n, (log_weights.exp() * log_weights).sum(-1) + log_n


exercise = Exercise(
    id="informer.divergences",
    function="divergences",
    reference=reference,
    points=4,
    minutes=15,
    difficulty=2,
    chapter="17_informer.html#informer-measure",
    outcomes=("informer.measure",),
    example=lambda t: (t.randn(3, 5),),
    returns=("KL(U ‖ P)", "KL(P ‖ U)"),
)


@exercise.prop(
    "KL(U ‖ P), the mean over the keys of ln U - ln P",
    points=1,
    hint="Every key has the same share 1/S in this sum. What stands behind the share?",
)
def from_uniform(t: Trial) -> None:
    scores = 2 * t.randn(t.integer(2, 4), t.integer(5, 9))
    got = t.values(t.call(scores))
    t.close(got[0], t.want(scores)[0], "KL(U ‖ P)")


@exercise.prop(
    "KL(P ‖ U), the mean under the weights of ln P - ln U",
    points=1,
    hint="For weights (1/2, 1/2, 0, 0) it is ln 2. Which share does a key have in this sum?",
)
def to_uniform(t: Trial) -> None:
    scores = 2 * t.randn(t.integer(2, 4), t.integer(5, 9))
    got = t.values(t.call(scores))
    t.close(got[1], t.want(scores)[1], "KL(P ‖ U)")


@exercise.prop(
    "both are 0 for scores that are all alike, whatever their number",
    points=0.5,
    hint="What are the weights of three equal scores? And the logarithm of each?",
)
def uniform(t: Trial) -> None:
    # An answer that is 0 everywhere has said nothing.
    t.same(t.randn(4, t.integer(3, 6)))
    t.same(torch.full((2, t.integer(3, 40)), float(t.integer(-3, 3))), note="equal scores")
    t.same(t.randn(3, 1), note="a single key")


@exercise.prop(
    "scores in the ten thousands",
    points=0.5,
    hint="A weight of exactly 0 has no logarithm. Which function gives the logarithm itself?",
)
def large(t: Trial) -> None:
    scores = 1e4 * t.randn(3, 6)
    # Two best keys in one row: its weights are no zeros and ones.
    scores[0, :2] = scores.max()
    got = t.parts(t.call(scores), *exercise.returns)
    for part, want, what in zip(got, t.want(scores), exercise.returns, strict=True):
        t.expect(bool(t.a_tensor(part, (3,), what).any()), f"{what} is all 0")
        # A factor, a constant or the direction are asked above: here, whether the size is right.
        t.expect(
            ((part > 0.15 * want) & (part < 10 * want + 10)).all(),
            f"{what} is {part.tolist()}, wanted about {want.tolist()}",
        )


@exercise.prop(
    "batches and heads before the keys, and gradients",
    points=0.5,
    hint="Which axis are the keys? Count it from the end.",
)
def axes(t: Trial) -> None:
    scores = t.randn(2, 3, 4, 5)
    many = t.parts(t.call(scores), *exercise.returns)
    alone = t.parts(t.call(scores[1, 2, 3]), *exercise.returns)
    for part, one, what in zip(many, alone, exercise.returns, strict=True):
        t.a_tensor(part, (2, 3, 4), what)
        t.close(part[1, 2, 3], one, what, note="the last query, compared to alone")
    t.gradient(t.randn(2, 4, dtype=torch.float64))


@exercise.prop(
    "the scores are left as they were",
    points=0.5,
    hint="Look for operations that end in an underscore.",
)
def no_side_effect(t: Trial) -> None:
    t.unchanged(t.randn(3, 5))


@exercise.mistake("In `KL(A ‖ B)`, by which of the two are the logarithms averaged?")
def swapped(scores):
    """The first distribution of a divergence is the one that it is measured from."""
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
    """The divergence from the uniform distribution adds up what the keys miss."""
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
    """How far weights are from uniform is their entropy."""
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
