"""Longformer: a sliding window for all, and a few positions that see and are seen by everyone."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import (
    attention_weights,
    check_dropout,
    check_heads,
    fused_attention,
    merge_heads,
    split_heads,
)
from course_lib.efficient.banded import band_average, band_weights, fused_banded_attention
from course_lib.masks import check_mask, combine_masks
from course_lib.masks.softmax import certain


class LongformerAttention(nn.Module):
    """Multi-head self-attention in a window, with global positions that have maps of their own.

    Every position attends to its neighbours up to ``radius`` steps away and to the global
    positions. The global ones attend to everything, with queries, keys and values from a second
    set of projections. Time and memory grow with ``T * (2 * radius + 1 + 2 * G)``.

    Source: Beltagy et al., Longformer (2020), section 3.1. Libraries call ``2 * radius`` the
    ``attention_window``.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        radius: int,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        if radius < 0:
            raise ValueError(f"radius is {radius}, wanted at least 0")
        check_dropout(dropout)
        self.d_model = d_model
        self.n_heads = n_heads
        self.radius = radius
        self.dropout = dropout
        self.fused = fused
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.q_global = nn.Linear(d_model, d_model, bias=bias)
        self.k_global = nn.Linear(d_model, d_model, bias=bias)
        self.v_global = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        # A pretrained model becomes a long one this way: global attention starts as a copy.
        for name in ("q", "k", "v"):
            local, glob = getattr(self, f"{name}_proj"), getattr(self, f"{name}_global")
            glob.load_state_dict(local.state_dict())

    def forward(
        self,
        x: Tensor,
        global_positions: Tensor | None = None,
        *,
        key_mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor, Tensor | None]:
        """Attend from each token ``(B, T, D)`` to its window and the global ones: ``(B, T, D)``.

        If asked for, also the weights ``(B, H, T, G + 2r + 1)`` of the global keys and the window,
        whose rows at global positions are 0, and those of the global queries ``(B, H, G, T)``, None
        without global positions.

        Args:
            global_positions: Integers ``(G,)``, the same for all sequences, or ``(B, G)``, where
                -1 fills up a sequence that has fewer. None is different from another.
        """
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x has shape {tuple(x.shape)}, wanted (B, T, {self.d_model})")
        B, T, D = x.shape
        if key_mask is not None:
            check_mask(key_mask, (B, 1, 1, T), x.device)
        dropout = self.dropout if self.training else 0.0
        explicit = return_weights or not self.fused
        q, k, v = (split_heads(f(x), self.n_heads) for f in (self.q_proj, self.k_proj, self.v_proj))
        if global_positions is None:
            heads, weights = self._near(q, k, v, key_mask, dropout, explicit)
            out = self.out_proj(merge_heads(heads))
            return (out, weights, None) if return_weights and weights is not None else out
        index = _check_positions(global_positions, B, T)
        there = index >= 0
        # Filling points to a row of its own behind the last one.
        row = index.where(there, T)
        is_global = torch.zeros(B, T + 1, dtype=torch.bool, device=x.device).scatter(1, row, True)
        # In their window the global keys are hidden, or they would be counted twice.
        local_mask = combine_masks(key_mask, ~is_global[:, None, None, :T])
        shared_mask = there[:, None, None]
        if key_mask is not None:
            visible = key_mask.expand(B, 1, 1, T)[:, 0, 0]
            shared_mask = shared_mask & visible.gather(1, index.clamp(min=0))[:, None, None]
        heads, weights = self._near(
            q,
            k,
            v,
            local_mask,
            dropout,
            explicit,
            shared_k=_take(k, index),
            shared_v=_take(v, index),
            shared_mask=shared_mask,
        )
        global_heads, global_weights = self._far(x, index, key_mask, dropout, explicit)
        # The global rows are overwritten, not added.
        merged = F.pad(merge_heads(heads), (0, 0, 0, 1)).scatter(
            1, row[..., None].expand(-1, -1, D), merge_heads(global_heads).to(heads.dtype)
        )
        out = self.out_proj(merged[:, :T])
        if not return_weights or weights is None or global_weights is None:
            return out
        weights = weights.masked_fill(is_global[:, None, :T, None], 0.0)
        return out, weights, global_weights.masked_fill(~there[:, None, :, None], 0.0)

    def _near(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        key_mask: Tensor | None,
        dropout: float,
        explicit: bool,
        *,
        shared_k: Tensor | None = None,
        shared_v: Tensor | None = None,
        shared_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Keys of every position: its window and the global keys."""
        if not explicit:
            heads = fused_banded_attention(
                q,
                k,
                v,
                self.radius,
                key_mask=key_mask,
                shared_k=shared_k,
                shared_v=shared_v,
                shared_mask=shared_mask,
                dropout=dropout,
            )
            return heads, None
        weights = band_weights(
            q, k, self.radius, key_mask=key_mask, shared_k=shared_k, shared_mask=shared_mask
        )
        dropped = F.dropout(weights, dropout)
        return band_average(dropped, v, self.radius, shared_v=shared_v), weights

    def _far(
        self, x: Tensor, index: Tensor, key_mask: Tensor | None, dropout: float, explicit: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Keys of the global positions: everything, through projections of their own."""
        chosen = x.gather(1, index.clamp(min=0)[..., None].expand(-1, -1, x.shape[-1]))
        q = split_heads(self.q_global(chosen), self.n_heads)
        k = split_heads(self.k_global(x), self.n_heads)
        v = split_heads(self.v_global(x), self.n_heads)
        if not explicit:
            return fused_attention(q, k, v, key_mask, dropout=dropout), None
        weights = attention_weights(q, k, key_mask)
        return F.dropout(weights, dropout) @ v, weights


def _take(heads: Tensor, index: Tensor) -> Tensor:
    """Rows of ``(B, H, T, Dh)`` at ``(B, G)``."""
    B, H, _, d_head = heads.shape
    return heads.gather(2, index.clamp(min=0)[:, None, :, None].expand(B, H, -1, d_head))


def _check_positions(positions: Tensor, B: int, T: int) -> Tensor:
    """Global positions as ``(B, G)``."""
    if positions.dtype != torch.long or positions.shape[:-1] not in ((), (B,)):
        raise ValueError(
            f"global_positions have shape {tuple(positions.shape)} and dtype {positions.dtype}, "
            f"wanted torch.int64 (G,) or ({B}, G)"
        )
    index = positions.expand(B, positions.shape[-1])
    if certain(((index < -1) | (index >= T)).any()):
        raise ValueError(
            f"global_positions {positions.tolist()} are not all in 0..{T - 1}, or -1 for none"
        )
    ordered = index.sort(dim=-1).values
    if certain(((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any()):
        raise ValueError(f"global_positions {positions.tolist()} hold a position twice")
    return index
