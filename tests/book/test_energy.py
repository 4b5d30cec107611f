"""What runs have cost, and what a GPU would take at the least."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from course_lib.book.energy import (
    GFLOPS_PER_CORE,
    GFLOPS_PER_GPU,
    Cost,
    assumptions,
    cost,
    gpu_seconds,
    n_seen,
    watt_hours,
)
from course_lib.experiments import SHIPPED_RESULTS, Record, load_record, load_records
from course_lib.experiments.fast_resnet import FastResNet
from course_lib.experiments.vit_ablations import SeeingRun, make_model

WHOLE = load_record(SHIPPED_RESULTS / "vit-ablations" / "whole-day-0.json")
STEPS = load_record(SHIPPED_RESULTS / "cost" / "block-sparse-cpu-0.json")
LINE = load_record(SHIPPED_RESULTS / "informer-ablations" / "linear-cpu-0.json")


def test_a_cost_is_the_mean_over_the_runs() -> None:
    runs = [replace(WHOLE, device_seconds=seconds) for seconds in (600.0, 1200.0)]
    assert asdict(cost(runs)) == {
        "n_weights": WHOLE.results["n_parameters"],
        "n_seen": 15 * 20_000,
        "core_minutes": 15.0,
        "watt_hours": 2.5,
        "gpu_seconds": pytest.approx(4.5),
        "gpu_watt_hours": pytest.approx(0.875),
    }
    assert str(cost(runs)) == "15 core-minutes, 2.5 Wh; on a GPU at least 4.5 s, 0.88 Wh"
    assert cost([]) == Cost() and str(Cost()) == ""


def test_a_run_on_a_gpu_is_not_estimated_from_a_core() -> None:
    run = replace(WHOLE, device_seconds=36.0, hardware=WHOLE.hardware | {"gpu": "a card"})
    assert gpu_seconds([run]) == 36.0 and watt_hours([run]) == 7.0
    assert str(cost([run])) == "on a GPU 36 s, 7 Wh"


def test_without_a_network_there_is_no_time_on_a_gpu() -> None:
    assert gpu_seconds([LINE]) is None and n_seen(LINE) is None
    assert "GPU" not in str(cost([LINE]))
    assert gpu_seconds([LINE, WHOLE]) == gpu_seconds([WHOLE])


def test_examples_are_counted_as_often_as_they_come() -> None:
    assert n_seen(STEPS) == 10 * 60 * 8
    assert n_seen(WHOLE) == 15 * 20_000
    few = load_record(SHIPPED_RESULTS / "vit-study" / "few-2-cpu-0.json")
    assert few.config["share"] == 0.2 and n_seen(few) == 20 * 500
    for config in ({"epochs": 5}, {"steps": 5}):
        assert n_seen(replace(WHOLE, config=config)) is None


def speed(record: Record) -> float:
    """Billions of operations that a core computed in each second of a run on pictures."""
    known = {field.name for field in fields(SeeingRun)}
    settings = {key: value for key, value in record.config.items() if key in known}
    if "mirrored" in record.config and record.config["kind"] == "resnet":
        model: nn.Module = FastResNet(torch.randn(9, 3, 32, 32), record.config["widths"])
    else:
        model = make_model(SeeingRun(**settings), 0)
    # Operations are counted by shapes alone.
    model, picture = model.to("meta"), torch.zeros(1, 3, 32, 32)
    with FlopCounterMode(display=False) as counter:
        model(picture.to("meta")).sum().backward()
    seen = n_seen(record)
    assert seen is not None
    return counter.get_total_flops() * seen / record.device_seconds / 1e9


def test_a_core_is_assumed_as_fast_as_in_the_records_of_size_day() -> None:
    coarse = load_record(SHIPPED_RESULTS / "vit-ablations" / "coarse-cpu-0.json")
    assert 10 < speed(coarse) < 30 < 50 < speed(WHOLE) < GFLOPS_PER_CORE
    searched = load_records(SHIPPED_RESULTS, "image-recipes")
    for record in (r for r in searched if r.arm.startswith("resnet")):
        assert GFLOPS_PER_CORE < speed(record) < 220


def test_the_page_says_what_is_assumed() -> None:
    said = assumptions()
    for number in ("10 watts", "700 watts", "100 billion", "20,000 billion", "30 %", "200 times"):
        assert number in said
    assert GFLOPS_PER_GPU / GFLOPS_PER_CORE == 200
