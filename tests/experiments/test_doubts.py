"""What keeps records from deciding: other settings, curves that move, late questions."""

import shutil
import subprocess
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from course_lib.experiments import EXPERIMENTS, SHIPPED_RESULTS, Question, conclusions, load_records
from course_lib.experiments.doubts import MARGINS_NAMED, differing, moving, older
from course_lib.experiments.questions import ALL, answers
from course_lib.experiments.verdict import FACT

from .test_questions import BIG, record, toy

ROOT = Path(__file__).parents[2]
BEFORE, AFTER = "2026-11-22T12:00:00+00:00", "2026-11-23T12:00:00+00:00"


def curve(arm, seed, *values, **columns):
    rows = [
        {"epoch": i + 1, "loss": value} | {name: column[i] for name, column in columns.items()}
        for i, value in enumerate(values)
    ]
    return replace(record(arm, seed, 0.5), metrics=rows)


def near(finished, seeds=range(3)):
    return [
        replace(record(arm, seed, 0.3 + 0.001 * (-1) ** seed * (arm == "big")), finished=finished)
        for seed in seeds
        for arm in ("small", "big")
    ]


def test_every_question_names_all_settings_in_which_its_arms_differ():
    for experiment in EXPERIMENTS.values():
        for question in experiment.questions:
            arms = [arm for arm in question.arms if arm != ALL]
            found = {
                name
                for size in experiment.sizes
                for name in differing([experiment.config(arm, size) for arm in arms])
            }
            named = set(question.differs.split())
            assert found == named, (experiment.name, question.key)


def test_no_pair_of_the_book_is_of_two_machines_or_older_than_its_question():
    records = load_records(SHIPPED_RESULTS)
    for what in EXPERIMENTS.values():
        for size in what.sizes:
            mine = [r for r in records if (r.experiment, r.size) == (what.name, size)]
            for found in conclusions(what, mine, size):
                question, where = found.question, (what.name, size, found.key)
                arms = what.arms if ALL in question.arms else question.arms
                used = [r for r in mine if r.arm in arms and r.seed in found.seeds]
                if len(question.arms) > 1:
                    machines = {(r.seed, tuple(r.machine.items())) for r in used}
                    assert len(machines) == len(found.seeds), where
                assert {*found.differs} <= {*question.differs.split()}
                assert not older(used, question.asked), where
                if found.verdict.outcome == "no difference":
                    assert not older(used, MARGINS_NAMED), where


def test_a_device_changes_an_error_as_much_as_the_rules_say():
    runs = [r for r in load_records(SHIPPED_RESULTS, "informer-ablations") if r.size != "cpu"]
    found = {}
    for one in (r for r in runs if r.size == "day" and "valid_mse" in r.metrics[0]):
        for other in (r for r in runs if (r.size, r.arm, r.seed) == ("full", one.arm, one.seed)):
            rows = zip(one.metrics, other.metrics, strict=False)
            far = max(abs(a["valid_mse"] - b["valid_mse"]) for a, b in rows)
            same = one.machine["device"] == other.machine["device"]
            found[same] = max(found.get(same, 0.0), far)
    assert {same: round(far, 3) for same, far in found.items()} == {True: 0.001, False: 0.026}
    rules = (ROOT / "book" / "results_rules.md").read_text(encoding="utf-8")
    assert "up to 0.001 on one device, and by up to 0.026 between" in rules


def test_one_setting_more_is_a_confounder():
    one, other = {"kind": "vit", "rate": 0.1, "n_test": 5}, {"kind": "resnet", "rate": 0.1}
    assert differing([one, other]) == ("kind",)
    assert differing([one, other | {"rate": 0.4, "blur": None}]) == ("blur", "kind", "rate")
    (found,) = answers([BIG], [replace(r, config={"arm": r.arm}) for r in near(AFTER)])
    assert found.differs == ("arm",)


@pytest.mark.parametrize(
    ("values", "moves"),
    [
        ([1.0, 0.5, 0.45], False),
        ([1.0, 0.5, 0.35], True),
        # Of twenty rows the last two count, of three the last one.
        ([1.0] * 17 + [0.9, 0.85, 0.79], True),
        ([1.0] * 17 + [0.8, 0.75, 0.72], False),
    ],
)
def test_a_curve_that_moves_in_its_last_tenth_is_not_trained(values, moves):
    assert moving([curve("big", 0, *values)], "score", 0.1) is moves
    # Seeds that jump about in two directions don't move.
    both = [curve("big", 0, 1.0, 0.5, 0.7), curve("big", 1, 1.0, 0.5, 0.3)]
    assert moving(both, "score", 0.1) is False
    assert moving([curve("big", 0, 1.0)], "score", 0.1) is None


def test_the_columns_of_the_number_are_looked_at_beside_the_loss():
    still = [1.0, 0.5, 0.5]
    for name in ("mse", "valid_mse"):
        assert moving([curve("big", 0, *still, **{name: [3.0, 2.0, 1.0]})], "mse", 0.1) is True
    assert moving([curve("big", 0, *still, mae=[3.0, 2.0, 1.0])], "mse", 0.1) is False


def test_what_is_not_trained_is_said_in_either_arm():
    still = [curve("small", seed, 1.0, 0.5, 0.5) for seed in range(3)]
    moves = [curve("big", seed, 1.0, 0.5, 0.1) for seed in range(3)]
    (found,) = answers([BIG], [*still, *moves])
    assert found.converged is False and "not trained to the end" in str(found)
    (good,) = answers([BIG], [*still, *(replace(r, arm="big") for r in still)])
    assert good.converged is True and "trained" not in str(good)
    control = replace(BIG, document="control")
    assert "trained" not in str(answers([control], [*still, *moves])[0])


def test_a_margin_closes_nothing_by_runs_that_are_older():
    (found,) = answers([BIG], near(AFTER))
    assert found.verdict.outcome == "no difference"
    (late,) = answers([BIG], near(BEFORE))
    assert late.verdict.outcome == "undecided" and "younger than these runs" in str(late)
    (mixed,) = answers([BIG], [*near(BEFORE), *near(AFTER, range(5, 8))])
    assert (mixed.verdict.outcome, mixed.seeds) == ("no difference", (5, 6, 7))
    apart = [replace(r, results={"score": 5.0 + r.seed * (r.arm == "big")}) for r in near(BEFORE)]
    apart = [replace(r, seed=r.seed + 1) for r in apart]
    moved = [
        replace(r, results={"score": 9 + 0.1 * r.seed}) if r.arm == "big" else r for r in apart
    ]
    (clear,) = answers([BIG], moved)
    assert clear.verdict.outcome == "holds"


def test_a_question_that_is_younger_than_its_runs_is_not_decided_by_them():
    late = replace(BIG, asked="2026-11-23T00:00:00+00:00")
    assert not answers([late], near(BEFORE))
    assert answers([late], near(AFTER))[0].seeds == (0, 1, 2)
    half = [replace(r, finished=BEFORE) if r.arm == "big" else r for r in near(AFTER)]
    assert older(half, late.asked) == set() and answers([late], half)


def test_numbers_without_chance_are_a_fact_and_in_no_family():
    same = [record(arm, seed, 0.4 + 0.2 * (arm == "big")) for seed in range(3) for arm in ARMS]
    other = Question("other", "It is more.", "a report", "big", "small", "noise")
    noisy = [
        replace(r, results=r.results | {"noise": r.seed * 0.1 + (r.arm == "big")}) for r in same
    ]
    noisy = [
        replace(r, results=r.results | {"noise": r.results["noise"] + 0.01 * r.seed**2})
        if r.arm == "big"
        else r
        for r in noisy
    ]
    fact, tested = conclusions(toy(BIG, other), noisy, "cpu")
    assert (fact.verdict.outcome, fact.verdict.n, fact.p_adjusted) == ("holds", 0, 1.0)
    assert FACT in fact.verdict.remarks and tested.p_adjusted == tested.verdict.p


ARMS = ("small", "big")


def test_what_does_not_survive_the_adjustment_is_undecided():
    weak = [
        record(arm, seed, 0.3 + (arm == "big") * gain)
        for seed, gain in enumerate((0.25, 0.5, 0.4))
        for arm in ARMS
    ]
    many = [replace(BIG, key=str(i), arm="small", other="", minus=0.3 - 0.01) for i in range(2)]
    (alone,) = conclusions(toy(BIG), weak, "cpu")
    assert alone.verdict.outcome == "holds" and alone.verdict.p < 0.05
    spread = [replace(r, results={"score": r.results["score"] + 0.3 * r.seed}) for r in weak]
    found = conclusions(toy(BIG, *many), spread, "cpu")[0]
    assert found.p_adjusted >= 0.05 and found.verdict.outcome == "undecided"
    assert "undecided after adjustment" in str(found)


def _history():
    """The lines that commits added to the experiments, the first ones first; none if shallow."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return []
    shallow = subprocess.run(
        [git, "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, text=True
    )
    if shallow.stdout.strip() != "false":
        return []
    log = subprocess.run(
        [git, "log", "--reverse", "-p", "--format=%x01%aI", "--", "course_lib/experiments"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found, when = [], datetime.min
    for line in log.splitlines():
        if line.startswith("\x01"):
            when = datetime.fromisoformat(line[1:])
        elif line.startswith("+") and not line.startswith("+++"):
            found.append((when, line))
    return found


def test_dates_of_questions_are_those_of_the_history():
    """A question's first words in the history are no younger than the runs that decide it.

    Runs with the library as it was committed were asked about in that commit, which a later history
    may have put together with others.
    """
    history = _history()
    if not history:
        pytest.skip("no history of the experiments here")
    records = load_records(SHIPPED_RESULTS)
    for what in EXPERIMENTS.values():
        runs = [r for r in records if r.experiment == what.name]
        for size in what.sizes:
            for found in conclusions(what, runs, size):
                question, arms = found.question, set(found.question.arms)
                used = [
                    r for r in runs if r.size == size and r.seed in found.seeds and r.arm in arms
                ]
                told = [r for r in used if r.clean is not True]
                decided = found.verdict.outcome in ("holds", "fails", "no difference")
                if not told or not decided or found.control or len(told) != len(used):
                    continue
                # An arm's name is in the history whatever became of the question's words.
                words = [f'"{question.key}"', question.claim.split(",")[0][:60]]
                first = [
                    when
                    for when, line in history
                    if any(w in line for w in words) or all(f'"{arm}"' in line for arm in arms)
                ]
                if first:
                    # One early pair of several is the one by which settings were chosen.
                    pairs = {r.seed for r in told}
                    early = older(told, min(first).isoformat())
                    assert len(early) <= 1 < len(pairs), (what.name, size, question.key)
