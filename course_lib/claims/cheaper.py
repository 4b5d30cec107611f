"""Claims about attention that costs less."""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from course_lib.attention import attention_weights, scaled_dot_product_attention
from course_lib.attention_maps import layers_to_reach_all
from course_lib.claims.finding import Finding
from course_lib.efficient import (
    LongformerAttention,
    attention_costs,
    largest_tensor,
    linformer_attention,
    online_attention,
    orthogonal_features,
    performer_linear_attention,
    strided_mask,
)
from course_lib.masks import longformer_mask


def _drawn(T: int, width: int, size: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, T, width, generator=generator)
    return size * q, size * k, v


def _products(call: Callable[[], object]) -> int:
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops() // 2


def _error(found: Tensor, exact: Tensor) -> float:
    return float((found - exact).norm() / exact.norm())


def _tiles(T: int) -> tuple[int, int]:
    """Multiplications of attention in tiles of 32, and the numbers of its largest tensor."""
    q, k, v = _drawn(T, 8)
    return (
        _products(lambda: online_attention(q, k, v, tile=32)),
        largest_tensor(lambda: online_attention(q, k, v, tile=32)),
    )


def flash_reduces_the_square() -> Finding:
    """Multiplications of attention in one piece and in tiles."""
    q, k, v = _drawn(256, 8)
    whole = _products(lambda: attention_weights(q, k) @ v)
    tiled, held = _tiles(256)
    scores = largest_tensor(lambda: scaled_dot_product_attention(q, k, v))
    return Finding(
        holds=tiled < whole,
        corrected=tiled == whole and held < scores,
        evidence=f"{whole:,} multiplications at once, {tiled:,} in tiles; the largest tensor has "
        f"{scores:,} numbers and {held:,}",
    )


def tiles_save_memory_not_time() -> Finding:
    """Work and largest tensor of tiles at twice the length."""
    (work, held), (more, larger) = _tiles(256), _tiles(512)
    return Finding(
        holds=more == 4 * work and larger == 2 * held,
        evidence=f"twice the length takes {more / work:.0f} times the multiplications and "
        f"{larger / held:.0f} times the memory",
    )


def linformer_replaces_softmax() -> Finding:
    """Distance from exact attention with mixtures drawn at random, and with the keys themselves."""
    q, k, v = _drawn(128, 32)
    exact, _ = scaled_dot_product_attention(q, k, v)
    generator = torch.Generator().manual_seed(1)
    errors = {}
    for rank in (8, 32, 128):
        mixes = torch.randn(2, rank, 128, generator=generator) / math.sqrt(rank)
        errors[rank] = _error(linformer_attention(q, k, v, *mixes)[0], exact)
    keys = _error(linformer_attention(q, k, v, torch.eye(128), torch.eye(128))[0], exact)
    shown = ", ".join(f"{error:.1f} with rank {rank}" for rank, error in errors.items())
    return Finding(
        holds=errors[32] < 0.1,
        corrected=min(errors.values()) > 1 and keys < 1e-5,
        evidence=f"relative error of random mixtures: {shown}; of the keys themselves {keys:.0e}",
    )


def linformer_costs() -> Finding:
    """Multiplications and weights at twice the length and at twice the rank."""

    def measure(T: int, rank: int) -> tuple[int, int]:
        q, k, v = _drawn(T, 8)
        mix = torch.zeros(rank, T)
        weights = linformer_attention(q, k, v, mix, mix)[1]
        return _products(lambda: linformer_attention(q, k, v, mix, mix)), weights.numel()

    base, longer, wider = measure(64, 8), measure(128, 8), measure(64, 16)
    ratios = [[b / a for a, b in zip(base, other, strict=True)] for other in (longer, wider)]
    return Finding(
        holds=all(ratio == 2 for pair in ratios for ratio in pair),
        evidence=f"twice the length: {ratios[0][0]:.0f} times the multiplications and "
        f"{ratios[0][1]:.0f} times the weights; twice the rank: the same",
    )


def features_replace_softmax() -> Finding:
    """Products of features with and without dividing by their sums, on short vectors."""
    q, k, v = _drawn(128, 32, 0.3)
    exact, _ = scaled_dot_product_attention(q, k, v)
    generator = torch.Generator().manual_seed(1)
    bare, divided = [], []
    for n_features in (16, 4096):
        directions = orthogonal_features(n_features, 32, generator=generator)
        phi_q, phi_k = (
            torch.exp(x @ directions.T - x.square().sum(-1, keepdim=True) / 2)
            for x in (q * 32**-0.25, k * 32**-0.25)
        )
        bare.append(_error(phi_q @ (phi_k.mT @ v) / n_features, exact))
        divided.append(_error(performer_linear_attention(q, k, v, directions, eps=0.0), exact))
    return Finding(
        holds=bare[1] < 0.1,
        corrected=bare[1] > 10 and divided[1] < 0.1 < divided[0],
        evidence=f"relative error with 4,096 features: {bare[1]:.0f} as printed, {divided[1]:.2f} "
        f"divided by the sums; with 16 features {divided[0]:.2f}",
    )


def performer_costs_squares_of_the_width() -> Finding:
    """Multiplications at twice the width, with the features as they are and along with it."""

    def count(width: int, n_features: int) -> int:
        q, k, v = _drawn(64, width)
        directions = orthogonal_features(
            n_features, width, generator=torch.Generator().manual_seed(0)
        )
        return _products(lambda: performer_linear_attention(q, k, v, directions))

    base, wider, both = count(16, 44), count(32, 44), count(32, 110)
    fixed, usual = wider / base, both / base
    return Finding(
        holds=abs(fixed - 4) < 0.5,
        corrected=abs(fixed - 2) < 0.1 and usual > 4,
        evidence=f"twice the width takes {fixed:.2f} times the multiplications at 44 features, and "
        f"{usual:.2f} times with the paper's d ln d of them",
    )


def sparse_is_local_and_global() -> Finding:
    """Growth of pairs from 256 to 1,024 positions, with a stride and with a window."""
    strided = [int(strided_mask(T, math.isqrt(T)).sum()) for T in (256, 1024)]
    local = [int(longformer_mask(T, 16, [0]).sum()) for T in (256, 1024)]
    powers = [math.log(large / small, 4) for small, large in (strided, local)]
    return Finding(
        holds=abs(powers[1] - 1.5) < 0.1,
        corrected=abs(powers[0] - 1.5) < 0.1 and abs(powers[1] - 1) < 0.1,
        evidence=f"pairs grow with the power {powers[0]:.2f} of the length for a stride of its "
        f"root, and {powers[1]:.2f} for a window of fixed radius with a global position",
    )


def constants_are_left_out() -> Finding:
    """Multiplications at twice the length, and at twice the radius or rank."""
    sizes = {"d_model": 64, "n_heads": 1, "n_global": 0}
    base = attention_costs(4096, radius=64, rank=64, **sizes)
    longer = attention_costs(8192, radius=64, rank=64, **sizes)
    wider = attention_costs(4096, radius=128, rank=128, **sizes)
    kinds = ("Longformer", "Linformer", "Performer")
    grows = [longer[kind].multiplications / base[kind].multiplications for kind in kinds]
    other = [wider[kind].multiplications / base[kind].multiplications for kind in kinds]
    return Finding(
        holds=all(ratio < 1.1 for ratio in other),
        corrected=all(abs(ratio - 2) < 0.1 for ratio in grows + other),
        evidence="twice the length: "
        + ", ".join(f"{ratio:.2f}" for ratio in grows)
        + " times the multiplications; twice the radius, rank or features: "
        + ", ".join(f"{ratio:.2f}" for ratio in other),
    )


def global_positions_see_and_are_seen() -> Finding:
    """The mask, and a layer in which only the projections of global positions are changed."""
    T = 12
    mask = longformer_mask(T, 2, [0])
    both_ways = bool(mask[0].all() and mask[:, 0].all()) and layers_to_reach_all(mask) == 2
    torch_state = torch.Generator().manual_seed(0)
    layer = LongformerAttention(8, 2, radius=2)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.copy_(torch.randn(weight.shape, generator=torch_state))
        x = torch.randn(1, T, 8, generator=torch_state)
        before = layer(x, torch.tensor([0]))
        layer.q_global.weight.neg_()
        after = layer(x, torch.tensor([0]))
    changed = (after - before).abs().amax(dim=(0, 2)) > 1e-4
    own = bool(changed[0]) and not bool(changed[1:].any())
    return Finding(
        holds=both_ways and not changed.any(),
        corrected=both_ways and own,
        evidence=f"{int(mask.sum())} of {T * T} pairs; turning the queries of global positions "
        f"around changes {int(changed.sum())} of {T} outputs",
    )
