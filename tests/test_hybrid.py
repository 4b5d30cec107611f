"""Hybrid of convolutions and attention: counts, resolutions, what offsets mean, errors."""

import pytest
import torch

from course_lib.hybrid import Hybrid, HybridConfig, InvertedBottleneck, RelativeBlock, hybrid_cifar
from course_tests.refusals import refusals


def small(**changes):
    generator = torch.Generator().manual_seed(0)
    settings = {"image_size": 16, "widths": (4, 8, 16), "n_blocks": (1, 1, 2), "d_head": 8}
    return Hybrid(HybridConfig(**{**settings, **changes}), generator=generator).eval()


def images(batch=3, size=16, channels=3):
    return torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(1))


def count(module):
    return sum(p.numel() for p in module.parameters())


def test_parameter_count_is_the_sum_of_the_parts():
    def bottleneck(before, out):
        hidden = 4 * out
        norms = 2 * before + 2 * hidden + 2 * hidden
        gate = hidden * out + out + out * hidden + hidden
        shortcut = before * out + out if before != out else 0
        return norms + before * hidden + 9 * hidden + gate + hidden * out + out + shortcut

    def attention(before, out, side, heads):
        maps = 4 * (out * out + out) + 8 * out * out + 5 * out
        enter = 2 * (before * out + out) if before != out else 0  # and the shortcut
        return 2 * before + 2 * out + maps + enter + heads * (2 * side - 1) ** 2

    stem = 27 * 32 + 2 * 32 + 9 * 32 * 32 + 32
    first = 2 * bottleneck(32, 32)
    second = bottleneck(32, 64) + bottleneck(64, 64)
    third = attention(64, 128, 8, 4) + 3 * attention(128, 128, 8, 4)
    whole = stem + first + second + third + 2 * 128 + 10 * 129
    with torch.device("meta"):
        assert count(hybrid_cifar()) == whole == 994_138
        # Another resolution costs other offsets, and nothing else.
        assert count(hybrid_cifar(image_size=64)) - whole == 4 * 4 * (31**2 - 15**2)


def test_the_grids_of_the_stages():
    assert HybridConfig(stem_stride=2).sides == (16, 8, 4)
    _, weights = small()(images(), return_weights=True)
    assert [tuple(w.shape) for w in weights] == [(3, 2, 16, 16)] * 2
    torch.testing.assert_close(weights[0].sum(-1), torch.ones(3, 2, 16))


@pytest.mark.parametrize("n_conv_stages", [0, 1, 3])
def test_any_number_of_stages_may_be_convolutional(n_conv_stages):
    widths = (8, 16, 16)
    model = small(n_conv_stages=n_conv_stages, widths=widths)
    logits, weights = model(images(), return_weights=True)
    assert logits.shape == (3, 10)
    assert len(weights) == sum((1, 1, 2)[n_conv_stages:])


def test_the_bias_belongs_to_the_offset():
    block = RelativeBlock(8, 8, 2, side=3).eval()
    with torch.no_grad():
        block.bias.table.zero_()
        block.bias.table[0 * 5 + 2] = 50.0  # the query two rows above the key
    for part in (block.attention.q_proj, block.attention.k_proj):
        torch.nn.init.zeros_(part.weight)
    _, weights = block(torch.randn(1, 8, 3, 3), return_weights=True)
    torch.testing.assert_close(weights[0, 0, 0], torch.eye(9)[6])
    torch.testing.assert_close(weights[0, 0, 4], torch.full((9,), 1 / 9))


@pytest.mark.parametrize(
    "make",
    [
        lambda: InvertedBottleneck(8, 8),
        lambda: RelativeBlock(8, 8, 2, side=4),
    ],
)
def test_a_block_that_adds_nothing_passes_on_what_came_in(make):
    block = make().eval()
    ends = [getattr(block, "project", None)]
    if ends[0] is None:
        ends = [block.attention.out_proj, block.feed_forward.out_proj]
    for end in ends:
        torch.nn.init.zeros_(end.weight)
        torch.nn.init.zeros_(end.bias)
    x = images(channels=8, size=4)
    torch.testing.assert_close(block(x), x)


test_errors_name_what_came_and_what_was_wanted = refusals(
    (lambda: small()(images(size=8)), r"\(3, 3, 8, 8\), wanted \(B, 3, 16, 16\)"),
    (lambda: small()(images(channels=1)), r"\(3, 1, 16, 16\), wanted \(B, 3, 16, 16\)"),
    (lambda: small(image_size=18), "image_size is 18, wanted a multiple of 4"),
    (lambda: small(n_blocks=(1, 1)), "widths has 3 stages"),
    (lambda: small(n_blocks=(1, 0, 1)), "wanted at least one block"),
    (lambda: small(n_conv_stages=4), "n_conv_stages is 4, wanted 0 to 3"),
    (lambda: small(d_head=5), "d_head is 5, wanted a divisor of the width 16"),
    (lambda: small(d_head=0), "stem_stride is 1 and d_head 0, wanted at least 1"),
    (lambda: small(stem_stride=0), "stem_stride is 0"),
    (
        lambda: RelativeBlock(8, 8, 2, side=4)(images(channels=8)),
        r"\(3, 8, 16, 16\), wanted \(B, C, 4, 4\)",
    ),
)
