from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib.experiments import informer_ablations as ablations
from course_lib.experiments import informer_series as series
from course_lib.experiments.registry import Experiment, Job, Outcome
from course_lib.informer import Informer, InformerConfig

TINY = replace(ablations.CPU, seq_len=8, label_len=4, pred_len=4, d_model=8, n_heads=2, d_ff=8)
TINY = replace(TINY, rounds=1, steps=1, batch_size=4)
pytestmark = pytest.mark.usefixtures("series")


def train(what: Experiment, folder: Path, arm: str, **changed: object) -> Outcome:
    own = {**what.arms[arm], "series": what.config(arm, "cpu").get("series", "ETTh1")}
    config = {**asdict(TINY), **own, **changed}
    return what.train(Job(arm, config, 0, torch.device("cpu"), folder / "c.pt", False))


@pytest.mark.parametrize("arm", series.ETTM1.arms)
def test_every_arm_runs_on_the_other_series(arm: str, tmp_path: Path, asked: list[str]) -> None:
    outcome = train(series.ETTM1, tmp_path, arm)
    assert outcome.results["mse"] > 0
    assert asked == ["ETTm1"] and outcome.data[0].name == "ETTm1"


def test_the_calendar_has_minutes_where_there_are_four_rows_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[InformerConfig] = []

    class Watched(Informer):
        def __init__(self, config: InformerConfig) -> None:
            made.append(config)
            super().__init__(config)

    monkeypatch.setattr(ablations, "Informer", Watched)
    train(series.ETTM1, tmp_path / "m", "vanilla")
    train(series.PUBLISHED, tmp_path / "h", "etth1-24", seq_len=8, label_len=4, pred_len=4)
    assert [config.minutes for config in made] == [True, False]
    assert made[1].attention == "prob" and made[1].mix
    assert made[1].rules.factor == 3 and made[1].rules.lazy == "sum" and made[1].rules.leak


@pytest.mark.parametrize("arm", series.HORIZONS.arms)
def test_every_arm_of_the_horizons_runs(arm: str, tmp_path: Path, asked: list[str]) -> None:
    outcome = train(series.HORIZONS, tmp_path, arm, seq_len=8, label_len=4, pred_len=4)
    assert outcome.results["mse"] > 0
    assert asked == [{"etth1": "ETTh1", "ettm1": "ETTm1"}[arm[:5]]]
    assert ("n_parameters" in outcome.results) == (not arm.endswith(("-linear", "-last")))


@pytest.mark.parametrize("arm", series.TOKENS.arms)
def test_every_arm_of_the_tokens_runs(arm: str, tmp_path: Path) -> None:
    # A day is read and four hours are forecast, the first four of it for "yesterday".
    outcome = train(series.TOKENS, tmp_path, arm, seq_len=24, label_len=4, pred_len=4)
    assert outcome.results["mse"] > 0
    assert ("n_parameters" in outcome.results) == (arm not in series._ALONE)


def test_the_tokens_are_compared_from_one_level_at_least() -> None:
    levels = {arm: config.get("level") for arm, config in series.TOKENS.arms.items()}
    assert levels["informer"] is None and levels["informer-last"] == "last"
    assert levels["patches"] == levels["channels"] == "window"
    assert series.TOKENS.config("informer", "cpu") == ablations.EXPERIMENT.config("vanilla", "cpu")


def test_an_informer_and_its_rivals_read_and_forecast_the_same_windows() -> None:
    windows = ("series", "seq_len", "label_len", "pred_len")
    for name, setting in series._SETTINGS.items():
        seen = [
            tuple(series.HORIZONS.config(name + rival, "cpu")[key] for key in windows)
            for rival in ("", "-linear", "-repeat-last")
        ]
        assert len(set(seen)) == 1
        assert f"{setting['series'].lower()}-{setting['pred_len']}" == name.removesuffix(
            "-published"
        )


@pytest.mark.parametrize("arm", series.PUBLISHED.arms)
def test_a_published_setting_is_one(arm: str) -> None:
    config: dict[str, Any] = series.PUBLISHED.config(arm, "full")
    assert arm == f"{config['series'].lower()}-{config['pred_len']}"
    rows = {"ETTh1": 8_640, "ETTm1": 34_560}[config["series"]]
    windows = rows - config["seq_len"] - config["pred_len"] + 1
    assert config["steps"] == windows // config["batch_size"]
    assert config["label_len"] <= config["seq_len"]


def test_questions_about_horizons_are_about_arms_of_the_same_series() -> None:
    for question in series.HORIZONS.questions:
        configs = [series.HORIZONS.config(arm, "cpu") for arm in question.arms]
        assert configs[0]["series"] == configs[1]["series"] and question.sign == -1
    # Two errors of each, and the control.
    assert len(series.HORIZONS.questions) == 2 * len(series._SETTINGS) + 1
