"""Tasks that need order, and language models without positions."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.data.translation import Vocabulary
from course_lib.experiments import no_positions, order_tasks
from course_lib.experiments.no_positions import CPU, Guesser, guesses, place_known
from course_lib.experiments.order_tasks import ASK, FIRST_WORD, OrderRun, draw, right
from course_lib.training import seeded_generator
from course_tests.refusals import refusals

TINY = replace(order_tasks.CPU, length=4, n_words=6, n_test=8, d_model=8, n_heads=2, d_ff=8)
TINY = replace(TINY, n_layers=1, batch_size=4, epochs=2, steps=2, warmup=1)


def matches(brackets):
    open_ = 0
    for bracket in brackets:
        open_ += 1 if bracket == FIRST_WORD else -1
        if open_ < 0:
            return False
    return open_ == 0


@pytest.mark.parametrize("arm", order_tasks.ARMS)
def test_every_arm_is_trained_and_measured(arm, train):
    config = {**asdict(TINY), **order_tasks.ARMS[arm]}
    outcome, again = (train(order_tasks.EXPERIMENT, config, arm) for _ in range(2))
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    assert outcome.results["accuracy"] == outcome.metrics[-1]["accuracy"]
    assert again.data == outcome.data and again.results == outcome.results


def test_brackets_match_if_they_say_so_and_counting_them_says_nothing():
    tokens, answers = draw(OrderRun("brackets", length=5), 1000, seeded_generator(3))
    assert (tokens[:, -1] == ASK).all() and (answers[:, :-1] == -100).all()
    said = (answers[:, -1] - FIRST_WORD).bool().tolist()
    assert said == [matches(row) for row in tokens[:, :-1].tolist()]
    assert 0.45 < sum(said) / 1000 < 0.55
    assert ((tokens == FIRST_WORD).sum(dim=1) == 5).all()


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_words_are_asked_for_in_order(task):
    both, wanted = draw(OrderRun(task, length=6), 50, seeded_generator(0))
    tokens, answers = draw(OrderRun(task, causal=True, length=6), 50, seeded_generator(0))
    assert torch.equal(tokens[:, :6], both) and (tokens[:, 6] == ASK).all()
    assert torch.equal(answers[:, 6:], wanted) and torch.equal(tokens[:, 7:], wanted[:, :-1])
    assert torch.equal(wanted, both if task == "copy" else both.flip(1))
    assert all(len(set(row)) == 6 for row in both.tolist())


def test_only_what_is_asked_counts():
    tokens, answers = draw(OrderRun(causal=True, length=4), 10, seeded_generator(1))

    class Knows(torch.nn.Module):
        def forward(self, tokens):
            said = torch.nn.functional.one_hot(answers.clamp(min=0), 20).float()
            said[:5] = 0
            return said

    assert right(Knows(), tokens, answers) == pytest.approx(0.5)


test_what_cannot_be_drawn_is_refused = refusals(
    ({"task": "sort"}, "'sort'"),
    ({"length": 1}, "length is 1"),
    ({"length": 18}, "is 18, wanted 2 to n_words 16"),
    by=OrderRun,
)


def test_a_reader_of_both_ways_that_is_told_nothing_cannot_tell_brackets():
    config = replace(TINY, task="brackets", positions="none")
    model = order_tasks.build(config, 0)
    tokens, _ = draw(config, 40, seeded_generator(5))
    said = model(tokens)[:, -1]
    assert torch.allclose(said, said[:1].expand_as(said), atol=1e-5)
    told = order_tasks.build(replace(config, positions="sinusoidal"), 0)(tokens)[:, -1]
    assert not torch.allclose(told, told[:1].expand_as(told), atol=1e-3)


SMALL = {"n_train": 64, "n_test": 20, "d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1}
SMALL |= {"epochs": 2, "n_probed": 20, "n_places": 4}


@pytest.mark.parametrize("arm", no_positions.ARMS)
def test_every_arm_guesses_and_is_probed(arm, train):
    told = train(no_positions.EXPERIMENT, no_positions.EXPERIMENT.config(arm, "cpu") | SMALL)
    assert 0 <= told.results["accuracy"] <= 1 and 0 <= told.results["place"] <= 1
    assert len(told.metrics) == 2 and told.data[0].variant == "seed 0"


def test_forwards_sees_no_later_word_and_both_ways_all():
    tokens = torch.tensor([[1, 5, 6, 7, 2]])
    later = tokens.clone()
    later[0, 3] = 8
    for causal in (True, False):
        model = Guesser(replace(CPU, causal=causal), 10, seeded_generator(0)).eval()
        with torch.no_grad():
            same = torch.allclose(model(tokens)[0, :3], model(later)[0, :3])
        assert same is causal


def test_without_positions_both_ways_knows_no_order_and_forwards_does():
    settings = replace(CPU, positions="none", n_probed=30, n_places=4)
    tokens = torch.tensor([[5, 6, 7, 8]])
    known = {}
    for causal in (True, False):
        model = Guesser(replace(settings, causal=causal), 20, seeded_generator(0)).eval()
        with torch.no_grad():
            there, back = model.encode(tokens), model.encode(tokens.flip(1)).flip(1)
        assert torch.allclose(there, back, atol=1e-5) is not causal
        known[causal] = place_known(model, settings, 20, seed=0)
    assert known[False] < 0.45 < known[True] + 0.1


def test_what_is_asked_for():
    tokens = torch.tensor([[1, 5, 6, 2, 0, 0]])
    forwards = Guesser(CPU, 10, seeded_generator(0))
    assert guesses(forwards, tokens, 0.5, seeded_generator(1))[1].tolist() == [5, 6, 2]
    both = Guesser(replace(CPU, causal=False), 10, seeded_generator(0))
    # The ends are not hidden, and neither is padding.
    assert guesses(both, tokens, 1.0, seeded_generator(1))[1].tolist() == [5, 6]
    assert Vocabulary.unk == 3
