"""Exercise ``start.masked_mean``."""

import math

import torch
from torch import Tensor

from course_lib.bank.start import see
from course_lib.checks.exercise import Exercise
from course_lib.checks.trial import Trial


def reference(values: Tensor, mask: Tensor) -> Tensor:
    """Averages of the rows where the mask is True; 0 where there are none."""
    kept = torch.where(mask.unsqueeze(-1), values, 0.0)
    return kept.sum(-2) / mask.sum(-1, keepdim=True).clamp(min=1)


exercise = Exercise(
    id="start.masked_mean",
    function="masked_mean",
    reference=reference,
    points=3,
    minutes=10,
    difficulty=2,
    chapter="00_start.html#start-broadcasting",
    outcomes=("start.broadcasting",),
    example=lambda t: (t.randn(3, 4, 3), t.keep_mask(3, 4)),
)


@exercise.prop(
    "each sentence's average over the words that count",
    points=1,
    hint=see("broadcasting", "By how many words is each sentence divided, and has its count an axis"
             " to line up with?"),
)  # fmt: skip
def values(t: Trial) -> None:
    mask = torch.tensor([[1, 0, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 0, 1, 1]]).bool()
    t.same(t.randn(3, 5, 3), mask, note="B = D")
    t.same(t.randn(3, 5, t.integer(4, 6)), mask)


@exercise.prop(
    "a sentence without words that count has the average 0",
    points=1,
    hint=see("logsumexp", "0 divided by 0 is not a number, and a number is what was asked for."
             " What would be a safe divisor?"),
)  # fmt: skip
def empty(t: Trial) -> None:
    t.same(t.randn(2, 4, 3), torch.tensor([[False] * 4, [True, False, True, False]]))


@exercise.prop(
    "what doesn't count may be anything, infinity too",
    points=1,
    hint=see("logsumexp", "What is infinity times 0?"),
)
def anything_hidden(t: Trial) -> None:
    # As many words in one sentence as in the other: what each is divided by is asked above.
    x, mask = t.randn(2, 4, 3), t.randn(2, 4).argsort(-1) < t.integer(1, 3)
    t.same(x.masked_fill(~mask[..., None], math.inf), mask)
    t.same(x.masked_fill(~mask[..., None], math.nan), mask)


@exercise.mistake(see("broadcasting", "Two of four words count. Your sum of two is divided by...?"))
def mean_of_zeros(values, mask):
    """What is set to 0 no longer matters for a mean."""
    return torch.where(mask.unsqueeze(-1), values, 0.0).mean(-2)


@exercise.mistake(
    see("broadcasting", "(B, D) divided by (B,): with which axis does the count line up?")
)
def count_without_axis(values, mask):
    """The counts (B,) divide the sentences (B, D)."""
    kept = torch.where(mask.unsqueeze(-1), values, 0.0)
    return kept.sum(-2) / mask.sum(-1).clamp(min=1)


@exercise.mistake(see("broadcasting", "Has every sentence as many words that count as all others?"))
def one_count_for_all(values, mask):
    """All sentences are divided by the average count."""
    kept = torch.where(mask.unsqueeze(-1), values, 0.0)
    return kept.sum(-2) / mask.sum().clamp(min=1) * len(mask)


@exercise.mistake(see("logsumexp", "A value of infinity that does not count: what comes out?"))
def multiplied_away(values, mask):
    """Times 0 makes everything 0."""
    kept = values * mask.unsqueeze(-1)
    return kept.sum(-2) / mask.sum(-1, keepdim=True).clamp(min=1)


@exercise.mistake(see("logsumexp", "Print `torch.zeros(1) / 0`."))
def nothing_over_nothing(values, mask):
    """0 divided by 0 is 0."""
    kept = torch.where(mask.unsqueeze(-1), values, 0.0)
    return kept.sum(-2) / mask.sum(-1, keepdim=True)


@exercise.alternative
def loop(values, mask):
    """Sentence by sentence, with the words picked out; warns."""
    import warnings

    warnings.warn("a loop", stacklevel=1)
    rows = []
    for sentence, counts in zip(values, mask, strict=True):
        chosen = sentence[counts]
        rows.append(chosen.mean(0) if len(chosen) else torch.zeros_like(sentence[0]))
    return torch.stack(rows)


@exercise.alternative
def as_weights(values, mask):
    """Weights that sum to 1 where they can, and one product."""
    weights = mask.to(values.dtype)
    weights = torch.nn.functional.normalize(weights, p=1, dim=-1)
    clean = values.masked_fill(mask.logical_not().unsqueeze(-1), 0)
    return torch.einsum("bs,bsd->bd", weights, clean)
