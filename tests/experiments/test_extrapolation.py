"""Longer texts than in training, and deep stacks: the data, the models and both rules."""

from dataclasses import asdict, replace

import pytest
import torch

from course_lib.experiments import extrapolation, norm_depth
from course_lib.experiments.extrapolation import SCHEMES, LanguageModel, losses, make_corpus
from course_lib.training import seeded_generator

TINY = replace(extrapolation.CPU, n_layers=1, length=10, n_sentences=30, n_test=4, d_model=8)
TINY = replace(TINY, n_heads=2, d_ff=8, batch_size=2, epochs=2, steps=2, warmup=1)


def test_test_text_is_the_same_for_all_seeds_and_nobody_trains_on_it():
    a, b = make_corpus(TINY, 0), make_corpus(TINY, 1)
    words = [[corpus.vocabulary.tokens[i] for i in corpus.test.flatten()] for corpus in (a, b)]
    assert words[0] == words[1] and a.test.shape == (4, 41)
    sentences = " ".join(a.vocabulary.tokens[i] for i in a.train).split(" . ")
    tested = " ".join(words[0]).split(" . ")[:-1]
    assert not set(sentences[:-1]) & set(tested)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_arm_is_trained_and_measured_over_the_place(scheme, train):
    outcome = train(extrapolation.EXPERIMENT, asdict(replace(TINY, positions=scheme)))
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    places = outcome.results["loss_by_place"]
    assert list(places) == ["5", "10", "20", "40"]
    trained = (places["5"] + places["10"]) / 2
    assert outcome.results["test_loss"] == pytest.approx(trained, abs=1e-3)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_token_sees_those_after_it(scheme):
    model = LanguageModel(replace(TINY, positions=scheme), 10, seeded_generator(0))
    tokens = torch.randint(10, (1, 20), generator=seeded_generator(1))
    later = tokens.clone()
    later[0, 12:] = (later[0, 12:] + 1) % 10
    assert torch.allclose(model(tokens)[:, :12], model(later)[:, :12], atol=1e-5)


def test_only_without_positions_the_order_before_the_last_token_does_not_matter():
    tokens = torch.tensor([[1, 2, 3, 4, 5, 6]])
    turned = torch.tensor([[3, 5, 1, 2, 4, 6]])
    for scheme in SCHEMES:
        model = LanguageModel(replace(TINY, positions=scheme), 10, seeded_generator(0))
        with torch.no_grad():
            same = torch.allclose(model(tokens)[:, -1], model(turned)[:, -1], atol=1e-5)
        assert same == (scheme == "none"), scheme


def test_losses_are_those_of_the_next_token():
    model = LanguageModel(TINY, 10, seeded_generator(0))
    tokens = torch.randint(10, (2, 6), generator=seeded_generator(1))
    found = losses(model, tokens)
    log_p = model(tokens[:, :-1]).log_softmax(-1)
    assert found.shape == (2, 5)
    assert found[1, 3].item() == pytest.approx(-log_p[1, 3, tokens[1, 4]].item(), rel=1e-5)


def test_arms_of_the_depth_experiment_differ_in_what_their_names_say():
    for arm, settings in norm_depth.ARMS.items():
        norm, depth, *warm = arm.split("-")
        assert (settings["norm"], settings["n_layers"]) == (norm, int(depth))
        config = norm_depth.EXPERIMENT.config(arm, "cpu")
        assert bool(config["warmup"]) == bool(warm)
