"""Operations and memory grow as the theory says; nothing is timed."""

import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from course_tests.benchmarks.timing import forward_pass, peak_memory
from course_tests.parity.growth import SCALING

LENGTHS = 512, 1024, 2048


def slope(values):
    """The power between the ends of the lengths."""
    return math.log2(values[-1] / values[0]) / math.log2(LENGTHS[-1] / LENGTHS[0])


def calls(name):
    return [forward_pass(*SCALING[name].grown(n)) for n in LENGTHS]


# The counter does not know the fused kernel of the CPU.
FUSED = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda q, k, v, *rest, **options: sdpa_flop_count(q, k, v)
    )
}


def operations(call):
    with FlopCounterMode(display=False, custom_mapping=FUSED) as counter:
        call()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", SCALING)
def test_memory_grows_with_the_power_stated(name):
    measured = slope([peak_memory(call) for call in calls(name)])
    assert measured == pytest.approx(SCALING[name].memory_power, abs=0.2)


@pytest.mark.parametrize("name", SCALING)
def test_operations_grow_with_the_power_stated(name):
    measured = slope([operations(call) for call in calls(name)])
    assert measured == pytest.approx(SCALING[name].power, abs=0.1)


@pytest.mark.parametrize("name", SCALING)
def test_the_same_generator_gives_the_same_call(name):
    before = torch.random.get_rng_state()
    a, b = (forward_pass(*SCALING[name].grown(256))() for _ in range(2))
    assert torch.equal(a, b) and a.shape == (1, 2, 256, 64) and not a.requires_grad
    assert torch.equal(before, torch.random.get_rng_state())
