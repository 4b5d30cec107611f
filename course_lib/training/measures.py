"""Measures of a model."""

import math

import torch
from torch import Tensor, nn


def count_parameters(model: nn.Module) -> int:
    """Count the numbers that training changes."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def accuracy(logits: Tensor, labels: Tensor, *, ignore_id: int | None = None) -> float:
    """Share of labels ``(...)`` that have the largest logit ``(..., n_classes)``.

    Labels ``ignore_id``, such as padding, don't count; it is NaN if none does. Logits that hold NaN
    are no answer, and so none that is right.
    """
    right, n = _count_right(logits, labels, ignore_id)
    return right / n if n else math.nan


def _count_right(logits: Tensor, labels: Tensor, ignore_id: int | None) -> tuple[int, int]:
    if logits.shape[:-1] != labels.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)} and labels {tuple(labels.shape)}, "
            "wanted (..., n_classes) and (...)"
        )
    counts = torch.ones_like(labels, dtype=torch.bool)
    if ignore_id is not None:
        counts = labels != ignore_id
    right = (logits.argmax(dim=-1) == labels) & ~logits.isnan().any(dim=-1)
    return int((right & counts).sum()), int(counts.sum())
