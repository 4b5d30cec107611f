"""The committed measurements: of every mechanism, at the sizes and with the peers of the table."""

from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.experiments import load_records
from course_tests.benchmarks.attention import EXPERIMENT
from course_tests.parity.peers import mechanisms

RESULTS = Path(__file__).parents[2] / "book" / "results"
RECORDS = {record.arm: record for record in load_records(RESULTS, EXPERIMENT)}


def test_every_mechanism_has_been_measured_as_it_says():
    rows = {name.replace("_", "-"): each.row() for name, each in mechanisms().items()}
    assert set(RECORDS) == {*rows, "exponents"}
    for arm, row in rows.items():
        config = RECORDS[arm].config
        assert {key: config[key] for key in row} == row, arm
        assert config["repeats"] >= 30
        assert bool(RECORDS[arm].results["ratios"]) == bool(row["peer"])


def test_memory_grows_as_the_theory_says():
    for name, row in RECORDS["exponents"].results["exponents"].items():
        assert abs(row["memory"] - row["memory in theory"]) < 0.15, name


@pytest.mark.parametrize(
    ("topic", "experiment", "arms", "minutes"),
    [
        ("attention", EXPERIMENT, None, "{processor} to {clock} minutes"),
        ("growth", "cost-growth", None, "{processor} to {clock} minutes"),
        ("grading", "grading-speed", {"class-60"}, "{clock} minutes"),
    ],
)
def test_the_help_says_how_long_the_records_took(topic, experiment, arms, minutes, capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    _, _, said = " ".join(capsys.readouterr().out.split()).partition(f"`{topic}`:")
    records = [r for r in load_records(RESULTS, experiment) if arms is None or r.arm in arms]
    clock, processor = sum(r.wall_seconds for r in records), sum(r.device_seconds for r in records)
    took = minutes.format(clock=round(clock / 60), processor=round(processor / 60))
    assert f"({took})" in said.partition(";")[0]
