"""The documents' rows beside our records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from course_lib.book.printed import Printed, load_printed, measured, rows
from course_lib.experiments import (
    EXPERIMENTS,
    Conclusion,
    DataUse,
    Experiment,
    Record,
    Size,
    load_records,
    pair_by_seed,
    verdict,
)
from course_lib.experiments.registry import Job, Outcome

BOOK = Path(__file__).parents[2] / "book"
RECORDS = load_records(BOOK / "results")
CARD = {"document": "lecture", "table": "Table 1", "row": "plain"}
PLAIN = CARD | {"metric": "score", "experiment": "toy", "arm": "small"}


def record(arm: str, seed: int, score: float, size: str = "cpu") -> Record:
    return Record(
        experiment="toy",
        arm=arm,
        size=size,
        seed=seed,
        config={"epochs": 1},
        data=[DataUse("made-up", "three words", "0" * 64)],
        metrics=[{"epoch": 1, "loss": 1.0}],
        results={"score": score, "by": {"1.2": {"a": 0.25}}, "right": True},
        wall_seconds=1.0,
        device_seconds=1.0,
        hardware={"device": "cpu"},
        versions={"torch": "2"},
        commit="",
        source_sha256="0" * 64,
        finished="2026-01-01T00:00:00+00:00",
    )


def toy(control: float = 1.0) -> dict[str, Experiment]:
    """An experiment whose control gains ``control`` and a little more with every seed."""

    def conclude(records: Sequence[Record]) -> list[Conclusion]:
        pairs = pair_by_seed(records, "big", "small", records[0].size)
        if not pairs:
            return []
        gains = [a.results["score"] - b.results["score"] for a, b in pairs]
        learned = [control + 0.01 * seed for seed in range(3)]
        return [
            Conclusion("Big is better.", "the lecture", verdict(gains, 1), key="big"),
            Conclusion("It learns.", "control", verdict(learned, 1), control=True, key="learns"),
        ]

    def train(job: Job) -> Outcome:
        raise NotImplementedError

    sizes = {size: Size({"epochs": 1}, (0, 1, 2), 1, "a desk") for size in ("cpu", "full")}
    return {"toy": Experiment("toy", "a toy", {"small": {}, "big": {}}, sizes, train, conclude)}


RUNS = [record("small", seed, 0.1 * seed) for seed in range(3)] + [
    record("big", seed, 1 + 0.11 * seed) for seed in range(3)
]


def put(folder: Path, *entries: Any) -> Path:
    path = folder / "results.yml"
    path.write_text(yaml.safe_dump(list(entries)))
    return path


def test_a_row_gets_mean_spread_and_the_rules_verdict(tmp_path: Path) -> None:
    big = CARD | {
        "row": "big", "metric": "score", "value": 2, "setting": "elsewhere", "experiment": "toy",
        "arm": "big", "conclusion": "big",
    }  # fmt: skip
    printed = load_printed(put(tmp_path, PLAIN, big, CARD), RUNS, toy())
    small, large, nobody = rows(printed, RUNS, toy())
    assert (small.verdict, small.printed.value, small.n) == ("reference", None, 3)
    assert (large.verdict, large.size, large.n) == ("stands", "cpu", 3)
    assert large.mean == pytest.approx(1.11) and large.std == pytest.approx(0.11)
    assert (nobody.verdict, nobody.mean, nobody.std, nobody.n) == ("not run", None, None, 0)
    said = {"claimed": 2, "mean": large.mean, "std": large.std, "n": 3, "verdict": "stands"}
    kept = {key: big[key] for key in big.keys() - {"value", "conclusion"}}
    assert large.data() == kept | said | {"size": "cpu"}


def test_every_size_has_its_own_row_and_verdict() -> None:
    printed = [Printed("lecture", "t", "r", "score", None, "", "toy", "big", "big")]
    more = [*RUNS, record("big", 0, 0.5, "full"), record("small", 0, 0.9, "full")]
    found = {row.size: (row.verdict, row.n, row.std is None) for row in rows(printed, more, toy())}
    assert found == {"cpu": ("stands", 3, False), "full": ("undecided", 1, True)}


def test_nothing_is_decided_where_a_control_fails_or_a_partner_is_missing() -> None:
    printed = [Printed("lecture", "t", "r", "score", None, "", "toy", "big", "big")]
    assert [row.verdict for row in rows(printed, RUNS, toy(control=0))] == ["undecided"]
    alone = [run for run in RUNS if run.arm == "big"]
    assert [row.verdict for row in rows(printed, alone, toy())] == ["undecided"]
    down = [record(r.arm, r.seed, -r.results["score"]) for r in RUNS]
    assert [row.verdict for row in rows(printed, down, toy())] == ["does not"]


def test_nested_numbers_are_found_though_keys_hold_dots() -> None:
    assert measured(RUNS[0], "by.1.2.a") == 0.25
    for wrong in ("by", "by.1.2", "by.1", "right", "sore", "score.x"):
        with pytest.raises(ValueError, match=f"toy small has no number {wrong!r}; its results: sc"):
            measured(RUNS[0], wrong)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("text", "'text'.*wanted a mapping"),
        ({"document": "lecture"}, r"missing keys \['row', 'table'\]"),
        (CARD | {"claim": "x"}, r"unknown keys \['claim'\]"),
        (CARD | {"document": "a novel"}, "document is 'a novel'"),
        (CARD | {"row": 3}, "row is 3, wanted text"),
        (PLAIN | {"value": "0.5", "setting": "s"}, "value is '0.5', wanted a number"),
        (PLAIN | {"value": 0.5}, "needs its metric and its setting"),
        (CARD | {"arm": "small"}, "needs its experiment"),
        (CARD | {"conclusion": "big"}, "needs its experiment"),
        (CARD | {"experiment": "toy", "arm": "small"}, "needs an arm and a metric"),
        (PLAIN | {"experiment": "tog"}, r"experiment is 'tog', wanted one of \['toy'\]"),
        (PLAIN | {"arm": "medium"}, r"arm is 'medium', toy has \['small', 'big'\]"),
        (PLAIN | {"metric": "sore"}, "no number 'sore'"),
        (PLAIN | {"conclusion": "bug"}, r"conclusion is 'bug', toy has \['big', 'learns'\]"),
    ],
)
def test_what_is_wrong_is_said_with_the_entrys_name(
    tmp_path: Path, entry: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"results\.yml, entry 2 \(.*{message}"):
        load_printed(put(tmp_path, CARD, entry), RUNS, toy())


def test_a_conclusion_is_not_missed_in_a_folder_with_some_of_the_arms(tmp_path: Path) -> None:
    path = put(tmp_path, PLAIN | {"conclusion": "big"})
    assert load_printed(path, [run for run in RUNS if run.arm == "small"], toy())
    assert load_printed(path, [], toy())


def test_the_books_rows_are_in_order() -> None:
    printed = load_printed(BOOK / "results.yml", RECORDS)
    assert len(set(printed)) == len(printed)
    found = {(entry.document, entry.table) for entry in printed}
    assert found >= {("ablation-report", f"Table {i}") for i in range(1, 7)}
    labels = ("V.A Classification performance", "V.B Training dynamics", "V.D Ablation studies")
    assert found >= {("cifar-report", label) for label in labels}


def test_conclusions_have_keys_of_their_own() -> None:
    for experiment in EXPERIMENTS.values():
        runs = [r for r in RECORDS if r.experiment == experiment.name and r.size == "cpu"]
        keys = [c.key for c in experiment.conclude(runs)] if runs else []
        assert all(keys) and len(set(keys)) == len(keys), (experiment.name, keys)
