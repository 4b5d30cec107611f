"""Base of layers that change the scores or the values of multi-head attention."""

import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import check_dropout, check_heads, merge_heads, split_heads


class HeadProjections(nn.Module):
    """The four projections of multi-head attention, without what happens between them.

    They have the names of :class:`~course_lib.attention.MultiHeadAttention`, so that weights can be
    carried over. A subclass says in its ``forward`` how heads become heads.
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
        super().__init__()
        check_heads(d_model, n_heads)
        check_dropout(dropout)
        self.d_model = d_model
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.dropout = dropout
        self.fused = fused
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def project(self, x: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries ``(B, H, T, Dh)`` of tokens ``(B, T, D)``, keys and values of the memory.

        The memory ``(B, S, D)`` is what is searched; the tokens themselves if it is not given.
        """
        self.check("x", x)
        if memory is None:
            memory = x
        else:
            self.check("memory", memory)
        q = split_heads(self.q_proj(x), self.n_heads)
        k = split_heads(self.k_proj(memory), self.n_heads)
        return q, k, split_heads(self.v_proj(memory), self.n_heads)

    def project_positions(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Positions as queries and keys, without the bias vectors of the projections.

        A table ``(T, D)`` becomes ``(1, H, T, Dh)``, one for each sequence, ``(B, T, D)``, becomes
        ``(B, H, T, Dh)``.
        """
        if positions.ndim == 2:
            positions = positions[None]
        self.check("positions", positions)
        positions = positions.to(self.q_proj.weight.dtype)
        q = F.linear(positions, self.q_proj.weight)
        k = F.linear(positions, self.k_proj.weight)
        return split_heads(q, self.n_heads), split_heads(k, self.n_heads)

    def merge(self, heads: Tensor) -> Tensor:
        """Put heads ``(B, H, T, Dh)`` side by side and project them: ``(B, T, D)``."""
        return self.out_proj(merge_heads(heads))

    def drop(self, weights: Tensor) -> Tensor:
        """Drop weights ``(B, H, T, S)`` while training."""
        return F.dropout(weights, self.dropout) if self.training and self.dropout else weights

    def check(self, name: str, x: Tensor) -> None:
        """Refuse what is not ``(B, length, D)``; the error calls it ``name``."""
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"{name} has shape {tuple(x.shape)}, wanted (B, T, {self.d_model})")
