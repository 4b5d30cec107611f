"""Benchmarks: what they compute and write, never how long something took; and what is recorded."""

from dataclasses import replace

import pytest
import torch

from course_lib.cli import main
from course_lib.experiments import SHIPPED_RESULTS, load_records
from course_tests.benchmarks.attention import EXPERIMENT, Measured, bench, worst
from course_tests.benchmarks.timing import Ratio, compare, peak_memory
from course_tests.parity.peers import mechanisms


def test_a_way_against_itself_is_about_one():
    x = torch.randn(64, 64)
    found = compare(lambda: x @ x, lambda: x @ x, repeats=6)
    assert found.low <= found.ratio <= found.high and found.seconds > 0


def test_one_repetition_is_too_few():
    with pytest.raises(ValueError, match="at least 2"):
        compare(lambda: None, lambda: None, repeats=1)


def test_peak_memory_counts_what_lives_at_the_same_time():
    x = torch.ones(1000)
    both = peak_memory(lambda: (x + 1) + (x + 2))
    one_after_the_other = peak_memory(lambda: ((x + 1).sum(), (x + 2).sum()))
    assert 3 * 4000 <= both < 4 * 4000
    assert 4000 <= one_after_the_other < 2 * 4000


def test_the_worst_is_the_largest_lower_bound():
    rows = [
        Measured("a", "p", {"small forward": Ratio(1.4, 0.9, 2.0, 1.0)}, {}, {}),
        Measured("b", "p", {"small forward": Ratio(1.1, 1.06, 1.2, 1.0)}, {}, {}),
        Measured("c", "", {}, {}, {}),
    ]
    assert worst(rows) == "worst ratio 1.06 (b)"
    assert worst(rows[2:]) == "worst ratio none (no peer)"


@pytest.fixture
def small(monkeypatch):
    """One mechanism alone, whose large inputs are as small as the others."""
    one = mechanisms()["scaled_dot_product"]
    known = {one.name: replace(one, large=one.small)}
    monkeypatch.setattr("course_tests.benchmarks.attention.mechanisms", lambda: known)


@pytest.mark.usefixtures("small")
def test_a_mechanism_is_measured_once_and_then_read(tmp_path):
    first = list(bench(tmp_path, ["scaled_dot_product"], repeats=2))
    (record,) = load_records(tmp_path, EXPERIMENT)
    assert record.arm == "scaled-dot-product" and record.results["ratios"].keys() == {
        f"{shape} {label}"
        for shape in ("small", "large")
        for label in ("forward", "forward + backward")
    }
    assert list(bench(tmp_path, ["scaled_dot_product"], repeats=2)) == first
    assert list(bench(tmp_path, ["scaled_dot_product"], repeats=2, again=True)) != first


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("more", "folder"), [([], "_build/bench"), (["--record"], "book/results")])
def test_the_command_ends_with_the_worst_and_only_a_record_is_the_books(
    monkeypatch, tmp_path, capsys, more, folder
):
    monkeypatch.setattr("course_lib.cli.bench.checkout", lambda: tmp_path)
    assert main(["bench", "attention", "scaled_dot_product", "--repeats", "2", *more]) == 0
    assert {path.parent.parent for path in tmp_path.rglob("*.json")} == {tmp_path / folder}
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "scaled_dot_product: torch.nn.functional.scaled_dot_product_attention"
    assert out[-1].startswith("worst ratio ") and out[-1].endswith("(scaled_dot_product)")


def test_an_unknown_mechanism_is_refused(tmp_path, capsys):
    assert main(["bench", "attention", "nothing", "--results", str(tmp_path)]) == 2
    assert "no mechanism nothing; there are" in capsys.readouterr().err


def test_ours_and_a_peer_that_differ_are_not_timed(monkeypatch, tmp_path):
    import course_tests.benchmarks.attention as benchmark
    from course_tests.parity.peers import Reference, mechanisms

    def peer(module, inputs):
        return Reference(lambda q, k, v: v + 1, inputs)

    right = mechanisms()["scaled_dot_product"]
    # A record's digest follows the peer's module.
    peer.__module__ = right.module
    wrong = replace(right, peer=peer)
    monkeypatch.setattr(benchmark, "mechanisms", lambda: {"scaled_dot_product": wrong})
    with pytest.raises(ValueError, match="differs from its peer"):
        list(bench(tmp_path, ["scaled_dot_product"]))
    assert not load_records(tmp_path)


RECORDS = {record.arm: record for record in load_records(SHIPPED_RESULTS, EXPERIMENT)}


def test_every_mechanism_has_been_measured_as_it_says():
    rows = {name.replace("_", "-"): each.row() for name, each in mechanisms().items()}
    assert set(RECORDS) == {*rows, "exponents"}
    for arm, row in rows.items():
        config = RECORDS[arm].config
        assert {key: config[key] for key in row} == row, arm
        assert config["repeats"] >= 30
        assert bool(RECORDS[arm].results["ratios"]) == bool(row["peer"])


def test_the_help_says_how_long_the_records_took(capsys):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    clock, processor = (
        round(sum(getattr(record, kind) for record in RECORDS.values()) / 60)
        for kind in ("wall_seconds", "device_seconds")
    )
    said = " ".join(capsys.readouterr().out.split())
    assert f"({processor} to {clock} minutes)" in said
