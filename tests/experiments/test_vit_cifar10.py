from pathlib import Path

import pytest
import torch

from course_lib.data import Cifar10, shape_images
from course_lib.experiments import EXPERIMENTS, vit_ablations, vit_cifar10
from course_lib.experiments.registry import Job
from course_lib.vit import ViT, ViTConfig

EXPERIMENT = EXPERIMENTS["vit-cifar10"]


@pytest.fixture
def shapes_as_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadrants of shapes in the place of CIFAR-10: they cannot be told without positions."""

    def load(split: str) -> Cifar10:
        n, seed = (200, 0) if split == "train" else (50, 1)
        made = shape_images(n, torch.Generator().manual_seed(seed))
        return Cifar10((made.images * 255).byte(), made.quadrant[:, 0] // 2, "shapes", "0" * 64)

    monkeypatch.setattr(vit_ablations, "load_cifar10", load)


def job(folder: Path, **changes: object) -> Job:
    small = {"n_train": 200, "epochs": 2, "d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 32}
    config = EXPERIMENT.config("fixed", "cpu") | small | changes
    return Job("fixed", config, 0, torch.device("cpu"), folder / "c.pt", False)


def test_a_run_reports_accuracy_and_data(shapes_as_cifar: None, tmp_path: Path) -> None:
    outcome = EXPERIMENT.train(job(tmp_path))
    assert outcome.data[0].variant == "shapes"
    assert [row["epoch"] for row in outcome.metrics] == [1, 2]
    assert outcome.results["accuracy"] == outcome.metrics[-1]["accuracy"]
    assert 0 <= outcome.results["accuracy"] <= 1


def test_the_arm_decides_about_positions(shapes_as_cifar: None, tmp_path: Path) -> None:
    fixed = EXPERIMENT.train(job(tmp_path / "a"))
    none = EXPERIMENT.train(job(tmp_path / "b", positions="none"))
    assert fixed.metrics[0]["loss"] != none.metrics[0]["loss"]
    assert fixed.results["n_parameters"] == none.results["n_parameters"]


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_both_optimisers_and_crops_run(
    shapes_as_cifar: None, tmp_path: Path, optimizer: str
) -> None:
    changes = {"optimizer": optimizer, "epochs": 1, "learning_rate": 0.01, "crop": True}
    outcome = EXPERIMENT.train(job(tmp_path, **changes))
    assert outcome.metrics[0]["lr"] < 0.01


def test_full_is_the_setting_of_the_report() -> None:
    full = vit_ablations.SeeingRun(**EXPERIMENT.config("fixed", "full"))
    assert (full.epochs, full.batch_size, full.learning_rate, full.weight_decay) == (
        300,
        100,
        0.1,
        1e-4,
    )
    assert (full.d_model, full.n_layers, full.n_heads, full.d_ff) == (400, 6, 8, 512)
    assert full.optimizer == "sgd" and full.crop and full.std == "image" and full.n_train == 50_000
    config = ViTConfig(
        d_model=full.d_model, n_layers=full.n_layers, n_heads=full.n_heads, d_ff=full.d_ff
    )
    assert sum(p.numel() for p in ViT(config).parameters()) == 6_347_082


def test_crops_are_windows_of_the_padded_image() -> None:
    images = torch.randint(1, 256, (64, 3, 32, 32), dtype=torch.uint8)
    made = vit_cifar10.augment(images, torch.Generator().manual_seed(0), crop=True)
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    shifts = set()
    for image, candidates in zip(made, padded, strict=True):
        found = [
            (flipped, down, right)
            for flipped in (False, True)
            for down in range(9)
            for right in range(9)
            if torch.equal(
                image,
                (candidates.flip(-1) if flipped else candidates)[
                    :, down : down + 32, right : right + 32
                ],
            )
        ]
        assert len(found) == 1
        shifts.add(found[0])
    assert len(shifts) > 30 and {flipped for flipped, _, _ in shifts} == {True, False}


def test_without_crop_images_are_only_flipped() -> None:
    images = torch.randint(0, 256, (200, 3, 8, 8), dtype=torch.uint8)
    made = vit_cifar10.augment(images, torch.Generator().manual_seed(0), crop=False)
    same = (made == images).flatten(1).all(dim=1)
    flipped = (made == images.flip(-1)).flatten(1).all(dim=1)
    assert (same | flipped).all() and 60 < same.sum() < 140
    again = vit_cifar10.augment(images, torch.Generator().manual_seed(0), crop=False)
    assert torch.equal(made, again)
