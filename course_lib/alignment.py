"""Alignments: which source word (column) a target word (row) translates."""

from collections.abc import Iterable

import torch
from torch import Tensor


def ideal_weights(links: Iterable[tuple[int, int]], n_source: int, n_target: int) -> Tensor:
    """The attention weights ``(T, S)`` that show links (source, target) and nothing else.

    Each target word divides its attention equally among its source words, so its row sums to 1, or
    to 0 if it translates none. Nothing of the kind holds for columns.
    """
    weights = torch.zeros(n_target, n_source)
    for source, target in links:
        if not (0 <= source < n_source and 0 <= target < n_target):
            raise ValueError(
                f"link ({source}, {target}) lies outside a sentence of {n_source} source and "
                f"{n_target} target words"
            )
        weights[target, source] = 1.0
    return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1.0)


def hard_alignment(weights: Tensor, threshold: float | None = None) -> Tensor:
    """Turn weights ``(..., T, S)`` into links: each row's largest, or all from a threshold on.

    A row of zeros, as padding has it, gets no link.
    """
    if threshold is not None:
        return (weights >= threshold) & (weights > 0)
    best = weights.argmax(dim=-1, keepdim=True)
    return torch.zeros_like(weights, dtype=torch.bool).scatter(-1, best, True) & (weights > 0)


def alignment_error_rate(predicted: Tensor, gold: Tensor, possible: Tensor | None = None) -> float:
    """Compare links A with the true ones: ``1 - (|A and S| + |A and P|) / (|A| + |S|)``.

    S are the *sure* links, P the *possible* ones, which the sure ones belong to and which may be
    left out at no cost; all boolean ``(..., T, S)``, and counted together over all sentences.

    Source: Och and Ney, A Systematic Comparison of Various Statistical Alignment Models (2003),
    section 5.
    """
    for name, links in (("gold", gold), ("possible", gold if possible is None else possible)):
        if predicted.shape != links.shape or not predicted.dtype == links.dtype == torch.bool:
            raise ValueError(
                f"got {predicted.dtype} {tuple(predicted.shape)} and {name} {links.dtype} "
                f"{tuple(links.shape)}, wanted boolean tensors of one shape"
            )
    possible = gold if possible is None else gold | possible
    total = int(predicted.sum() + gold.sum())
    correct = int((predicted & gold).sum() + (predicted & possible).sum())
    return (total - correct) / total if total else 0.0
