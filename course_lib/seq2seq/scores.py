"""The scores of Luong and of Bahdanau, as functions of tensors, and what is made of them.

Queries are decoder states ``(B, T, Dq)``, keys encoder states ``(B, S, Dk)``, scores
``(B, T, S)``. Sources: Luong et al., Effective Approaches to Attention-based Neural Machine
Translation (2015), section 3.1; Bahdanau et al., Neural Machine Translation by Jointly Learning
to Align and Translate (2015), section 3.1 and appendix A.1.2.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.masks import masked_softmax


def luong_dot(query: Tensor, keys: Tensor) -> Tensor:
    """Score by the inner product ``s . h``: ``(B, T, S)``, Luong's "dot"."""
    _check_batch("query", query, "keys", keys)
    return query @ keys.transpose(-2, -1)


def luong_general(query: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score by a learned inner product ``s W_a h``, with ``W_a`` ``(Dq, Dk)``: "general"."""
    _check_batch("query", query, "keys", keys)
    return query @ weight @ keys.transpose(-2, -1)


def luong_concat(query: Tensor, keys: Tensor, weight: Tensor, v: Tensor) -> Tensor:
    """Score pairs by ``v . tanh(W_a [s; h])``, with ``W_a`` ``(A, Dq + Dk)``: "concat"."""
    # W [s; h] = W_s s + W_h h: no pair has to be written out at full width.
    weight_query, weight_key = weight.tensor_split([query.shape[-1]], dim=-1)
    return bahdanau(query, keys, weight_query, weight_key, v)


def bahdanau(
    query: Tensor, keys: Tensor, weight_query: Tensor, weight_key: Tensor, v: Tensor
) -> Tensor:
    """Score by ``v . tanh(W_s s + W_h h)``, with ``(A, Dq)`` and ``(A, Dk)``: additive attention.

    As a function it is :func:`luong_concat` with ``W_a`` cut in two. What differs is the query:
    Bahdanau asks with the *previous* decoder state, Luong with the current one.
    """
    return compare_projected(F.linear(query, weight_query), F.linear(keys, weight_key), v)


def compare_projected(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """:func:`bahdanau` of projected queries ``(B, T, A)`` and projected keys ``(B, S, A)``."""
    _check_batch("query", query, "keys", keys)
    if v.ndim != 1:
        raise ValueError(f"v has shape {tuple(v.shape)}, wanted (A,)")
    pairs = query[:, :, None] + keys[:, None]
    return pairs.tanh() @ v  # (B, T, S, A) @ (A,)


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Turn scores into weights and average values: ``(B, T, D)`` and weights ``(B, T, S)``."""
    _check_batch("scores", scores, "values", values)
    weights = masked_softmax(scores, mask)
    return weights @ values, weights


def luong_readout(context: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    """Join what was looked up with states: ``tanh(W_c [c; h])``, ``(B, T, D)``; equation 5."""
    return F.linear(torch.cat([context, hidden], dim=-1), weight).tanh()


def _check_batch(name: str, x: Tensor, other: str, y: Tensor) -> None:
    """Refuse two batches of which one would be spread over the other."""
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0]:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} and {other} {tuple(y.shape)}, wanted "
            "(B, length, width) of the same B"
        )
