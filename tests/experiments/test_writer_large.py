"""The large writer: what a run keeps of its losses."""

from pathlib import Path

import torch

from course_lib.experiments.registry import Job
from course_lib.experiments.writer_large import EXPERIMENT


def test_a_run_keeps_its_smallest_loss_and_when_it_was(
    course_data: Path, tmp_path: Path, monkeypatch
) -> None:
    losses = iter([3.0, 2.0, 2.5])
    monkeypatch.setattr("course_lib.experiments.writer_large.nats", lambda *_: next(losses))
    tiny = {"context": 8, "d_model": 8, "d_ff": 32, "n_heads": 2, "n_layers": 1, "warmup": 1}
    config = EXPERIMENT.config("characters", "full") | tiny | {"epochs": 3, "steps": 2}
    job = Job("characters", config, 0, torch.device("cpu"), tmp_path / "run.pt", False)
    results = EXPERIMENT.train(job).results
    assert results["validation_loss"] == 2.0 and results["best_step"] == 4
    assert results["last_validation_loss"] == 2.5


def test_the_setting_is_nanogpts_for_a_gpu() -> None:
    config = EXPERIMENT.config("characters", "full")
    assert (config["epochs"] * config["steps"], config["batch_size"]) == (5000, 64)
    assert (config["context"], config["dropout"], config["learning_rate"]) == (256, 0.2, 1e-3)
