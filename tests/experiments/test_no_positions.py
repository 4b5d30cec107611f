"""Language models without positions: who may see what, and what a probe can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib.data.translation import Vocabulary
from course_lib.experiments import SHIPPED_RESULTS, load_record, no_positions
from course_lib.experiments.no_positions import CPU, Guesser, guesses, place_known
from course_lib.experiments.questions import answers
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome
from course_lib.training import seeded_generator

KEPT = load_record(SHIPPED_RESULTS / "no-positions" / "forwards-cpu-0.json")

SMALL = {"n_train": 64, "n_test": 20, "d_model": 16, "n_heads": 2, "d_ff": 32, "n_layers": 1,
         "epochs": 2, "n_probed": 20, "n_places": 4}  # fmt: skip


def train(folder: Path, arm: str, seed: int = 0) -> Outcome:
    config = no_positions.EXPERIMENT.config(arm, "cpu") | SMALL
    job = Job(arm, config, seed, torch.device("cpu"), folder / "c.pt", False)
    return no_positions.EXPERIMENT.train(job)


@pytest.mark.parametrize("arm", no_positions.ARMS)
def test_every_arm_guesses_and_is_probed(arm: str, tmp_path: Path) -> None:
    told = train(tmp_path, arm)
    assert 0 <= told.results["accuracy"] <= 1 and 0 <= told.results["place"] <= 1
    assert len(told.metrics) == 2 and told.data[0].variant == "seed 0"


def test_forwards_sees_no_later_word_and_both_ways_all() -> None:
    tokens = torch.tensor([[1, 5, 6, 7, 2]])
    later = tokens.clone()
    later[0, 3] = 8
    for causal in (True, False):
        model = Guesser(replace(CPU, causal=causal), 10, seeded_generator(0)).eval()
        with torch.no_grad():
            same = torch.allclose(model(tokens)[0, :3], model(later)[0, :3])
        assert same is causal


def test_without_positions_both_ways_knows_no_order_and_forwards_does() -> None:
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


def test_what_is_asked_for() -> None:
    tokens = torch.tensor([[1, 5, 6, 2, 0, 0]])
    forwards = Guesser(CPU, 10, seeded_generator(0))
    assert guesses(forwards, tokens, 0.5, seeded_generator(1))[1].tolist() == [5, 6, 2]
    both = Guesser(replace(CPU, causal=False), 10, seeded_generator(0))
    # The ends are not hidden, and neither is padding.
    assert guesses(both, tokens, 1.0, seeded_generator(1))[1].tolist() == [5, 6]
    assert Vocabulary.unk == 3


def test_full_is_larger() -> None:
    assert no_positions.FULL.n_layers > CPU.n_layers and no_positions.FULL.n_train > CPU.n_train


def test_what_is_lost_is_judged() -> None:
    def record(arm: str, seed: int, accuracy: float, place: float) -> Record:
        results: dict[str, Any] = {"accuracy": accuracy + 0.01 * seed, "place": place}
        return replace(KEPT, arm=arm, seed=seed, results=results)

    levels = {"forwards": (0.5, 0.9), "forwards-none": (0.49, 0.7), "both-ways": (0.6, 0.9),
              "both-ways-none": (0.4, 0.125)}  # fmt: skip
    records = [
        record(arm, seed, accuracy - 0.0001 * seed * i, place + 0.001 * seed * i)
        for i, (arm, (accuracy, place)) in enumerate(levels.items())
        for seed in range(3)
    ]
    said = {c.key: c.verdict.outcome for c in answers(no_positions.QUESTIONS, records)}
    assert said.pop("collapse") == "fails"
    assert len(said) == 5 and set(said.values()) == {"holds"}
    assert answers(no_positions.QUESTIONS, []) == []
