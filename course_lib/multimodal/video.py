"""Attention over space and time, one after the other."""

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_encoding


def video_positions(frames: int, rows: int, columns: int, d_model: int) -> Tensor:
    """Encode frame, row and column by concatenation: a table ``(frames, rows * columns, D)``.

    Each has a third of the channels; D is even, and what three does not divide goes to rows and
    columns.
    """
    if d_model < 6 or d_model % 2:
        raise ValueError(f"d_model is {d_model}, wanted an even number of at least 6")
    time, rest = divmod(d_model // 2, 3)
    widths = (2 * time, 2 * (time + (rest > 0)), 2 * (time + (rest > 1)))
    axes = torch.meshgrid(
        torch.arange(frames), torch.arange(rows), torch.arange(columns), indexing="ij"
    )
    codes = [sinusoidal_encoding(axis, width) for axis, width in zip(axes, widths, strict=True)]
    return torch.cat(codes, dim=-1).flatten(1, 2)


def factorised_mask(frames: int, places: int, *, causal: bool = False) -> tuple[Tensor, Tensor]:
    """Write both steps of :class:`FactorisedBlock` as boolean masks ``(F N, F N)``.

    Tokens stand in order of frames, N to each of F. In the step over time a token sees the same
    place, with ``causal`` in no later frame; in the step over space, the same frame. Dense
    attention under these masks computes the same at a cost of O((F N)^2), and their product says
    what one block reaches.
    """
    frame = torch.arange(frames * places) // places
    place = torch.arange(frames * places) % places
    same_place = place[:, None] == place
    if causal:
        same_place &= frame[:, None] >= frame
    return same_place, frame[:, None] == frame


class FactorisedBlock(nn.Module):
    """Attend over time at each place, then over space in each frame, then feed-forward.

    F frames of N places cost ``F N (F + N)`` scores instead of ``(F N)^2``, and after one block
    each token has still heard of every other. With ``causal=True`` the step over time sees no
    later frame; the step over space never leaves a frame, so nothing of the future gets in.

    A summary token, if there is one, takes part in the step over space alone: each frame gets a
    copy, and the copies are averaged. Under a causal mask it has seen all frames and must not be
    fed back: the two cannot be had together.

    Source: Bertasius et al., Is Space-Time Attention All You Need for Video Understanding? (2021),
    section 3, divided space-time attention. The linear map after the attention over time is not in
    the paper but in its code: 0 at the start (``still_start``), it leaves a pretrained image model
    as it was.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        causal: bool = False,
        still_start: bool = False,
        dropout: float = 0.0,
        eps: float = 1e-6,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.causal = causal
        self.time_norm = nn.LayerNorm(d_model, eps=eps)
        self.time_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.time_proj = nn.Linear(d_model, d_model)
        self.space_norm = nn.LayerNorm(d_model, eps=eps)
        self.space_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=eps)
        self.feed_forward = FeedForward(d_model, d_ff, activation="gelu", dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        if still_start:
            nn.init.zeros_(self.time_proj.weight)
            nn.init.zeros_(self.time_proj.bias)

    def forward(
        self, video: Tensor, summary: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Mix a video ``(B, F, N, D)``, and with a summary ``(B, D)`` that too."""
        if video.ndim != 4:
            raise ValueError(f"video has shape {tuple(video.shape)}, wanted (B, F, N, D)")
        batch, frames, places, d_model = video.shape
        if summary is not None and summary.shape != (batch, d_model):
            raise ValueError(f"summary has shape {tuple(summary.shape)}, wanted {(batch, d_model)}")
        if summary is not None and self.causal:
            raise ValueError("summary is given under a causal mask: it would carry the future back")
        mask = causal_mask(frames, device=video.device) if self.causal else None

        over_time = self.time_norm(video).transpose(1, 2).flatten(0, 1)
        mixed = self.time_proj(self.dropout(self.time_attention(over_time, mask=mask)))
        video = video + mixed.unflatten(0, (batch, places)).transpose(1, 2)

        x = video
        if summary is not None:
            copies = summary[:, None, None].expand(-1, frames, 1, -1)
            x = torch.cat([copies, video], dim=2)
        over_space = self.space_norm(x).flatten(0, 1)
        mixed = self.dropout(self.space_attention(over_space)).unflatten(0, (batch, frames))
        if summary is None:
            video = video + mixed
            return video + self._think(video)
        summary = summary + mixed[:, :, 0].mean(dim=1)
        video = video + mixed[:, :, 1:]
        return video + self._think(video), summary + self._think(summary)

    def _think(self, x: Tensor) -> Tensor:
        return self.dropout(self.feed_forward(self.feed_forward_norm(x)))
