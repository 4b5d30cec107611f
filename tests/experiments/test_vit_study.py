"""What else changes a vision transformer: teachers, pictures, positions, and what is watched."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib.data import Cifar10, shape_images
from course_lib.experiments import (
    SHIPPED_RESULTS,
    load_record,
    vit_ablations,
    vit_positions,
    vit_study,
)
from course_lib.experiments.questions import answers
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome
from course_lib.experiments.vit_study import StudyRun

KEPT = load_record(SHIPPED_RESULTS / "cost" / "full-cpu-0.json")

SMALL = {"n_train": 100, "n_watched": 20, "n_test": 40, "n_mapped": 4, "epochs": 2, "d_model": 16,
         "n_layers": 2, "n_heads": 2, "d_ff": 32}  # fmt: skip


@pytest.fixture
def shapes_as_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quadrants of shapes in the place of CIFAR-10."""

    def load(split: str) -> Cifar10:
        n, seed = (100, 0) if split == "train" else (50, 1)
        made = shape_images(n, torch.Generator().manual_seed(seed))
        return Cifar10((made.images * 255).byte(), made.quadrant[:, 0], "shapes", "0" * 64)

    monkeypatch.setattr(vit_ablations, "load_cifar10", load)


def train(folder: Path, arm: str, **changes: Any) -> Outcome:
    config = vit_study.EXPERIMENT.config(arm, "cpu") | SMALL | changes
    job = Job(arm, config, 0, torch.device("cpu"), folder / "c.pt", False)
    return vit_study.EXPERIMENT.train(job)


def record(arm: str, seed: int, accuracy: float) -> Record:
    rows = [
        {"epoch": 1, "accuracy": accuracy - 0.1 - 0.01 * seed, "distance_1": 14.0,
         "distance_2": 14.0, "entropy_1": 1.0},
        {"epoch": 2, "accuracy": accuracy, "distance_1": 12.0, "distance_2": 12.5 + 0.01 * seed,
         "entropy_1": 0.9 - 0.01 * seed},
    ]  # fmt: skip
    run = replace(KEPT, arm=arm, seed=seed, metrics=rows, results={"accuracy": accuracy})
    return replace(run, finished="2026-11-25T00:00:00+00:00")


def test_layers_are_watched_after_every_epoch(shapes_as_cifar: None, tmp_path: Path) -> None:
    rows = train(tmp_path, "whole").metrics
    assert len(rows) == 2
    for row in rows:
        assert all(0 < row[f"distance_{layer}"] < math.hypot(24, 24) for layer in (1, 2))
        assert all(0 < row[f"entropy_{layer}"] <= 1 for layer in (1, 2))
    assert "distance_3" not in rows[0]
    assert rows[0]["entropy_1"] != rows[1]["entropy_1"]


def test_a_teacher_teaches(shapes_as_cifar: None, tmp_path: Path) -> None:
    told = {arm: train(tmp_path / arm, arm) for arm in ("whole", "soft-teacher", "hard-teacher")}
    losses = {arm: outcome.metrics[-1]["loss"] for arm, outcome in told.items()}
    assert len(set(losses.values())) == 3
    assert "accuracy_of_the_teacher" not in told["whole"].results
    for arm in ("soft-teacher", "hard-teacher"):
        assert 0 <= told[arm].results["accuracy_of_the_teacher"] <= 1
        more = told[arm].results["n_parameters"] - told["whole"].results["n_parameters"]
        assert more == 16 + 10 * 17


def test_convolutions_have_no_maps_and_no_token_for_a_teacher(
    shapes_as_cifar: None, tmp_path: Path
) -> None:
    rows = train(tmp_path, "hybrid", d_model=32, n_heads=1, n_layers=3).metrics
    assert not any(name.startswith(("distance", "entropy")) for name in rows[0])
    with pytest.raises(ValueError, match="kind is 'hybrid', wanted 'vit' for a teacher"):
        train(tmp_path / "b", "hybrid", teacher="soft")


def test_few_pictures_are_seen_more_often(shapes_as_cifar: None, tmp_path: Path) -> None:
    assert len(train(tmp_path, "share-20").metrics) == 10


def test_the_reports_models_take_as_many_steps_on_as_many_pictures() -> None:
    arms = [vit_study.EXPERIMENT.config(arm, "cpu") for arm in vit_study.ARMS if "few" in arm]
    free = {"kind", "patch_size", "crop", "n_mapped"}
    assert len(arms) == 4
    assert len({str({k: v for k, v in arm.items() if k not in free}) for arm in arms}) == 1
    assert sorted(arm["patch_size"] for arm in arms if arm["kind"] == "vit") == [2, 4, 4]


@pytest.mark.parametrize("module", [vit_study, vit_positions])
def test_arms_change_one_thing(module: Any) -> None:
    cpu = module.EXPERIMENT.sizes["cpu"].config
    for changes in module.ARMS.values():
        StudyRun(**(dict(cpu) | changes))
    same = [arm for arm, changes in module.ARMS.items() if dict(cpu) | changes == dict(cpu)]
    assert same == (["whole"] if module is vit_study else ["fixed"])


def test_studies_are_judged_in_pairs() -> None:
    levels = {"whole": 0.5, "sgd": 0.4, "share-20": 0.3, "share-5": 0.2, "hybrid": 0.55,
              "soft-teacher": 0.52, "hard-teacher": 0.51, "few-resnet": 0.4, "few-4": 0.35,
              "few-4-shifted": 0.36, "few-2": 0.34}  # fmt: skip
    records = [
        record(arm, seed, level + 0.01 * seed + 0.0001 * seed * i)
        for i, (arm, level) in enumerate(levels.items())
        for seed in range(3)
    ]
    said = {c.key: c for c in answers(vit_study.QUESTIONS, records)}
    assert len(said) == 13 and said["few-4/share-20"].verdict.outcome == "holds"
    few = ("few-2/few-4", "few-resnet/few-4", "few-4-shifted/few-4")
    assert [said[key].verdict.outcome for key in few] == ["fails", "holds", "holds"]
    assert said["hard-teacher/soft-teacher"].verdict.outcome == "fails"
    assert said["deeper"].verdict.mean == pytest.approx(0.51)
    assert said["sharper"].verdict.outcome == "holds"
    assert [key for key, c in said.items() if c.control] == ["whole/share-20"]
    assert answers(vit_study.QUESTIONS, []) == []


def test_positions_are_judged_in_pairs() -> None:
    levels = {"fixed": 0.5, "added": 0.48, "sinusoid": 0.47, "learned": 0.49, "axial": 0.51,
              "mixed": 0.52, "none": 0.4}  # fmt: skip
    records = [
        record(arm, seed, level + 0.01 * seed + 0.0001 * seed * level)
        for arm, level in levels.items()
        for seed in range(3)
    ]
    said = answers(vit_positions.QUESTIONS, records)
    assert {c.verdict.outcome for c in said} == {"holds"} and len(said) == 7
    assert [c.key for c in said if c.control] == ["learns"]
    assert answers(vit_positions.QUESTIONS, []) == []
