"""Sizes of the writer: what a run counts."""

from pathlib import Path

import torch

from course_lib.experiments.registry import Job
from course_lib.experiments.writer import WriterConfig
from course_lib.experiments.writer_scaling import ARMS, EXPERIMENT


def test_the_largest_has_the_rate_of_the_writer() -> None:
    config = EXPERIMENT.config("width-128", "cpu")
    assert config["learning_rate"] == WriterConfig.learning_rate
    assert config["d_model"] == WriterConfig.d_model and config["d_ff"] == WriterConfig.d_ff
    assert ARMS["width-32-twice"]["learning_rate"] == 2 * ARMS["width-32"]["learning_rate"]


def test_a_run_counts_weights_and_operations(course_data: Path, tmp_path: Path) -> None:
    tiny = {"context": 8, "d_model": 8, "d_ff": 32, "n_heads": 2, "n_layers": 1, "warmup": 1}
    config = EXPERIMENT.config("width-32", "cpu") | tiny | {"epochs": 2, "steps": 2}
    job = Job("width-32", config, 0, torch.device("cpu"), tmp_path / "run.pt", False)
    results = EXPERIMENT.train(job).results
    # Four matrices of 8 x 8, two of 8 x 32, their biases, and two norms.
    assert results["n_weights"] == 4 * 64 + 2 * 256 + 4 * 8 + 32 + 8 + 2 * 16
    assert results["n_tokens"] == 2 * 2 * 12 * 8
    assert results["operations"] == 6 * results["n_weights"] * results["n_tokens"]
