"""Four ways to let the positions of a sequence exchange information, and what each costs.

The layers are as bare as they can be: one head, no bias, no normalisation. Where a layer sees a
window, that is a position and those before it. :func:`layer_cost` predicts; what follows measures.
"""

import math
from typing import Literal, NamedTuple, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.masks import masked_softmax

# Names that autograd has for products of matrices and vectors.
PRODUCTS = ("MmBackward", "BmmBackward", "AddmmBackward", "MvBackward", "ConvolutionBackward")

Kind = Literal["self-attention", "restricted", "recurrent", "convolution", "dilated"]


# --------------------------------------------------------------------------- the layers


def self_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Let a sequence attend to itself: ``softmax(x w_q (x w_k)^T / sqrt(Dh)) x w_v``.

    Permuting the tokens ``(..., T, D)`` permutes the outputs ``(..., T, Dv)`` alike. Returns the
    weights ``(..., T, T)``, too; the projections are ``(D, Dh)``, ``(D, Dh)`` and ``(D, Dv)``.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.2, with one head.
    """
    for name, weight in (("w_q", w_q), ("w_k", w_k), ("w_v", w_v)):
        if weight.ndim != 2 or weight.shape[0] != x.shape[-1]:
            raise ValueError(
                f"{name} has shape {tuple(weight.shape)}, wanted ({x.shape[-1]}, width) for "
                f"tokens {tuple(x.shape)}"
            )
    return scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, mask)


def restricted_attention(
    x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, *, window: int
) -> tuple[Tensor, Tensor]:
    """Let a position attend to itself and the ``window - 1`` before it, and compute nothing else.

    The output is that of :func:`self_attention` under a mask of this band. But a mask hides scores
    that were computed; here only the weights ``(..., T, window)`` exist, 0 before the beginning of
    the sequence. Arguments as for :func:`self_attention`.

    Source: Vaswani et al. (2017), section 4, there with the window around the position.
    """
    if window < 1:
        raise ValueError(f"window is {window}, wanted at least 1")
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    position = torch.arange(x.shape[-2], device=x.device)
    seen = position[:, None] + torch.arange(1 - window, 1, device=x.device)
    scores = (k[..., seen.clamp(min=0), :] @ (q * q.shape[-1] ** -0.5).unsqueeze(-1)).squeeze(-1)
    weights = masked_softmax(scores, seen >= 0)
    return (weights.unsqueeze(-2) @ v[..., seen.clamp(min=0), :]).squeeze(-2), weights


def recurrent(x: Tensor, w_in: Tensor, w_state: Tensor) -> Tensor:
    """All states ``(..., T, Dh)``: ``h_t = tanh(x_t w_in + h_{t-1} w_state)``, ``h_0 = 0``."""
    # Only the product with the state has to wait for the step before.
    drive = x @ w_in
    state = torch.zeros_like(drive[..., 0, :])
    states = []
    for step in range(x.shape[-2]):
        state = (drive[..., step, :] + state @ w_state).tanh()
        states.append(state)
    return torch.stack(states, dim=-2)


def convolution(x: Tensor, weight: Tensor, *, dilation: int = 1) -> Tensor:
    """Mix each position of ``(B, T, D)`` with those before it, by the same weights everywhere.

    ``weight`` has one matrix for each place in the window, ``(window, D, Dout)``, the last one for
    the position itself. Zeros come before the beginning of the sequence.

    >>> x = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    >>> convolution(x, torch.ones(2, 1, 1), dilation=3).flatten()
    tensor([1., 2., 3., 5.])
    """
    before = dilation * (weight.shape[0] - 1)
    return F.conv1d(F.pad(x.mT, (before, 0)), weight.permute(2, 1, 0), dilation=dilation).mT


# --------------------------------------------------------------------------- what they cost


class LayerCost(NamedTuple):
    """Costs of one layer.

    They are products of two numbers, steps that wait for one another, and steps until the first
    position has reached the last.
    """

    multiplications: int
    sequential: int
    path: int


def layer_cost(kind: Kind, n: int, d_model: int, window: int = 2) -> LayerCost:
    """Cost of one layer of this module over n tokens, all widths being ``d_model``.

    Projections count. A window counts in full where it reaches back before the beginning.
    ``"dilated"`` is a convolution in a stack whose layer i = 0, 1, ... has the dilation
    ``window^i``; ``"restricted"`` is attention within a window.

    Source: the counts behind the orders of Table 1 in Vaswani et al., Attention Is All You Need
    (2017), which leaves the projections out and gives ``log_k(n)`` for dilated convolutions.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind is {kind!r}, wanted one of {', '.join(get_args(Kind))}")
    if min(n, d_model) < 1:
        raise ValueError(f"n is {n} and d_model {d_model}, wanted at least 1")
    if window < 2:
        raise ValueError(f"window is {window}, wanted at least 2 to get from one place to another")
    if kind == "self-attention":
        return LayerCost(3 * n * d_model**2 + 2 * n**2 * d_model, 1, min(n - 1, 1))
    if kind == "recurrent":
        return LayerCost(2 * n * d_model**2, n, n - 1)
    path = math.ceil((n - 1) / (window - 1))
    if kind == "restricted":
        return LayerCost(3 * n * d_model**2 + 2 * n * window * d_model, 1, path)
    if kind == "dilated":
        # log_window(n), rounded up; counted in whole numbers, because logarithms are rounded.
        path = 0
        while window**path < n:
            path += 1
    return LayerCost(window * n * d_model**2, 1, path)


def longest_chain(out: Tensor) -> int:
    """Count the matrix products on the longest path through what computed a tensor ``(...)``.

    They have to be done one after the other, however many processors there are.
    """
    longest: dict[object, int] = {}
    stack = [out.grad_fn]
    while stack:
        node = stack[-1]
        if node is None or node in longest:
            stack.pop()
            continue
        before = [previous for previous, _ in node.next_functions if previous is not None]
        waiting = [previous for previous in before if previous not in longest]
        if waiting:
            stack += waiting
            continue
        product = node.name().startswith(PRODUCTS)
        longest[node] = int(product) + max((longest[previous] for previous in before), default=0)
        stack.pop()
    return longest.get(out.grad_fn, 0)
