"""The documents' rows beside our records."""

import importlib
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import docutils.nodes
import pytest
import yaml

from course_lib.book.cards import above, claims, lead, lines, margins, shared, table
from course_lib.book.document_rows import (
    BENCHMARKS,
    NO_PAIR,
    UNCOUNTED,
    Reported,
    load_known,
    load_reported,
    rows,
)
from course_lib.book.results import cards, tally, text
from course_lib.experiments import (
    EXPERIMENTS,
    Experiment,
    Question,
    RecordError,
    Size,
    load_record,
    load_records,
    measured,
)
from course_lib.experiments.reach import FAR
from course_tests.benchmarks.attention import EXPERIMENT as ATTENTION_SPEED

BOOK = Path(__file__).parents[2] / "book"
RECORDS = load_records(BOOK / "results")
KEPT = next(record for record in RECORDS if record.experiment == "cost")
CARD = {"document": "lecture", "table": "Table 1", "row": "plain"}
PLAIN = CARD | {"metric": "score", "experiment": "toy", "arm": "small"}


def record(arm, seed, score, size="cpu"):
    results = {"score": score, "by": {"1.2": {"a": 0.25}}, "right": True}
    return replace(
        KEPT,
        experiment="toy",
        arm=arm,
        size=size,
        seed=seed,
        config={"epochs": 1, "d_model": {"cpu": 8, "day": 16, "full": 64}[size]},
        metrics=[{"epoch": i, "score": score} for i in (1, 2)],
        results=results,
        finished="2026-11-25T00:00:00+00:00",
    )


def toy(control=0.0, document="the lecture"):
    """An experiment whose control asks for more than so much; ``full`` is a report's own size."""

    def train(job):
        raise NotImplementedError

    def learned(record):
        return 1 + 0.01 * record.seed

    questions = (
        Question("big", "Big is better.", document, "big", "small", "score", margin=0.1),
        Question("part", "Big has more of a.", "the lecture", "big", "small", "by.1.2.a"),
        Question("learns", "It learns.", "control", "*", metric=learned, minus=control),
    )
    sizes = {
        size: Size({"epochs": 1, "d_model": d}, (0, 1, 2), 1, "a desk", own=size == "full")
        for size, d in (("cpu", 8), ("day", 16), ("full", 64))
    }
    return {"toy": Experiment("toy", "a toy", {"small": {}, "big": {}}, sizes, train, questions)}


RUNS = [record("small", seed, 0.1 * seed) for seed in range(3)] + [
    record("big", seed, 1 + 0.11 * seed) for seed in range(3)
]


def put(folder, *entries):
    path = folder / "results.yml"
    path.write_text(yaml.safe_dump(list(entries)))
    return path


def test_a_row_gets_mean_spread_and_the_rules_verdict(tmp_path):
    big = CARD | {
        "row": "big",
        "metric": "score",
        "value": 2,
        "setting": "elsewhere",
        "experiment": "toy",
        "arm": "big",
        "conclusion": "big",
    }
    printed = load_reported(put(tmp_path, PLAIN, big, CARD), RUNS, toy())
    small, large, nobody = rows(printed, RUNS, toy())
    assert (small.verdict, small.printed.value, small.n) == ("reference", None, 3)
    assert (large.verdict, large.size, large.n) == ("as claimed", "cpu", 3)
    assert large.mean == pytest.approx(1.11) and large.std == pytest.approx(0.11)
    assert (nobody.verdict, nobody.mean, nobody.std, nobody.n) == ("not run", None, None, 0)
    data = large.data()
    assert {key: data[key] for key in CARD} == CARD | {"row": "big"}
    assert data["family"] == "toy" and data["seeds"] == [0, 1, 2] and data["margin"] == 0.1
    assert data["difference"] == pytest.approx(1.01) and data["low"] < 1.01 < data["high"]
    assert 0 < data["p"] <= data["p_adjusted"] < 0.05 and data["remarks"] == []
    assert (data["reach"], data["differs"], data["converged"]) == ("small", [], True)
    low, high = data["prediction_interval"]
    assert low < data["low"] and data["high"] < high
    assert data["core_minutes"] == pytest.approx(RUNS[0].device_seconds / 60)
    assert data["n_weights"] is None
    assert nobody.data()["core_minutes"] is None and nobody.data().keys() == data.keys()
    assert nobody.data()["compared_with"] == "" and nobody.data()["p_adjusted"] is None
    json.dumps(data)


def test_a_row_tells_what_it_is_compared_with_and_where_the_documents_difference_lies():
    own = [
        Reported("lecture", "t", "a", "score", value, "s", "toy", arm, "big" * (arm == "big"))
        for arm, value in (("small", 0.5), ("big", 1.5))
    ]
    _, large = rows(own, RUNS, toy())
    assert large.compared_with == ("small", pytest.approx(0.1))
    assert large.difference == 1.0 and large.inside is True
    # From the other side, the difference is turned as the question has it; the row's own is not.
    turned = [replace(own[0], conclusion="big"), replace(own[1], conclusion="", value=4.5)]
    small, _ = rows(turned, RUNS, toy())
    assert small.compared_with == ("big", pytest.approx(1.11))
    assert small.difference == 4.0 and small.inside is False
    data = small.data()
    assert data["document_difference"] == -4.0
    assert data["difference"] == pytest.approx(data["mean"] - data["compared_mean"])
    assert data["low"] < data["difference"] < data["high"] < 0
    other = Reported("lecture", "u", "b", "score", 1.0, "s")
    (alone, _) = rows([replace(own[1], against="b"), other], RUNS, toy())
    assert alone.difference == 0.5
    (none,) = rows([own[1]], RUNS, toy())
    assert none.difference is None and none.inside is None


def card_of(runs, **more):
    own = [
        Reported("lecture", "t", "a", "score", value, "s", "toy", arm, "big" * (arm == "big"))
        for arm, value in (("small", 0.5), ("big", 1.5))
    ]
    what = toy(**more)
    found = cards([*what.values()], runs, rows(own, runs, what))
    (card,) = [c for page in found.values() for c in page if c.settled.question.key == "big"]
    return card


FULL = [replace(run, size="full") for run in RUNS]
REPORT = "the ablation report"
BIG = [Reported("lecture", "t", "r", "score", None, "", "toy", "big", "big")]


def test_only_the_documents_setting_says_that_a_claim_holds():
    small = card_of(RUNS, document=REPORT)
    assert "seen as claimed; not tested at the document's size" in text(small).replace(", ", "; ")
    assert "holds" not in text(small) and "weights" not in text(small)
    own = card_of([*RUNS, *FULL], document=REPORT)
    assert "holds, at the document's setting" in text(own)
    assert "size cpu (weights 1.6 % of the document's)" in text(own)
    # Without a setting of its own a claim needs a longer run beside two sizes.
    assert "neither shown to be trained to the end" in text(card_of([*RUNS, *FULL]))


def test_a_card_is_a_sentence_a_strip_and_all_else_folded():
    card = card_of([*RUNS, *FULL], document=REPORT)
    (made,) = claims([card])
    tree = ElementTree.fromstring(made)
    assert tree.tag == "details" and tree.get("class") == "result reach-own"
    summary = tree[0]
    assert summary.findtext("span[@class='result-claim']") == "Big is better."
    drawn = summary.find("svg")
    assert drawn is not None and "strip-holds" in drawn.get("class", "")
    classes = [part.get("class") for part in drawn]
    assert {"margin", "interval", "predicted", "other", "document"} <= {*classes}
    folded = " ".join(tree.find("dl").itertext())
    assert "prediction interval" in folded and "adjusted" in folded
    # In no colour of an answer, where a small size is all there is.
    (grey,) = claims([card_of(RUNS, document=REPORT)])
    assert "strip-small" in grey and "strip-holds" not in grey


def printed_rows(*values):
    return [
        Reported(
            "lecture", "Table 1", name, "score", value, "s", "toy", arm, "big" * (arm == "big")
        )
        for name, value, arm in values
    ]


def cells(made):
    body = ElementTree.fromstring(made).find("tbody")
    return [["|".join(cell.itertext()) for cell in line] for line in body]


def test_a_table_has_the_documents_numbers_beside_ours_in_its_order():
    printed = [*printed_rows(("base", 0.5, "small"), ("big", 1.5, "big")), Reported(**CARD)]
    (its,) = lines(rows(printed, RUNS, toy())).values()
    plain, big, nobody = cells(table(its, {}))
    half = 4.302653 * 0.1 / 3**0.5
    assert plain[:3] == ["base", "0.5", f"0.1 ± {half:.3g}, n = 3"]
    assert plain[3:] == ["small|toy, cpu", "reference"]
    assert big[1] == "1.5|difference +1"
    assert big[2].startswith("1.11 ± ") and "|difference +1.01 (+0.985 to +1.03), 3 pairs" in big[2]
    assert big[4] == "as claimed" and nobody[1:] == ["–", "not run", "–", "not run"]


def test_a_line_shows_the_runs_nearest_to_the_document():
    printed = printed_rows(("plain", 0.5, "small"), ("big", 1.5, "big"))
    few = [run for run in FULL if run.seed < 2]
    for own, reach in ((FULL, "own"), (few, "small")):
        found = rows(printed, [*RUNS, *own], toy(document=REPORT))
        (plain, big), *_ = lines(found).values()
        assert [row.reach for row in big] == [reach]
        # The baseline stands there at each size with which a row is compared.
        assert {row.size for row in plain} >= {row.size for row in big}


def test_pairs_of_two_machines_are_shown_and_decide_nothing():
    gpu = {"device": "cuda", "gpu": "a card"}
    moved = [replace(r, hardware=r.hardware | gpu) if r.arm == "big" else r for r in RUNS]
    _, big = rows(printed_rows(("plain", 0.5, "small"), ("big", 1.5, "big")), moved, toy())
    assert (big.verdict, big.n, big.conclusion) == ("no pair on one device", 3, None)
    assert big.data()["difference"] is None


def test_a_question_that_is_younger_than_its_runs_says_so():
    experiment = toy()["toy"]
    young = tuple(replace(q, asked="2999-01-01T00:00:00+00:00") for q in experiment.questions)
    _, big = rows(
        printed_rows(("plain", 0.5, "small"), ("big", 1.5, "big")),
        RUNS,
        {"toy": replace(experiment, questions=young)},
    )
    assert (big.verdict, big.n, big.conclusion) == ("no pair counts", 3, None)


def test_what_is_true_of_many_claims_is_said_once_above_them():
    card = card_of(RUNS, document=REPORT)
    marks = shared([card] * 3)
    assert marks == {"not tested at the document's size": "a"} and not shared([card] * 2)
    (line,) = above([card] * 3)
    assert line == "a: not tested at the document's size."
    (made,) = claims([card], marks)
    assert "not tested" not in made and "<sup>a</sup>" in made
    assert "11 claims have one baseline in common, the arm small of toy" in next(above([card] * 11))


def test_the_page_of_the_cifar_report_opens_with_its_number_and_ours():
    printed = rows(load_reported(BOOK / "results.yml", RECORDS), RECORDS)
    opening = [*lead([row for row in printed if row.printed.document == "cifar-report"])]
    assert opening == [
        "None (full model): the document prints 93.1 %; at its setting ours has 81.5 % (one run)."
    ]


def test_every_margin_has_one_reason():
    found = margins(EXPERIMENTS.values(), BOOK)
    asked = [q.margin for e in EXPERIMENTS.values() for q in e.questions if q.document != "control"]
    assert sum(n for _, _, n, _ in found) == sum(margin is not None for margin in asked)
    assert all(n and why for _, _, n, why in found)
    unknown = replace(toy()["toy"], name="nowhere")
    with pytest.raises(ValueError, match="0 reasons for the margin 0.1 of nowhere/big"):
        margins([unknown], BOOK)


def test_every_size_has_its_own_row_and_verdict():
    more = [*RUNS, record("big", 0, 0.5, "full"), record("small", 0, 0.9, "full")]
    found = {row.size: (row.verdict, row.n, row.std is None) for row in rows(BIG, more, toy())}
    assert found == {"cpu": ("as claimed", 3, False), "full": ("undecided", 1, True)}


def test_nothing_is_decided_where_a_control_fails_or_no_seed_is_shared():
    assert [row.verdict for row in rows(BIG, RUNS, toy(control=1))] == ["not testable"]
    apart = [run for run in RUNS if (run.arm == "big") == (run.seed == 0)]
    assert [row.verdict for row in rows(BIG, apart, toy())] == ["no pair counts"]
    down = [record(r.arm, r.seed, -r.results["score"]) for r in RUNS]
    assert [row.verdict for row in rows(BIG, down, toy())] == ["the other way round"]


def test_a_question_without_one_of_its_arms_is_not_run():
    alone = [run for run in RUNS if run.arm == "big"] + [record("small", 0, 0.5, "full")]
    (row,) = rows(BIG, alone, toy())
    assert (row.verdict, row.missing, row.n, row.conclusion) == ("not run", ("small",), 3, None)
    assert row.data()["missing"] == ["small"] and row.data()["reach"] == "small"
    (reference,) = rows([replace(BIG[0], conclusion="")], alone, toy())
    assert (reference.verdict, reference.missing) == ("reference", ())
    (whole,) = rows(BIG, RUNS, toy())
    assert (whole.verdict, whole.missing) == ("as claimed", ())


def test_nested_numbers_are_found_though_keys_hold_dots():
    assert measured(RUNS[0], "by.1.2.a") == 0.25
    for wrong in ("by", "by.1.2", "by.1", "right", "sore", "score.x"):
        with pytest.raises(ValueError, match=f"toy small has no number {wrong!r}; its results: sc"):
            measured(RUNS[0], wrong)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("text", "'text'.*expected a mapping"),
        ({"document": "lecture"}, "table is missing; row is missing"),
        (CARD | {"claim": "x"}, "claim is unknown"),
        (CARD | {"document": "a novel"}, "document is 'a novel'"),
        (CARD | {"row": 3}, "row is 3: input should be a valid string"),
        (CARD | {"row": ""}, "row is '': string should have at least 1 character"),
        (PLAIN | {"value": "0.5", "setting": "s"}, "value is '0.5': input should be a valid"),
        (PLAIN | {"value": 0.5}, "needs its metric and its setting"),
        (CARD | {"arm": "small"}, "needs its experiment"),
        (CARD | {"conclusion": "big"}, "needs its experiment"),
        (CARD | {"experiment": "toy", "arm": "small"}, "needs an arm and a metric"),
        (PLAIN | {"experiment": "tog"}, r"experiment is 'tog', expected one of \['toy'\]"),
        (PLAIN | {"arm": "medium"}, r"arm is 'medium', toy has \['small', 'big'\]"),
        (PLAIN | {"metric": "sore"}, "no number 'sore'"),
        (PLAIN | {"conclusion": "bug"}, r"conclusion is 'bug', toy has \['big', 'learns'"),
        (PLAIN | {"conclusion": "part"}, r"'part' is about .*by.1.2.a.*, the row about .*'score'"),
    ],
)
def test_what_is_wrong_is_said_with_the_entrys_name(tmp_path, entry, message):
    with pytest.raises(ValueError, match=rf"results\.yml, entry 2 \(.*{message}"):
        load_reported(put(tmp_path, CARD, entry), RUNS, toy())


def test_a_conclusion_is_not_missed_in_a_folder_with_some_of_the_arms(tmp_path):
    path = put(tmp_path, PLAIN | {"conclusion": "big"})
    assert load_reported(path, [run for run in RUNS if run.arm == "small"], toy())
    assert load_reported(path, [], toy())


def test_the_books_rows_are_in_order():
    printed = load_reported(BOOK / "results.yml", RECORDS)
    assert len(set(printed)) == len(printed)
    found = {(entry.document, entry.table) for entry in printed}
    assert found >= {("ablation-report", f"Table {i}") for i in range(1, 7)}
    labels = ("V.A Classification performance", "V.B Training dynamics", "V.D Ablation studies")
    assert found >= {("cifar-report", label) for label in labels}


def directive(page, name, srcdir):
    watched = []
    env = SimpleNamespace(
        srcdir=str(srcdir), note_dependency=watched.append, docname="book/results"
    )
    made = getattr(page, name).__new__(getattr(page, name))
    made.state = SimpleNamespace(document=SimpleNamespace(settings=SimpleNamespace(env=env)))
    return made, watched


@pytest.fixture
def page(monkeypatch):
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
def test_a_record_that_is_not_as_it_should_be_fails_the_page(page, tmp_path, changes, message):
    good = BOOK / "results" / "seq2seq-bottleneck" / "gru-cpu-0.json"
    values = json.loads(load_record(good).to_json()) | changes
    values = {name: value for name, value in values.items() if value is not None}
    name = f"{values['arm']}-cpu-0.json"
    path = tmp_path / "book" / "results" / values["experiment"] / name
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(values))
    (tmp_path / "book" / "results.yml").write_text("[]")
    for name in ("DocumentResults", "ResultsSummary"):
        made, _ = directive(page, name, tmp_path)
        made.arguments = ["lecture"]
        with pytest.raises(RecordError, match=message):
            made.run()


def test_records_of_benchmarks_are_known():
    assert ATTENTION_SPEED in BENCHMARKS
    assert {*BENCHMARKS} <= {path.stem for path in (BOOK / "results").iterdir()}
    assert load_known(BOOK / "results") == RECORDS


def test_no_row_of_the_book_says_more_than_its_runs_reach():
    found = [row.data() for row in rows(load_reported(BOOK / "results.yml", RECORDS), RECORDS)]
    for row in found:
        if row["verdict"] in ("holds", "fails"):
            assert row["reach"] in FAR and row["converged"] is True and len(row["seeds"]) >= 3
            assert not row["differs_from_document"]
        told = row["verdict"] not in ("undecided", "reference", "not run", NO_PAIR, UNCOUNTED)
        if told and row["p"] != 1:
            assert len(row["seeds"]) >= 3, row
        if row["difference"] is not None and row["compared_mean"] is not None:
            assert row["difference"] == pytest.approx(row["mean"] - row["compared_mean"])


def test_every_claim_has_one_row_on_the_page_of_its_document(page):
    by_page, printed = page._found(BOOK)
    toc = (BOOK.parent / "_toc.yml").read_text()
    for key, members in by_page.items():
        name = page.page_of(key)
        assert f"- file: {name}\n" in toc
        shown = (BOOK.parent / f"{name}.md").read_text()
        assert f"```{{document-results}} {key}\n" in shown
        made, watched = directive(page, "DocumentResults", BOOK.parent)
        made.arguments, made.parse_content_to_nodes = [key], list
        nodes = made.run()
        assert tally(members) in [node.astext() for node in nodes]
        assert watched == [str(BOOK / "results.yml")]
        shown = "".join(raw.astext() for node in nodes for raw in node.findall(docutils.nodes.raw))
        # Twelve screens hold about eighty rows.
        assert shown.count('<details class="result ') == len(members) < 80
        tables = {row.printed.table for row in printed if row.printed.document == key}
        assert shown.count('<table class="result-table">') == len(tables)
    asked = {
        (e.name, q.key)
        for e in EXPERIMENTS.values()
        for q in e.questions
        if q.document != "control" and ", mae" not in q.key
        if any(r.experiment == e.name for r in RECORDS)
    }
    shown_keys = {(c.experiment, c.settled.question.key) for m in by_page.values() for c in m}
    assert shown_keys <= asked
    ran = {(row.printed.experiment, row.printed.conclusion) for row in printed if row.conclusion}
    assert {(e, k) for e, k in ran if ", mae" not in k} <= shown_keys
