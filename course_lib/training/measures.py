"""What a model is measured by."""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.layers import evaluating


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


def evaluate_accuracy(
    model: nn.Module,
    batches: Iterable[Any],
    *,
    predict: Callable[[nn.Module, Any], tuple[Tensor, Tensor]] | None = None,
    ignore_id: int | None = None,
) -> float:
    """Accuracy over many batches, each place counting once however the batches are cut.

    The model is in evaluation mode and without gradients; the mode of each part is restored.

    Args:
        predict: From model and batch to logits ``(..., n_classes)`` and labels ``(...)``; if not
            given, a batch is a pair of inputs and labels.
        ignore_id: Label of places that don't count, such as padding.
    """
    predict = predict or _predict_pair
    right = n = 0
    with evaluating(model), torch.no_grad():
        for batch in batches:
            more_right, more = _count_right(*predict(model, batch), ignore_id)
            right, n = right + more_right, n + more
    return right / n if n else math.nan


def _predict_pair(model: nn.Module, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    inputs, labels = batch
    return model(inputs), labels


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
