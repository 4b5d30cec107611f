import platform
import subprocess
import time
from pathlib import Path

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


def test_a_tree_is_clean_until_something_is_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    assert provenance.is_clean() is None
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert provenance.is_clean() is True
    (tmp_path / "new.py").touch()
    assert provenance.is_clean() is False


def test_a_lap_counts_work_and_starts_anew() -> None:
    clock = provenance.Clock(torch.device("cpu"))
    start = time.process_time()
    while time.process_time() - start < 0.05:
        pass
    first, second = clock.lap(), clock.lap()
    assert first["wall_seconds"] > 0.04 and first["device_seconds"] > 0.04
    assert second["wall_seconds"] < first["wall_seconds"]
