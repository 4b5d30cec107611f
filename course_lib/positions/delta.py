"""Values that are steps: attention to how a sequence moves, not to where it is.

The ablation report defines, for the first of a few tokens and without projections, softmax or
scale, ``V_1 = x_1 + sum_{j > 1} (x_1 . x_j)(x_j - x_{j-1})``. What the others get, what becomes of
the first difference, and how that sits in a layer is not said. The reading chosen here is::

    out_i = v_i + sum_j A_ij (v_j - v_{j-1}),   v_1 - v_0 = 0,   A = softmax(q k^T / sqrt(Dh))

The difference of two neighbours knows who stands before whom, so tokens in another order give
another result although no position was added. It needs no token after j, so it is as causal as its
mask.
"""

import torch
from torch import Tensor

from course_lib.attention import Rotate, attention_weights, fused_attention
from course_lib.masks import check_mask
from course_lib.positions.heads import HeadProjections


def literal_delta_value(x: Tensor) -> Tensor:
    """The first output as the report writes it: no projections, no softmax, no scale.

    Args:
        x: Tokens ``(..., T, D)``.

    Returns:
        ``V_1``, ``(..., D)``.

    Raises:
        ValueError: If x has fewer than two dimensions.

    Example:
        The report's example: the first two of four tokens change places.

        >>> x = torch.eye(4)[:, :3] + 1
        >>> literal_delta_value(x)
        tensor([-3.,  1.,  2.])
        >>> literal_delta_value(x[[1, 0, 2, 3]])
        tensor([ 1., -3.,  2.])
    """
    if x.ndim < 2:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (..., T, D)")
    first, later = x[..., :1, :], x[..., 1:, :]
    similarities = first @ later.transpose(-2, -1)
    return (first + similarities @ x.diff(dim=-2)).squeeze(-2)


def steps(v: Tensor) -> Tensor:
    """The step to each value from the one before it; 0 for the first.

    Args:
        v: Values ``(..., S, Dv)``.

    Returns:
        ``(..., S, Dv)``.

    Example:
        What is the same everywhere is gone.

        >>> steps(torch.tensor([[7.0], [7.0], [9.0]])).T
        tensor([[0., 0., 2.]])
    """
    return v.diff(dim=-2, prepend=v[..., :1, :])


def steps_mask(mask: Tensor) -> Tensor:
    """Which steps a query may know: those between two tokens that it sees.

    A step from padding to the first token would carry the content of the padding into the output.

    Args:
        mask: Boolean mask ``(..., S)``; ``True`` = may attend.

    Returns:
        Boolean mask ``(..., S)``, ``True`` where token and predecessor are seen.

    Raises:
        ValueError: If the mask is not boolean.

    Example:
        >>> steps_mask(torch.tensor([False, True, True, False])).int()
        tensor([0, 0, 1, 0], dtype=torch.int32)
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}, wanted torch.bool")
    if mask.shape[-1] < 2:
        return mask
    # Of the first key only the step 0 is known, which is the same, known or not.
    return mask & torch.cat([mask[..., :1], mask[..., :-1]], dim=-1)


def add_own_values(out: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Add to what a token has gathered its own value, unless it may attend to nothing at all.

    Args:
        out: Averages of steps ``(B, H, T, Dh)``.
        v: Values ``(B, H, T, Dh)``.
        mask: Boolean, broadcastable to ``(B, H, T, T)``; ``True`` = may attend.

    Returns:
        ``(B, H, T, Dh)``.

    Example:
        >>> v = torch.ones(1, 1, 2, 1)
        >>> nothing = torch.tensor([[True, False], [False, False]])
        >>> add_own_values(torch.zeros(1, 1, 2, 1), v, nothing).flatten()
        tensor([1., 0.])
    """
    if mask is not None:
        v = v.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)
    return out + v


class DeltaValueAttention(HeadProjections):
    """Multi-head self-attention that averages steps between neighbours and adds them to each token.

    Uniform weights telescope: the sum of all steps is the last value less the first. A query that
    may attend to nothing gets 0, and of a step whose tokens are not both visible nothing arrives.

    Source: the reading of the ablation report, section 2.1, that the module docstring states.

    Args:
        d_model: Width D.
        n_heads: Number of heads H, which divides D.
        dropout: Probability of dropping a weight while training.
        bias: Whether the projections add a bias vector.
        fused: Whether to use the fused kernel when no weights are asked for. With a mask that
            differs from query to query the explicit path is taken.

    Raises:
        ValueError: If H does not divide D or ``dropout`` is not in [0, 1).

    Example:
        Standard attention treats its tokens as a set: reversed tokens have reversed outputs.

        >>> from course_lib.attention import MultiHeadAttention
        >>> x = torch.randn(1, 5, 8)
        >>> for attend in (MultiHeadAttention(8, 2), DeltaValueAttention(8, 2)):
        ...     torch.allclose(attend(x.flip(1)), attend(x).flip(1), atol=1e-6)
        True
        False
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
        """Attend to steps.

        Args:
            x: Tokens ``(B, T, D)``.
            mask: Boolean, broadcastable to ``(B, H, T, T)``; ``True`` = may attend.
            bias: Added to the scaled scores, broadcastable to ``(B, H, T, T)``.
            rotate: Turns queries and keys by their positions.
            return_weights: Whether to return the weights too.

        Returns:
            The output ``(B, T, D)``, and if asked for the weights A ``(B, H, T, T)`` before
            dropout; those of steps that the query may not know are in A, but don't count.

        Raises:
            ValueError: If x has another shape or the mask does not fit or is not boolean.
        """
        q, k, v = self.project(x)
        if mask is not None:
            check_mask(mask, (*q.shape[:-1], k.shape[-2]), q.device)
        if rotate is not None:
            q, k = rotate(q, k, 0)
        known = None if mask is None else steps_mask(mask)
        if self.fused and not return_weights and (mask is None or _same_for_queries(mask)):
            moved = steps(v)
            if known is not None:
                moved = moved.masked_fill(~_as_column(known), 0.0)
            dropout = self.dropout if self.training else 0.0
            heads = fused_attention(q, k, moved, mask, bias, dropout=dropout)
            return self.merge(add_own_values(heads, v, mask))
        weights = attention_weights(q, k, mask, bias)
        counted = self.drop(weights)
        if known is not None:
            counted = counted.masked_fill(~known, 0.0)
        out = self.merge(add_own_values(counted @ steps(v), v, mask))
        return (out, weights) if return_weights else out


def _same_for_queries(mask: Tensor) -> bool:
    return mask.ndim < 2 or mask.shape[-2] == 1


def _as_column(mask: Tensor) -> Tensor:
    """See a mask of keys ``(..., 1, S)`` as one of values, ``(..., S, 1)``."""
    return mask[:, None] if mask.ndim < 2 else mask.transpose(-2, -1)
