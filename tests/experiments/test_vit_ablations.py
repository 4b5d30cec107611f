from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from course_lib.data import Cifar10, shape_images
from course_lib.experiments import (
    SHIPPED_RESULTS,
    load_record,
    vit_ablations,
    vit_questions,
    vit_rivals,
)
from course_lib.experiments.questions import answers
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome
from course_lib.experiments.vit_ablations import CPU, FULL, SeeingRun, make_model
from course_lib.hybrid import Hybrid
from course_lib.resnet import ResNet
from course_lib.vit import ViT

KEPT = load_record(SHIPPED_RESULTS / "cost" / "full-cpu-0.json")

SMALL = {"n_train": 200, "n_watched": 20, "epochs": 2, "d_model": 16, "n_layers": 2, "n_heads": 2,
         "d_ff": 32}  # fmt: skip


@pytest.fixture
def shapes_as_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadrants of shapes in the place of CIFAR-10."""

    def load(split: str) -> Cifar10:
        n, seed = (200, 0) if split == "train" else (50, 1)
        made = shape_images(n, torch.Generator().manual_seed(seed))
        return Cifar10((made.images * 255).byte(), made.quadrant[:, 0], "shapes", "0" * 64)

    monkeypatch.setattr(vit_ablations, "load_cifar10", load)


def train(folder: Path, arm: str = "whole", **changes: object) -> Outcome:
    config = asdict(CPU) | SMALL | changes
    job = Job(arm, config, 0, torch.device("cpu"), folder / "c.pt", False)
    return vit_ablations.EXPERIMENT.train(job)


def record(arm: str, seed: int, accuracy: float) -> Record:
    row = {"epoch": 1, "accuracy": accuracy - 0.1 - 0.01 * seed}
    last = {"epoch": 2, "accuracy": accuracy}
    far = {"1.1": 8.0, "2.1": 9.0 + 0.1 * seed}
    results = {"accuracy": accuracy, "attention_distance": far}
    run = replace(KEPT, arm=arm, seed=seed, metrics=[row, last], results=results)
    return replace(run, finished="2026-11-25T00:00:00+00:00")


def test_a_run_reports_all_test_images_and_distances(shapes_as_cifar: None, tmp_path: Path) -> None:
    outcome = train(tmp_path)
    assert outcome.data[0].variant == "shapes" and outcome.weights is None
    assert 0 <= outcome.results["accuracy"] <= 1
    wanted = ["1.1", "1.2", "2.1", "2.2"]
    for key in ("attention_distance_at_start", "attention_distance"):
        assert list(outcome.results[key]) == wanted
        assert all(0 < far < 32 * 2**0.5 for far in outcome.results[key].values())
    assert outcome.results["attention_distance_at_start"] != outcome.results["attention_distance"]


def test_a_share_of_the_images_takes_as_many_steps(shapes_as_cifar: None, tmp_path: Path) -> None:
    whole, few = train(tmp_path / "a"), train(tmp_path / "b", share=0.5)
    assert (len(whole.metrics), len(few.metrics)) == (2, 4)


def test_what_is_hidden_changes_nothing(shapes_as_cifar: None, tmp_path: Path) -> None:
    hidden = train(tmp_path / "a", visible=0, epochs=1)
    # One colour in place of all pictures gets one answer: as many are right as one class has.
    labels = vit_ablations.load_cifar10("test").labels
    shares = (labels.bincount() / len(labels)).tolist()
    assert any(hidden.results["accuracy"] == pytest.approx(share) for share in shares)


@pytest.mark.parametrize(("kind", "made"), [("vit", ViT), ("resnet", ResNet), ("hybrid", Hybrid)])
def test_kinds_of_networks(kind: str, made: type) -> None:
    network = make_model(replace(CPU, kind=kind), 0)  # type: ignore[arg-type]
    assert isinstance(network, made)
    assert network(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'lstm'"):
        make_model(replace(CPU, kind="lstm"), 0)  # type: ignore[arg-type]


def test_a_resnet_of_seed_0_keeps_its_weights(shapes_as_cifar: None, tmp_path: Path) -> None:
    kept = train(tmp_path, "resnet", kind="resnet", epochs=1).weights
    assert kept is not None
    config, variant = kept[1]["config"], kept[1]["variant"]
    assert '"kind": "resnet"' in config and variant == "shapes"


def test_full_is_the_setting_of_the_report() -> None:
    assert (FULL.d_model, FULL.n_layers, FULL.n_heads, FULL.d_ff) == (400, 6, 8, 512)
    assert (FULL.epochs, FULL.batch_size, FULL.learning_rate) == (300, 100, 0.1)
    assert (FULL.optimizer, FULL.crop, FULL.n_train, FULL.patch_size) == ("sgd", True, 50_000, 4)


@pytest.mark.parametrize("module", [vit_ablations, vit_questions, vit_rivals])
def test_arms_change_settings_that_there_are(module: object) -> None:
    for name, changes in module.ARMS.items():  # type: ignore[attr-defined]
        made = SeeingRun(**(asdict(CPU) | changes))
        assert (made == CPU) == (name in ("whole", "vit"))


def test_conclusions_follow_the_records() -> None:
    records = [
        record(arm, seed, 0.5 + 0.01 * seed - drop)
        for arm, drop in (
            ("whole", 0.0),
            ("no-norm", 0.05),
            ("no-residual", 0.02),
            ("quarter", 0.2),
        )
        for seed in range(3)
    ]
    found = {c.claim: c.verdict.outcome for c in answers(vit_ablations.QUESTIONS, records)}
    assert set(found.values()) == {"holds"} and len(found) == 5


def test_questions_have_no_records_and_a_control() -> None:
    assert vit_questions.EXPERIMENT.sizes["cpu"].seeds == ()
    records = [record(arm, seed, 0.5 - drop) for arm, drop in (("whole", 0.0), ("sgd", 0.1))
               for seed in range(3)]  # fmt: skip
    said = answers(vit_questions.QUESTIONS, records)
    assert [c.verdict.outcome for c in said] == ["fails", "holds"]
    assert [c.control for c in said] == [False, True]
    assert answers(vit_questions.QUESTIONS, []) == []


def test_rivals_are_judged_on_few_images_and_on_more() -> None:
    levels = {"resnet-few": 0.5, "vit-few": 0.4, "resnet": 0.6, "vit": 0.55}
    # Seeds move the arms together, and the gaps by a thousandth.
    records = [record(arm, seed, level + 0.01 * seed + 0.001 * seed * (arm == "resnet-few"))
               for arm, level in levels.items() for seed in range(3)]  # fmt: skip
    assert [c.verdict.outcome for c in answers(vit_rivals.QUESTIONS, records)] == [
        "holds",
        "holds",
        "holds",
    ]
    assert answers(vit_rivals.QUESTIONS, []) == []
