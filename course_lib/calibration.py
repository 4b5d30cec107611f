"""Does a model know how often it is right?"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Reliability(NamedTuple):
    """Of each bin ``(M,)``: answers, mean confidence, share that is right; 0 if empty."""

    counts: Tensor
    confidence: Tensor
    accuracy: Tensor


def reliability(logits: Tensor, labels: Tensor, n_bins: int = 10) -> Reliability:
    """Sort answers ``(N, n_classes)`` by confidence, their largest probability.

    Bin m holds the confidences above ``m / n_bins`` and up to ``(m + 1) / n_bins``.

    Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 2.
    """
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)} and labels {tuple(labels.shape)}, "
            "wanted (N, n_classes) and (N,)"
        )
    if n_bins < 1:
        raise ValueError(f"n_bins is {n_bins}, wanted at least 1")
    confidence, answer = logits.double().softmax(dim=-1).max(dim=-1)
    right = ((answer == labels) & ~confidence.isnan()).double()
    edges = torch.arange(1, n_bins, dtype=torch.float64, device=logits.device) / n_bins
    bins = torch.bucketize(confidence, edges)
    sums = confidence.new_zeros(3, n_bins)
    sums.index_add_(1, bins, torch.stack([torch.ones_like(right), confidence, right]))
    means = sums[1:] / sums[0].clamp(min=1)
    return Reliability(sums[0].long(), means[0], means[1])


def expected_calibration_error(logits: Tensor, labels: Tensor, n_bins: int = 10) -> float:
    """Mean distance of confidence and accuracy of answers ``(N, n_classes)``, weighted by bin.

    It is 0 for a calibrated model, of whose answers given with confidence 0.8 eight in ten are
    right, and for one that answers at random and knows it; NaN without answers.

    Source: Guo et al., On Calibration of Modern Neural Networks (2017), equation 3.
    """
    counts, confidence, accuracy = reliability(logits, labels, n_bins)
    total = int(counts.sum())
    if total == 0:
        return math.nan
    return float((counts * (confidence - accuracy).abs()).sum() / total)


def fit_temperature(logits: Tensor, labels: Tensor, steps: int = 60) -> float:
    """The number, 1/20 to 20, by which to divide held-out logits ``(N, n_classes)``.

    It makes the loss smallest; above 1 the model was too sure. No answer changes; only confidences
    do. The loss falls and then rises in the temperature's logarithm, so a third of the range can be
    thrown away ``steps`` times. Where the loss is infinite, no temperature helps: ``ValueError``.

    Source: Guo et al., On Calibration of Modern Neural Networks (2017), section 4.2.
    """
    if logits.numel() == 0 or logits.isnan().any():
        what = f"hold {int(logits.isnan().sum())} NaN" if logits.numel() else "are empty"
        raise ValueError(f"logits {tuple(logits.shape)} {what}, wanted (N, n_classes) of numbers")
    logits = logits.double()
    low, high = -math.log(20), math.log(20)

    def loss(exponent: float) -> float:
        return F.cross_entropy(logits / math.exp(exponent), labels).item()

    if not math.isfinite(loss(0.0)):
        raise ValueError(f"the loss is {loss(0.0)}: a label's logit, or all of a row, is infinite")
    for _ in range(steps):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return math.exp((low + high) / 2)
