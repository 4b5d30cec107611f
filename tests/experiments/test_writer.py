"""The writer: how it starts, what it is trained on, and that all of the text is measured."""

from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F

from course_lib.experiments.writer import ARMS, EXPERIMENT, WriterConfig, gpt2_start, nats
from course_lib.whole import GPT

TINY = replace(
    WriterConfig(), context=8, d_model=8, n_heads=2, d_ff=8, n_layers=1, epochs=2, steps=2, warmup=1
)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GPT(5, 8, d_model=8, n_heads=2, d_ff=8, n_layers=2)


@pytest.mark.parametrize("n", [2, 9, 17, 20])
def test_every_token_but_the_first_is_measured_once(model, n):
    tokens = torch.randint(5, (n,), generator=torch.Generator().manual_seed(n))
    with torch.no_grad():
        one_by_one = [
            F.cross_entropy(model(tokens[None, t // 8 * 8 : t + 1])[0, -1], tokens[t + 1])
            for t in range(n - 1)
        ]
    mean = torch.stack(one_by_one).mean().item()
    assert nats(model, tokens, 8) == pytest.approx(mean, abs=1e-5)


def test_a_start_as_in_gpt2_is_small_and_smaller_at_the_ends_of_sub_layers():
    model = GPT(200, 64, d_model=64, n_heads=4, d_ff=256, n_layers=8)
    gpt2_start(model)
    block = model.blocks[0]
    assert block.attention.q_proj.weight.std().item() == pytest.approx(0.02, rel=0.1)
    for last in (block.attention.out_proj, block.feed_forward.out_proj):
        assert last.weight.std().item() == pytest.approx(0.005, rel=0.1)
        assert not last.bias.any()
    assert block.attention_norm.weight.eq(1).all()


def test_an_arm_is_trained_and_what_it_generates_is_kept(course_data, train):
    for arm in ("characters", "byte-pairs"):
        config = asdict(TINY) | ARMS[arm] | {"n_merges": 20 * (arm == "byte-pairs")}
        outcome = train(EXPERIMENT, config, arm)
        assert outcome.results["n_tokens"] == 65 + config["n_merges"]
        assert outcome.results["validation_loss"] < 4.6
        bits = outcome.results["validation_loss"] / 0.6931 / outcome.results["characters_per_token"]
        assert outcome.results["bits_per_character"] == pytest.approx(bits, rel=1e-3)
        assert ("samples" in outcome.results) == (arm == "byte-pairs") == bool(outcome.weights)
    assert list(outcome.results["samples"]) == ["0", "2", "4"]
