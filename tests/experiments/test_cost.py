"""Recall far back: the texts, the kinds of attention and their sums, and the rule."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.attention import MultiHeadAttention
from course_lib.efficient import PerformerAttention
from course_lib.experiments import cost
from course_lib.experiments.cost import ARMS, RecallModel, recall, texts
from course_lib.training import seeded_generator

TINY = replace(cost.CPU, length=32, n_keys=4, d_model=8, d_ff=8, radius=4, n_random=1, rank=8)
TINY = replace(TINY, n_features=8, n_test=20, epochs=2, steps=2)


def test_the_answer_stands_in_the_text_where_the_distance_says():
    config = replace(TINY, n_keys=5, n_values=3)
    tokens, values, distance = texts(50, config, seeded_generator(0))
    K, V = 5, 3
    for row, right, back in zip(tokens, values, distance, strict=True):
        facts = {int(t) // V: int(t) % V for t in row[: 32 - K] if t < K * V}
        asked = (row[32 - K :] - K * V).tolist()
        assert sorted(asked) == list(range(K)) == sorted(facts)
        assert right.tolist() == [facts[key] for key in asked]
        places = torch.arange(32 - K, 32) - back
        assert row[places].tolist() == [k * V + facts[k] for k in asked]
    assert (tokens[:, : 32 - K] < K * V).sum(1).eq(K).all()
    assert tokens.max() < K * V + K + config.n_noise


@pytest.mark.parametrize("kind", ARMS.values())
def test_an_arm_is_trained_and_measured(kind, train):
    outcome = train(cost.EXPERIMENT, asdict(TINY) | {"kind": kind})
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    assert 0 <= outcome.results["recall_far"] <= 1 and outcome.results["kept_bytes"] > 0


def test_a_window_knows_nothing_of_what_is_beyond_its_blocks():
    tokens, _, _ = texts(1, TINY, seeded_generator(0))
    moved = tokens.clone()
    moved[0, 28 - TINY.reach - 1] = (moved[0, 28 - TINY.reach - 1] + 1) % 4
    moved_near = tokens.clone()
    moved_near[0, 27] = (moved_near[0, 27] + 1) % 4
    window, full = (RecallModel(kind, TINY, 0).eval() for kind in ("window", "full"))
    assert torch.allclose(window(moved), window(tokens), atol=1e-6)
    assert not torch.allclose(full(moved), full(tokens), atol=1e-6)
    assert not torch.allclose(window(moved_near), window(tokens), atol=1e-6)


def test_a_sum_of_kinds_is_dealt_out_to_blocks_in_turn():
    config = replace(TINY, n_layers=3)
    model = RecallModel("performer+full", config, 0)
    kinds = [type(block.attention) for block in model.blocks]
    assert kinds == [PerformerAttention, MultiHeadAttention, PerformerAttention]
    # What is drawn for a block does not depend on its neighbours.
    alone = RecallModel("performer", config, 0)
    for layer in (0, 2):
        ours, theirs = (m.blocks[layer].attention.attend.directions for m in (model, alone))
        assert torch.equal(ours, theirs)


def test_delta_reads_forwards_and_misses_no_fact():
    tokens, _, _ = texts(1, TINY, seeded_generator(0))
    model = RecallModel("delta", TINY, 0).eval()
    answers = model(tokens)
    for place in torch.where(tokens[0] < TINY.n_keys * TINY.n_values)[0]:
        moved = tokens.clone()
        moved[0, place] = (moved[0, place] + 1) % 4
        assert not torch.allclose(model(moved), answers, atol=1e-7)
    later = tokens.clone()
    later[0, -1] = TINY.n_keys * TINY.n_values + (later[0, -1] + 1) % TINY.n_keys
    assert torch.allclose(model(later)[0, :-1], answers[0, :-1], atol=1e-6)


def test_recall_counts_near_and_far_apart():
    class Knows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.anything = torch.nn.Parameter(torch.zeros(()))

        def forward(self, tokens):
            return torch.nn.functional.one_hot(torch.tensor([[0, 1]]), 3).float()

    test = (torch.zeros(1, 4), torch.tensor([[0, 2]]), torch.tensor([[1, 9]]))
    assert recall(Knows(), test, reach=3) == {"recall": 0.5, "recall_near": 1, "recall_far": 0}


def test_arms_differ_in_what_their_blocks_attend_with_alone():
    for size in cost.EXPERIMENT.sizes:
        configs = [cost.EXPERIMENT.config(arm, size) for arm in cost.ARMS]
        assert all({**config, "kind": ""} == {**configs[0], "kind": ""} for config in configs)
    asked = {arm for question in cost.QUESTIONS for arm in question.arms}
    assert asked == {*cost.ARMS}
