"""Codes and masks of attention over space and time, one after the other."""

import torch
from torch import Tensor

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
    """Write attention over time, then over space, as boolean masks ``(F N, F N)``.

    Tokens stand in order of frames, N to each of F. In the step over time a token sees the same
    place, with ``causal`` in no later frame; in the step over space, the same frame. The product of
    the masks says what both steps reach, at ``F N (F + N)`` scores instead of ``(F N)^2``.

    Source: Bertasius et al., Is Space-Time Attention All You Need for Video Understanding? (2021),
    section 3, divided space-time attention.
    """
    frame = torch.arange(frames * places) // places
    place = torch.arange(frames * places) % places
    same_place = place[:, None] == place
    if causal:
        same_place &= frame[:, None] >= frame
    return same_place, frame[:, None] == frame
