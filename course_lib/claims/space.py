"""Claims about positions in pictures."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.claims.finding import Finding
from course_lib.positions import (
    qwen2_vl_rotary,
    qwen3_vl_rotary,
    sinusoidal_encoding,
    spatial_positions,
)
from course_lib.vit import (
    ViT,
    ViTConfig,
    load_kept,
)


def sines_are_enough() -> Finding:
    """The best linear map for a step to the right, for codes with and without their cosines."""
    codes = torch.stack(
        [sinusoidal_encoding(torch.arange(40).double() + n, 32).repeat(9, 1) for n in (0, 1)]
    )
    down = sinusoidal_encoding(torch.arange(9).double(), 32).repeat_interleave(40, 0)
    errors = []
    for step in (2, 1):
        here, there = (torch.cat([down, c], dim=1)[:, ::step] for c in codes)
        fit = torch.linalg.lstsq(here, there, driver="gelsd").solution
        errors.append(float((here @ fit - there).square().mean().sqrt()))
    return Finding(
        holds=errors[0] < 1e-6,
        corrected=errors[0] > 0.01 and errors[1] < 1e-6,
        evidence=f"the best linear map for one step to the right errs by {errors[0]:.2f} on codes "
        f"of sines and by {errors[1]:.0e} on codes with both",
    )


def _neighbours(table: Tensor) -> float:
    """Mean cosine of the codes of 8 x 8 places that are next to each other, the mean code aside."""
    codes = F.normalize(table - table.mean(dim=0), dim=1).view(8, 8, -1)
    beside = (codes[:, 1:] * codes[:, :-1]).sum(-1)
    below = (codes[1:] * codes[:-1]).sum(-1)
    return float((beside.mean() + below.mean()) / 2)


def learned_positions_have_two_axes() -> Finding:
    """Likeness of neighbours: in a vision transformer's table, before and after, and by sines."""
    trained = load_kept().model
    assert trained is not None
    config = ViTConfig(d_model=64, n_layers=1, n_heads=2, d_ff=64, positions="learned")
    fresh = ViT(config, generator=torch.Generator().manual_seed(0))
    tables = (fresh.positions[1:], trained.positions[1:], spatial_positions(8, 8, 64))
    before, after, sines = (_neighbours(table.detach().float()) for table in tables)
    rows = len(fresh.positions)
    return Finding(
        holds=before > 0.2,
        corrected=rows == 65 and abs(before) < 0.1 and after > 0.3 and sines > 0.5,
        evidence=f"the table has {rows} rows in one line; neighbours' codes have a mean cosine "
        f"of {before:.2f} before training and {after:.2f} after it, sinusoids in two dimensions "
        f"have {sines:.2f}",
    )


def any_even_width_will_do() -> Finding:
    """Even widths that can be split into two halves of pairs."""
    refused = []
    for d_model in range(2, 404, 2):
        try:
            spatial_positions(2, 2, d_model)
        except ValueError:
            refused.append(d_model)
    return Finding(
        holds=not refused,
        corrected=refused == list(range(2, 404, 4)),
        evidence=f"of the even widths up to 402, {len(refused)} don't split into pairs for both "
        f"axes, such as {refused[1]}, {refused[2]} and {refused[-1]}",
    )


def axes_share_frequencies() -> Finding:
    """Pairs of each axis that come round within 32 places, in blocks and interleaved."""
    counts = []
    for rotary in (qwen2_vl_rotary(), qwen3_vl_rotary()):
        fast = 2 * torch.pi / rotary.frequencies <= 32
        counts.append([int((fast & (rotary.axes == axis)).sum()) for axis in range(3)])
    return Finding(
        holds=min(counts[1]) > 0 == min(counts[0]),
        evidence="pairs for time, row and column that come round within 32 places: "
        f"{counts[0]} in blocks, {counts[1]} interleaved",
    )
