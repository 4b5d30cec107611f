"""The rewarded writer: what the rule accepts, what a reply is, and which way the loss points."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.experiments.writer_reward import (
    EXPERIMENT,
    Replies,
    RewardConfig,
    exclaims,
    reinforce,
)
from course_lib.trained import load_writer

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


def test_a_run_keeps_what_is_measured_before_and_after(course_data, train):
    outcome = train(EXPERIMENT, asdict(replace(TINY_REWARD, penalty=0.1, warmup=0)), "penalty")
    before, after = outcome.results["before"], outcome.results["after"]
    assert before["divergence"] == pytest.approx(0, abs=1e-5)
    assert before["validation_loss"] != after["validation_loss"]
    assert len(outcome.metrics) == 2 and [d.name for d in outcome.data][1] == "writer"
