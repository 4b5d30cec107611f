from dataclasses import asdict, replace

import pytest

from course_lib.data.ett import ett_windows
from course_lib.experiments import informer_ablations as ablations

TINY = replace(ablations.CPU, seq_len=8, label_len=4, pred_len=4, d_model=8, n_heads=2, d_ff=8)
TINY = replace(TINY, rounds=2, steps=2, batch_size=4)
pytestmark = pytest.mark.usefixtures("series")


@pytest.fixture
def run(train):
    def run(arm, seed=0, name=None, **changed):
        config = asdict(TINY) | ablations.ARMS[arm] | changed
        return train(ablations.EXPERIMENT, config, arm, seed, name)

    return run


def test_every_arm_runs_and_no_two_are_the_same_model(run):
    outcomes = {arm: run(arm) for arm in ablations.ARMS}
    for arm, outcome in outcomes.items():
        assert outcome.results["mse"] > 0 and outcome.results["mae"] > 0
        assert len(outcome.metrics) == (1 if "forecast" in ablations.ARMS[arm] else 2)
    assert len({round(o.results["mse"], 9) for o in outcomes.values()}) == len(outcomes)


def test_the_seed_decides(run):
    a, b, c = (run("cross", seed) for seed in (1, 1, 2))
    assert a.results == b.results != c.results


def test_a_run_cut_off_goes_on_from_its_checkpoint(run):
    whole = run("rotary", schedule="halving")
    run("rotary", name="cut", schedule="halving", rounds=1)
    assert run("rotary", name="cut", schedule="halving").results == whole.results


def test_errors_are_means_over_windows_steps_and_variables(series):
    windows = ett_windows(series("ETTh1"), "test", 8, 4)
    found = ablations.measure(lambda x, *_: x[:, -4:] * 0 + 0.5, windows)
    assert found["mse"] == pytest.approx(float((windows.y - 0.5).square().mean()), rel=1e-5)
    assert found["mae"] == pytest.approx(float((windows.y - 0.5).abs().mean()), rel=1e-5)


def test_a_linear_map_forecasts_what_is_linear(run):
    assert run("linear").results["mse"] < 1e-3 and run("repeat-last").results["mse"] > 1e-2


def test_training_with_patience_ends_early_and_keeps_the_best_round(run, tmp_path, monkeypatch):
    errors = [5.0, 3.0, 4.0, 3.5, 1.0]
    asked = []
    cut_at = None

    def measure(*args, **kwargs):
        if len(asked) == cut_at:
            raise KeyboardInterrupt
        asked.append(errors[len(asked)])
        return {"mse": asked[-1], "mae": 1.0}

    monkeypatch.setattr(ablations, "measure", measure)
    settings = {"schedule": "halving", "rounds": 5}
    whole = run("vanilla", name="whole", **settings, patience=2)
    assert [row["valid_mse"] for row in whole.metrics] == errors[:4]
    assert [path.name for path in (tmp_path / "whole").iterdir()] == ["c.pt"]
    assert whole.items["mse"].mean() == pytest.approx(whole.results["mse"])

    asked.clear()
    alone = run("vanilla", name="alone", **settings | {"rounds": 2})
    assert whole.results == pytest.approx(alone.results)

    asked.clear()
    cut_at = 3
    with pytest.raises(KeyboardInterrupt):
        run("vanilla", name="cut", **settings, patience=2)
    cut_at = None
    resumed = run("vanilla", name="cut", **settings, patience=2)
    assert resumed.results == pytest.approx(whole.results)
    assert resumed.metrics[-1]["epoch"] == 4
