"""What runs of several sizes say together, and how far it reaches."""

from dataclasses import replace

import pytest

from course_lib.experiments import (
    EXPERIMENTS,
    SHIPPED_RESULTS,
    Experiment,
    Size,
    load_records,
    settle,
    settled,
)
from course_lib.experiments.reach import WITH_SETTINGS, apart, distance, extent

from .test_questions import BIG, record

WIDTHS = {"cpu": 8, "long": 8, "day": 16, "near": 9, "full": 64, "stop": 64}


def toy(document, **asked):
    """An experiment of six sizes: one is nearly as large, one only longer, two a report's own."""

    def train(job):
        raise NotImplementedError

    when = {"full": "after six epochs", "stop": "with the early stop"}
    sizes = {
        name: Size(
            {"epochs": 3 if name == "long" else 1, "n_train": 100, "batch_size": 10}
            | {"d_model": width}
            | ({"patience": 3} if name == "stop" else {}),
            (0, 1, 2),
            1,
            "a desk",
            own=name in when,
            reading=when.get(name, ""),
        )
        for name, width in WIDTHS.items()
    }
    arms = {"small": {}, "big": {}}
    asks = [replace(BIG, document=document, **asked)]
    return Experiment("toy", "a toy", arms, sizes, train, asks)


def runs(size, gain, n=3):
    flat = [{"epoch": i, "loss": 0.5} for i in (1, 2)]
    return [
        replace(
            record(arm, seed, 0.5 + (gain + 0.001 * seed) * (arm == "big")), size=size, metrics=flat
        )
        for seed in range(n)
        for arm in ("small", "big")
    ]


def said(*records, document=WITH_SETTINGS[0], **asked):
    (found,) = settle(toy(document, **asked), [run for some in records for run in some])
    return found


def untrained(some):
    curve = [{"epoch": 1, "score": 0.1}, {"epoch": 2, "score": 0.5}]
    return [replace(run, metrics=curve) for run in some]


def uncurved(some):
    return [replace(run, metrics=run.metrics[:1]) for run in some]


def test_a_small_size_alone_says_what_was_seen_and_no_more():
    for gain, word in ((0.3, "seen as claimed"), (-0.3, "seen the other way round")):
        found = said(runs("cpu", gain))
        assert (found.reach, found.word) == ("small", word)
        assert found.where == "not tested at the document's size" and word in str(found)
        assert "holds" not in str(found) and "fails" not in str(found)
        assert said(runs("cpu", gain), document="a guess").where == "by one size alone"
    assert found.told == "seen the other way round, not tested at the document's size"
    assert found.away == {"cpu": "weights 1.6 %"} and found.reach_of("cpu") == "small"


def test_two_sizes_decide_where_they_agree_and_a_longer_run_shows_that_one_had_ended():
    longer = runs("long", 0.3)
    agree = said(runs("cpu", 0.3), longer, runs("day", 0.2))
    assert (agree.reach, agree.outcome, agree.best) == ("two sizes", "holds", "day")
    assert agree.reach_of("cpu") == agree.reach_of("day") == "two sizes"
    # Sizes that are nearly alike are one.
    assert said(runs("cpu", 0.3), runs("near", 0.2)).reach == "small"
    other = said(runs("cpu", 0.3), runs("day", -0.2))
    assert (other.reach, other.outcome, other.remark) == ("small", "undecided", "sizes disagree")
    open_ = said(runs("cpu", 0.3), runs("day", 0.2, n=1))
    assert (open_.reach, open_.best) == ("small", "cpu")


def test_what_is_not_shown_to_have_ended_says_nothing_of_trained_models():
    small, large = runs("cpu", 0.3), runs("day", 0.2)
    for one, other, longer in (
        # No longer run; one that moved on; a curve that moves, and none that was kept.
        (small, large, []),
        (small, large, runs("long", 0.5)),
        (untrained(small), untrained(large), runs("long", 0.3)),
        (uncurved(small), uncurved(large), runs("long", 0.3)),
    ):
        found = said(one, other, longer)
        assert (found.reach, found.outcome, found.word) == ("small", "holds", "seen as claimed")
        assert found.where == "at two sizes that agree, neither shown to be trained to the end"


def test_one_model_trained_for_longer_is_no_second_size():
    found = said(runs("cpu", 0.3), runs("long", 0.3))
    assert (found.reach, found.told) == (
        "two lengths",
        "seen as claimed, at two lengths of training",
    )
    assert found.reach_of("cpu") == "two lengths"


def test_few_pairs_say_nothing_of_a_document():
    two = said(runs("full", 0.4, n=2))
    assert two.conclusion.verdict.outcome == "undecided"
    assert (two.reach, two.word) == ("own, too few", "undecided")
    assert two.where == "with too few pairs at the document's setting to decide"
    assert two.reach_of("full") == "own, too few"
    assert said(runs("cpu", 0.3), runs("day", 0.2, n=2)).reach == "small"


def test_two_readings_of_one_training_decide_alike_or_not_at_all():
    both = said(runs("full", 0.3), runs("stop", 0.4))
    assert (both.reach, both.outcome) == ("own", "holds")
    assert both.told == (
        "holds, at the document's setting: holds after six epochs (3 pairs);"
        " holds with the early stop (3 pairs)"
    )
    for n, told in ((1, "1 pair points"), (2, "2 pairs point")):
        one = said(runs("full", 0.2, n=n), runs("stop", 0.4))
        assert (one.outcome, one.best) == ("undecided", "stop")
        assert f"after six epochs {told} the same way, which decides nothing" in one.told
        assert "holds with the early stop (3 pairs)" in one.told
        assert (one.word_of("stop"), one.word_of("full")) == ("seen as claimed", "undecided")
    assert "points the other way" in said(runs("full", -0.2, n=1), runs("stop", 0.4)).told
    opposite = said(runs("full", -0.2), runs("stop", 0.4))
    assert (opposite.reach, opposite.outcome) == ("own", "undecided")
    alone = said(runs("stop", 0.4))
    assert alone.outcome == "undecided"
    assert "after six epochs there is no pair on one device" in alone.told


def test_two_questions_may_read_one_training_too():
    what = toy(WITH_SETTINGS[0])
    sizes = {"full": replace(what.sizes["full"], reading="")}
    asks = [
        replace(BIG, document=WITH_SETTINGS[0], key=when, reading=when, training="one", **more)
        for when, more in (("early", {}), ("late", {"metric": "later"}))
    ]
    what = replace(what, sizes=sizes, questions=asks)
    for later, outcome in ((0.3, "holds"), (-0.3, "undecided")):
        records = [
            replace(
                r, results=r.results | {"later": 0.5 + (later + 0.001 * r.seed) * (r.arm == "big")}
            )
            for r in runs("full", 0.4)
        ]
        early, late = settle(what, records)
        assert early.outcome == late.outcome == outcome
        assert early.told.startswith(f"{outcome}, at the document's setting: holds early (3 pairs)")


def test_the_documents_own_setting_decides_with_three_pairs():
    small = runs("cpu", -0.3), runs("day", -0.2)
    full = runs("full", 0.4), runs("stop", 0.4)
    own = said(*small, *full)
    assert (own.reach, own.outcome, own.best) == ("own", "holds", "full")
    assert own.remark == "a small size says otherwise" and own.reach_of("cpu") == "small"
    assert "holds, at the document's setting: " in str(own) and "cpu: -0.2" in str(own)
    one = said(*small, runs("full", 0.4, n=1))
    assert (one.outcome, one.word) == ("fails", "seen the other way round") and "full" in one.found
    assert one.reach_of("full") == "own, too few"
    # A claim without a setting has no size of its own.
    guess = said(*small, *full, document="a guess")
    assert (guess.reach, guess.remark) == ("small", "sizes disagree")


def test_what_moves_or_kept_no_curve_holds_nowhere():
    for doubt in (untrained, uncurved):
        found = said(doubt(runs("full", 0.4)), doubt(runs("stop", 0.4)))
        assert found.outcome == "undecided" and found.word_of("full") == "seen as claimed"


def test_what_the_document_names_and_ours_has_otherwise_is_named():
    full = runs("full", 0.4), runs("stop", 0.4)
    found = said(*full, named={"attention": "prob", "d_model": 64})
    assert (found.reach, found.but) == ("own but", {"attention": "prob"})
    assert found.told == "seen as claimed, at the document's setting but for the attention"
    assert found.reach_of("full") == "own but" and found.word_of("full") == "seen as claimed"
    assert said(*full, named={"d_model": 64}).reach == "own"


def test_a_size_whose_pairs_are_of_two_machines_is_named():
    def moved(some):
        gpu = {"device": "cuda", "gpu": "a card"}
        return [replace(r, hardware=r.hardware | gpu) if r.arm == "big" else r for r in some]

    found = said(runs("cpu", 0.3), moved(runs("full", 0.4)))
    assert (found.apart, [*found.found]) == (("full",), ["cpu"])


def test_what_is_asked_beside_a_report_is_about_its_setting():
    beside = said(runs("full", 0.4), runs("stop", 0.4), document=f"beside {WITH_SETTINGS[0]}")
    assert beside.reach == "own"


@pytest.mark.parametrize(
    ("config", "other", "far"),
    [
        ({"d_model": 8}, {"d_model": 14}, "size"),
        ({"d_model": 8}, {"d_model": 13}, ""),
        ({"n_train": 100, "epochs": 3}, {"n_train": 100, "epochs": 9}, "length"),
        ({"n_train": 100, "epochs": 3}, {"n_train": 300, "epochs": 3}, "size"),
        ({"n_train": 100, "epochs": 3}, {"n_train": 250, "epochs": 3}, ""),
        ({"rounds": 2, "steps": 10}, {"rounds": 2, "steps": 30}, "length"),
        ({"kind": "resnet", "widths": [8, 8]}, {"kind": "resnet", "widths": [16, 16]}, "size"),
    ],
)
def test_sizes_are_apart_by_weights_or_data_and_else_by_their_length(config, other, far):
    assert apart(config, other) == apart(other, config) == far


def test_the_distance_is_told_in_shares_of_the_documents_setting():
    what = EXPERIMENTS["vit-ablations"]
    told = distance(what.config("whole", "cpu"), what.config("whole", "full"))
    assert told == "weights 2.1 %, data 16 %, steps 0.53 %"
    # Fewer pictures, as much more often, are as many steps.
    few = {"n_train": 100, "epochs": 2, "batch_size": 10, "share": 0.2}
    assert "data" not in extent({"n_sentences": 0, "steps": 2})
    assert extent(few)["data"] == 20 and extent(few)["steps"] == extent(few | {"share": 1})["steps"]


def test_each_question_is_settled_once():
    records = load_records(SHIPPED_RESULTS, "scene-positions")
    what = EXPERIMENTS["scene-positions"]
    found = settle(what, records)
    assert [s.question.key for s in found] == [q.key for q in what.questions]
    assert settled("scene-positions", found[0].question.key).found.keys() == found[0].found.keys()
    with pytest.raises(ValueError, match="no record of scene-positions"):
        settled("scene-positions", "nothing")
