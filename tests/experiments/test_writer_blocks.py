"""Cheaper layers in the writer's place: what a layer sees, what it keeps, and what a run keeps."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.experiments.writer_blocks import (
    ARMS,
    EXPERIMENT,
    BlocksConfig,
    Mixer,
    build,
    cache_bytes,
)
from course_lib.training import count_parameters

TINY_BLOCKS = replace(BlocksConfig(), window=3, context=8, d_model=8, n_heads=2, d_ff=8, n_seen=2)
TINY_BLOCKS = replace(TINY_BLOCKS, batch_size=2, epochs=2, steps=2, warmup=1)


@pytest.mark.parametrize(("layer", "first"), [("full", 0), ("window", 3), ("state", 0)])
def test_a_layer_reads_its_tokens_and_none_that_follow(layer, first):
    x = torch.randn(1, 8, 8, requires_grad=True)
    Mixer(TINY_BLOCKS, layer)(x, True)[0, 5].sum().backward()
    assert x.grad[0].any(-1).tolist() == [first <= place <= 5 for place in range(8)]


def test_bytes_are_those_of_keys_and_values_or_of_states():
    layers = [Mixer(BlocksConfig(), layer) for layer in ("full", "window", "state")]
    kept = [cache_bytes([layer], 64) for layer in layers]
    # Two vectors of width 64 a token, or two states of 32 x 32; four bytes a number.
    assert kept == [64 * 2 * 64 * 4, 16 * 2 * 64 * 4, 2 * 32 * 32 * 4]
    assert cache_bytes(layers[:2], 5) == 2 * 5 * 2 * 64 * 4


def test_variants_have_nearly_as_many_weights():
    counts = {
        arm: count_parameters(build(replace(BlocksConfig(), layers=layers), 65, 0))
        for arm, layers in ARMS.items()
    }
    assert counts["window"] == counts["full"] < counts["state"] < 1.01 * counts["full"]


def test_every_variant_is_trained(course_data, train):
    for arm, layers in ARMS.items():
        results = train(EXPERIMENT, asdict(replace(TINY_BLOCKS, layers=layers)), arm).results
        assert results["validation_loss"] < 4.6
        assert results["cache_bytes"] <= 4 * 8 * 2 * 8 * 4
