"""Scaled dot-product attention and its multi-head form.

Every function exists on an explicit path, which follows the formula line by line and returns the
weights, and on a fused path, which computes the same output faster and keeps no weights.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.masks import check_broadcastable, check_mask, masked_softmax

__all__ = [
    "MultiHeadAttention",
    "attention_weights",
    "fused_attention",
    "merge_heads",
    "scaled_dot_product_attention",
    "split_heads",
]


def scaled_dot_product_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Average the values by query-key similarity: ``softmax(q k^T / sqrt(Dh) + bias) v``.

    Source: Vaswani et al., Attention Is All You Need (2017), equation 1.

    Args:
        q: Queries ``(..., T, Dh)``.
        k: Keys ``(..., S, Dh)``.
        v: Values ``(..., S, Dv)``.
        mask: Boolean, broadcastable to ``(..., T, S)``; ``True`` = may attend.
        bias: Added to the scaled scores, broadcastable to ``(..., T, S)``.
        scale: Factor on ``q k^T``; ``1 / sqrt(Dh)`` if not given.

    Returns:
        The output ``(..., T, Dv)`` and the weights ``(..., T, S)``. A query that may attend to
        nothing gets the output 0, weights 0 and a zero gradient.

    Raises:
        ValueError: If the shapes don't fit together or the mask is not boolean.

    Example:
        A query equal to one of two orthogonal keys picks that key's value; the larger the scale,
        the closer it comes to a dictionary.

        >>> import torch
        >>> q = torch.tensor([[1.0, 0.0]])
        >>> k = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> v = torch.tensor([[10.0], [20.0]])
        >>> out, weights = scaled_dot_product_attention(q, k, v)
        >>> weights
        tensor([[0.6698, 0.3302]])
        >>> out
        tensor([[13.3024]])
        >>> scaled_dot_product_attention(q, k, v, scale=10.0)[0]
        tensor([[10.0005]])
    """
    _check_values(k, v)
    weights = attention_weights(q, k, mask, bias, scale=scale)
    return weights @ v, weights


def attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
) -> Tensor:
    """How much each query takes from each key: ``softmax(q k^T / sqrt(Dh) + bias)``.

    Args:
        q: Queries ``(..., T, Dh)``.
        k: Keys ``(..., S, Dh)``.
        mask: Boolean, broadcastable to ``(..., T, S)``; ``True`` = may attend.
        bias: Added to the scaled scores, broadcastable to ``(..., T, S)``.
        scale: Factor on ``q k^T``; ``1 / sqrt(Dh)`` if not given.

    Returns:
        Weights ``(..., T, S)``.

    Raises:
        ValueError: If the shapes don't fit together or the mask is not boolean.

    Example:
        >>> import torch
        >>> from course_lib.masks import causal_mask
        >>> x = torch.zeros(3, 8)
        >>> attention_weights(x, x, causal_mask(3))
        tensor([[1.0000, 0.0000, 0.0000],
                [0.5000, 0.5000, 0.0000],
                [0.3333, 0.3333, 0.3333]])
    """
    _check_queries(q, k)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    # Scaling q before the product, not the product after it, spares half precision an overflow.
    scores = (q * scale) @ k.transpose(-2, -1)
    if bias is not None:
        check_broadcastable("bias", bias, scores.shape)
        scores = scores + bias.to(scores.dtype)
    return masked_softmax(scores, mask)


def fused_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Compute :func:`scaled_dot_product_attention` in one fused kernel, without the weights.

    Args:
        q: Queries ``(..., T, Dh)``.
        k: Keys ``(..., S, Dh)``.
        v: Values ``(..., S, Dv)``.
        mask: Boolean, broadcastable to ``(..., T, S)``; ``True`` = may attend.
        bias: Added to the scaled scores, broadcastable to ``(..., T, S)``.
        scale: Factor on ``q k^T``; ``1 / sqrt(Dh)`` if not given.
        dropout: Probability of dropping a weight. Always applied: pass 0 for evaluation.

    Returns:
        The output ``(..., T, Dv)``; 0 for a query that may attend to nothing.

    Raises:
        ValueError: If the shapes don't fit together or the mask is not boolean.

    Example:
        >>> import torch
        >>> from course_lib.masks import causal_mask
        >>> q, k, v = torch.randn(3, 2, 5, 8, generator=torch.Generator().manual_seed(0))
        >>> explicit, _ = scaled_dot_product_attention(q, k, v, causal_mask(5))
        >>> torch.allclose(fused_attention(q, k, v, causal_mask(5)), explicit, atol=1e-6)
        True
    """
    _check_queries(q, k)
    _check_values(k, v)
    shape = (*q.shape[:-1], k.shape[-2])
    if mask is not None:
        check_mask(mask, shape)
    attn_mask = mask
    if bias is not None:
        check_broadcastable("bias", bias, shape)
        attn_mask = bias.to(q.dtype)
        if mask is not None:
            attn_mask = attn_mask.expand(shape).masked_fill(~mask, float("-inf"))
    if attn_mask is not None and attn_mask.ndim < 2:
        # The kernel knows no mask of fewer than 2 dimensions.
        attn_mask = attn_mask.expand(shape)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=attn_mask, dropout_p=dropout, scale=scale
    )


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the model width into heads: ``(B, T, D)`` to ``(B, H, T, Dh)``.

    Args:
        x: Tokens ``(B, T, D)``.
        n_heads: Number of heads H, which divides D.

    Returns:
        One sequence per head, ``(B, H, T, Dh)`` with ``Dh = D / H``.

    Raises:
        ValueError: If x is not three-dimensional or H does not divide D.

    Example:
        Head 0 holds the first Dh channels of each token. A ``reshape`` without the transpose has
        the right shape too, but mixes up tokens and channels.

        >>> import torch
        >>> x = torch.arange(8).reshape(1, 2, 4)
        >>> split_heads(x, n_heads=2)[0, 0]
        tensor([[0, 1],
                [4, 5]])
        >>> x.reshape(1, 2, 2, 2)[0, 0]
        tensor([[0, 1],
                [2, 3]])
    """
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, D)")
    if n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(f"n_heads is {n_heads}, wanted a divisor of the width {x.shape[-1]}")
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads side by side again: ``(B, H, T, Dh)`` to ``(B, T, D)``.

    Args:
        x: One sequence per head, ``(B, H, T, Dh)``.

    Returns:
        Tokens ``(B, T, D)`` with ``D = H * Dh``.

    Raises:
        ValueError: If x is not four-dimensional.

    Example:
        >>> import torch
        >>> x = torch.arange(8).reshape(1, 2, 4)
        >>> torch.equal(merge_heads(split_heads(x, n_heads=2)), x)
        True
    """
    if x.ndim != 4:
        raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, H, T, Dh)")
    return x.transpose(1, 2).flatten(-2)


class MultiHeadAttention(nn.Module):
    """Attention in H subspaces at once, for one sequence or between two.

    Called as ``attend(x)`` it is self-attention, as ``attend(x, memory)`` cross-attention; all
    three roles can be given apart as ``attend(q, k, v)``.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.2.

    Args:
        d_model: Width D of the inputs and of the output.
        n_heads: Number of heads H, which divides D.
        dropout: Probability of dropping a weight while training.
        bias: Whether the four projections add a bias vector.
        fused: Whether to use the fused kernel when no weights are asked for.

    Raises:
        ValueError: If H does not divide D or ``dropout`` is not in [0, 1).

    Example:
        The four projections cost 4 D^2 weights, however many heads share them.

        >>> sum(p.numel() for p in MultiHeadAttention(512, n_heads=8, bias=False).parameters())
        1048576
        >>> import torch
        >>> attend = MultiHeadAttention(8, n_heads=2)
        >>> x, memory = torch.zeros(1, 3, 8), torch.zeros(1, 5, 8)
        >>> out, weights = attend(x, memory, return_weights=True)
        >>> out.shape, weights.shape
        (torch.Size([1, 3, 8]), torch.Size([1, 2, 3, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        """Make the four projections."""
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"n_heads is {n_heads}, wanted a divisor of d_model {d_model}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}, wanted a probability in [0, 1)")
        self.d_model = d_model
        self.n_heads = n_heads
        self.dropout = dropout
        self.fused = fused
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        q: Tensor,
        k: Tensor | None = None,
        v: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from q to k and v.

        Args:
            q: What asks, ``(B, T, D)``.
            k: What is searched, ``(B, S, D)``; ``q`` if not given.
            v: What is returned, ``(B, S, D)``; ``k`` if not given.
            mask: Boolean, broadcastable to ``(B, H, T, S)``; ``True`` = may attend.
            bias: Added to the scaled scores, broadcastable to ``(B, H, T, S)``.
            return_weights: Whether to return the weights too.

        Returns:
            The output ``(B, T, D)``, and if asked for the weights ``(B, H, T, S)`` as they were
            before dropout, so that their rows sum to 1 in training too.

        Raises:
            ValueError: If the shapes don't fit together or the mask is not boolean.
        """
        k = q if k is None else k
        v = k if v is None else v
        for name, x in (("q", q), ("k", k), ("v", v)):
            if x.ndim != 3 or x.shape[-1] != self.d_model:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}, wanted (B, length, {self.d_model})"
                )
        q_heads = split_heads(self.q_proj(q), self.n_heads)
        k_heads = split_heads(self.k_proj(k), self.n_heads)
        v_heads = split_heads(self.v_proj(v), self.n_heads)
        dropout = self.dropout if self.training else 0.0
        if self.fused and not return_weights:
            heads = fused_attention(q_heads, k_heads, v_heads, mask, bias, dropout=dropout)
            return self.out_proj(merge_heads(heads))
        _check_values(k_heads, v_heads)
        weights = attention_weights(q_heads, k_heads, mask, bias)
        out = self.out_proj(merge_heads(F.dropout(weights, dropout) @ v_heads))
        return (out, weights) if return_weights else out


def _check_queries(q: Tensor, k: Tensor) -> None:
    if min(q.ndim, k.ndim) < 2 or q.shape[:-2] != k.shape[:-2] or q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q has shape {tuple(q.shape)} and k {tuple(k.shape)}, wanted (..., T, Dh) and "
            "(..., S, Dh) with the same leading sizes and the same Dh"
        )


def _check_values(k: Tensor, v: Tensor) -> None:
    if k.ndim < 2 or k.shape[:-1] != v.shape[:-1]:
        raise ValueError(
            f"k has shape {tuple(k.shape)} and v {tuple(v.shape)}, wanted (..., S, Dh) and "
            "(..., S, Dv): one value for each key"
        )
