"""The committed measurements: of every mechanism, at the sizes and with the peers of the table."""

from dataclasses import asdict
from pathlib import Path

from course_lib.benchmarks.attention import EXPERIMENT
from course_lib.experiments import load_records
from course_lib.parity import load_table

RECORDS = {
    record.arm: record
    for record in load_records(Path(__file__).parents[2] / "book" / "results", EXPERIMENT)
}


def test_every_row_of_the_table_has_been_measured_as_it_says():
    rows = {name.replace("_", "-"): row for name, row in load_table().items()}
    assert set(RECORDS) == {*rows, "exponents"}
    for arm, row in rows.items():
        config = RECORDS[arm].config
        assert {key: config[key] for key in asdict(row)} == asdict(row), arm
        assert config["repeats"] >= 30
        assert bool(RECORDS[arm].results["ratios"]) == bool(row.peer)


def test_memory_grows_as_the_theory_says():
    for name, row in RECORDS["exponents"].results["exponents"].items():
        assert abs(row["memory"] - row["memory in theory"]) < 0.15, name
