"""The records in the book: valid, of the settings of now, and to be had again."""

from dataclasses import asdict
from pathlib import Path

import pytest

from course_lib.experiments import EXPERIMENTS, Record, conclusions, load_records, run
from course_lib.experiments.seq2seq_bottleneck import CPU, make_data

RESULTS = Path(__file__).parents[2] / "book" / "results"
RECORDS = load_records(RESULTS)


def one(experiment: str, arm: str, seed: int) -> Record:
    (found,) = [r for r in RECORDS if (r.experiment, r.arm, r.seed) == (experiment, arm, seed)]
    return found


def test_every_experiment_has_its_whole_committed_set() -> None:
    for name, what in EXPERIMENTS.items():
        found = {(r.arm, r.seed) for r in RECORDS if r.experiment == name and r.size == "cpu"}
        assert found == {(arm, seed) for arm in what.arms for seed in what.sizes["cpu"].seeds}


def test_records_are_of_the_settings_of_now() -> None:
    benchmarks = {"attention-speed", "grading-speed"}
    for record in RECORDS:
        if record.experiment in benchmarks:
            continue
        assert record.config == EXPERIMENTS[record.experiment].config(record.arm, record.size)


def test_controls_stand() -> None:
    for what in EXPERIMENTS.values():
        controls = [c for c in conclusions(what, RECORDS, "cpu") if c.control]
        assert bool(controls) == bool(what.sizes["cpu"].seeds)
        assert all(c.verdict.outcome == "stands" for c in controls)


def test_every_accuracy_on_cifar_names_its_variant() -> None:
    variants = {r.data[0].variant for r in RECORDS if r.experiment.startswith("vit-")}
    assert variants <= {"CIFAR-10", "CIFAR-10 (JPEG copy)"} and len(variants) == 1


def test_generated_data_is_the_same_as_then() -> None:
    record = one("seq2seq-bottleneck", "gru", 0)
    assert record.config == asdict(CPU) | {"cell": "gru", "attention": None}
    assert make_data(CPU, record.seed).sha256 == record.data[0].sha256


@pytest.mark.slow
def test_a_cheap_record_can_be_had_again(tmp_path: Path) -> None:
    what = EXPERIMENTS["seq2seq-bottleneck"]
    run(what, arms=["rnn"], seeds=[0], results_dir=tmp_path, runs_dir=tmp_path / "runs")
    (again,) = load_records(tmp_path)
    then = one("seq2seq-bottleneck", "rnn", 0)
    assert again.data == then.data and again.config == then.config
    # Another processor rounds otherwise, so that runs part slowly; the first epoch is close.
    assert again.metrics[0]["loss"] == pytest.approx(then.metrics[0]["loss"], rel=0.02)
    assert again.results["exact"] == pytest.approx(then.results["exact"], abs=0.03)
