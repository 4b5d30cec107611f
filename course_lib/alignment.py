"""Alignments: which source word a target word translates, as links and as attention weights.

Matrices have the orientation of attention weights: rows are target words (queries), columns are
source words (keys).
"""

from collections.abc import Iterable

import torch
from torch import Tensor

__all__ = ["alignment_error_rate", "hard_alignment", "ideal_weights"]


def ideal_weights(links: Iterable[tuple[int, int]], n_source: int, n_target: int) -> Tensor:
    """Write the attention weights that show an alignment and nothing else.

    Each target word divides its attention equally among the source words that it is linked to. So
    its row sums to 1, or to 0 if it translates no word. Nothing of the kind holds for columns: a
    source word may be looked at by many target words, or by none.

    Args:
        links: Pairs (source position, target position), counted from 0; one given twice counts
            once.
        n_source: Number S of source words.
        n_target: Number T of target words.

    Returns:
        Weights ``(T, S)``.

    Raises:
        ValueError: If a link lies outside the sentences.

    Example:
        "im garten" - "in the garden": one word becomes two, so a column sums to 2.

        >>> ideal_weights([(0, 0), (0, 1), (1, 2)], n_source=2, n_target=3)
        tensor([[1., 0.],
                [1., 0.],
                [0., 1.]])
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
    """Turn attention weights into links.

    Args:
        weights: ``(..., T, S)``; a row of zeros, as padding has it, gets no link.
        threshold: The weight from which on a pair is linked. None links each target word to the
            one source word that has the most weight, the first of several.

    Returns:
        Boolean ``(..., T, S)``.

    Example:
        >>> weights = torch.tensor([[0.5, 0.4, 0.1], [0.0, 0.0, 1.0]])
        >>> hard_alignment(weights).int().tolist()
        [[1, 0, 0], [0, 0, 1]]
        >>> hard_alignment(weights, threshold=0.3).int().tolist()
        [[1, 1, 0], [0, 0, 1]]
    """
    if threshold is not None:
        return (weights >= threshold) & (weights > 0)
    best = weights.argmax(dim=-1, keepdim=True)
    return torch.zeros_like(weights, dtype=torch.bool).scatter(-1, best, True) & (weights > 0)


def alignment_error_rate(predicted: Tensor, gold: Tensor, possible: Tensor | None = None) -> float:
    """Compare links A with the true ones: ``1 - (|A and S| + |A and P|) / (|A| + |S|)``.

    S are the *sure* links, P the *possible* ones, which the sure ones belong to: a possible link
    may be drawn or left out at no cost. Without a difference between them this is
    ``1 - 2 |A and G| / (|A| + |G|)``.

    With leading axes the links of all sentences are counted together, as is usual for a corpus:
    a long sentence then weighs more than a short one.

    Source: Och and Ney, A Systematic Comparison of Various Statistical Alignment Models (2003),
    section 5.

    Args:
        predicted: Boolean ``(..., T, S)``.
        gold: Boolean ``(..., T, S)``: the sure links.
        possible: Boolean ``(..., T, S)``: links that are not wrong; the sure ones if not given.

    Returns:
        A number between 0 (all sure links and only possible ones) and 1 (no link in common); 0 if
        there are neither links nor sure ones.

    Raises:
        ValueError: If shapes differ or a tensor is not boolean.

    Example:
        Two of three links found, and no wrong one.

        >>> gold = torch.tensor([[True, False], [True, True]])
        >>> alignment_error_rate(torch.eye(2).bool(), gold)
        0.2

        If the third was only possible, nothing is missing.

        >>> alignment_error_rate(torch.eye(2).bool(), torch.eye(2).bool(), possible=gold)
        0.0
    """
    for name, links in (("gold", gold), ("possible", gold if possible is None else possible)):
        if predicted.shape != links.shape or not predicted.dtype == links.dtype == torch.bool:
            raise ValueError(
                f"got {predicted.dtype} {tuple(predicted.shape)} and {name} {links.dtype} "
                f"{tuple(links.shape)}, wanted boolean tensors of one shape"
            )
    fair = gold if possible is None else gold | possible
    links_drawn = int(predicted.sum() + gold.sum())
    right = int((predicted & gold).sum() + (predicted & fair).sum())
    return (links_drawn - right) / links_drawn if links_drawn else 0.0
