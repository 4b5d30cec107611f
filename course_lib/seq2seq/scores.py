"""The scores of Luong and of Bahdanau, as functions of tensors, and what is made of them."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.masks import masked_softmax


def luong_dot(query: Tensor, keys: Tensor) -> Tensor:
    """Score by the inner product ``s . h``.

    Source: Luong et al., Effective Approaches to Attention-based Neural Machine Translation
    (2015), section 3.1, "dot".

    Args:
        query: Decoder states ``(B, T, D)``.
        keys: Encoder states ``(B, S, D)``.

    Returns:
        Scores ``(B, T, S)``.

    Raises:
        ValueError: If the batches differ.

    Example:
        >>> keys = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> luong_dot(torch.tensor([[[3.0, 4.0]]]), keys)
        tensor([[[3., 8.]]])
    """
    _check_batch("query", query, "keys", keys)
    return query @ keys.transpose(-2, -1)


def luong_general(query: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score by a learned inner product ``s W_a h``; the widths of s and h may differ.

    Source: Luong et al. (2015), section 3.1, "general".

    Args:
        query: Decoder states ``(B, T, Dq)``.
        keys: Encoder states ``(B, S, Dk)``.
        weight: ``W_a``, ``(Dq, Dk)``.

    Returns:
        Scores ``(B, T, S)``.

    Raises:
        ValueError: If the batches differ.

    Example:
        A matrix that swaps the two channels lets the query ask for the other one.

        >>> keys = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
        >>> swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        >>> luong_general(torch.tensor([[[3.0, 4.0]]]), keys, swap)
        tensor([[[4., 6.]]])
    """
    _check_batch("query", query, "keys", keys)
    return query @ weight @ keys.transpose(-2, -1)


def luong_concat(query: Tensor, keys: Tensor, weight: Tensor, v: Tensor) -> Tensor:
    """Score by a small network on the pair: ``v . tanh(W_a [s; h])``.

    Source: Luong et al. (2015), section 3.1, "concat".

    Args:
        query: Decoder states ``(B, T, Dq)``.
        keys: Encoder states ``(B, S, Dk)``.
        weight: ``W_a``, ``(A, Dq + Dk)``.
        v: Vector ``(A,)``.

    Returns:
        Scores ``(B, T, S)``.

    Raises:
        ValueError: If the batches differ.

    Example:
        >>> query, keys = torch.ones(1, 1, 2), torch.zeros(1, 3, 2)
        >>> luong_concat(query, keys, torch.ones(5, 4), torch.ones(5)).shape
        torch.Size([1, 1, 3])
    """
    # W [s; h] = W_s s + W_h h: no pair has to be written out at full width.
    weight_query, weight_key = weight.tensor_split([query.shape[-1]], dim=-1)
    return bahdanau(query, keys, weight_query, weight_key, v)


def bahdanau(
    query: Tensor, keys: Tensor, weight_query: Tensor, weight_key: Tensor, v: Tensor
) -> Tensor:
    """Score by a small network: ``v . tanh(W_s s + W_h h)``, known as additive attention.

    As a function it is :func:`luong_concat` with ``W_a`` cut in two. What differs is the query:
    Bahdanau asks with the *previous* decoder state, Luong with the current one.

    Source: Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate
    (2015), section 3.1 and appendix A.1.2.

    Args:
        query: Decoder states ``(B, T, Dq)``.
        keys: Encoder states ``(B, S, Dk)``.
        weight_query: ``W_s``, ``(A, Dq)``.
        weight_key: ``W_h``, ``(A, Dk)``.
        v: Vector ``(A,)``.

    Returns:
        Scores ``(B, T, S)``, none larger than the sum of ``|v|``.

    Raises:
        ValueError: If the batches differ or v is no vector.

    Example:
        >>> query, keys = torch.full((1, 1, 2), 100.0), torch.zeros(1, 3, 2)
        >>> bahdanau(query, keys, torch.ones(5, 2), torch.ones(5, 2), torch.ones(5))
        tensor([[[5., 5., 5.]]])
    """
    return compare_projected(F.linear(query, weight_query), F.linear(keys, weight_key), v)


def compare_projected(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """The part of :func:`bahdanau` after its matrices, which a decoder needs once a step.

    Args:
        query: Projected decoder states ``(B, T, A)``.
        keys: Projected encoder states ``(B, S, A)``.
        v: Vector ``(A,)``.

    Returns:
        Scores ``(B, T, S)``.

    Raises:
        ValueError: If the batches differ.

    Example:
        >>> compare_projected(torch.zeros(1, 1, 2), torch.zeros(1, 3, 2), torch.ones(2))
        tensor([[[0., 0., 0.]]])
    """
    _check_batch("query", query, "keys", keys)
    if v.ndim != 1:
        raise ValueError(f"v has shape {tuple(v.shape)}, wanted (A,)")
    pairs = query[:, :, None] + keys[:, None]
    return pairs.tanh() @ v  # (B, T, S, A) @ (A,)


def attend(scores: Tensor, values: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Turn scores into weights and average the values with them.

    Args:
        scores: ``(B, T, S)``.
        values: ``(B, S, D)``, for Luong and Bahdanau the encoder states once more.
        mask: Boolean, broadcastable to ``(B, T, S)``; ``True`` = may attend.

    Returns:
        The context ``(B, T, D)`` and the weights ``(B, T, S)``.

    Raises:
        ValueError: If the batches differ, or the mask is not boolean or does not fit.

    Example:
        Padding gets a weight of exactly 0, whatever its score.

        >>> scores = torch.tensor([[[1.0, 1.0, 50.0]]])
        >>> values = torch.tensor([[[2.0], [4.0], [99.0]]])
        >>> attend(scores, values, torch.tensor([[[True, True, False]]]))
        (tensor([[[3.]]]), tensor([[[0.5000, 0.5000, 0.0000]]]))
    """
    _check_batch("scores", scores, "values", values)
    weights = masked_softmax(scores, mask)
    return weights @ values, weights


def luong_readout(context: Tensor, hidden: Tensor, weight: Tensor) -> Tensor:
    """Combine what was looked up with what the decoder knew: ``tanh(W_c [c; h])``.

    Source: Luong et al. (2015), equation 5.

    Args:
        context: ``(B, T, Dk)``.
        hidden: Decoder states ``(B, T, Dq)``.
        weight: ``W_c``, ``(D, Dk + Dq)``.

    Returns:
        Attentional states ``(B, T, D)``.

    Example:
        >>> luong_readout(torch.ones(1, 1, 2), torch.zeros(1, 1, 2), torch.eye(4))
        tensor([[[0.7616, 0.7616, 0.0000, 0.0000]]])
    """
    return F.linear(torch.cat([context, hidden], dim=-1), weight).tanh()


def _check_batch(name: str, x: Tensor, other: str, y: Tensor) -> None:
    """Refuse two batches of which one would be spread over the other."""
    if x.ndim != 3 or y.ndim != 3 or x.shape[0] != y.shape[0]:
        raise ValueError(
            f"{name} has shape {tuple(x.shape)} and {other} {tuple(y.shape)}, wanted "
            "(B, length, width) of the same B"
        )
