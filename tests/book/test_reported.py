"""The documents' rows beside our records."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from docutils import nodes

from course_lib.benchmarks import attention, cluster, grading, growth
from course_lib.book.energy import assumptions
from course_lib.book.forest import forest
from course_lib.book.reported import (
    BENCHMARKS,
    Reported,
    load_known,
    load_reported,
    rows,
)
from course_lib.book.results import by_table, cells, tally
from course_lib.experiments import (
    EXPERIMENTS,
    Experiment,
    Question,
    Record,
    RecordError,
    Size,
    load_record,
    load_records,
    measured,
)
from course_lib.experiments.registry import Job, Outcome

BOOK = Path(__file__).parents[2] / "book"
RECORDS = load_records(BOOK / "results")
KEPT = next(record for record in RECORDS if record.experiment == "cost")
CARD = {"document": "lecture", "table": "Table 1", "row": "plain"}
PLAIN = CARD | {"metric": "score", "experiment": "toy", "arm": "small"}


def record(arm: str, seed: int, score: float, size: str = "cpu") -> Record:
    results = {"score": score, "by": {"1.2": {"a": 0.25}}, "right": True}
    return replace(KEPT, experiment="toy", arm=arm, size=size, seed=seed, results=results)


def toy(control: float = 0.0) -> dict[str, Experiment]:
    """An experiment whose control asks for more than so much."""

    def train(job: Job) -> Outcome:
        raise NotImplementedError

    def learned(record: Record) -> float:
        return 1 + 0.01 * record.seed

    questions = (
        Question("big", "Big is better.", "the lecture", "big", "small", "score", margin=0.1),
        Question("part", "Big has more of a.", "the lecture", "big", "small", "by.1.2.a"),
        Question("learns", "It learns.", "control", "*", metric=learned, minus=control),
    )
    sizes = {size: Size({"epochs": 1}, (0, 1, 2), 1, "a desk") for size in ("cpu", "full")}
    return {"toy": Experiment("toy", "a toy", {"small": {}, "big": {}}, sizes, train, questions)}


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
    printed = load_reported(put(tmp_path, PLAIN, big, CARD), RUNS, toy())
    small, large, nobody = rows(printed, RUNS, toy())
    assert (small.verdict, small.printed.value, small.n) == ("reference", None, 3)
    assert (large.verdict, large.size, large.n) == ("stands", "cpu", 3)
    assert large.mean == pytest.approx(1.11) and large.std == pytest.approx(0.11)
    assert (nobody.verdict, nobody.mean, nobody.std, nobody.n) == ("not run", None, None, 0)
    data = large.data()
    assert {key: data[key] for key in CARD} == CARD | {"row": "big"}
    assert data["family"] == "toy" and data["seeds"] == [0, 1, 2] and data["margin"] == 0.1
    assert data["difference"] == pytest.approx(1.01) and data["low"] < 1.01 < data["high"]
    assert 0 < data["p"] <= data["p_adjusted"] < 0.05 and data["remarks"] == []
    assert (
        data["core_minutes"] == pytest.approx(RUNS[0].device_seconds / 60)
        and data["n_weights"] is None
    )
    assert nobody.data()["core_minutes"] is None and nobody.data().keys() == data.keys()
    assert nobody.data()["compared_with"] == "" and nobody.data()["p_adjusted"] is None
    json.dumps(data)


def test_a_row_tells_what_it_is_compared_with_and_where_the_documents_difference_lies() -> None:
    own = [
        Reported("lecture", "t", "a", "score", value, "s", "toy", arm, "big" * (arm == "big"))
        for arm, value in (("small", 0.5), ("big", 1.5))
    ]
    _, large = rows(own, RUNS, toy())
    assert large.compared_with == ("small", pytest.approx(0.1))
    assert large.difference == 1.0 and large.inside is True
    # From the other side, the difference is turned as the question has it.
    turned = [replace(own[0], conclusion="big"), replace(own[1], conclusion="", value=4.5)]
    small, _ = rows(turned, RUNS, toy())
    assert small.compared_with == ("big", pytest.approx(1.11))
    assert small.difference == 4.0 and small.inside is False
    # The document may compare with another row, of another table, too.
    other = Reported("lecture", "u", "b", "score", 1.0, "s")
    (alone, _) = rows([replace(own[1], against="b"), other], RUNS, toy())
    assert alone.difference == 0.5
    (none,) = rows([own[1]], RUNS, toy())
    assert none.difference is None and none.inside is None


def test_the_picture_has_each_question_once_and_says_what_it_shows() -> None:
    own = [Reported("lecture", "t", "a", "score", value, "s", "toy", arm, "big")
           for arm, value in (("small", 0.5), ("big", 1.5))]  # fmt: skip
    drawn = forest([*rows(own, RUNS, toy()), *rows([Reported(**CARD)], [], toy())])
    tree = ElementTree.fromstring(drawn)
    assert tree.get("role") == "group" and "stands 2, not run 1" in tree.get("aria-label", "")
    (asked,) = tree.findall("g")
    assert asked.get("class") == "stands" and asked.findtext("text") == "big"
    assert "Big is better." in asked.findtext("title", "")
    assert [part.get("class") for part in asked.findall("path")] == ["interval", "document"]


def test_every_size_has_its_own_row_and_verdict() -> None:
    printed = [Reported("lecture", "t", "r", "score", None, "", "toy", "big", "big")]
    more = [*RUNS, record("big", 0, 0.5, "full"), record("small", 0, 0.9, "full")]
    found = {row.size: (row.verdict, row.n, row.std is None) for row in rows(printed, more, toy())}
    assert found == {"cpu": ("stands", 3, False), "full": ("undecided", 1, True)}


def test_nothing_is_decided_where_a_control_fails_or_no_seed_is_shared() -> None:
    printed = [Reported("lecture", "t", "r", "score", None, "", "toy", "big", "big")]
    assert [row.verdict for row in rows(printed, RUNS, toy(control=1))] == ["not testable"]
    apart = [run for run in RUNS if (run.arm == "big") == (run.seed == 0)]
    assert [row.verdict for row in rows(printed, apart, toy())] == ["undecided"]
    down = [record(r.arm, r.seed, -r.results["score"]) for r in RUNS]
    assert [row.verdict for row in rows(printed, down, toy())] == ["does not"]


def test_a_question_without_one_of_its_arms_is_not_run() -> None:
    printed = [Reported("lecture", "t", "r", "score", None, "", "toy", "big", "big")]
    # What the other arm has at another size is no partner.
    alone = [run for run in RUNS if run.arm == "big"] + [record("small", 0, 0.5, "full")]
    (row,) = rows(printed, alone, toy())
    assert (row.verdict, row.missing, row.n, row.conclusion) == ("not run", ("small",), 3, None)
    assert "not run: no record of small" in cells(row) and row.data()["missing"] == ["small"]
    assert tally([row]) == "rows 1: not run 1"
    (reference,) = rows([replace(printed[0], conclusion="")], alone, toy())
    assert (reference.verdict, reference.missing) == ("reference", ())
    (whole,) = rows(printed, RUNS, toy())
    assert (whole.verdict, whole.missing) == ("stands", ())


def test_nested_numbers_are_found_though_keys_hold_dots() -> None:
    assert measured(RUNS[0], "by.1.2.a") == 0.25
    for wrong in ("by", "by.1.2", "by.1", "right", "sore", "score.x"):
        with pytest.raises(ValueError, match=f"toy small has no number {wrong!r}; its results: sc"):
            measured(RUNS[0], wrong)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("text", "'text'.*wanted a mapping"),
        ({"document": "lecture"}, "table is missing; row is missing"),
        (CARD | {"claim": "x"}, "claim is unknown"),
        (CARD | {"document": "a novel"}, "document is 'a novel'"),
        (CARD | {"row": 3}, "row is 3: input should be a valid string"),
        (CARD | {"row": ""}, "row is '': string should have at least 1 character"),
        (
            PLAIN | {"value": "0.5", "setting": "s"},
            "value is '0.5': input should be a valid",
        ),
        (PLAIN | {"value": 0.5}, "needs its metric and its setting"),
        (CARD | {"arm": "small"}, "needs its experiment"),
        (CARD | {"conclusion": "big"}, "needs its experiment"),
        (CARD | {"experiment": "toy", "arm": "small"}, "needs an arm and a metric"),
        (PLAIN | {"experiment": "tog"}, r"experiment is 'tog', wanted one of \['toy'\]"),
        (PLAIN | {"arm": "medium"}, r"arm is 'medium', toy has \['small', 'big'\]"),
        (PLAIN | {"metric": "sore"}, "no number 'sore'"),
        (
            PLAIN | {"conclusion": "bug"},
            r"conclusion is 'bug', toy has \['big', 'learns'",
        ),
        (PLAIN | {"conclusion": "part"}, r"'part' is about .*by.1.2.a.*, the row about .*'score'"),
    ],
)
def test_what_is_wrong_is_said_with_the_entrys_name(
    tmp_path: Path, entry: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=rf"results\.yml, entry 2 \(.*{message}"):
        load_reported(put(tmp_path, CARD, entry), RUNS, toy())


def test_a_conclusion_is_not_missed_in_a_folder_with_some_of_the_arms(tmp_path: Path) -> None:
    path = put(tmp_path, PLAIN | {"conclusion": "big"})
    assert load_reported(path, [run for run in RUNS if run.arm == "small"], toy())
    assert load_reported(path, [], toy())


def test_the_books_rows_are_in_order() -> None:
    printed = load_reported(BOOK / "results.yml", RECORDS)
    assert len(set(printed)) == len(printed)
    found = {(entry.document, entry.table) for entry in printed}
    assert found >= {("ablation-report", f"Table {i}") for i in range(1, 7)}
    labels = ("V.A Classification performance", "V.B Training dynamics", "V.D Ablation studies")
    assert found >= {("cifar-report", label) for label in labels}


def test_the_trained_size_stands_beside_the_small_one() -> None:
    printed = [p for p in load_reported(BOOK / "results.yml") if p.experiment == "image-models"]
    assert {p.arm for p in printed} == {a for a, _ in EXPERIMENTS["image-models"].committed("day")}
    assert {row.verdict for row in rows(printed, [])} == {"not run"}
    trained = load_record(BOOK / "results" / "vit-ablations" / "whole-day-0.json")
    alone = rows(printed, [replace(trained, experiment="image-models", arm="resnet")])
    assert [(row.verdict, row.n) for row in alone] == [("not run", 1)] + [("not run", 0)] * 3


def table_of(document: str, table: str) -> dict[str, dict[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for entry in load_reported(BOOK / "results.yml"):
        if (entry.document, entry.table) == (document, table):
            found.setdefault(entry.row, {})[entry.metric] = entry.value
    return found


def test_tables_have_all_their_rows_as_printed() -> None:
    def errors(*numbers: tuple[float, float]) -> list[dict[str, float]]:
        return [{"mse": mse, "mae": mae} for mse, mae in numbers]

    def accuracies(*numbers: float) -> list[dict[str, float]]:
        return [{"accuracy": value} for value in numbers]

    vanilla = (0.519, 0.513)
    wanted = {
        ("ablation-report", "Table 1"): accuracies(0.686, 0.673, 0.686, 0.689, 0.7077),
        ("ablation-report", "Table 2"): errors(
            vanilla, (0.8696, 0.7147), (0.914, 0.723), (0.584, 0.5967), (0.5166, 0.524)
        ),
        ("ablation-report", "Table 3"): errors(
            (0.3065, 0.3709), (0.7356, 0.5960), (0.6265, 0.5803), (0.2694, 0.3525)
        ),
        ("ablation-report", "Table 4"): errors(vanilla, (0.950, 0.7031), (0.8216, 0.7031)),
        ("ablation-report", "Table 5"): errors(vanilla, (0.559, 0.547)),
        ("ablation-report", "Table 6"): errors((0.8820, 0.7249), (0.5846, 0.5742)),
        ("cifar-report", "V.A Classification performance"): accuracies(0.942, 0.918, 0.935, 0.931),
        ("cifar-report", "V.D Ablation studies"): accuracies(
            0.931, 0.844, 0.899, 0.81, 0.778, 0.867
        ),
    }
    for (document, table), numbers in wanted.items():
        assert list(table_of(document, table).values()) == numbers, table


def directive(page: Any, name: str, srcdir: Path) -> tuple[Any, list[str]]:
    """A directive of the page, and the files that it watches."""
    watched: list[str] = []
    env = SimpleNamespace(srcdir=str(srcdir), note_dependency=watched.append)
    made = getattr(page, name).__new__(getattr(page, name))
    made.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    return made, watched


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BOOK / "_ext"))
    return importlib.import_module("course_results")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 3}, "gru-cpu-0.json: schema is 3: input should be 1 or 2"),
        ({"seed": None}, "gru-cpu-0.json: seed is missing"),
        ({"experiment": "seq2seq-bottle"}, "gru-cpu-0.json: experiment 'seq2seq-bottle' is none"),
        ({"arm": "tanh"}, "tanh-cpu-0.json: arm 'tanh' is none of gru, gru-attention"),
    ],
)
def test_a_record_that_is_not_as_it_should_be_fails_the_page(
    page: Any, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    good = BOOK / "results" / "seq2seq-bottleneck" / "gru-cpu-0.json"
    values = json.loads(good.read_text()) | changes
    values = {name: value for name, value in values.items() if value is not None}
    name = f"{values['arm']}-cpu-0.json"
    path = tmp_path / "book" / "results" / values["experiment"] / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(values))
    (tmp_path / "book" / "results.yml").write_text("[]")
    for name in ("ResultsTable", "DocumentTables", "EnergyTable"):
        with pytest.raises(RecordError, match=message):
            directive(page, name, tmp_path)[0].run()


def test_records_of_benchmarks_are_known() -> None:
    known = (attention, cluster, growth, grading)
    assert tuple(module.EXPERIMENT for module in known) == BENCHMARKS
    assert load_known(BOOK / "results") == RECORDS


def test_the_page_has_a_section_for_every_experiment(page: Any) -> None:
    sections = directive(page, "ResultsTable", BOOK.parent)[0].run()
    assert [s["ids"] for s in sections] == [[f"results-{name}"] for name in EXPERIMENTS]
    (costs,) = directive(page, "EnergyTable", BOOK.parent)[0].run()
    shown = [
        [entry.astext() for entry in row.findall(nodes.entry)] for row in costs.findall(nodes.row)
    ]
    assert shown[0][-1] == "Minutes on a GPU, at least" and shown[-1][:2] == [
        "all",
        f"{len(RECORDS)}",
    ]
    assert {cells[0] for cells in shown if not cells[-1]} == {*BENCHMARKS, "scan-orders"}
    counts, plan = directive(page, "SizesTable", BOOK.parent)[0].run()
    assert counts.astext().startswith("Runs so far: ")
    names = [next(row.findall(nodes.entry)).astext() for row in plan.findall(nodes.row)]
    assert names == ["Experiment", *(n for n, what in EXPERIMENTS.items() if "day" in what.sizes)]
    (said,) = directive(page, "CostAssumptions", BOOK.parent)[0].run()
    assert said.astext() == assumptions()


def test_the_page_shows_the_rows_of_the_command(page: Any) -> None:
    tables, watched = directive(page, "DocumentTables", BOOK.parent)
    said, *sections = tables.run()
    found = rows(load_reported(BOOK / "results.yml", RECORDS), RECORDS)
    assert said.astext().lower() == tally(found) + "."
    (drawn,) = directive(page, "ResultsPicture", BOOK.parent)[0].run()
    assert drawn.astext() == forest(found)
    assert len(sections) == len(by_table(found)) and watched == [str(BOOK / "results.yml")]
    shown = [
        [entry.astext() for entry in row.findall(nodes.entry)]
        for section in sections
        for row in next(section.findall(nodes.tbody)).findall(nodes.row)
    ]
    assert shown == [cells(row) for rows_ in by_table(found).values() for row in rows_]
