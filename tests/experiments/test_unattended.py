"""Runs within a time and side by side: cheapest first, cut off, failed, gone on with."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch

from course_lib.cli import main
from course_lib.experiments import Experiment, Size, get, load_record, load_records
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Outcome
from course_lib.experiments.runner import each
from course_lib.experiments.unattended import missing, run_all
from course_lib.training import fit

ROW = {"epoch": 1.0, "wall_seconds": 1.0, "device_seconds": 120.0}


def toy(name, minutes, said, do=lambda job: None, arms=("a", "b")):
    def train(job):
        said.append(f"{name} {job.arm} {job.seed}")
        do(job)
        return Outcome([DataUse("none", "none", "0" * 64)], [ROW], {"score": 1.0})

    sizes = {"cpu": Size({"x": 1}, (0, 1), minutes, "a desk")}
    return Experiment(name, "", {arm: {} for arm in arms}, sizes, train, ())


def go(folder, minutes, *what, **kwargs):
    lines = []
    done = run_all(
        {experiment.name: experiment for experiment in what},
        minutes,
        results_dir=folder / "results",
        runs_dir=folder / "runs",
        report=lines.append,
        progress=False,
        **kwargs,
    )
    return done, "\n".join(lines)


def test_the_cheapest_come_first_and_seeds_together(tmp_path):
    said = []
    done, lines = go(tmp_path, 60, toy("dear", 5, said), toy("cheap", 1, said))
    assert said == [f"{n} {arm} {i}" for n in ("cheap", "dear") for i in (0, 1) for arm in "ab"]
    assert "cheap a: seeds 0, 1, 1 min each" in lines
    assert "8 runs of size cpu are missing, about 24 min; 8 of them are expected to fit" in lines
    assert "[3/8, 0.0 of 60 min] cheap a cpu seed 1" in lines
    assert str(done) == "records written 8, failed 0, left 0" and len(done.written) == 8
    said.clear()
    assert go(tmp_path, 60, toy("dear", 5, said), toy("cheap", 1, said))[0].written == []
    assert said == []


def test_what_was_measured_counts_more_than_what_was_expected(tmp_path):
    said = []
    go(tmp_path, 60, toy("slow", 0.5, said, arms=("a",)))
    slow = toy("slow", 0.5, said)
    results = tmp_path / "results"
    (results / "slow" / "a-cpu-1.json").unlink()
    todo = missing({"slow": slow, "other": toy("other", 1, said)}, results_dir=results)
    found = [(run.experiment.name, run.arm, run.minutes) for run in todo]
    assert found == [
        *[("slow", "b", 0.5)] * 2,
        ("other", "a", 1),
        ("other", "b", 1),
        ("other", "a", 1),
        ("other", "b", 1),
        ("slow", "a", 2),
    ]


def test_a_dry_run_prints_the_bill_and_runs_nothing(tmp_path):
    said = []
    done, lines = go(tmp_path, 3, toy("x", 1.25, said), dry_run=True)
    assert said == [] and done.left == 4 and "the time is up" not in str(done)
    assert "about 5 min; 2 of them are expected to fit into 3 min" in lines


def until_the_alarm(job):
    def batches(epoch):
        if epoch == 3:
            signal.raise_signal(signal.SIGALRM)
        return [torch.ones(2, 1)]

    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit(
        model,
        optimizer,
        batches,
        lambda m, x: m(x).square().mean(),
        epochs=9,
        checkpoint=job.checkpoint,
    )


def test_the_run_under_way_is_cut_off_and_keeps_its_checkpoint(tmp_path):
    said = []
    quick, long = toy("quick", 1, said), toy("long", 9, said, until_the_alarm)
    handler = signal.getsignal(signal.SIGALRM)
    done, _ = go(tmp_path, 60, quick, long)
    assert said[-1] == "long a 0" and len(done.written) == 4 and done.left == 4
    assert str(done).endswith("the time is up: run the same command again to resume")
    (kept,) = (tmp_path / "runs" / "long").iterdir()
    assert kept.name.startswith("a-cpu-0-")
    assert len(load_records(tmp_path / "results")) == 4
    assert signal.getsignal(signal.SIGALRM) == handler
    content = kept.read_bytes()
    kept.write_bytes(b"junk")
    (said_of_it,) = go(tmp_path, 60, long)[0].failed
    assert said_of_it.startswith("long a cpu seed 0: Refused: ") and "delete it" in said_of_it
    kept.write_bytes(content)
    # The next call takes it up: once it may end, all is there and the checkpoint gone.
    rest, _ = go(tmp_path, 60, quick, toy("long", 9, said))
    assert (len(rest.written), rest.left) == (4, 0) and not list(kept.parent.iterdir())


def test_the_alarm_rings_in_time(tmp_path):
    done, _ = go(tmp_path, 0.5 / 60, toy("long", 9, [], lambda job: time.sleep(600)))
    assert (done.written, done.left, done.cut_off) == ([], 4, True)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_where_no_alarm_can_be_set_the_run_under_way_is_the_last(tmp_path):
    found = []
    slow = toy("slow", 1, [], lambda job: time.sleep(0.3))
    worker = threading.Thread(target=lambda: found.append(go(tmp_path, 0.1 / 60, slow)[0]))
    worker.start()
    worker.join()
    assert (len(found[0].written), found[0].left, found[0].cut_off) == (1, 3, True)


def test_a_run_that_fails_does_not_stop_the_others(tmp_path):
    def fail(job):
        if job.arm == "a":
            raise FloatingPointError("loss is nan at step 3")

    done, lines = go(tmp_path, 60, toy("x", 1, [], fail))
    assert (len(done.written), done.left) == (2, 2) and "2" in str(done)
    assert "x a cpu seed 0: FloatingPointError: x a cpu seed 0: loss is nan at step 3" in lines
    assert "in fail\n    raise FloatingPointError" in lines, "where it came from"


@pytest.mark.parametrize("minutes", [0, -1, float("nan")])
def test_no_time_is_refused(tmp_path, minutes):
    with pytest.raises(ValueError, match="expected more than 0"):
        go(tmp_path, minutes, toy("x", 1, []))


def test_the_command(tmp_path, monkeypatch, capsys):
    from course_lib import experiments

    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"x": toy("x", 1, [])})
    command = ["run", "--all", "--minutes", "5", "--results", str(tmp_path)]
    assert main([*command, "--dry-run"]) == 0
    assert "left 4" in capsys.readouterr().out.splitlines()[-1]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "records written 4, failed 0, left 0"
    for wrong in (["--all"], ["--minutes", "3"], ["x", "--all", "--minutes", "3"]):
        assert main(["run", *wrong]) == 2
        assert "--all" in capsys.readouterr().err


ROOT = Path(__file__).parents[2]
QUICK, LONG = "repeat-last", "full-attention"  # no training at all, and 20 seconds of it


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.usefixtures("one_thread")
def test_a_run_that_fails_lets_the_other_end_and_is_told(course_data, tmp_path):
    # A folder stands where the record of seed 0 is to be.
    (tmp_path / "informer-ablations" / f"{QUICK}-cpu-0.json" / "x").mkdir(parents=True)
    what, done = get("informer-ablations"), {}
    todo = [(what, QUICK, seed) for seed in (0, 1)]
    numbers = []
    for work, made in each(
        todo, 2, lambda i, _: numbers.append(i), "cpu", tmp_path, tmp_path / "runs", "cpu", False
    ):
        done[work[2]] = made
    assert numbers == [1, 2] and isinstance(done[0], OSError)
    record = load_record(tmp_path / "informer-ablations" / f"{QUICK}-cpu-1.json")
    assert record.hardware["threads"] == 1 and record.seed == 1


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="no process groups")
def test_ctrl_c_ends_all_and_keeps_what_is_done(course_data, tmp_path):
    command = ["run", "informer-ablations", "--arms", QUICK, LONG, "--seeds", "0", "1", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "course_lib.cli", *command, "--jobs", "2", "--results", tmp_path],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not list(tmp_path.glob("informer-ablations/*.json")) and process.poll() is None:
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate()
    assert process.returncode == 130 and "again to resume" in error, error
    assert "Traceback" not in error and "leaked" not in error
    assert 0 < len(load_records(tmp_path)) < 6
    deadline = time.monotonic() + 60
    while _lives(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _lives(process.pid)


def _lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_cannot_be_is_refused(capsys, monkeypatch):
    assert main(["run", "cost", "--jobs", "0"]) == 2 and "--jobs 0" in capsys.readouterr().err
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["run", "cost", "--device", "cuda"]) == 2
    assert "no GPU" in capsys.readouterr().err
