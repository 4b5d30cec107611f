"""Claims about positions in pictures."""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.claims.finding import Finding
from course_lib.masks import causal_mask
from course_lib.positions import (
    inverse_order,
    qwen2_vl_rotary,
    qwen3_vl_rotary,
    scan_order,
    sinusoidal_encoding,
    sinusoidal_positions,
    spatial_positions,
    summed_positions,
)
from course_lib.vit import (
    ViT,
    ViTConfig,
    answers_right,
    load_kept,
    patchify,
    rearrange_patches,
    red_scenes,
    train_on_scenes,
)
from course_lib.vit.three_questions import Scenes


def patches_of_a_picture() -> Finding:
    """Cut a picture of 224 x 224 into patches of 16."""
    n = patchify(torch.zeros(1, 3, 224, 224), 16).shape[1]
    return Finding(holds=n == 196 == 14**2, evidence=f"{n} patches")


def raster_neighbours_look_alike() -> Finding:
    """How alike the codes of four pairs of places are, numbered row after row."""
    line = sinusoidal_positions(196, 768)
    alike = [
        float(F.cosine_similarity(line[p], line[q], dim=0)) for p, q in ((1, 14), (0, 14), (13, 14))
    ]
    return Finding(
        holds=alike[0] > 0.9,
        evidence=f"cosines: {alike[0]:.3f} for (0, 1) and (1, 0), {alike[1]:.3f} for neighbours in "
        f"a column, {alike[2]:.3f} for the end of a row and the start of the next",
    )


def added_codes_differ() -> Finding:
    """The codes of (2, 5) and (5, 2), and how many there are on 14 x 14 places."""
    table = summed_positions(14, 14, 768)
    gap = float((table[14 * 2 + 5] - table[14 * 5 + 2]).norm())
    distinct = len(table.unique(dim=0))
    return Finding(
        holds=gap > 0,
        evidence=f"the codes of (2, 5) and (5, 2) are {gap:g} apart; 196 places have {distinct} "
        "codes",
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


def columns_come_first() -> Finding:
    """What the first half of the channels says in the report's layout, on its 8 x 8 patches."""
    table = spatial_positions(8, 8, 400)
    grid = table.unflatten(0, (8, 8))
    column = torch.equal(grid[0, 3, :200], grid[5, 3, :200])
    row = torch.equal(grid[5, 0, :200], grid[5, 3, :200])
    distinct = len(table.unique(dim=0))
    return Finding(
        holds=column,
        corrected=row and not column and distinct == 64,
        evidence=f"the first half of the channels is the same along a {'row' if row else 'column'}"
        f"; all {distinct} places have codes of their own",
    )


def _neighbours(table: Tensor) -> float:
    """Mean cosine of the codes of 8 x 8 places that are next to each other, the mean code aside."""
    codes = F.normalize(table - table.mean(dim=0), dim=1).view(8, 8, -1)
    beside = (codes[:, 1:] * codes[:, :-1]).sum(-1)
    below = (codes[1:] * codes[:-1]).sum(-1)
    return float((beside.mean() + below.mean()) / 2)


def learned_positions_have_two_axes() -> Finding:
    """How alike neighbours are: in a vision transformer's table, before and after, and by sines."""
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
    """Which even widths can be split into two halves of pairs."""
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


def _answers(model: ViT, scenes: Scenes, shown: Tensor, told: Tensor) -> dict[str, float]:
    """Right answers if patches are read in one order and told places in another."""
    images = rearrange_patches(scenes.images, shown, model.config.patch_size)
    kept = model.positions.data.clone()
    model.positions.data[model.n_prefix :] = kept[model.n_prefix :][told]
    right = answers_right(model, Scenes(images, scenes.answers))
    model.positions.data = kept
    return right


def _scenes(n: int, seed: int) -> Scenes:
    return red_scenes(n, torch.Generator().manual_seed(seed), size=16)


def shuffled_patches_are_harmless() -> Finding:
    """Shuffle patches with their learned positions, and without."""
    model, test = train_on_scenes(_scenes(1500, 0), "learned", steps=150), _scenes(400, 1)
    here = torch.arange(16)
    order = scan_order("random", 4, 4, generator=torch.Generator().manual_seed(0))
    before, both, one = (
        _answers(model, test, *orders) for orders in ((here, here), (order, order), (order, here))
    )
    identical = max(abs(both[q] - before[q]) for q in before) == 0
    lost = before["where"] - one["where"]
    return Finding(
        holds=None if identical and lost > 0.3 else identical,
        evidence="right answers to what, where and left of: "
        + "; ".join(
            f"{name} {', '.join(f'{share:.0%}' for share in right.values())}"
            for name, right in (
                ("as it was", before),
                ("patches and positions shuffled alike", both),
                ("patches only", one),
            )
        ),
    )


def positions_are_not_needed() -> Finding:
    """Train with positions and without, and ask what, where and left of."""
    scenes, test = _scenes(1500, 0), _scenes(400, 1)
    without, told = (
        answers_right(train_on_scenes(scenes, how, steps=150), test) for how in ("none", "learned")
    )
    kept = without["what"] > 0.8 * told["what"]
    guessed = without["where"] < 0.45 < 0.75 < told["where"]
    return Finding(
        holds=None if kept and guessed else kept,
        evidence="; ".join(
            f"{q}: {without[q]:.0%} without positions, {told[q]:.0%} with them" for q in told
        ),
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


def order_is_arbitrary() -> Finding:
    """Read a grid in a spiral, with full and with causal attention."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randn(36, 16, generator=generator).double() + spatial_positions(6, 6, 16)
    order = scan_order("spiral", 6, 6)
    changes = []
    for mask in (None, causal_mask(36)):
        raster, read = (
            scaled_dot_product_attention(x, x, x, mask)[0] for x in (tokens, tokens[order])
        )
        changes.append(float((read[inverse_order(order)] - raster).abs().max()))
    return Finding(
        holds=max(changes) < 1e-9,
        corrected=changes[0] < 1e-9 and changes[1] > 0.1,
        evidence=f"outputs change by up to {changes[0]:.0e} in full attention and by up to "
        f"{changes[1]:.2f} with a causal mask",
    )
