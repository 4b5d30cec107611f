"""Attention over space and time, one after the other."""

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_encoding


def video_positions(frames: int, rows: int, columns: int, d_model: int) -> Tensor:
    """Encode frame, row and column by concatenation: each has a third of the channels.

    Args:
        frames: Number of frames.
        rows: Rows of a frame.
        columns: Columns of a frame.
        d_model: Width D, even. What three does not divide goes to rows and columns.

    Returns:
        Table ``(frames, rows * columns, D)``, float32.

    Raises:
        ValueError: If D is not an even number of at least 6.

    Example:
        >>> table = video_positions(2, 3, 4, d_model=12)
        >>> table.shape, len(table.flatten(0, 1).unique(dim=0))
        (torch.Size([2, 12, 12]), 24)
        >>> torch.equal(table[0, 5, 4:], table[1, 5, 4:])  # same place, another frame
        True
    """
    if d_model < 6 or d_model % 2:
        raise ValueError(f"d_model is {d_model}, wanted an even number of at least 6")
    time, left = divmod(d_model // 2, 3)
    widths = (2 * time, 2 * (time + (left > 0)), 2 * (time + (left > 1)))
    axes = torch.meshgrid(
        torch.arange(frames), torch.arange(rows), torch.arange(columns), indexing="ij"
    )
    codes = [sinusoidal_encoding(axis, width) for axis, width in zip(axes, widths, strict=True)]
    return torch.cat(codes, dim=-1).flatten(1, 2)


def factorised_mask(frames: int, places: int, *, causal: bool = False) -> tuple[Tensor, Tensor]:
    """Write both steps of :class:`FactorisedBlock` as masks over all tokens of a video.

    Dense attention under these masks computes the same at a cost of O((F N)^2). Their product says
    what one block reaches.

    Args:
        frames: Number of frames F.
        places: Tokens of a frame N.
        causal: Whether a frame sees only itself and earlier ones.

    Returns:
        Two boolean masks ``(F N, F N)`` for tokens in order of frames: who sees whom in the step
        over time (the same place) and in the step over space (the same frame).

    Example:
        >>> time, space = factorised_mask(frames=2, places=3)
        >>> int(time.sum()), int(space.sum()), int(torch.ones(6, 6).sum())
        (12, 18, 36)
        >>> bool((time.float() @ space.float() > 0).all())  # one block reaches everything
        True
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

    Args:
        d_model: Width D.
        n_heads: Number of heads, which divides D.
        d_ff: Hidden width of the feed-forward part.
        causal: Whether a frame sees only itself and earlier ones.
        still_start: Whether the step over time changes nothing before training.
        dropout: Probability of dropping weights and the output of each part while training.
        eps: Added to the variance in the norms.
        fused: Whether to use the fused attention kernel.

    Example:
        >>> block = FactorisedBlock(8, n_heads=2, d_ff=16, causal=True).eval()
        >>> video = torch.randn(1, 3, 4, 8, generator=torch.Generator().manual_seed(0))
        >>> out = block(video)
        >>> changed = video.clone()
        >>> changed[:, 2] *= -1.0  # the last frame
        >>> torch.equal(block(changed)[:, :2], out[:, :2])
        True
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
        """Let tokens exchange information over time and space.

        Args:
            video: ``(B, F, N, D)``: F frames of N places.
            summary: The token that stands for the whole video, ``(B, D)``.

        Returns:
            The video ``(B, F, N, D)``, and with a summary that too, ``(B, D)``.

        Raises:
            ValueError: If a shape is wrong, or a summary is given under a causal mask.
        """
        if video.ndim != 4:
            raise ValueError(f"video has shape {tuple(video.shape)}, wanted (B, F, N, D)")
        batch, frames, places, d_model = video.shape
        if summary is not None and summary.shape != (batch, d_model):
            raise ValueError(f"summary has shape {tuple(summary.shape)}, wanted {(batch, d_model)}")
        if summary is not None and self.causal:
            raise ValueError("summary is given under a causal mask: it would carry the future back")
        mask = causal_mask(frames, device=video.device) if self.causal else None

        over_time = self.time_norm(video).transpose(1, 2).flatten(0, 1)
        found = self.time_proj(self.dropout(self.time_attention(over_time, mask=mask)))
        video = video + found.unflatten(0, (batch, places)).transpose(1, 2)

        x = video
        if summary is not None:
            copies = summary[:, None, None].expand(-1, frames, 1, -1)
            x = torch.cat([copies, video], dim=2)
        over_space = self.space_norm(x).flatten(0, 1)
        found = self.dropout(self.space_attention(over_space)).unflatten(0, (batch, frames))
        if summary is None:
            video = video + found
            return video + self._think(video)
        summary = summary + found[:, :, 0].mean(dim=1)
        video = video + found[:, :, 1:]
        return video + self._think(video), summary + self._think(summary)

    def _think(self, x: Tensor) -> Tensor:
        return self.dropout(self.feed_forward(self.feed_forward_norm(x)))
