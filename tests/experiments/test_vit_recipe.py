from pathlib import Path

import pytest
import torch

from course_lib.data import Cifar10, shape_images
from course_lib.data.cifar import normalise
from course_lib.experiments import vit_ablations, vit_recipe
from course_lib.experiments.registry import Job
from course_lib.training import write_tensors
from course_lib.vit import load_kept


@pytest.fixture(autouse=True)
def shapes_as_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(split: str) -> Cifar10:
        n, seed = (120, 0) if split == "train" else (60, 1)
        made = shape_images(n, torch.Generator().manual_seed(seed))
        return Cifar10((made.images * 255).byte(), made.shape[:, 0], "shapes", "0" * 64)

    monkeypatch.setattr(vit_ablations, "load_cifar10", load)


def job(folder: Path, arm: str = "few", seed: int = 0, **changes: object) -> Job:
    small = {"n_train": 100, "n_watched": 40, "epochs": 2, "batch_size": 50, "d_model": 16,
             "n_layers": 1, "n_heads": 2, "d_ff": 32}  # fmt: skip
    config = vit_recipe.CPU | vit_recipe.ARMS[arm] | small | changes
    return Job(arm, config, seed, torch.device("cpu"), folder / f"{arm}.pt", False)


def test_what_is_kept_gives_the_results_that_are_recorded(tmp_path: Path) -> None:
    outcome = vit_recipe.EXPERIMENT.train(job(tmp_path, "many"))
    assert outcome.weights is not None
    write_tensors(tmp_path / "many-cpu-0.safetensors", *outcome.weights)
    kept = load_kept("many", tmp_path)
    right = (kept.logits.argmax(-1) == kept.labels).float().mean().item()
    assert right == pytest.approx(outcome.results["accuracy"], abs=1e-6)
    assert kept.variant == "shapes" and kept.model is not None
    images = normalise(vit_ablations.load_cifar10("test").images)
    with torch.no_grad():
        torch.testing.assert_close(kept.model(images), kept.logits, atol=2e-3, rtol=2e-3)


def test_only_the_first_seed_of_two_arms_is_kept(tmp_path: Path) -> None:
    assert vit_recipe.EXPERIMENT.train(job(tmp_path / "a", "few", seed=1)).weights is None
    assert vit_recipe.EXPERIMENT.train(job(tmp_path / "b", "augmented")).weights is None
    kept = vit_recipe.EXPERIMENT.train(job(tmp_path / "c", "few")).weights
    assert kept is not None and set(kept[0]) == {"logits", "labels"}


def test_arms_are_trained_differently(tmp_path: Path) -> None:
    losses = set()
    for arm in vit_recipe.ARMS:
        outcome = vit_recipe.EXPERIMENT.train(job(tmp_path, arm))
        assert [row["epoch"] for row in outcome.metrics] == [1, 2]
        losses.add(outcome.metrics[-1]["loss"])
    assert len(losses) == len(vit_recipe.ARMS)


def test_all_arms_take_the_same_number_of_steps() -> None:
    steps = {
        config["epochs"] * config["n_train"] // config["batch_size"]
        for config in (vit_recipe.EXPERIMENT.config(arm, "cpu") for arm in vit_recipe.ARMS)
    }
    assert steps == {1000}
