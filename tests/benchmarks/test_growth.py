"""Growth of time and memory: what is measured and written; never how long something took."""

from pathlib import Path

import pytest

from course_lib.cli import main
from course_lib.experiments import load_records
from course_tests.benchmarks.growth import EXPERIMENT, LENGTHS, PASSES, bench_growth
from course_tests.parity.growth import FULL, VARIANTS

RECORDS = {
    record.arm: record
    for record in load_records(Path(__file__).parents[2] / "book" / "results", EXPERIMENT)
}
KEYS = {f"{length} {label}" for length in LENGTHS for label in PASSES}


def test_a_variant_is_measured_once_and_then_read(tmp_path):
    options = {"lengths": (64, 256), "repeats": 2}
    (first,) = bench_growth(tmp_path, ["swin"], **options)
    (record,) = load_records(tmp_path, EXPERIMENT)
    assert record.arm == "swin" and set(first.ratios) == {
        f"{length} {label}" for length in (64, 256) for label in PASSES
    }
    assert list(bench_growth(tmp_path, ["swin"], **options)) == [first]
    assert list(bench_growth(tmp_path, ["swin"], **options, again=True)) != [first]
    assert first.peak_bytes["256 training"] > first.peak_bytes["256 forward"]


def test_an_unknown_variant_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no variant cheap; there are full"):
        list(bench_growth(tmp_path, ["cheap"]))


def test_the_command_says_what_it_measured(tmp_path, capsys):
    arguments = ["bench", "growth", "linformer", "--repeats", "2", "--results", str(tmp_path)]
    assert main(arguments) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "linformer" and out[-1] == "variants 1"
    assert out[1].startswith("  64 forward: ") and "the time of full" in out[1]


def test_every_variant_has_been_measured_as_it_is():
    assert set(RECORDS) == set(VARIANTS)
    for name, variant in VARIANTS.items():
        record = RECORDS[name]
        assert record.config["against"] == variant.against
        assert record.config["power"] == variant.power and record.config["repeats"] >= 15
        for part in ("ratios", "seconds", "peak_bytes", "peak_against"):
            assert set(record.results[part]) == KEYS


def test_memory_is_that_of_a_square_only_where_scores_are_kept():
    """Bytes, which are the same on every machine: what the last doubling of the side adds."""
    for name, record in RECORDS.items():
        peaks = record.results["peak_bytes"]
        grown = peaks["4096 forward"] / peaks["1024 forward"]
        assert (grown > 8) == (name == "full-explicit"), (name, grown)


def test_full_beside_itself_takes_as_much_memory():
    assert RECORDS[FULL].results["peak_bytes"] == RECORDS[FULL].results["peak_against"]
