"""Claims about cost, path length and receptive field."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import attention_weights
from course_lib.claims.finding import Finding
from course_lib.masks import causal_mask


def attention_is_quadratic() -> Finding:
    """Operations of scores and mixing when the length and the width are doubled."""

    def count(length: int, width: int) -> int:
        x = torch.zeros(1, length, width)
        with FlopCounterMode(display=False) as counter:
            attention_weights(x, x) @ x
        return counter.get_total_flops()

    base, longer, wider = count(16, 8), count(32, 8), count(16, 16)
    return Finding(
        holds=longer == 4 * base and wider == 2 * base,
        evidence=f"twice the length takes {longer / base:.0f} times the operations, twice the "
        f"width {wider / base:.0f} times",
    )


def _layers_to_reach(connects: list[Tensor]) -> int:
    """After how many layers position 0 has reached the last one; the last pattern repeats."""
    reached = torch.arange(len(connects[0])) == 0
    for layer in range(1, 10_000):
        pattern = connects[min(layer, len(connects)) - 1]
        reached = (pattern & reached).any(dim=-1)
        if reached[-1]:
            return layer
    raise ValueError("the last position is never reached, wanted patterns that connect it")


def convolution_path_is_logarithmic() -> Finding:
    """Layers until the last of 81 positions depends on the first one, kernel width 3."""
    n, k = 81, 3
    position = torch.arange(n)
    back = position[:, None] - position
    contiguous = (back >= 0) & (back < k)
    dilated = [(back >= 0) & (back < k * k**layer) & (back % k**layer == 0) for layer in range(10)]
    everything = torch.ones(n, n, dtype=torch.bool)
    layers = [_layers_to_reach(pattern) for pattern in ([contiguous], dilated, [everything])]
    logarithm = round(math.log(n, k))
    return Finding(
        holds=layers[0] <= logarithm,
        corrected=layers[0] == math.ceil((n - 1) / (k - 1)) and layers[1:] == [logarithm, 1],
        evidence=f"contiguous kernels need {layers[0]} layers, dilated ones {layers[1]}, attention "
        f"{layers[2]}",
    )


def convolutions_grow_by_two() -> Finding:
    """Inputs that one output of a stack of 3-wide convolutions depends on."""
    fields = []
    for depth in (1, 2, 3):
        x = torch.ones(1, 1, 21, requires_grad=True)
        out = x
        for _ in range(depth):
            out = F.conv1d(out, torch.ones(1, 1, 3), padding=1)
        (gradient,) = torch.autograd.grad(out[0, 0, 10], x)
        fields.append(int((gradient != 0).sum()))
    return Finding(
        holds=fields == [3, 5, 7],
        evidence=f"one, two and three layers see {fields[0]}, {fields[1]} and {fields[2]} inputs",
    )


def image_of_512_pixels() -> Finding:
    """Tokens and pairs of a 512 x 512 image cut into patches of 16."""
    tokens = F.unfold(torch.zeros(1, 1, 512, 512), kernel_size=16, stride=16).shape[-1]
    return Finding(
        holds=tokens == 1024 and round(tokens**2 / 1e6) == 1,
        evidence=f"{tokens:,} patches and {tokens**2:,} pairs",
    )


def text_sees_more_with_depth() -> Finding:
    """Inputs that the last token of one attention layer depends on, with and without a mask."""
    n = 12
    seen = []
    for mask in (None, causal_mask(n)):
        x = torch.randn(n, 8, generator=torch.Generator().manual_seed(0)).requires_grad_()
        out = attention_weights(x, x, mask) @ x
        (gradient,) = torch.autograd.grad(out[-1].sum(), x)
        seen.append(int((gradient.abs().sum(dim=-1) > 0).sum()))
    return Finding(
        holds=max(seen) < n,
        evidence=f"after one layer the last of {n} tokens depends on {seen[0]} of them without a "
        f"mask and on {seen[1]} with a causal one",
    )
