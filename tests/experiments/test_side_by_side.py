"""Several runs side by side: one that fails, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from course_lib.cli import main
from course_lib.experiments import get, load_record, load_records
from course_lib.experiments.runner import each

ROOT = Path(__file__).parents[2]
QUICK = "copy-both-ways-none"


@pytest.fixture
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_a_run_that_fails_lets_the_other_end_and_is_told(tmp_path: Path) -> None:
    # A folder stands where the record of seed 0 is to be.
    (tmp_path / "order-tasks" / f"{QUICK}-cpu-0.json" / "x").mkdir(parents=True)
    what, done = get("order-tasks"), {}
    todo = [(what, QUICK, seed) for seed in (0, 1)]
    numbers: list[int] = []
    for work, made in each(
        todo, 2, lambda i, _: numbers.append(i), "cpu", tmp_path, tmp_path / "runs", "cpu", False
    ):
        done[work[2]] = made
    assert numbers == [1, 2] and isinstance(done[0], OSError)
    record = load_record(tmp_path / "order-tasks" / f"{QUICK}-cpu-1.json")
    assert record.hardware["threads"] == 1 and record.seed == 1


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
def test_ctrl_c_ends_all_and_keeps_what_is_done(tmp_path: Path) -> None:
    command = ["run", "order-tasks", "--arms", QUICK, "--seeds", *map(str, range(40))]
    process = subprocess.Popen(
        [sys.executable, "-m", "course_lib.cli", *command, "--jobs", "2", "--results", tmp_path],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    while not list(tmp_path.glob("order-tasks/*.json")) and process.poll() is None:
        time.sleep(0.1)
    # To the parent alone, which has to end the others.
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130 and "again to resume" in error, error
    assert "Traceback" not in error and "leaked" not in error
    assert 0 < len(load_records(tmp_path)) < 40
    deadline = time.monotonic() + 60
    while _lives(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _lives(process.pid)


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_cannot_be_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "cost", "--jobs", "0"]) == 2 and "--jobs 0" in capsys.readouterr().err
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["run", "cost", "--device", "cuda"]) == 2
    assert "no GPU" in capsys.readouterr().err
