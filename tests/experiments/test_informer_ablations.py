from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from course_lib.data.ett import Ett, ett_windows
from course_lib.experiments import informer_ablations as ablations
from course_lib.experiments.registry import Job, Outcome

TINY = replace(ablations.CPU, seq_len=8, label_len=4, pred_len=4, d_model=8, n_heads=2, d_ff=8)
TINY = replace(TINY, rounds=2, steps=2, batch_size=4)
pytestmark = pytest.mark.usefixtures("series")


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


def test_errors_are_means_over_windows_steps_and_variables(series: Callable[[str], Ett]) -> None:
    windows = ett_windows(series("ETTh1"), "test", 8, 4)
    found = ablations.measure(lambda x, *_: x[:, -4:] * 0 + 0.5, windows)
    assert found["mse"] == pytest.approx(float((windows.y - 0.5).square().mean()), rel=1e-5)
    assert found["mae"] == pytest.approx(float((windows.y - 0.5).abs().mean()), rel=1e-5)


def test_a_linear_map_forecasts_what_is_linear(tmp_path: Path) -> None:
    assert train(tmp_path, "linear").results["mse"] < 1e-3
    assert train(tmp_path, "repeat-last").results["mse"] > 1e-2


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
