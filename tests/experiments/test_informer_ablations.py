from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib.data.ett import Ett, ett_windows
from course_lib.experiments import informer_ablations as ablations
from course_lib.experiments.questions import answers
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome

TINY = replace(ablations.CPU, seq_len=8, label_len=4, pred_len=4, d_model=8, n_heads=2, d_ff=8)
TINY = replace(TINY, rounds=2, steps=2, batch_size=4)


@pytest.fixture(autouse=True)
def series(monkeypatch: pytest.MonkeyPatch) -> Ett:
    """A short month makes short splits."""
    monkeypatch.setattr("course_lib.data.ett._HOURS_PER_MONTH", 24)
    hours = np.arange(24 * 20)
    values = np.sin(hours[:, None] / 4 + np.arange(7)) + 0.01 * hours[:, None]
    made = Ett("ETTh1", np.datetime64("2016-07-01T00:00", "m") + hours * 60, values, "0" * 64)
    monkeypatch.setattr(ablations, "load_ett", lambda *_, **__: made)
    return made


def train(folder: Path, arm: str, seed: int = 0, **changed: object) -> Outcome:
    config = asdict(TINY) | ablations.ARMS[arm] | changed
    device = torch.device("cpu")
    return ablations.EXPERIMENT.train(Job(arm, config, seed, device, folder / "c.pt", False))


@pytest.mark.parametrize("arm", ablations.ARMS)
def test_every_arm_runs(arm: str, tmp_path: Path) -> None:
    outcome = train(tmp_path, arm)
    assert outcome.results["mse"] > 0 and outcome.results["mae"] > 0
    assert len(outcome.metrics) == (1 if "forecast" in ablations.ARMS[arm] else 2)


def test_no_two_arms_are_the_same_model(tmp_path: Path) -> None:
    errors = [train(tmp_path / arm, arm).results["mse"] for arm in ablations.ARMS]
    assert len({round(error, 9) for error in errors}) == len(errors)


def test_the_seed_decides(tmp_path: Path) -> None:
    a, b, c = (
        train(tmp_path / name, "cross", seed) for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert a.results == b.results != c.results


def test_a_run_cut_off_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", "rotary", schedule="halving")
    train(tmp_path / "cut", "rotary", schedule="halving", rounds=1)
    resumed = train(tmp_path / "cut", "rotary", schedule="halving")
    assert resumed.results == whole.results


def test_errors_are_means_over_windows_steps_and_variables(series: Ett) -> None:
    windows = ett_windows(series, "test", 8, 4)
    found = ablations.measure(lambda x, *_: x[:, -4:] * 0 + 0.5, windows)
    assert found["mse"] == pytest.approx(float((windows.y - 0.5).square().mean()), rel=1e-5)
    assert found["mae"] == pytest.approx(float((windows.y - 0.5).abs().mean()), rel=1e-5)


def test_a_linear_map_forecasts_what_is_linear(tmp_path: Path) -> None:
    assert train(tmp_path, "linear").results["mse"] < 1e-3
    assert train(tmp_path, "repeat-last").results["mse"] > 1e-2


def test_every_question_is_about_two_arms_and_is_judged() -> None:
    def unchecked(arm: str, seed: int, mse: float) -> Record:
        made = object.__new__(Record)
        fields = {
            "arm": arm, "seed": seed, "size": "cpu", "items": {},
            "results": {"mse": mse, "mae": mse}, "metrics": [{"epoch": 1}],
            "config": {"arm": arm}, "finished": "2026-11-25T00:00:00+00:00",
            "experiment": "informer-ablations", "hardware": {"device": "cpu"},
            "versions": {"torch": "2.13.0"},
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(made, name, value)
        return made

    error = {"repeat-last": 1.2, "linear": 0.3, "vanilla": 0.7, "full-attention": 0.7}
    found = answers(
        ablations.QUESTIONS,
        [
            unchecked(arm, seed, error.get(arm, 0.8) + 0.001 * seed * row)
            for row, arm in enumerate(ablations.ARMS)
            for seed in range(3)
        ],
    )
    assert len(found) == len(ablations.QUESTIONS) == len({c.key for c in found})
    outcomes = {c.claim: c.verdict.outcome for c in found}
    assert outcomes["An Informer beats the last value."] == "holds"
    assert outcomes["Without positions forecasts are worse."] == "holds"
    assert outcomes["Rotary positions forecast better than sinusoidal ones."] == "fails"


def test_training_with_patience_ends_early_and_keeps_the_best_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = [5.0, 3.0, 4.0, 3.5, 1.0]
    asked: list[float] = []
    cut_at = None

    def measure(*args: object, **kwargs: object) -> dict[str, float]:
        if len(asked) == cut_at:
            raise KeyboardInterrupt
        asked.append(errors[len(asked)])
        return {"mse": asked[-1], "mae": 1.0}

    monkeypatch.setattr(ablations, "measure", measure)
    settings: dict[str, object] = {"schedule": "halving", "rounds": 5}
    whole = train(tmp_path / "whole", "vanilla", **settings, patience=2)
    assert [row["valid_mse"] for row in whole.metrics] == errors[:4]
    assert [path.name for path in (tmp_path / "whole").iterdir()] == ["c.pt"]
    assert whole.items["mse"].mean() == pytest.approx(whole.results["mse"])

    asked.clear()
    alone = train(tmp_path / "alone", "vanilla", **settings | {"rounds": 2})
    assert whole.results == pytest.approx(alone.results)

    asked.clear()
    cut_at = 3
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "cut", "vanilla", **settings, patience=2)
    cut_at = None
    resumed = train(tmp_path / "cut", "vanilla", **settings, patience=2)
    assert resumed.results == pytest.approx(whole.results)
    assert resumed.metrics[-1]["epoch"] == 4
