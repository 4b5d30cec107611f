import dataclasses
from importlib import import_module
from pathlib import Path

import pytest
import torch

from course_lib import experiments
from course_lib.experiments import (
    EXPERIMENTS,
    bill,
    contrastive,
    cost,
    decided,
    extrapolation,
    favit_operators,
    get,
    load_records,
    run,
    runner,
    vit_ablations,
)
from course_lib.experiments.questions import Question
from course_lib.experiments.record import DataUse, write_record
from course_lib.experiments.registry import Outcome, Size, experiment
from course_lib.experiments.source import EARLIER
from course_lib.experiments.unattended import missing
from course_tests.refusals import refusals


def toy(calls, fail_on=None):
    """An experiment that takes no time; ``calls`` tells what was run."""

    @experiment(
        "toy",
        "a toy",
        arms={"small": {"width": 1}, "big": {"width": 2}},
        sizes={"cpu": Size({"epochs": 1}, (0, 1, 2), 2.5, "a desk")},
        questions=[Question("big", "Big is better.", "a report", "big", "small", "score")],
    )
    def train(job):
        calls.append((job.arm, job.seed))
        if (job.arm, job.seed) == fail_on:
            raise KeyboardInterrupt
        row = {"epoch": 1.0, "wall_seconds": 1.0, "device_seconds": 2.0}
        score = job.config["width"] + 0.01 * job.seed
        return Outcome([DataUse("none", "none", "0" * 64)], [row], {"score": score})

    return train


def quiet(_):
    pass


def go(what, folder, **kwargs):
    return run(
        what, results_dir=folder / "results", runs_dir=folder / "runs", report=quiet, **kwargs
    )


def test_every_arm_and_seed_gets_a_record(tmp_path):
    calls = []
    paths = go(toy(calls), tmp_path)
    names = sorted(path.name for path in paths)
    assert names == [f"{arm}-cpu-{seed}.json" for arm in ("big", "small") for seed in range(3)]
    record = load_records(tmp_path / "results", "toy")[0]
    assert record.config == {"epochs": 1, "width": 2}
    assert (record.wall_seconds, record.device_seconds) == (1.0, 2.0)


def test_what_is_done_is_not_run_again(tmp_path):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        go(toy(calls, fail_on=("big", 1)), tmp_path)
    assert len(load_records(tmp_path / "results")) == 3
    calls.clear()
    go(toy(calls), tmp_path)
    assert calls == [("big", 1), ("small", 2), ("big", 2)]
    calls.clear()
    assert go(toy(calls), tmp_path) == [] and calls == []


def test_a_record_of_other_settings_is_not_taken_for_done(tmp_path):
    calls = []
    go(toy(calls), tmp_path, seeds=[0])
    changed = toy(calls)
    changed.arms["big"]["width"] = 3
    calls.clear()
    go(changed, tmp_path, seeds=[0])
    assert calls == [("big", 0)]


def test_what_other_code_made_is_run_again_if_asked_for(tmp_path, monkeypatch):
    calls = []
    what = toy(calls)
    go(what, tmp_path, seeds=[0])
    results = tmp_path / "results"
    assert go(what, tmp_path, seeds=[0], stale=True) == []
    assert experiments.stale({"toy": what}, load_records(results)) == []
    monkeypatch.setattr(runner, "code_of", lambda *_, **__: "1" * 64)
    # Of an older record the code can't be told.
    (older,) = (r for r in load_records(results) if r.arm == "small")
    write_record(dataclasses.replace(older, schema=1), results)
    assert bill(what, results_dir=results).done == [("small", 0), ("big", 0)]
    assert missing({"toy": what}, results_dir=results, stale=True)[0].arm == "big"
    assert [r.arm for r in experiments.stale({"toy": what}, load_records(results))] == ["big"]
    calls.clear()
    go(what, tmp_path, seeds=[0], stale=True)
    assert calls == [("big", 0)]
    assert go(what, tmp_path, seeds=[0], stale=True) == []


def test_dry_run_prints_the_bill_and_runs_nothing(tmp_path):
    calls = []
    go(toy(calls), tmp_path, seeds=[0])
    calls.clear()
    said = []
    run(toy(calls), results_dir=tmp_path / "results", dry_run=True, report=said.append)
    assert calls == []
    # What a run took counts more than what was expected of it.
    assert "big                  to run: seeds 1, 2; done: 0; 0.0333 min each" in said[0]
    assert "4 runs, about 0.133 min on a desk" in said[0]


def test_seeds_and_arms_can_be_chosen(tmp_path):
    made = bill(toy([]), seeds=[7], arms=["big"], results_dir=tmp_path)
    assert made.todo == [("big", 7)] and made.minutes == 2.5
    assert "1 runs, about 2.5 min on a desk" in str(made)


def test_fresh_seeds_of_a_question_belong_to_the_committed_set(tmp_path):
    (asked,) = toy([]).questions
    what = dataclasses.replace(toy([]), questions=[dataclasses.replace(asked, fresh=(7, 8))])
    first = [(arm, seed) for seed in (0, 1, 2) for arm in ("small", "big")]
    fresh = [(arm, seed) for seed in (7, 8) for arm in ("small", "big")]
    assert what.committed("cpu") == first + fresh == bill(what, results_dir=tmp_path).todo
    assert bill(what, seeds=[1], results_dir=tmp_path).todo == [("small", 1), ("big", 1)]
    with pytest.raises(ValueError, match="sizes cpu, got 'day'"):
        what.committed("day")


# No records ship of an experiment that readers are asked to run, and the recipes are kept to be
# looked at: nothing is concluded from their one seed. Scans of full size take all test pictures,
# so that there is nothing left to draw.
UNRUN = {"vit-questions", "informer-published"}
ONE_OR_NONE = {
    *UNRUN,
    "informer-oil",
    "vit-recipe",
    "scan-orders",
    "image-recipes",
}


def test_experiments_are_well_formed():
    for name, what in EXPERIMENTS.items():
        assert get(name) is what and what.title
        assert what.sizes.keys() in (
            {"cpu"},
            {"day"},
            {"cpu", "full"},
            {"cpu", "day", "full"},
        )
        for size in what.sizes:
            assert len(what.sizes[size].seeds) >= 3 or name in ONE_OR_NONE
            for arm in what.arms:
                assert set(what.config(arm, size)) >= set(what.arms[arm])
        if "cpu" in what.sizes:
            asks = any(question.document != "control" for question in what.questions)
            cheap = what.sizes["cpu"].minutes <= 2 and asks and name not in UNRUN
            enough = len(what.sizes["cpu"].seeds) >= 5
            assert enough or not cheap, f"{name}: 5 seeds under 2 minutes"


def test_every_experiment_can_be_found_by_its_name():
    folder = Path(experiments.__file__).parent
    written = {
        name
        for path in folder.glob("[a-z]*.py")
        for value in vars(import_module(f"course_lib.experiments.{path.stem}")).values()
        for name in [getattr(value, "name", None)]
        if isinstance(value, experiments.Experiment)
    }
    assert written == set(EXPERIMENTS)


def test_a_digest_of_the_same_code_under_the_earlier_rule_is_not_stale(monkeypatch):
    what = get("seq2seq-bottleneck")
    (one, *_) = load_records(experiments.SHIPPED_RESULTS, what.name)
    now, earlier = next(iter(EARLIER.items()))
    records = [
        dataclasses.replace(one, source_sha256=digest, schema=2) for digest in (earlier, "0" * 64)
    ]
    monkeypatch.setattr(runner, "code_of", lambda *_, **__: now)
    assert experiments.stale({what.name: what}, records) == records[1:]


test_what_is_unknown_is_refused = refusals(
    (lambda: get("vit"), "'vit'"),
    (
        lambda: contrastive.Scorer("both", contrastive.CPU, torch.Generator()),
        "layout is 'both', wanted one of separate",
    ),
    (lambda: cost.RecallModel("dense", cost.CPU, 0), "kind is 'dense', wanted one of full, window"),
    (
        lambda: extrapolation.LanguageModel(
            dataclasses.replace(extrapolation.CPU, positions="nope"), 10, torch.Generator()
        ),
        "positions is 'nope', wanted one of sinusoidal",
    ),
    (
        lambda: vit_ablations.make_model(dataclasses.replace(vit_ablations.CPU, kind="lstm"), 0),
        "'lstm'",
    ),
    (
        lambda: favit_operators.make_fusing(
            favit_operators.FusionRun(
                **get("favit-operators").config("mean", "cpu") | {"family": "cvt"}
            ),
            0,
        ),
        "'cvt', wanted 'favit' or 'swin'",
    ),
    (lambda: bill(toy([]), size="huge"), "'huge'"),
    (lambda: bill(toy([]), arms=["medium"]), "'medium'"),
    (lambda: bill(toy([]), seeds=[-1]), "-1"),
    (lambda: decided("no-positions", "colapse"), "decide .*collapse.*, not 'colapse'"),
    (
        lambda: decided("no-positions", "collapse", results_dir=Path("none")),
        "decide nothing, not 'collapse': `course run no-pos",
    ),
)
