"""Measures of how far queries prefer some keys to others, by all keys or by a few."""

import torch
from torch import Tensor

from course_lib.informer.sampling import budgets
from course_lib.masks import causal_mask

# Queries whose scores are held at the same time.
_CHUNK = 512


def sparsity_measure(scores: Tensor) -> Tensor:
    """Distance of the weights of scores ``(..., S)`` from uniform: ``logsumexp(s) - mean(s)``.

    This is the divergence ``KL(uniform || softmax(s))`` plus ``ln S``. It lies between ``ln S`` and
    :func:`max_mean_measure` plus ``ln S``. Source: Zhou et al., Informer (2021), section 3, "Query
    Sparsity Measurement" and lemma 1.
    """
    return scores.logsumexp(dim=-1) - scores.mean(dim=-1)


def max_mean_measure(
    scores: Tensor, counts: Tensor | None = None, divisor: Tensor | int | None = None
) -> Tensor:
    """The measure that a few scores ``(..., U)`` are enough for: ``max(s) - mean(s)``, ``(...)``.

    Boolean ``counts`` says which of them count; ``-inf`` where none does. The sum is divided by the
    ``divisor``, or by how many count. Source: Zhou et al. (2021), section 3, "ProbSparse
    Self-attention".
    """
    if counts is None:
        divisor = scores.shape[-1] if divisor is None else divisor
        return scores.amax(dim=-1) - scores.sum(dim=-1) / divisor
    largest = scores.masked_fill(~counts, float("-inf")).amax(dim=-1)
    total = scores.masked_fill(~counts, 0.0).sum(dim=-1)
    n = counts.sum(dim=-1) if divisor is None else torch.as_tensor(divisor)
    return largest - total / n.clamp(min=1)


def first_in_prefix(measure: Tensor, factor: int) -> Tensor:
    """True for queries ``(..., T)`` among the first ``c ceil(ln n)`` of the n up to themselves.

    A ranking of the whole sequence lets a later query push an earlier one out: what is active
    would depend on the future. Here it depends on the past alone, at the price that more than
    ``c ceil(ln L)`` are active in the end.
    """
    T = measure.shape[-1]
    earlier = causal_mask(T, device=measure.device)
    # Equals keep their order: the earlier one is ahead.
    ahead = ((measure[..., None, :] >= measure[..., None]) & earlier).sum(dim=-1) - 1
    return ahead < budgets(torch.arange(1, T + 1, device=measure.device), factor)


def sampled_scores(
    q: Tensor, k: Tensor, keys: Tensor, bias: Tensor | None = None, *, explicit: bool = False
) -> Tensor:
    """Scores ``(B, H, T, U)`` of each query with the keys, by number, that it is judged by.

    ``keys`` is ``(U,)`` for all queries, ``(T, U)``, or ``(b, h, T, U)`` where b and h are 1 or B
    and H. With ``explicit`` the keys of each query are fetched and those alone multiplied;
    otherwise all scores of some queries at a time are computed and the wanted ones kept, which is
    faster on sequences of some hundred tokens. The scale is in ``q`` already.
    """
    (B, H, T, _), S = q.shape, k.shape[2]
    pairs = None if bias is None else bias.to(q.dtype).expand(B, H, T, S)
    if keys.ndim == 1:
        scores = q @ k[:, :, keys].transpose(-2, -1)
        return scores if pairs is None else scores + pairs[..., keys]
    keys = keys.expand(B, H, T, -1)
    if explicit:
        batch = torch.arange(B, device=q.device)[:, None, None, None]
        head = torch.arange(H, device=q.device)[:, None, None]
        scores = (q[..., None, :] @ k[batch, head, keys].transpose(-2, -1)).squeeze(-2)
        return scores if pairs is None else scores + pairs.gather(-1, keys)
    parts = []
    for first in range(0, T, _CHUNK):
        rows = slice(first, first + _CHUNK)
        scores = q[:, :, rows] @ k.transpose(-2, -1)
        if pairs is not None:
            scores = scores + pairs[:, :, rows]
        parts.append(scores.gather(-1, keys[:, :, rows]))
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
