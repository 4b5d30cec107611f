"""Does a model know how often it is right?

A classifier's confidence is the largest of its probabilities. It is *calibrated* if of all answers
given with confidence 0.8, eight in ten are right.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["Reliability", "expected_calibration_error", "fit_temperature", "reliability"]


class Reliability(NamedTuple):
    """What a reliability diagram shows, by bins of confidence.

    Attributes:
        counts: Answers in each bin ``(M,)``.
        confidence: Their mean confidence ``(M,)``; 0 in empty bins.
        accuracy: Share of them that are right ``(M,)``; 0 in empty bins.
    """

    counts: Tensor
    confidence: Tensor
    accuracy: Tensor


def reliability(logits: Tensor, labels: Tensor, n_bins: int = 10) -> Reliability:
    """Sort answers by their confidence and see how many are right.

    Bin m holds the confidences above ``m / n_bins`` and up to ``(m + 1) / n_bins``.

    Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 2.

    Args:
        logits: ``(N, n_classes)``.
        labels: Right classes ``(N,)``.
        n_bins: Number of bins M.

    Returns:
        Three tensors ``(M,)``, the last two in double precision.

    Raises:
        ValueError: If the shapes don't fit or there is no bin.

    Example:
        >>> logits = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]]).log()
        >>> reliability(logits, torch.tensor([0, 1, 1]), n_bins=2).accuracy
        tensor([0.0000, 0.6667], dtype=torch.float64)
    """
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)} and labels {tuple(labels.shape)}, "
            "wanted (N, n_classes) and (N,)"
        )
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}, wanted at least 1")
    confidence, answer = logits.double().softmax(dim=-1).max(dim=-1)
    right = (answer == labels).double()
    edges = torch.arange(1, n_bins, dtype=torch.float64, device=logits.device) / n_bins
    bins = torch.bucketize(confidence, edges)
    sums = confidence.new_zeros(3, n_bins)
    sums.index_add_(1, bins, torch.stack([torch.ones_like(right), confidence, right]))
    means = sums[1:] / sums[0].clamp(min=1)
    return Reliability(sums[0].long(), means[0], means[1])


def expected_calibration_error(logits: Tensor, labels: Tensor, n_bins: int = 10) -> float:
    """Mean distance of confidence and accuracy over bins, each weighing as many as it holds.

    It is 0 for a calibrated model, and for one that answers at random and knows it.

    Source: Guo et al., On Calibration of Modern Neural Networks (2017), equation 3.

    Args:
        logits: ``(N, n_classes)``.
        labels: Right classes ``(N,)``.
        n_bins: Number of bins.

    Returns:
        A number in [0, 1]; NaN if there are no answers.

    Raises:
        ValueError: If the shapes don't fit or there is no bin.

    Example:
        >>> sure = torch.tensor([[0.9, 0.1]] * 10).log()
        >>> labels = torch.tensor([0] * 6 + [1] * 4)
        >>> round(expected_calibration_error(sure, labels), 3)  # says 0.9, is right 6 times in 10
        0.3
    """
    counts, confidence, accuracy = reliability(logits, labels, n_bins)
    total = int(counts.sum())
    if total == 0:
        return math.nan
    return float((counts * (confidence - accuracy).abs()).sum() / total)


def fit_temperature(logits: Tensor, labels: Tensor, steps: int = 60) -> float:
    """The one number to divide all logits by, so that the loss is smallest.

    No answer changes, as the order of the logits stays; only confidences do. The loss falls and
    then rises in the temperature's logarithm, so that thirds can be thrown away.

    Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 4.2.

    Args:
        logits: ``(N, n_classes)`` of examples that the model was not trained on.
        labels: Right classes ``(N,)``.
        steps: How often a third of the range is thrown away.

    Returns:
        A number between 1/20 and 20; above 1 if the model was too sure.

    Raises:
        ValueError: If there are no examples, or logits are NaN.

    Example:
        >>> logits = torch.tensor([[8.0, 0.0]] * 4)
        >>> round(fit_temperature(logits, torch.tensor([0, 0, 0, 1])), 2)  # 8 / ln 3
        7.28
    """
    if logits.numel() == 0 or logits.isnan().any():
        what = f"hold {int(logits.isnan().sum())} NaN" if logits.numel() else "are empty"
        raise ValueError(f"logits {tuple(logits.shape)} {what}, wanted numbers of some examples")
    logits = logits.double()
    low, high = -math.log(20), math.log(20)

    def loss(exponent: float) -> float:
        return F.cross_entropy(logits / math.exp(exponent), labels).item()

    for _ in range(steps):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return math.exp((low + high) / 2)
