"""The results page says what the records say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from course_lib.book.results import ran
from course_lib.experiments import EXPERIMENTS, SHIPPED_RESULTS, Record, load_record

EXPERIMENT = EXPERIMENTS["seq2seq-bottleneck"]
ARMS = list(EXPERIMENT.arms)[:2]
KEPT = replace(
    load_record(SHIPPED_RESULTS / EXPERIMENT.name / "gru-cpu-0.json"),
    config={"epochs": 1},
    metrics=[{"epoch": 1, "exact": 0.5}],
    wall_seconds=90.0,
    device_seconds=180.0,
    hardware={"device": "cpu", "processor": "a processor", "threads": 2},
)


def record(arm: str, seed: int, results: Mapping[str, Any]) -> Record:
    return replace(KEPT, arm=arm, seed=seed, results=dict(results))


RECORDS = [
    record(ARMS[0], 0, {"exact": 0.5, "n_parameters": 1000, "by_length": {"3": 1.0, "4": 0.5}}),
    record(ARMS[0], 1, {"exact": 0.7, "n_parameters": 1000, "by_length": {"3": 0.5, "4": 0.5}}),
    record(ARMS[1], 0, {"exact": 0.9, "n_parameters": 2000, "by_length": {"3": 1.0, "4": 1.0}}),
]


def test_beside_a_result_stands_what_a_run_was_and_cost() -> None:
    assert ran(RECORDS[:2]) == (
        f"seq2seq-bottleneck {ARMS[0]}: 1,000 weights, 1 epochs, 2 runs of size cpu,"
        " 3 core-minutes each"
    )
    seen = replace(RECORDS[2], config={"epochs": 1, "n_train": 5000, "batch_size": 50})
    assert "2,000 weights, 5,000 examples, 1 epochs, 1 run" in ran([seen])
