"""TUPE: tokens and positions have projections of their own, and only meet their like."""

import torch
from torch import Tensor, nn

from course_lib.attention import attention_weights, check_heads, fused_attention, split_heads
from course_lib.positions.heads import HeadProjections


class TupePositions(nn.Module):
    """Scores between positions, computed once for all layers.

    ``v_mn = (p_m U_q)(p_n U_k)^T / sqrt(2 Dh)`` for each head, p being normed, learned positions.
    A first token that stands for the whole sequence has no place in it; with ``untie_first`` its
    pairs have two numbers of their own in each head: ``v_0n = a`` for all n, and ``v_m0 = b`` for
    all other m. (The published code gets these numbers from products of two more positions.)

    Source: Ke et al., Rethinking Positional Encoding in Language Pre-training (2021), sections 3.1
    and 3.2.
    """

    def __init__(
        self, d_model: int, n_heads: int, max_len: int, *, untie_first: bool = True
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        if max_len < 1:
            raise ValueError(f"max_len is {max_len}, wanted at least 1")
        self.n_heads = n_heads
        self.max_len = max_len
        self.untie_first = untie_first
        self.scale = (2 * d_model // n_heads) ** -0.5
        self.table = nn.Parameter(torch.randn(max_len, d_model))
        self.norm = nn.LayerNorm(d_model)
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        if untie_first:
            self.from_first = nn.Parameter(torch.randn(n_heads))
            self.to_first = nn.Parameter(torch.randn(n_heads))

    def forward(self, length: int, bias: Tensor | None = None) -> Tensor:
        """Position scores ``(1, H, T, T)`` of T tokens, to be added to those of the tokens.

        A ``bias`` is added before the first token is untied; this is TUPE-R. The published code has
        T5's buckets there, ``RelativeBias(H)(T)[None]``.
        """
        if not 1 <= length <= self.max_len:
            raise ValueError(f"length is {length}, wanted 1..{self.max_len}")
        positions = self.norm(self.table[None, :length])
        q = split_heads(self.q_proj(positions), self.n_heads)
        k = split_heads(self.k_proj(positions), self.n_heads)
        scores = (q * self.scale) @ k.transpose(-2, -1)
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        if not self.untie_first:
            return scores
        first = torch.arange(length, device=scores.device) == 0
        scores = torch.where(first, self.to_first[:, None, None], scores)
        return torch.where(first[:, None], self.from_first[:, None, None], scores)


class TupeAttention(HeadProjections):
    """Multi-head self-attention of tokens without positions, to whose scores TUPE's are added.

    The scale is ``1 / sqrt(2 Dh)``: two independent terms have twice the variance of one. Positions
    enter neither the values nor the residual stream. One :class:`TupePositions` serves all layers.
    """

    def forward(
        self,
        x: Tensor,
        position_scores: Tensor,
        *,
        mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend by tokens ``(B, T, D)`` plus position scores ``(1, H, T, T)``."""
        q, k, v = self.project(x)
        scale = (2 * self.d_head) ** -0.5
        if self.fused and not return_weights:
            dropout = self.dropout if self.training else 0.0
            return self.merge(
                fused_attention(q, k, v, mask, position_scores, scale=scale, dropout=dropout)
            )
        weights = attention_weights(q, k, mask, position_scores, scale=scale)
        out = self.merge(self.drop(weights) @ v)
        return (out, weights) if return_weights else out
