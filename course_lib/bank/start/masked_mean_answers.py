from course_lib.bank.prelude import Tensor, torch
from course_lib.bank.start import see
from course_lib.bank.start.masked_mean import exercise


@exercise.answer
def reference(values: Tensor, mask: Tensor) -> Tensor:
    """Averages of the rows where the mask is True; 0 where there are none."""
    kept = torch.where(mask.unsqueeze(-1), values, 0.0)
    return kept.sum(-2) / mask.sum(-1, keepdim=True).clamp(min=1)


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


@exercise.mistake(see("broadcasting", "Does every sentence have equally many words that count?"))
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
