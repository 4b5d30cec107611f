"""Operations and memory grow as the theory says, and every variant attends; nothing is timed."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from course_tests.benchmarks.timing import forward_pass, peak_memory
from course_tests.parity.growth import FULL, SCALING, VARIANTS

# The counter does not know the fused kernel of the CPU.
FUSED = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda q, k, v, *rest, **options: sdpa_flop_count(q, k, v)
    )
}


def made(name, length):
    return VARIANTS[name].grown(length)


def operations(name, length):
    module, inputs = made(name, length)
    with FlopCounterMode(display=False, custom_mapping=FUSED) as counter, torch.no_grad():
        module(*inputs)
    return counter.get_total_flops()


@pytest.mark.parametrize("name", VARIANTS)
def test_operations_grow_with_the_power_stated(name):
    # FaViT's whole map is seen by few channels, which tell only on a large one.
    lengths = (1024, 4096, 16384) if name == "favit" else (256, 1024, 4096)
    small, middle, large = (operations(name, length) for length in lengths)
    # What is left when all that grows with T itself is taken away.
    first, second = middle - 4 * small, large - 4 * middle
    if VARIANTS[name].power == 1:
        assert second < 0.02 * large
    else:
        assert math.log(second / first, 4) == pytest.approx(VARIANTS[name].power, abs=0.1)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_token_counts_and_the_weights_are_reached(name):
    module, inputs = made(name, 256)
    x, *others = inputs
    x.requires_grad_()
    out = module(x, *others)
    assert out.shape == x.shape
    # Even out: a sum of all that a norm returns would not depend on anything.
    (out * torch.randn(out.shape, generator=torch.Generator().manual_seed(1))).sum().backward()
    assert (x.grad.abs().flatten(0, -2).amax(-1) > 0).all()
    assert all(p.grad is not None for p in module.parameters())


@pytest.mark.parametrize("name", [name for name, v in VARIANTS.items() if v.causal])
def test_only_the_causal_ones_hide_what_comes(name):
    module, (x,) = made(name, 64)
    changed = x.clone()
    changed[:, -1] += 1.0
    with torch.no_grad():
        assert torch.equal(module(changed)[:, :-1], module(x)[:, :-1])
        full, _ = made(FULL, 64)
        assert not torch.equal(full(changed)[:, :-1], full(x)[:, :-1])


@pytest.mark.parametrize("length", [16, 100, 128, 144])
def test_a_length_that_is_no_grid_is_refused(length):
    with pytest.raises(ValueError, match=f"length is {length}, wanted a power of 4"):
        made("swin", length)


LENGTHS = 512, 1024, 2048


def slope(values):
    return math.log2(values[-1] / values[0]) / math.log2(LENGTHS[-1] / LENGTHS[0])


def calls(name):
    return [forward_pass(*SCALING[name].grown(n)) for n in LENGTHS]


def multiplied(call):
    with FlopCounterMode(display=False, custom_mapping=FUSED) as counter:
        call()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", SCALING)
def test_memory_grows_with_the_power_stated(name):
    measured = slope([peak_memory(call) for call in calls(name)])
    assert measured == pytest.approx(SCALING[name].memory_power, abs=0.2)


@pytest.mark.parametrize("name", SCALING)
def test_operations_of_functions_grow_with_the_power_stated(name):
    measured = slope([multiplied(call) for call in calls(name)])
    assert measured == pytest.approx(SCALING[name].power, abs=0.1)
