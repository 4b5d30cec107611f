"""The record that a measurement of speed leaves behind."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from course_lib.experiments.provenance import Clock, hardware, parent_commit, versions
from course_lib.experiments.record import DataUse, Record, load_record, record_name

Report = tuple[dict[str, Any], list[str], bool]
"""What a topic of ``course bench`` found: data, lines, and whether something is wrong."""


def kept(results_dir: Path, experiment: str, arm: str, digest: str) -> Record | None:
    """The record of an earlier measurement; none if there is none of the same source."""
    path = results_dir / experiment / record_name(arm, "cpu", 0)
    record = load_record(path) if path.exists() else None
    return record if record and record.source_sha256 == digest else None


def speed_record(
    experiment: str,
    arm: str,
    config: dict[str, Any],
    data: DataUse,
    results: dict[str, Any],
    digest: str,
    clock: Clock,
    packages: dict[str, str] | None = None,
    seconds: Mapping[str, float] | None = None,
) -> Record:
    """Make a record of what was measured on this machine's processor."""
    lap = clock.lap()
    return Record(
        experiment=experiment,
        arm=arm,
        size="cpu",
        seed=0,
        config=config,
        data=[data],
        metrics=[{"epoch": 1, **(seconds or results["seconds"])}],
        results=results,
        wall_seconds=lap["wall_seconds"],
        device_seconds=lap["device_seconds"],
        hardware=hardware(torch.device("cpu")),
        versions={**versions(), **(packages or {})},
        commit=parent_commit(),
        source_sha256=digest,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )
