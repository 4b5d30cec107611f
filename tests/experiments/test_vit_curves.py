"""Long runs of a vision transformer: what is kept of them, and what is said of the columns."""

from dataclasses import replace

import pytest
import torch

from course_lib.data.cifar import normalise
from course_lib.experiments import (
    SHIPPED_RESULTS,
    load_record,
    vit_ablations,
    vit_curves,
    vit_recipe,
)
from course_lib.experiments.questions import answers
from course_lib.experiments.vit_curves import EPOCHS, by_epoch
from course_lib.training import write_tensors
from course_lib.vit import load_kept

KEPT = load_record(SHIPPED_RESULTS / "cost" / "full-cpu-0.json")

PRINTED = {
    "training_loss": (2.134, 0.842, 0.312, 0.098, 0.043),
    "validation_loss": (2.089, 0.891, 0.478, 0.395, 0.421),
    "validation_accuracy": (0.283, 0.712, 0.857, 0.911, 0.931),
}


SMALL = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 16}


@pytest.fixture
def recipe(train):
    small = SMALL | {"n_train": 100, "n_watched": 40, "epochs": 2, "batch_size": 50, "d_ff": 32}

    def recipe(arm, seed=0):
        config = vit_recipe.CPU | vit_recipe.ARMS[arm] | small
        return train(vit_recipe.EXPERIMENT, config, arm, seed)

    return recipe


def test_a_run_keeps_every_epoch_and_those_of_the_table(train):
    small = SMALL | {"n_train": 60, "n_watched": 20, "epochs": 11}
    outcome = train(vit_curves.EXPERIMENT, vit_curves.EXPERIMENT.config("whole", "cpu") | small)
    rows = outcome.metrics
    assert [row["epoch"] for row in rows] == list(range(1, 12))
    assert outcome.results["validation_loss"] == {"10": rows[9]["test_loss"]}
    assert outcome.results["validation_accuracy"] == {"10": rows[9]["accuracy"]}
    assert outcome.results["training_loss"] == {"10": rows[9]["loss"]}
    assert 0 < outcome.results["validation_calibration_error"]["10"] < 1
    # All test pictures at the end, not only those that were watched.
    assert outcome.results["accuracy"] * 50 == pytest.approx(
        round(outcome.results["accuracy"] * 50)
    )
    assert outcome.results["calibration_error"] != rows[-1]["calibration_error"]


def record(seed, columns, worse=0.0):
    """A run with these numbers, and a calibration error that grows from epoch to epoch."""
    errors = tuple(0.1 * (i + 1) + 0.01 * seed for i in range(len(EPOCHS)))
    results = {
        name: {
            str(n): value + 0.001 * seed * i
            for i, (n, value) in enumerate(zip(EPOCHS, values, strict=True))
        }
        for name, values in (columns | {"validation_calibration_error": errors}).items()
    }
    results["validation_loss"]["300"] += worse
    run = replace(KEPT, arm="whole", seed=seed, metrics=[{"epoch": 1}], results=results)
    return replace(run, finished="2026-11-25T00:00:00+00:00")


def test_the_reports_own_columns_stand():
    said = answers(vit_curves.QUESTIONS, [record(seed, PRINTED) for seed in range(3)])
    assert {c.verdict.outcome for c in said} == {"holds"}
    assert [c.key for c in said] == ["table", "calibration", "learns"]
    assert [c.key for c in said if c.control] == ["learns"]
    assert answers(vit_curves.QUESTIONS, []) == []


def test_a_loss_that_goes_on_falling_does_not_stand():
    falling = [record(seed, PRINTED, worse=-0.2) for seed in range(3)]
    said = {c.key: c.verdict.outcome for c in answers(vit_curves.QUESTIONS, falling)}
    assert said == {"table": "fails", "calibration": "holds", "learns": "holds"}


def test_epochs_that_were_not_run_have_no_number():
    row = {"loss": 1.0, "test_loss": 1.0, "accuracy": 0.5, "calibration_error": 0.1}
    assert list(by_epoch([row] * 100)["training_loss"]) == ["10", "50", "100"]


def test_the_small_size_keeps_the_reports_recipe():
    cpu, full = (vit_curves.EXPERIMENT.sizes[size].config for size in ("cpu", "full"))
    smaller = {"patch_size", "d_model", "n_layers", "n_heads", "d_ff", "n_train", "n_watched"}
    assert {key for key in full if cpu[key] != full[key]} == smaller
    assert (cpu["epochs"], cpu["optimizer"], cpu["learning_rate"]) == (300, "sgd", 0.1)


pytestmark = pytest.mark.usefixtures("shapes_as_cifar")


def test_what_is_kept_gives_the_results_that_are_recorded(recipe, tmp_path):
    outcome = recipe("many")
    write_tensors(tmp_path / "many-cpu-0.safetensors", *outcome.weights)
    kept = load_kept("many", tmp_path)
    right = (kept.logits.argmax(-1) == kept.labels).float().mean().item()
    assert right == pytest.approx(outcome.results["accuracy"], abs=1e-6)
    assert kept.variant == "shapes" and kept.model is not None
    images = normalise(vit_ablations.load_cifar10("test").images)
    with torch.no_grad():
        torch.testing.assert_close(kept.model(images), kept.logits, atol=2e-3, rtol=2e-3)


def test_only_the_first_seed_of_two_arms_is_kept(recipe):
    assert recipe("few", seed=1).weights is None and recipe("augmented").weights is None
    kept = recipe("few").weights
    assert kept is not None and set(kept[0]) == {"logits", "labels"}


def test_arms_are_trained_differently(recipe):
    outcomes = [recipe(arm) for arm in vit_recipe.ARMS]
    assert all([row["epoch"] for row in outcome.metrics] == [1, 2] for outcome in outcomes)
    assert len({outcome.metrics[-1]["loss"] for outcome in outcomes}) == len(outcomes)


def test_all_arms_take_the_same_number_of_steps():
    steps = {
        config["epochs"] * config["n_train"] // config["batch_size"]
        for config in (vit_recipe.EXPERIMENT.config(arm, "cpu") for arm in vit_recipe.ARMS)
    }
    assert steps == {1000}
