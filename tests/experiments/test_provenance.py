import platform
import subprocess
import time

import pytest
import torch

from course_lib.experiments import provenance


def test_hardware_names_the_kind_and_not_the_machine() -> None:
    found = provenance.hardware(torch.device("cpu"))
    assert found["device"] == "cpu" and found["processor"] and found["threads"] >= 1
    assert platform.node() not in found.values()


def test_versions_hold_the_build_of_torch() -> None:
    assert provenance.versions()["torch"] == torch.__version__


def test_commit_is_that_of_the_checkout_or_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(provenance.parent_commit()) in (0, 40)

    def no_git(*args: object, **kwargs: object) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert provenance.parent_commit() == ""


def test_source_files_follow_imports_and_packages() -> None:
    found = set(provenance.source_files("course_lib.experiments.seq2seq_bottleneck"))
    assert {
        "course_lib",
        "course_lib.data.translation.korean",
        "course_lib.seq2seq",
        "course_lib.masks",
        "course_lib.training",
        "course_lib.experiments",
    } <= found
    assert not {name for name in found if name.startswith(("course_lib.cli", "course_lib.grading"))}


def test_source_hash_depends_on_content(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    before = provenance.source_sha256("course_lib.masks")
    assert before == provenance.source_sha256("course_lib.masks")
    changed = tmp_path / "masks.py"
    real = provenance.source_files("course_lib.masks")
    changed.write_bytes(real["course_lib.masks"].read_bytes() + b"\n")
    monkeypatch.setattr(provenance, "source_files", lambda _: {**real, "course_lib.masks": changed})
    assert provenance.source_sha256("course_lib.masks") != before


def test_a_lap_counts_work_and_starts_anew() -> None:
    clock = provenance.Clock(torch.device("cpu"))
    start = time.process_time()
    while time.process_time() - start < 0.05:
        pass
    first, second = clock.lap(), clock.lap()
    assert first["wall_seconds"] > 0.04 and first["device_seconds"] > 0.04
    assert second["wall_seconds"] < first["wall_seconds"]
