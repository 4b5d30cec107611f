"""Windows, their mask, the model that is made of them, and what it reaches."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.swin import (
    DropPath,
    Layout,
    PatchMerging,
    Swin,
    SwinBlock,
    SwinConfig,
    WindowAttention,
    block_cost,
    cyclic_shift,
    drop_path,
    grid_connections,
    pad_grid,
    swin,
    window_layout,
    window_mask,
    window_partition,
    window_reverse,
)
from course_tests.refusals import refusals


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def small(**changes):
    fields = dict(
        image_size=16, patch_size=2, d_model=8, depths=(2, 2), n_heads=(1, 2), window=4, n_classes=5
    )
    return SwinConfig(**(fields | changes))


def test_a_window_as_large_as_the_map_neither_moves_nor_masks():
    for side in (5, 7):
        layout = window_layout(side, side, 7, 3)
        assert layout == Layout((side, side), (side, side), (0, 0))
        assert not layout.masked
    assert window_layout(7, 21, 7, 3).shift == (0, 3)


def dense_attention(attention, x, window, shift):
    """Attention over the whole grid at once; who shares a window is read off the coordinates."""
    B, rows, columns, D = x.shape
    H = attention.n_heads
    q, k, v = attention.qkv_proj(x.reshape(B, -1, D)).chunk(3, dim=-1)
    r = torch.arange(rows).repeat_interleave(columns)
    c = torch.arange(columns).repeat(rows)
    shift = (shift if rows > window else 0, shift if columns > window else 0)
    same = ((r[:, None] - shift[0]) // window == (r - shift[0]) // window) & (
        (c[:, None] - shift[1]) // window == (c - shift[1]) // window
    )
    down = (r[:, None] - r).clamp(1 - window, window - 1) + window - 1
    right = (c[:, None] - c).clamp(1 - window, window - 1) + window - 1
    out = torch.empty_like(v)
    for h in range(H):
        part = slice(h * D // H, (h + 1) * D // H)
        scores = q[..., part] @ k[..., part].transpose(1, 2) / math.sqrt(D // H)
        scores = scores + attention.bias.table[down * (2 * window - 1) + right, h]
        out[..., part] = scores.masked_fill(~same, -math.inf).softmax(-1) @ v[..., part]
    return attention.out_proj(out).view(B, rows, columns, D)


@pytest.mark.parametrize("grid", [(8, 8), (8, 12), (5, 9), (3, 8), (3, 3), (1, 6)])
@pytest.mark.parametrize("shift", [0, 2])
@pytest.mark.parametrize("fused", [False, True])
def test_a_block_is_dense_attention_among_those_that_share_a_window(grid, shift, fused):
    block = SwinBlock(8, 2, 16, grid=(8, 8), window=4, shift=shift, fused=fused).double()
    x = torch.randn(2, *grid, 8, dtype=torch.float64, generator=seeded())
    with torch.no_grad():
        block.attention.bias.table.normal_(generator=seeded(1))
        middle = x + dense_attention(block.attention, block.attention_norm(x), 4, shift)
        wanted = middle + block.feed_forward(block.feed_forward_norm(middle))
        torch.testing.assert_close(block(x), wanted, atol=1e-12, rtol=0)


def test_weights_sum_to_one_and_are_the_same_on_both_paths():
    attend = WindowAttention(8, 2, (3, 3))
    mask = window_mask(window_layout(6, 6, 3, 1))
    x = torch.randn(8, 9, 8, generator=seeded())
    out, weights = attend(x, mask, return_weights=True)
    assert weights.shape == (8, 2, 9, 9)
    torch.testing.assert_close(weights.sum(-1), torch.ones(8, 2, 9))
    assert not weights.masked_select(~mask.repeat(2, 1, 1)[:, None].expand_as(weights)).any()
    torch.testing.assert_close(out, attend(x, mask), atol=1e-6, rtol=0)


def test_merging_goes_down_first():
    merge = PatchMerging(1).eval()
    with torch.no_grad():
        merge.proj.weight.copy_(torch.eye(4)[:2])
        merge.norm = torch.nn.Identity()
        x = torch.tensor([[0.0, 1.0], [2.0, 3.0]]).view(1, 2, 2, 1)
        first_two = merge(x)[0, 0, 0].tolist()
    assert first_two == [0, 2]  # (0, 0) and (1, 0), not (0, 1)


def test_merging_fills_up_odd_grids_with_zeros():
    merge = PatchMerging(3)
    x = torch.randn(1, 3, 5, 3, generator=seeded())
    filled = torch.zeros(1, 4, 6, 3)
    filled[:, :3, :5] = x
    assert torch.equal(merge(x), merge(filled))


@settings(max_examples=10, deadline=None)
@given(st.sampled_from([0.0, 0.3, 0.8]), st.integers(0, 5))
def test_whole_examples_are_dropped_and_the_rest_is_scaled(p, seed):
    x = torch.rand(500, 2, 3, generator=seeded()) + 1
    out = drop_path(x, p, generator=seeded(seed))
    factor = (out / x).flatten(1)
    assert torch.allclose(factor, factor[:, :1].expand_as(factor))
    values = factor[:, 0]
    assert torch.all((values == 0) | torch.isclose(values, torch.tensor(1 / (1 - p))))
    assert (values == 0).float().mean().item() == pytest.approx(p, abs=0.1)
    assert torch.equal(out, drop_path(x, p, generator=seeded(seed)))


def test_paths_are_dropped_in_training_only_and_after_both_parts():
    block = SwinBlock(4, 1, 8, grid=(4, 4), window=2, drop_path=0.9)
    x = torch.randn(64, 4, 4, 4, generator=seeded())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        unchanged = (block(x) == x).flatten(1).all(1).float().mean().item()
    assert unchanged == pytest.approx(0.81, abs=0.12)  # both parts dropped: 0.9 * 0.9
    block.eval()
    assert not (block(x) == x).flatten(1).all(1).any()


def test_draws_come_from_the_generator_that_was_given():
    x = torch.ones(8, 2)
    state = torch.random.get_rng_state()
    first, second = (DropPath(0.5, generator=seeded(3))(x) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(state, torch.random.get_rng_state())


GRID = torch.zeros(1, 4, 6, 8)
ATTEND = WindowAttention(8, 2, (2, 2))
TOKENS = torch.zeros(6, 4, 8)
test_what_does_not_fit_is_refused = refusals(
    (lambda: swin("l"), "no preset 'l'; there are t, s, b, cifar"),
    (lambda: drop_path(torch.tensor(1.0), 0.5), "single number"),
    (
        lambda: swin("cifar")(torch.zeros(1, 3, 32, 32, dtype=torch.uint8)),
        "torch.uint8, wanted a floating-point one",
    ),
    (
        lambda: window_partition(torch.zeros(1, 4), (2, 2)),
        "x has shape .1, 4., wanted .B, rows, columns, D.",
    ),
    (lambda: window_partition(GRID, (4, 4)), "window is 4 x 4, wanted sides that divide 4 x 6"),
    (
        lambda: window_reverse(torch.zeros(5, 4, 8), (2, 2), 4, 6),
        "windows have shape .5, 4, 8., wanted .B . 6, 4, D.",
    ),
    (lambda: window_layout(8, 8, 4, 4), "shift is 4, wanted at least 0 and less than window 4"),
    (lambda: window_layout(0, 8, 4, 0), "grid is 0 x 8"),
    (lambda: pad_grid(GRID, (4, 4)), "grid is 4 x 6, wanted at most 4 x 4"),
    (lambda: drop_path(GRID, 1), "p is 1, wanted a probability"),
    (lambda: DropPath(-1), "p is -1"),
    (lambda: PatchMerging(4)(GRID), "wanted .B, rows, columns, 4."),
    (lambda: WindowAttention(8, 3, (2, 2)), "n_heads is 3, wanted a divisor of d_model 8"),
    (lambda: WindowAttention(8, 2, (2, 2), dropout=1), "dropout is 1"),
    (
        lambda: ATTEND(torch.zeros(6, 9, 8)),
        "x has shape .6, 9, 8., wanted .B . nW, 4, 8. for windows of 2 x 2",
    ),
    (
        lambda: ATTEND(TOKENS, torch.ones(4, 4, 4, dtype=torch.bool)),
        "nW a divisor of the 6 windows",
    ),
    (lambda: ATTEND(TOKENS, torch.ones(3, 4, 4)), "torch.float32, wanted torch.bool"),
    (
        lambda: SwinBlock(8, 2, 16, grid=(4, 4), window=2)(torch.zeros(1, 4, 4, 6)),
        "wanted .B, rows, columns, 8.",
    ),
    (lambda: SwinConfig(depths=(2, 2)), "as many heads as stages"),
    (lambda: SwinConfig(n_heads=(5, 6, 12, 24)), "n_heads is 5, wanted a divisor of the width 96"),
    (lambda: SwinConfig(window=0), "window is 0, wanted at least 1"),
    (lambda: SwinConfig(drop_path=1.5), "drop_path is 1.5, wanted a probability"),
    (
        lambda: Swin(small())(torch.zeros(1, 1, 16, 16)),
        "images have shape .1, 1, 16, 16., wanted .B, 3, height, width.",
    ),
    (
        lambda: pad_grid(torch.zeros(8, 8, 4), (9, 9)),
        r"\(8, 8, 4\), wanted \(B, rows, columns, D\)",
    ),
    (
        lambda: cyclic_shift(torch.zeros(8, 8, 4), (1, 1)),
        r"\(8, 8, 4\), wanted \(B, rows, columns, D\)",
    ),
    (lambda: block_cost(0, 3, 8), "sizes are 0 x 3, width 8 and ratio 4"),
)


def multiply_adds(model):
    """Products of matrices, and one operation for each number that a norm sees."""
    normed = []
    for part in model.modules():
        if isinstance(part, torch.nn.LayerNorm):
            part.register_forward_hook(lambda _, args, __: normed.append(args[0].numel()))
    images = torch.empty(1, 3, 224, 224, device="meta")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(images)
    # The original takes the last map to be a sixteenth of the first; it is a sixty-fourth.
    normed.append(normed[-1] * 3)
    return counter.get_total_flops() // 2 + sum(normed)


@pytest.mark.parametrize(
    ("preset", "count", "billions"),
    [("t", 28_288_354, 4.494), ("s", 49_606_258, 8.747), ("b", 87_768_224, 15.438)],
)
def test_presets_have_the_published_numbers_of_parameters_and_operations(preset, count, billions):
    with torch.device("meta"):
        model = swin(preset)
    assert sum(p.numel() for p in model.parameters()) == count
    for part in model.modules():
        if isinstance(part, WindowAttention):
            part.fused = False
    assert round(multiply_adds(model) / 1e9, 3) == billions


@pytest.mark.parametrize("size", [(16, 16), (32, 48), (15, 9), (3, 50)])
def test_images_of_any_size(size):
    model = Swin(small(), generator=seeded()).eval()
    images = torch.randn(2, 3, *size, generator=seeded(1), requires_grad=True)
    explicit = Swin(small(), fused=False).eval()
    explicit.load_state_dict(model.state_dict())
    logits, weights = explicit(images, return_weights=True)
    assert logits.shape == (2, 5) and len(weights) == 4
    torch.testing.assert_close(model(images), logits, atol=1e-5, rtol=0)
    model(images).sum().backward()
    assert images.grad.isfinite().all()
    assert not [name for name in model.state_dict() if "mask" in name or "index" in name]


def test_rates_grow_to_the_last_block():
    rates = [part.p for part in Swin(small(drop_path=0.3)).modules() if isinstance(part, DropPath)]
    assert rates == pytest.approx([0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("rows", "columns", "window", "shift"),
    [(8, 8, 4, 2), (5, 9, 4, 1), (6, 10, 4, 3), (3, 9, 4, 2), (7, 7, 7, 3), (4, 8, 4, 0)],
)
def test_connections_are_those_of_the_windows(rows, columns, window, shift):
    layout = window_layout(rows, columns, window, shift)
    numbers = 1 + torch.arange(rows * columns).view(1, rows, columns, 1)
    moved = cyclic_shift(pad_grid(numbers, layout.padded), layout.shift)
    windows = window_partition(moved, layout.window)[..., 0]
    masked, unmasked = torch.zeros(2, rows * columns, rows * columns).bool()
    for tokens, mask in zip(windows, window_mask(layout), strict=True):
        real = tokens > 0  # padding has the number 0
        places = tokens[real] - 1
        masked[places[:, None], places] = mask[real][:, real]
        unmasked[places[:, None], places] = True
    assert grid_connections(layout).equal(masked)
    assert grid_connections(layout, masked=False).equal(unmasked)


@pytest.mark.parametrize(
    ("grid", "window", "mlp_ratio"), [((14, 14), 7, 4), ((5, 9), 4, 2), ((3, 8), 4, 4)]
)
def test_a_block_multiplies_as_often_as_counted(grid, window, mlp_ratio):
    block = SwinBlock(8, 2, 8 * mlp_ratio, grid=grid, window=window, fused=False)
    with FlopCounterMode(display=False) as counter:
        block(torch.zeros(1, *grid, 8))
    cost = block_cost(*grid, 8, window, mlp_ratio=mlp_ratio)
    assert counter.get_total_flops() == 2 * cost.total
    layers = [layer for layer in block.feed_forward.modules() if isinstance(layer, nn.Linear)]
    assert cost.feed_forward == grid[0] * grid[1] * sum(x.weight.numel() for x in layers)


def test_without_windows_every_pair_is_counted():
    whole, cut = block_cost(12, 8, 16), block_cost(12, 8, 16, window=4)
    assert whole.pairs == 2 * 96**2 * 16 and cut.pairs == whole.pairs // 6
    assert (whole.projections, whole.feed_forward) == (cut.projections, cut.feed_forward)
    assert block_cost(7, 7, 16, window=9) == block_cost(7, 7, 16)
