"""What is asked of records, and which of them decide."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib.experiments import (
    EXPERIMENTS,
    SHIPPED_RESULTS,
    Experiment,
    Question,
    Size,
    conclusions,
    load_record,
    load_records,
)
from course_lib.experiments import questions as questions_module
from course_lib.experiments.questions import ALL, answers, apart_by_machine, from_table, learned
from course_lib.experiments.record import pack_items

KEPT = load_record(SHIPPED_RESULTS / "cost" / "full-cpu-0.json")

BIG = Question("big", "Big is better.", "a report", "big", "small", "score", margin=0.1)


def record(arm, seed, score, size="cpu", **results):
    return replace(
        KEPT,
        experiment="toy",
        arm=arm,
        size=size,
        seed=seed,
        metrics=[{"epoch": 1, "right": 0.1}, {"epoch": 2, "right": 0.1 + score}],
        results={"score": score, **results},
        finished="2026-11-25T00:00:00+00:00",
    )


def runs(gain, seeds=range(3), base=0.3):
    return [
        record(arm, seed, base + 0.01 * seed + (gain + 0.001 * seed) * (arm == "big"))
        for seed in seeds
        for arm in ("small", "big")
    ]


def toy(*questions):
    def train(job):
        raise NotImplementedError

    sizes = {"cpu": Size({"epochs": 1}, (0, 1, 2), 1, "a desk")}
    return Experiment("toy", "a toy", {"small": {}, "big": {}}, sizes, train, questions)


def test_a_table_names_arms_once_and_measures_by_their_names():
    by_key = {q.key: q for q in from_table("vit_ablations", {"first layer": 1.0})}
    coarse, deeper = by_key["whole/coarse"], by_key["deeper"]
    assert (coarse.arm, coarse.other, coarse.fresh) == ("whole", "coarse", range(10, 20))
    assert (deeper.arm, deeper.metric, deeper.minus) == ("whole", "last layer", 1.0)
    wider, learns = (q for q in from_table("norm_depth") if q.key in ("wider", "learns"))
    assert wider.beyond == ("post-2", "pre-2") and callable(learns.metric) and learns.minus == 0.0


def test_every_table_of_questions_is_read():
    folder = Path(questions_module.__file__).parent
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    tables = {path.stem for path in folder.glob("*.toml")} - {"earlier_digests"}
    assert len(tables) > 20 and [name for name in tables if f'"{name}"' not in code] == []


def test_a_difference_is_taken_seed_by_seed():
    (found,) = answers([BIG], [*runs(0.2), record("big", 9, 5.0)])
    assert found.seeds == (0, 1, 2) and found.verdict.outcome == "holds"
    assert found.ours == pytest.approx((0.5, 0.511, 0.522))
    assert found.theirs == pytest.approx((0.3, 0.31, 0.32))
    assert answers([BIG], [r for r in runs(0.2) if r.arm == "big"]) == []


def test_numbers_can_come_from_one_arm_from_none_or_from_all():
    found = {
        c.key: c.verdict.mean
        for c in answers(
            [
                BIG,
                replace(BIG, key="constant", other="", minus=0.25),
                replace(BIG, key="within", other="", minus="other"),
                replace(BIG, key="made", other="", metric=learned("right"), minus=0.0),
                replace(BIG, key="all", arm=ALL, other="", metric=learned("right"), minus=0.0),
            ],
            [record("small", 0, 0.2, other=0.1), record("big", 0, 0.4, other=0.1),
             record("small", 1, 0.2, other=0.1), record("big", 1, 0.4, other=0.1)],
        )
    }  # fmt: skip
    others = {"constant": 0.15, "within": 0.3, "made": 0.4, "all": 0.3}
    assert found == pytest.approx({"big": 0.2, **others})


def test_a_seed_counts_once_however_many_arms_have_it():
    all_arms = replace(BIG, arm=ALL, other="", minus=0.0)
    (found,) = answers([all_arms], [*runs(0.2), record("big", 7, 0.5)])
    assert found.verdict.n == 3 and found.seeds == (0, 1, 2)


def test_a_lead_is_compared_with_another():
    more = [replace(r, arm=f"{r.arm}-later") for r in runs(0.05)]
    wider = replace(BIG, beyond=("big-later", "small-later"))
    (found,) = answers([wider], [*runs(0.2), *more])
    assert found.verdict.mean == pytest.approx(0.15)


def test_fresh_seeds_decide_alone_and_only_together():
    asked = replace(BIG, fresh=(5, 6, 7))
    old, fresh = runs(0.2), runs(-0.2, range(5, 8))
    for records in (old, old + fresh[:-1]):
        (found,) = answers([asked], records)
        assert (found.verdict.outcome, found.seeds) == ("holds", (0, 1, 2))
    (found,) = answers([asked], old + fresh)
    assert (found.verdict.outcome, found.seeds) == ("fails", (5, 6, 7))


def test_arms_that_have_met_the_bound_can_not_be_told_apart():
    near = replace(BIG, bound=1.0)
    (found,) = answers(
        [near],
        [record(a, s, 0.97 + 0.01 * s * (a == "big")) for a in ("big", "small") for s in range(3)],
    )
    assert found.verdict.outcome == "not testable"
    assert "a ceiling: both arms are within 0.1 of 1" in str(found)
    (low,) = answers([near], runs(0.2))
    assert low.verdict.outcome == "holds"


def test_nothing_can_be_tested_where_a_control_fails():
    control = Question("more", "More is seen.", "control", "small", metric="score", minus=0.2)
    found = conclusions(toy(BIG, control), runs(0.2), "cpu")
    assert [c.verdict.outcome for c in found] == ["holds", "holds"]
    failed = conclusions(toy(BIG, replace(control, minus=0.5)), runs(0.2), "cpu")
    assert [c.verdict.outcome for c in failed] == ["not testable", "fails"]
    assert "not testable: +0.201" in str(failed[0]) and "a control fails" in str(failed[0])


def test_a_control_of_few_seeds_decides_nothing_and_is_told_of():
    control = Question("alike", "It is seen.", "control", "third", "small", "score")
    said = "no control of this size has 3 pairs yet"
    for more in ([], [record("third", s, 0.9) for s in range(2)]):
        found, *_ = conclusions(toy(BIG, control), [*runs(0.2), *more], "cpu")
        assert found.verdict.outcome == "holds" and said in found.verdict.remarks
    both = [record("third", s, 0.9) for s in range(3)]
    found, judged = conclusions(toy(BIG, control), [*runs(0.2), *both], "cpu")
    assert judged.verdict.outcome == "holds" and said not in found.verdict.remarks
    (alone,) = conclusions(toy(BIG), runs(0.2), "cpu")
    assert not alone.verdict.remarks


def test_a_run_that_no_question_compares_does_not_hold_up_a_control_over_all_arms():
    control = Question("learns", "It learns.", "control", ALL, metric=learned("right"), minus=0.0)
    aside = record("aside", 0, 0.9)
    big, judged = conclusions(toy(BIG, control), [*runs(0.2), aside], "cpu")
    assert judged.seeds == (0, 1, 2) and judged.ours[0] == pytest.approx(0.4)
    assert judged.verdict.outcome == "holds" and not big.verdict.remarks
    (alone,) = answers([control], [*runs(0.2), aside])
    assert alone.seeds == (0,)


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_pairs_decide_nothing_and_one_is_no_test_of_its_family(n):
    few = replace(BIG, key="few", arm="third")
    records = [*runs(0.2), *(record("third", s, 0.9 + 0.1 * s) for s in range(n))]
    big, alone = conclusions(toy(BIG, few), records, "cpu")
    assert (alone.verdict.n, alone.verdict.outcome) == (n, "undecided")
    assert (alone.p_adjusted == 1.0) == (n == 1)
    assert (big.p_adjusted == big.verdict.p) == (n == 1)


@pytest.mark.parametrize(
    ("hardware", "versions"),
    [
        ({"device": "cuda", "gpu": "a card"}, {}),
        ({"products": "tf32"}, {}),
        ({}, {"torch": "2.11.0"}),
    ],
)
def test_runs_of_two_machines_are_no_pair(hardware, versions):
    elsewhere = [
        replace(r, hardware=r.hardware | hardware, versions=r.versions | versions)
        if r.arm == "big" and r.seed < 3
        else r
        for r in runs(0.2, range(6))
    ]
    (found,) = answers([BIG], elsewhere)
    assert found.seeds == (3, 4, 5) and found.differs == ()
    assert apart_by_machine(BIG, elsewhere) == {0, 1, 2}
    assert not answers([BIG], [r for r in elsewhere if r.seed < 3])
    # A number less another one of the same run is of one machine.
    assert answers([replace(BIG, arm=ALL, other="", minus=0.0)], elsewhere)[0].verdict.n == 6


def test_p_values_are_adjusted_within_a_family_and_controls_are_in_none():
    control = Question("more", "More is seen.", "control", "small", metric="score", minus=0.2)
    other = replace(BIG, key="other", margin=None, metric="score", sign=-1)
    apart = replace(BIG, key="apart", family="elsewhere")
    big, second, third, _ = conclusions(toy(BIG, other, apart, control), runs(0.2), "cpu")
    assert big.question.family == second.question.family == "toy"
    # Two equal values of one family: each is the largest and the smallest.
    assert big.p_adjusted == pytest.approx(big.verdict.p) == second.p_adjusted
    assert third.question.family == "elsewhere" and third.p_adjusted == third.verdict.p
    vague = [record("small", s, 0.1 * (-1) ** s) for s in range(3)] + runs(0.2)[1::2]
    first, _ = conclusions(toy(BIG, replace(other, arm="big", other="", minus=0.0)), vague, "cpu")
    assert first.p_adjusted >= first.verdict.p


def test_items_widen_the_interval_where_both_arms_have_them():
    asked = replace(BIG, items="right")
    draw = torch.Generator().manual_seed(0)
    kept = [
        replace(r, items={"right": pack_items(torch.rand(40, generator=draw) < 0.5)})
        for r in runs(0.2)
    ]
    (found,) = answers([asked], kept)
    assert found.over_items is not None and found.over_items[0] < 0 < found.over_items[1]
    (without,) = answers([asked], [*kept[:-1], runs(0.2)[-1]])
    assert without.over_items is None
    # An accuracy is the mean of what was right, unless something else is subtracted.
    plain = Question("plain", "Big is better.", "a report", "big", "small")
    assert plain.kept == "correct" and asked.kept == "right" and BIG.kept == ""
    assert replace(plain, minus=0.1).kept == replace(plain, beyond=("big", "small")).kept == ""


def test_every_question_names_arms_of_its_experiment_and_has_a_key_of_its_own():
    for experiment in EXPERIMENTS.values():
        keys = [question.key for question in experiment.questions]
        assert all(keys) and len(set(keys)) == len(keys), experiment.name
        for question in experiment.questions:
            assert {*question.arms} - {ALL} <= experiment.arms.keys(), (experiment.name, question)
            seen = {s for size in experiment.sizes.values() for s in size.seeds}
            if seen & {*question.fresh}:  # then all of its runs must be younger than the question
                runs = load_records(SHIPPED_RESULTS, experiment.name)
                mine = [r.finished for r in runs if r.arm in question.arms]
                assert question.asked and question.asked < min(mine), question.key
