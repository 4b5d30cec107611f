"""The results page says what the records say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from course_lib.book.reported import Reported
from course_lib.book.results import (
    by_size,
    larger_sizes,
    planned,
    ran,
    scalar_table,
    summary,
    tables,
)
from course_lib.experiments import EXPERIMENTS, SHIPPED_RESULTS, DataUse, Record, Size, load_record

EXPERIMENT = EXPERIMENTS["seq2seq-bottleneck"]
ARMS = list(EXPERIMENT.arms)[:2]
KEPT = replace(
    load_record(SHIPPED_RESULTS / EXPERIMENT.name / "gru-cpu-0.json"),
    config={"epochs": 1},
    metrics=[{"epoch": 1, "exact": 0.5}],
    wall_seconds=90.0,
    device_seconds=180.0,
    hardware={"device": "cpu", "processor": "a processor", "threads": 2},
)


def record(arm: str, seed: int, results: Mapping[str, Any]) -> Record:
    return replace(KEPT, arm=arm, seed=seed, results=dict(results))


RECORDS = [
    record(ARMS[0], 0, {"exact": 0.5, "n_parameters": 1000, "by_length": {"3": 1.0, "4": 0.5}}),
    record(ARMS[0], 1, {"exact": 0.7, "n_parameters": 1000, "by_length": {"3": 0.5, "4": 0.5}}),
    record(ARMS[1], 0, {"exact": 0.9, "n_parameters": 2000, "by_length": {"3": 1.0, "4": 1.0}}),
]


def test_numbers_are_means_with_their_spread_and_the_document_beside() -> None:
    printed = [
        Reported("lecture", table, "a row", "exact", value, "somewhere else", experiment, ARMS[0])
        for table, value, experiment in (
            ("Table 1", 0.95, EXPERIMENT.name),
            ("Table 2", 0.95, EXPERIMENT.name),
            ("A statement", None, EXPERIMENT.name),
            ("Table 1", 0.1, "another"),
        )
    ]
    rows = scalar_table(EXPERIMENT, RECORDS, printed)
    assert rows[0] == [
        *(ARMS[0], "exact", "0.6", "0.5 to 0.7", "0, 1"),
        "0.95 (the lecture: somewhere else)",
    ]
    assert rows[1] == [ARMS[0], "number of parameters", "1,000", "", "0, 1", ""]
    assert rows[2][:3] == [ARMS[1], "exact", "0.9"]
    assert len(rows) == 4


def test_nested_results_become_tables() -> None:
    assert tables(EXPERIMENT, RECORDS) == {
        "by length": [["of", *ARMS], ["3", "0.75", "1"], ["4", "0.5", "1"]]
    }


def test_names_have_no_mean_and_numbers_are_found_however_deep() -> None:
    deep = {"heads": "1.2, 1.3", "best": {"next": "2.1"}, "left": {"worst": {"1": 0.5}, "all": 2}}
    runs = [record(ARMS[0], seed, {"exact": 0.5} | deep) for seed in range(2)]
    assert [row[1] for row in scalar_table(EXPERIMENT, runs, [])] == ["exact"]
    assert tables(EXPERIMENT, runs) == {
        "left": [["of", ARMS[0]], ["all", "2"]],
        "left, worst": [["of", ARMS[0]], ["1", "0.5"]],
    }


def test_the_summary_tells_time_and_machine() -> None:
    said = summary(RECORDS)
    assert said.startswith("3 runs, together 9 minutes of computing on 2 threads of a processor.")
    assert "Estimated: 1.5 Wh, and on a GPU at least 0.045 minutes." in said
    untrained = [replace(RECORDS[0], results={"exact": 0.5})]
    assert "Estimated: 0.5 Wh. Data" in summary(untrained)
    alone = replace(RECORDS[0], hardware={"processor": "a processor", "threads": 1})
    assert "on 1 thread of a processor" in summary([alone])
    many = [replace(RECORDS[0], data=[DataUse("d", f"v, seed {i}", "0" * 64)]) for i in range(5)]
    assert "and other seeds" in summary(many)


def test_beside_a_result_stands_what_a_run_was_and_cost() -> None:
    assert ran(RECORDS[:2]) == (
        f"seq2seq-bottleneck {ARMS[0]}: 1,000 weights, 1 epochs; 2 runs, cpu;"
        " one takes 3 core-minutes, 0.5 Wh; on a GPU at least 0.9 s, 0.18 Wh"
    )
    seen = replace(RECORDS[2], config={"epochs": 1, "n_train": 5000, "batch_size": 50})
    assert "2,000 weights, 5,000 examples, 1 epochs, 5,000 seen in all; 1 run" in ran([seen])


def test_the_plan_of_a_size_says_what_has_run_and_what_has_not() -> None:
    sizes = {"day": Size({"epochs": 1}, (0, 1), 90, "a core")}
    arms = {name: EXPERIMENT.arms[name] for name in ARMS}
    what = replace(EXPERIMENT, arms=arms, sizes=sizes)
    plan = {what.name: what, "small": replace(what, name="small", sizes={"cpu": sizes["day"]})}

    def cells(records: list[Record]) -> list[str]:
        (found,) = planned(plan, records, "day")
        assert found[:2] == [what.name, what.title]
        return found[2:]

    days = [replace(each, size="day") for each in RECORDS]
    # Runs of another size or of a seed that is not planned are no part of it.
    assert cells([*RECORDS, replace(days[0], seed=7)]) == ["not run: 0 of 4", "0"]
    assert cells(days[:2]) == [f"2 of 4: 2 seeds of {ARMS[0]}; not run: {ARMS[1]}", "6"]
    assert cells(days) == [f"3 of 4: 2 seeds of {ARMS[0]}; 1 seed of {ARMS[1]}", "9"]
    whole = [*days, replace(days[2], seed=1)]
    assert cells(whole) == ["4 of 4: 2 seeds of each arm", "12"]
    assert (
        by_size([*RECORDS, *whole])
        == "Runs so far: 3 of size cpu, 4 of size day, none of size full."
    )


def test_a_chapter_says_which_larger_sizes_have_run() -> None:
    arms = {name: EXPERIMENT.arms[name] for name in ARMS}
    plan = Size({"epochs": 1}, (0, 1), 90, "a core")
    what = replace(EXPERIMENT, arms=arms, sizes={"cpu": plan, "day": plan})
    told = f"`{what.name}` at size *{{}}*, {{}}."
    assert larger_sizes(what, RECORDS) == told.format("day", "not run: 0 of 4")
    days = [replace(each, size="day") for each in RECORDS]
    some = f"3 of 4: 2 seeds of {ARMS[0]}; 1 seed of {ARMS[1]}"
    assert larger_sizes(what, days) == told.format("day", some)
    small = replace(what, sizes={"cpu": plan, "full": plan})
    none = [told.format("day", "none planned"), told.format("full", "not run: 0 of 4")]
    assert larger_sizes(small, RECORDS) == " ".join(none)
