"""What runs of several sizes say together, and how far it reaches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from course_lib.experiments import (
    EXPERIMENTS,
    SHIPPED_RESULTS,
    Experiment,
    Record,
    Size,
    load_records,
    settle,
    settled,
)
from course_lib.experiments.reach import WITH_SETTINGS, Settled, apart, distance, extent
from course_lib.experiments.registry import Job, Outcome

from .test_questions import BIG, record

WIDTHS = {"cpu": 8, "day": 16, "near": 9, "full": 64, "stop": 64}


def toy(document: str) -> Experiment:
    """An experiment of five sizes, the last two a report's own; two of them are nearly alike."""

    def train(job: Job) -> Outcome:
        raise NotImplementedError

    sizes = {
        name: Size(
            {"epochs": 1, "d_model": width} | ({"patience": 3} if name == "stop" else {}),
            (0, 1, 2),
            1,
            "a desk",
            own=width == 64,
        )
        for name, width in WIDTHS.items()
    }
    arms = {"small": {}, "big": {}}
    return Experiment("toy", "a toy", arms, sizes, train, [replace(BIG, document=document)])


def runs(size: str, gain: float, n: int = 3) -> list[Record]:
    return [
        replace(record(arm, seed, 0.5 + (gain + 0.001 * seed) * (arm == "big")), size=size)
        for seed in range(n)
        for arm in ("small", "big")
    ]


def said(*records: list[Record], document: str = WITH_SETTINGS[0]) -> Settled:
    (found,) = settle(toy(document), [run for some in records for run in some])
    return found


def test_a_small_size_alone_says_what_was_seen_and_no_more() -> None:
    for gain, word in ((0.3, "seen as claimed"), (-0.3, "seen the other way round")):
        found = said(runs("cpu", gain))
        assert (found.reach, found.word) == ("small", word)
        assert found.where == "not tested at the document's size" and word in str(found)
        assert "holds" not in str(found) and "fails" not in str(found)
        assert said(runs("cpu", gain), document="a guess").where == "by one size alone"
    assert found.told == "seen the other way round, not tested at the document's size"
    assert found.away == {"cpu": "weights 1.6 %"} and found.reach_of("cpu") == "small"


def test_two_sizes_far_enough_apart_decide_where_they_agree() -> None:
    agree = said(runs("cpu", 0.3), runs("day", 0.2))
    assert (agree.reach, agree.outcome, agree.best) == ("two sizes", "holds", "day")
    assert agree.reach_of("cpu") == agree.reach_of("day") == "two sizes"
    # Sizes that are nearly alike are one.
    assert said(runs("cpu", 0.3), runs("near", 0.2)).reach == "small"
    other = said(runs("cpu", 0.3), runs("day", -0.2))
    assert (other.reach, other.outcome, other.remark) == ("small", "undecided", "sizes disagree")
    # A size that is undecided is no second one.
    open_ = said(runs("cpu", 0.3), runs("day", 0.2, n=1))
    assert (open_.reach, open_.best) == ("small", "cpu")


def test_two_unfinished_sizes_say_nothing_of_trained_models() -> None:
    def untrained(some: list[Record]) -> list[Record]:
        curve = [{"epoch": 1, "score": 0.1}, {"epoch": 2, "score": 0.5}]
        return [replace(run, metrics=curve) for run in some]

    def trained(some: list[Record]) -> list[Record]:
        return [replace(run, metrics=[{"epoch": i, "score": 0.5} for i in (1, 2)]) for run in some]

    neither = said(untrained(runs("cpu", 0.3)), untrained(runs("day", 0.2)))
    assert (neither.reach, neither.outcome, neither.word) == ("small", "holds", "seen as claimed")
    assert neither.where == "at two sizes that agree, neither trained to the end"
    for one, other in ((trained, untrained), (untrained, trained), (trained, trained)):
        found = said(one(runs("cpu", 0.3)), other(runs("day", 0.2)))
        assert (found.reach, found.word) == ("two sizes", "holds")


def test_two_pairs_say_nothing_of_a_document() -> None:
    two = said(runs("full", 0.4, n=2))
    assert two.conclusion.verdict.outcome == "holds"
    assert (two.reach, two.word) == ("small", "seen as claimed")
    assert two.where == "with too few pairs at the document's setting to decide"
    assert two.reach_of("full") == "small"
    assert said(runs("cpu", 0.3), runs("day", 0.2, n=2)).reach == "small"


def test_where_a_document_leaves_its_setting_open_all_readings_agree_or_none_decides() -> None:
    agree = said(runs("full", 0.2, n=1), runs("stop", 0.4))
    assert (agree.reach, agree.outcome, agree.best) == ("own", "holds", "stop")
    assert agree.where == "at each setting that the document may mean"
    for other in (runs("full", -0.2, n=1), runs("full", -0.2)):
        apart = said(other, runs("stop", 0.4))
        assert (apart.reach, apart.outcome) == ("own", "undecided")
        assert apart.remark == "it depends on the patience, of which the document says nothing"
        # Neither size may say alone that the claim holds.
        assert {apart.reach_of(size) for size in apart.found} == {"small"}
    close = said(runs("full", 0.2, n=1), runs("stop", 0.0))
    assert close.conclusion.verdict.outcome == "no difference" and close.outcome == "undecided"


def test_the_documents_own_setting_decides_with_three_pairs() -> None:
    small = runs("cpu", -0.3), runs("day", -0.2)
    own = said(*small, runs("full", 0.4))
    assert (own.reach, own.outcome, own.best) == ("own", "holds", "full")
    assert own.remark == "a small size says otherwise" and own.reach_of("cpu") == "small"
    assert "holds, at the document's setting: " in str(own) and "cpu: -0.2" in str(own)
    # One run of each is shown and decides nothing.
    one = said(*small, runs("full", 0.4, n=1))
    assert (one.reach, one.outcome) == ("two sizes", "fails") and "full" in one.found
    assert one.reach_of("full") == "small"
    # A claim without a setting has no size of its own.
    guess = said(*small, runs("full", 0.4), document="a guess")
    assert (guess.reach, guess.remark) == ("small", "sizes disagree")


def test_what_is_asked_beside_a_report_is_about_its_setting() -> None:
    beside = said(runs("full", 0.4), document=f"beside {WITH_SETTINGS[0]}")
    assert beside.reach == "own"


@pytest.mark.parametrize(
    ("config", "other", "far"),
    [
        ({"d_model": 8}, {"d_model": 14}, True),
        ({"d_model": 8}, {"d_model": 13}, False),
        ({"n_train": 100, "epochs": 3}, {"n_train": 100, "epochs": 9}, True),
        ({"n_train": 100, "epochs": 3}, {"n_train": 250, "epochs": 3}, False),
        ({"rounds": 2, "steps": 10, "batch_size": 8}, {"rounds": 2, "steps": 30}, False),
        ({"kind": "resnet", "widths": [8, 8]}, {"kind": "resnet", "widths": [16, 16]}, True),
    ],
)
def test_sizes_are_apart_by_weights_or_by_examples_seen(
    config: dict[str, object], other: dict[str, object], far: bool
) -> None:
    assert apart(config, other) is apart(other, config) is far


def test_the_distance_is_told_in_shares_of_the_documents_setting() -> None:
    what = EXPERIMENTS["vit-ablations"]
    told = distance(what.config("whole", "cpu"), what.config("whole", "full"))
    assert told == "weights 2.1 %, data 16 %, steps 0.53 %"
    # Fewer pictures, as much more often, are as many steps.
    few = {"n_train": 100, "epochs": 2, "batch_size": 10, "share": 0.2}
    assert extent(few)["data"] == 20 and extent(few)["steps"] == extent(few | {"share": 1})["steps"]


def test_estimated_weights_are_near_those_that_records_count() -> None:
    """The share is computed from widths: no model is built to say it."""
    records = load_records(SHIPPED_RESULTS, "informer-ablations")
    what = EXPERIMENTS["informer-ablations"]
    counted = {
        size: next(
            r.results["n_parameters"]
            for r in records
            if (r.arm, r.size) == ("full-attention", size)
        )
        for size in ("cpu", "day")
    }
    guessed = {size: extent(what.config("full-attention", size))["weights"] for size in counted}
    ratio = guessed["cpu"] / guessed["day"] / (counted["cpu"] / counted["day"])
    assert 0.7 < ratio < 1.4


def test_each_question_is_settled_once() -> None:
    records = load_records(SHIPPED_RESULTS, "scene-positions")
    what = EXPERIMENTS["scene-positions"]
    found = settle(what, records)
    assert [s.question.key for s in found] == [q.key for q in what.questions]
    assert settled("scene-positions", found[0].question.key).found.keys() == found[0].found.keys()
    with pytest.raises(ValueError, match="no record of scene-positions"):
        settled("scene-positions", "nothing")
