"""Claims about codes for positions, on a line and in images."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.claims.finding import Finding
from course_lib.positions import (
    binary_code,
    code_similarity,
    qwen2_vl_rotary,
    qwen3_vl_rotary,
    sinusoidal_encoding,
    sinusoidal_positions,
    spatial_positions,
    wavelengths,
)
from course_lib.positions.previous import accuracy_by_place, train_previous
from course_lib.vit import (
    ViT,
    ViTConfig,
    load_kept,
)


def _codes(n: int, d_model: int) -> Tensor:
    return sinusoidal_encoding(torch.arange(n, dtype=torch.float64), d_model)


def different_frequencies() -> Finding:
    """Wavelengths, and how alike neighbours and distant positions are, at width 768."""
    waves = wavelengths(768)
    near, far = (code_similarity(torch.tensor([1, 1000]), 768) / 384).tolist()
    ratios = waves[1:] / waves[:-1]
    return Finding(
        holds=near > 0.95 and far < 0.5 and bool((ratios > 1).all()),
        evidence=f"wavelengths from {waves[0]:.1f} to {waves[-1]:,.0f} positions; the codes of "
        f"neighbours have a cosine of {near:.3f}, at distance 1000 {far:.3f}",
    )


def integers_hinder_learning() -> Finding:
    """Learn to name the previous of random tokens, with integers added and with sinusoids."""
    reached = {}
    for name, code in (
        ("integers", lambda n: torch.arange(n).float()[:, None].expand(n, 32)),
        ("nothing", lambda n: torch.zeros(n, 32)),
        ("sinusoids", lambda n: sinusoidal_positions(n, 32)),
    ):
        model, _ = train_previous(code, length=16, steps=150)
        reached[name] = float(accuracy_by_place(model, 16).mean())
    listed = ", ".join(f"{share:.0%} with {name}" for name, share in reached.items())
    return Finding(
        holds=reached["integers"] < reached["nothing"] < 0.5 * reached["sinusoids"],
        evidence=f"previous tokens named after 150 steps on sequences of 16: {listed}",
    )


def binary_distances() -> Finding:
    """Digits that change in single steps and in a leap, with four digits and with sixteen."""
    unequal = {}
    for n_bits in (4, 16):
        half = 2 ** (n_bits - 1)
        below, above, leap = binary_code(torch.tensor([half - 1, half, 2 * half - 1]), n_bits)
        step, far = int((below != above).sum()), int((below != leap).sum())
        unequal[n_bits] = (step, far, half)
    listed = "; ".join(
        f"with {n_bits} digits a single step changes up to {step}, one of {half:,} as few as {far}"
        for n_bits, (step, far, half) in unequal.items()
    )
    upset = {n_bits: step > far for n_bits, (step, far, _) in unequal.items()}
    return Finding(
        holds=upset[16] and not upset[4], corrected=upset[16] and upset[4], evidence=listed
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
