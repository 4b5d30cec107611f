"""Increments for values: attention to how a sequence moves, not to where it is."""

import torch
from torch import Tensor

from course_lib.attention import Rotate, attention_weights, fused_attention
from course_lib.masks import check_mask
from course_lib.positions.heads import HeadProjections


def literal_delta_value(x: Tensor) -> Tensor:
    """``V_1 = x_1 + sum_{j > 1} (x_1 . x_j)(x_j - x_{j-1})``, ``(..., D)`` of ``(..., T, D)``.

    The first output as the ablation report, section 2.1, writes it: no projections, no softmax.
    """
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (..., T, D)")
    first, later = x[..., :1, :], x[..., 1:, :]
    similarities = first @ later.transpose(-2, -1)
    return (first + similarities @ x.diff(dim=-2)).squeeze(-2)


def steps(v: Tensor) -> Tensor:
    """The increment ``(..., S, Dv)`` of each value from the one before it; 0 for the first."""
    return v.diff(dim=-2, prepend=v[..., :1, :])


def steps_mask(mask: Tensor) -> Tensor:
    """Which increments a query may know: those whose two tokens the mask ``(..., S)`` shows it.

    One from padding to the first token would carry the content of the padding into the output.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, wanted torch.bool")
    if mask.shape[-1] < 2:
        return mask
    # Of the first key only the step 0 is known, which is the same, known or not.
    return mask & torch.cat([mask[..., :1], mask[..., :-1]], dim=-1)


def add_own_values(out: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Add a token's own value to averages ``(B, H, T, Dh)``, unless it may attend to nothing."""
    if mask is not None:
        v = v.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    return out + v


class DeltaValueAttention(HeadProjections):
    """Multi-head self-attention that adds a weighted mean of increments to each token's value.

    The report does not say what the outputs after :func:`literal_delta_value` are, what becomes of
    the first increment, and how that sits in a layer. The reading chosen here is::

        out_i = v_i + sum_j A_ij (v_j - v_{j-1}),   v_1 - v_0 = 0,   A = softmax(q k^T / sqrt(Dh))

    An increment knows which of two neighbours stands first, so tokens in another order give another
    result although no position was added. It needs no token after j, so it is as causal as its
    mask. Uniform weights telescope: the sum of all increments is the last value less the first. A
    query that may attend to nothing gets 0.
    """

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Rotate | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend to steps of tokens ``(B, T, D)``: ``(B, T, D)``.

        Weights of steps that the query may not know are returned, but don't count. With a mask that
        differs from query to query the explicit path is taken.
        """
        q, k, v = self.project(x)
        if mask is not None:
            check_mask(mask, (*q.shape[:-1], k.shape[-2]), q.device)
        if rotate is not None:
            q, k = rotate(q, k, 0)
        visible_steps = None if mask is None else steps_mask(mask)
        if self.fused and not return_weights and (mask is None or _same_for_queries(mask)):
            moved = steps(v)
            if visible_steps is not None:
                moved = moved.masked_fill(~_as_column(visible_steps), 0.0)
            dropout = self.dropout if self.training else 0.0
            heads = fused_attention(q, k, moved, mask, bias, dropout=dropout)
            return self.merge(add_own_values(heads, v, mask))
        weights = attention_weights(q, k, mask, bias)
        step_weights = self.drop(weights)
        if visible_steps is not None:
            step_weights = step_weights.masked_fill(~visible_steps, 0.0)
        out = self.merge(add_own_values(step_weights @ steps(v), v, mask))
        return (out, weights) if return_weights else out


def _same_for_queries(mask: Tensor) -> bool:
    return mask.ndim < 2 or mask.shape[-2] == 1


def _as_column(mask: Tensor) -> Tensor:
    """See a mask of keys ``(..., 1, S)`` as one of values, ``(..., S, 1)``."""
    return mask[:, None] if mask.ndim < 2 else mask.transpose(-2, -1)
