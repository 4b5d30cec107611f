"""The writer: how it starts, what it is trained on, and what its other experiments change."""

from dataclasses import asdict, replace

import pytest
import torch
import torch.nn.functional as F

from course_lib.data import load_shakespeare
from course_lib.experiments import EXPERIMENTS, writer_blocks
from course_lib.experiments.writer import ARMS, WriterConfig, gpt2_start, nats
from course_lib.experiments.writer_blocks import BlocksConfig, Mixer, build, cache_bytes
from course_lib.experiments.writer_positions import PlacesConfig, Turning, extensions
from course_lib.experiments.writer_reward import Replies, RewardConfig, exclaims, reinforce
from course_lib.positions import Rotary, rotary_frequencies
from course_lib.trained import load_writer
from course_lib.training import count_parameters
from course_lib.whole import GPT

TINY = replace(
    WriterConfig(), context=8, d_model=8, n_heads=2, d_ff=8, n_layers=1, epochs=2, steps=2, warmup=1
)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return GPT(5, 8, d_model=8, n_heads=2, d_ff=8, n_layers=2)


@pytest.fixture
def scenes(course_data, monkeypatch):
    """The first scenes in the place of all plays, and every character at least once."""
    training, validation = load_shakespeare()
    short = training[:30_000] + "".join(sorted({*training})), validation[:9_000]
    for name in ("", "_blocks", "_positions", "_reward", "_scaling"):
        monkeypatch.setattr(f"course_lib.experiments.writer{name}.load_shakespeare", lambda: short)


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


def test_an_arm_is_trained_and_what_it_generates_is_kept(scenes, train):
    for arm in ("characters", "byte-pairs"):
        config = asdict(TINY) | ARMS[arm] | {"n_merges": 20 * (arm == "byte-pairs")}
        outcome = train(EXPERIMENTS["writer"], config, arm)
        assert outcome.results["n_tokens"] == 65 + config["n_merges"]
        assert outcome.results["validation_loss"] < 4.6
        bits = outcome.results["validation_loss"] / 0.6931 / outcome.results["characters_per_token"]
        assert outcome.results["bits_per_character"] == pytest.approx(bits, rel=1e-3)
        assert ("samples" in outcome.results) == (arm == "byte-pairs") == bool(outcome.weights)
    assert list(outcome.results["samples"]) == ["0", "2", "4"]


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
        for arm, layers in writer_blocks.ARMS.items()
    }
    assert counts["window"] == counts["full"] < counts["state"] < 1.01 * counts["full"]


def test_every_variant_is_trained(scenes, train):
    for arm, layers in writer_blocks.ARMS.items():
        results = train(
            EXPERIMENTS["writer-blocks"], asdict(replace(TINY_BLOCKS, layers=layers)), arm
        ).results
        assert results["validation_loss"] < 4.6
        assert results["cache_bytes"] <= 4 * 8 * 2 * 8 * 4


TINY_POSITIONS = replace(PlacesConfig(), n_layers=1, length=16, n_test=3, d_model=16, d_ff=8)
TINY_POSITIONS = replace(TINY_POSITIONS, batch_size=2, epochs=2, steps=2, warmup=1)


def test_turning_at_the_usual_speeds_is_a_rotary_layer():
    q, k = torch.randn(2, 1, 2, 9, 8).unbind(0)
    for got, want in zip(
        Turning(rotary_frequencies(8))(q, k), Rotary(8, max_len=9)(q, k), strict=True
    ):
        torch.testing.assert_close(got, want)


def test_each_extension_changes_the_speeds_as_its_paper_says():
    speeds = rotary_frequencies(32)
    ways = extensions(32, 64, 4)
    torch.testing.assert_close(ways["interpolation"].speeds, speeds / 4)
    base = ways["larger base"].speeds
    torch.testing.assert_close(base[[0, -1]], speeds[[0, -1]] / torch.tensor([1.0, 4.0]))
    turns, yarn = 64 * speeds / (2 * torch.pi), ways["YaRN"].speeds
    torch.testing.assert_close(yarn[turns > 4], speeds[turns > 4])
    torch.testing.assert_close(yarn[turns < 1], speeds[turns < 1] / 4)
    between = (turns > 1) & (turns < 4)
    assert between.any() and ((speeds / 4 < yarn) & (yarn < speeds))[between].all()
    assert ways["YaRN"].factor == pytest.approx(1.1386, abs=1e-4)


def test_a_run_keeps_losses_by_place_and_those_of_the_extensions(scenes, train):
    for arm in ("rotary", "alibi"):
        results = train(
            EXPERIMENTS["writer-positions"], asdict(replace(TINY_POSITIONS, positions=arm)), arm
        ).results
        assert [*results["loss_by_place"]] == ["8", "16", "32", "64"] and len(results["curve"]) == 8
        assert ("extended" in results) == (arm == "rotary")


TINY_REWARD = replace(RewardConfig(), prompt=4, reply=3, n_test=2, batch_size=2, epochs=2, steps=1)


@pytest.fixture(scope="module")
def writer():
    return load_writer()


@pytest.mark.parametrize(
    ("reply", "obeys"),
    [("O!\n", True), ("O!", False), ("O! no\n", False), ("\nO!\n", False), ("O\nno!\n", False)],
)
def test_the_first_line_has_to_end_with_the_mark(reply, obeys):
    assert exclaims(reply) == obeys


def test_a_reply_ends_with_its_line_and_its_probability_is_that_of_its_tokens(writer):
    torch.manual_seed(0)
    prompts = torch.tensor([writer.tokenizer.encode("JULIET:\n")] * 20)
    replies = Replies(writer.model, writer.tokenizer, prompts, 12)
    for row, kept, text in zip(replies.tokens, replies.kept, replies.texts, strict=True):
        whole = writer.tokenizer.decode(row[replies.start :].tolist())
        assert whole.startswith(text) and "\n" not in text.rstrip("\n'")
        assert kept.all() or "\n" in text
    with torch.no_grad():
        got = replies.log_p(writer.model)[0]
        row, n = replies.tokens[:1], replies.start + int(replies.kept[0].sum())
        each = writer.model(row[:, : n - 1]).log_softmax(-1)[0]
        expected = sum(each[t - 1, row[0, t]] for t in range(replies.start, n))
    torch.testing.assert_close(got, expected)


def test_a_step_makes_rewarded_replies_more_probable():
    writer, first = load_writer(), load_writer().model
    torch.manual_seed(0)
    prompts = torch.tensor([writer.tokenizer.encode("JULIET:\n")] * 8)
    replies = Replies(writer.model, writer.tokenizer, prompts, 4)
    replies.rewards = torch.tensor([1.0] + [0.0] * 7)
    before = replies.log_p(writer.model).detach()
    reinforce(writer.model, first, replies, 0.1).backward()
    with torch.no_grad():
        for weights in writer.model.parameters():
            weights.sub_(weights.grad, alpha=1e-3)
        gain = replies.log_p(writer.model) - before
    assert gain[0] > 0 and gain[0] == gain.max()


def test_a_run_keeps_what_is_measured_before_and_after(scenes, train):
    outcome = train(
        EXPERIMENTS["writer-reward"], asdict(replace(TINY_REWARD, penalty=0.1, warmup=0)), "penalty"
    )
    before, after = outcome.results["before"], outcome.results["after"]
    assert before["divergence"] == pytest.approx(0, abs=1e-5)
    assert before["validation_loss"] != after["validation_loss"]
    assert len(outcome.metrics) == 2 and [d.name for d in outcome.data][1] == "writer"


def test_each_size_has_three_rates_and_as_many_characters():
    for width in (32, 48, 64, 96):
        arms = [
            EXPERIMENTS["writer-scaling"].config(f"width-{width}{rate}", "cpu")
            for rate in ("-half", "", "-twice")
        ]
        assert [arm["learning_rate"] for arm in arms] == [0.002, 0.004, 0.008]
        assert {arm["d_ff"] for arm in arms} == {4 * width}
        assert {2 * arm["epochs"] * arm["steps"] for arm in arms} == {
            WriterConfig.epochs * WriterConfig.steps
        }


def test_a_run_counts_weights_and_operations(scenes, train):
    tiny = {"context": 8, "d_model": 8, "d_ff": 32, "n_heads": 2, "n_layers": 1, "warmup": 1}
    config = (
        EXPERIMENTS["writer-scaling"].config("width-32", "cpu") | tiny | {"epochs": 2, "steps": 2}
    )
    results = train(EXPERIMENTS["writer-scaling"], config, "width-32").results
    # Four matrices of 8 x 8, two of 8 x 32, their biases, and two norms.
    assert results["n_weights"] == 4 * 64 + 2 * 256 + 4 * 8 + 32 + 8 + 2 * 16
    assert results["n_tokens"] == 2 * 2 * 12 * 8
    assert results["operations"] == 6 * results["n_weights"] * results["n_tokens"]
