"""BLEU from counts of each sentence, so that a test set can be drawn again or cut by length.

``sacrebleu`` counts; its corpus score of any sentences follows from the sums of their counts.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.training import seeded_generator

COUNTS = ("match1", "match2", "match3", "match4", "length", "reference")
"""Counts: n-grams that the reference has, too, and the words of both."""


def bleu_counts(translations: Sequence[str], references: Sequence[str]) -> Tensor:
    """Count each sentence against its reference: ``(N, 6)`` as in ``COUNTS``, cut as 13a does."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    rows = []
    for translation, reference in zip(translations, references, strict=True):
        found = metric.sentence_score(translation, [reference])
        rows.append([*found.counts, found.sys_len, found.ref_len])
    return torch.tensor(rows, dtype=torch.float64)


def bleu_signature() -> str:
    """Signature of ``sacrebleu``: how it counts, in its own words."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["a b c d"], [["a b c d"]])  # the number of references is in it
    return str(metric.get_signature())


def corpus_bleu(counts: Tensor) -> Tensor:
    """BLEU ``(...)`` of N sentences with counts ``(..., N, 6)``, in points of 100.

    A count of 0 is smoothed as ``sacrebleu`` does: the first becomes a half, the next a quarter.

    Source: Papineni et al., BLEU (2002), section 2.3.

    Example:
        All words of *the dog* are right, but the reference has four: its only bigram is there, too.

        >>> round(float(corpus_bleu(torch.tensor([[4.0, 3, 2, 1, 4, 4]]))), 2)
        100.0
    """
    matches, length, reference = counts[..., :4], counts[..., 4], counts[..., 5]
    places = (length[..., None] - torch.arange(4)).clamp(min=0).sum(-2)
    right = matches.sum(-2)
    none = (right == 0) & (places > 0)
    right = torch.where(none, 0.5 ** none.cumsum(-1), right)
    shares = (right / places).nan_to_num(0.0)
    brevity = (1 - reference.sum(-1) / length.sum(-1)).clamp(max=0).exp()
    return 100 * brevity * shares.log().mean(-1).exp()


def bleu_interval(*systems: Tensor, n_draws: int = 1000, seed: int = 0) -> tuple[float, float]:
    """The middle 95 % of BLEU when sentences are drawn with replacement.

    Of two systems on the same sentences, each with counts ``(N, 6)``: of the first less the second,
    both with the same draws.

    Source: Koehn, Statistical Significance Tests for Machine Translation Evaluation (2004).
    """
    n = len(systems[0])
    drawn = torch.randint(n, (n_draws, n), generator=seeded_generator(seed))
    scores = [corpus_bleu(counts[drawn]) for counts in systems]
    difference = scores[0] if len(scores) == 1 else scores[0] - scores[1]
    low, high = difference.quantile(torch.tensor([0.025, 0.975], dtype=difference.dtype)).tolist()
    return low, high
