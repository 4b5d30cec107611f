"""Shuffled patches, scans and scenes: what is run is what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib.data import Cifar10, shape_images
from course_lib.experiments import (
    SHIPPED_RESULTS,
    load_record,
    permutation,
    scan_orders,
    scene_positions,
    vit_ablations,
)
from course_lib.experiments.questions import answers
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Experiment, Job, Outcome

KEPT = load_record(SHIPPED_RESULTS / "permutation" / "vit-cpu-0.json")


@pytest.fixture
def shapes_as_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadrants of shapes in the place of CIFAR-10."""

    def load(split: str) -> Cifar10:
        n, seed = (200, 0) if split == "train" else (120, 1)
        made = shape_images(n, torch.Generator().manual_seed(seed))
        return Cifar10((made.images * 255).byte(), made.quadrant[:, 0], "shapes", "0" * 64)

    for module in (vit_ablations, scan_orders):
        monkeypatch.setattr(module, "load_cifar10", load)


def train(folder: Path, of: Experiment, arm: str, seed: int = 0, **changes: Any) -> Outcome:
    config = of.config(arm, "cpu") | changes
    return of.train(Job(arm, config, seed, torch.device("cpu"), folder / "c.pt", False))


def record(arm: str, seed: int, results: dict[str, Any]) -> Record:
    return replace(KEPT, arm=arm, seed=seed, results=results)


SMALL = {"n_train": 200, "n_watched": 20, "n_test": 120, "epochs": 2, "d_model": 16, "n_layers": 1,
         "n_heads": 2, "d_ff": 32, "widths": (4, 8), "n_blocks": (1, 1)}  # fmt: skip


def test_positions_that_come_along_change_nothing(shapes_as_cifar: None, tmp_path: Path) -> None:
    told = train(tmp_path, permutation.EXPERIMENT, "vit", **SMALL).results
    as_it_was = told["patches_shuffled"]["as it was"]
    assert as_it_was == told["accuracy"]
    assert set(told["positions_too"]) == {"grid 2", "grid 4", "grid 8"}
    assert all(share == as_it_was for share in told["positions_too"].values())
    assert set(told["patches_shuffled"]) == {"as it was", *(f"grid {g}" for g in (2, 4, 8, 16))}


def test_without_positions_no_order_of_patches_matters(
    shapes_as_cifar: None, tmp_path: Path
) -> None:
    none = train(tmp_path, permutation.EXPERIMENT, "vit", positions="none", **SMALL).results
    told = none["patches_shuffled"]
    assert told["as it was"] == told["grid 2"] == told["grid 8"]


def test_one_order_is_the_seeds(shapes_as_cifar: None, tmp_path: Path) -> None:
    pictures = torch.arange(3 * 32 * 32).view(1, 3, 32, 32) % 251
    config = permutation.EXPERIMENT.config("vit-one-order", "cpu")
    made = [
        permutation.Shuffling(
            Job("a", config, seed, torch.device("cpu"), tmp_path, False),
            permutation.ShuffledRun(**config),
        ).change(pictures)
        for seed in (0, 0, 1)
    ]
    assert torch.equal(made[0], made[1])
    assert not torch.equal(made[0], made[2]) and not torch.equal(made[0], pictures)
    assert torch.equal(made[0].flatten().sort().values, pictures.flatten().sort().values)


def test_convolutions_have_no_positions_and_keep_no_weights(
    shapes_as_cifar: None, tmp_path: Path
) -> None:
    outcome = train(tmp_path, permutation.EXPERIMENT, "resnet", **SMALL)
    assert "positions_too" not in outcome.results and outcome.weights is None


def test_a_shuffle_is_judged_by_what_it_costs() -> None:
    def told(whole: float, step: float) -> dict[str, Any]:
        shares = {f"grid {grid}": whole - step * (i + 1) for i, grid in enumerate((2, 4, 8, 16))}
        return {"accuracy": whole, "patches_shuffled": {"as it was": whole, **shares}}

    records = [
        record(arm, seed, told(whole + 0.01 * seed, step + 0.001 * seed * (kind == "resnet")))
        for seed in range(3)
        for arm, whole, step, kind in (
            ("vit", 0.5, 0.02, "vit"),
            ("resnet", 0.6, 0.05, "resnet"),
            ("vit-one-order", 0.5 + 0.001 * seed, 0.0, "vit"),
            ("resnet-one-order", 0.4 - 0.001 * seed, 0.0, "resnet"),
        )
    ]
    said = {c.key: c.verdict for c in answers(permutation.QUESTIONS, records)}
    assert len(said) == 9
    assert {said[f"robust/{grid}"].outcome for grid in (2, 4, 8, 16)} == {"holds"}
    assert said["shuffle/vit"].mean == pytest.approx(0.06)
    assert said["one-order/resnet"].outcome == said["one-order"].outcome == "holds"
    assert said["one-order/vit"].outcome != "holds"
    assert [c.control for c in answers(permutation.QUESTIONS, records)].count(True) == 1
    assert answers(permutation.QUESTIONS, []) == []


# --------------------------------------------------------------------------- scans


def test_rows_of_generated_pictures_pack_better_than_noise(
    shapes_as_cifar: None, tmp_path: Path
) -> None:
    of = scan_orders.EXPERIMENT
    shares = {
        arm: train(tmp_path, of, arm, n_pictures=20).results["packed_share"]
        for arm in ("raster", "hilbert", "random")
    }
    assert 0 < shares["raster"] < shares["random"] <= 1.1
    again = train(tmp_path, of, "raster", n_pictures=20)
    assert again.results["packed_share"] == shares["raster"] and again.data[0].variant == "shapes"


def test_every_scan_is_an_arm_and_beside_rows() -> None:
    shares = {arm: 0.5 + 0.01 * i for i, arm in enumerate(scan_orders.ARMS)}
    records = [
        record(arm, seed, {"packed_share": share * (1 + 0.001 * seed)})
        for arm, share in shares.items()
        for seed in range(3)
    ]
    said = {c.key: c.verdict.outcome for c in answers(scan_orders.QUESTIONS, records)}
    assert len(said) == 6 and said.pop("snake/raster") == "fails"
    assert set(said.values()) == {"holds"}


# --------------------------------------------------------------------------- scenes


def test_a_scene_is_asked_about_at_two_sizes(tmp_path: Path) -> None:
    small = {"n_train": 64, "n_test": 20, "steps": 2}
    for arm in ("learned", "mixed"):
        told = train(tmp_path, scene_positions.EXPERIMENT, arm, **small)
        for at in ("at_32", "at_48"):
            assert set(told.results[at]) == {"what", "where", "left of"}
    other = train(tmp_path, scene_positions.EXPERIMENT, "learned", seed=1, **small)
    assert other.data != told.data


def test_scenes_are_judged_question_by_question() -> None:
    def told(where: float) -> dict[str, Any]:
        shares = {"what": 0.6, "where": where, "left of": where}
        return {"at_32": shares, "at_48": {q: s / 2 for q, s in shares.items()}}

    levels = {"none": 0.2, "learned": 0.9, "fixed": 0.8, "axial": 0.7, "mixed": 0.75}
    records = [record(a, s, told(w + 0.01 * s * w)) for a, w in levels.items() for s in range(3)]
    said = {c.key: c for c in answers(scene_positions.QUESTIONS, records)}
    assert len(said) == 6 and said.pop("what").verdict.outcome == "not testable"
    assert {c.verdict.outcome for c in said.values()} == {"holds"}
    assert [key for key, c in said.items() if c.control] == ["where"]
