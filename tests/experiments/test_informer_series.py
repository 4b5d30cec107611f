from dataclasses import asdict, replace

import pytest

from course_lib.experiments import informer_ablations as ablations
from course_lib.experiments import informer_series as series
from course_lib.informer import Informer

TINY = replace(ablations.CPU, seq_len=8, label_len=4, pred_len=4, d_model=8, n_heads=2, d_ff=8)
TINY = replace(TINY, rounds=1, steps=1, batch_size=4)
pytestmark = pytest.mark.usefixtures("series")


SHORT = {"label_len": 4, "pred_len": 4}


@pytest.fixture
def run(train):
    def run(what, arm, **changed):
        own = {**what.arms[arm], "series": what.config(arm, "cpu").get("series", "ETTh1")}
        return train(what, {**asdict(TINY), **own, **changed}, arm)

    return run


# Of the tokens a day is read and four hours are forecast, the first four of it for "yesterday".
@pytest.mark.parametrize(
    ("what", "arm", "length"),
    [
        (what, arm, length)
        for what, length in ((series.ETTM1, 8), (series.HORIZONS, 8), (series.TOKENS, 24))
        for arm in what.arms
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_arm_runs_on_its_series(what, arm, length, run, asked):
    results = run(what, arm, **SHORT, seq_len=length).results
    assert results["mse"] > 0
    if what is series.ETTM1:
        assert asked == ["ETTm1"]
    elif what is series.HORIZONS:
        assert asked == [{"etth1": "ETTh1", "ettm1": "ETTm1"}[arm[:5]]]
        assert ("n_parameters" in results) == (not arm.endswith(("-linear", "-last")))
    else:
        assert ("n_parameters" in results) == (arm not in series._ALONE)


def test_the_calendar_has_minutes_where_there_are_four_rows_an_hour(run, monkeypatch):
    made = []

    class Watched(Informer):
        def __init__(self, config):
            made.append(config)
            super().__init__(config)

    monkeypatch.setattr(ablations, "Informer", Watched)
    assert run(series.ETTM1, "vanilla").data[0].name == "ETTm1"
    run(series.PUBLISHED, "etth1-24", **SHORT, seq_len=8, steps=1)
    assert [config.minutes for config in made] == [True, False]
    assert made[1].attention == "prob" and made[1].mix
    assert made[1].rules.factor == 3 and made[1].rules.lazy == "sum" and made[1].rules.leak


def test_the_tokens_are_compared_from_one_level_at_least():
    levels = {arm: config.get("level") for arm, config in series.TOKENS.arms.items()}
    assert levels["informer"] is None and levels["informer-last"] == "last"
    assert levels["patches"] == levels["channels"] == "window"
    assert series.TOKENS.config("informer", "cpu") == ablations.EXPERIMENT.config("vanilla", "cpu")


def test_an_informer_and_its_rivals_read_and_forecast_the_same_windows():
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
def test_a_published_setting_is_one(arm):
    config = series.PUBLISHED.config(arm, "full")
    assert arm == f"{config['series'].lower()}-{config['pred_len']}"
    rows = {"ETTh1": 8_640, "ETTm1": 34_560}[config["series"]]
    windows = rows - config["seq_len"] - config["pred_len"] + 1
    assert config["steps"] == windows // config["batch_size"]
    assert config["label_len"] <= config["seq_len"]


def test_questions_about_horizons_are_about_arms_of_the_same_series():
    for question in series.HORIZONS.questions:
        configs = [series.HORIZONS.config(arm, "cpu") for arm in question.arms]
        assert configs[0]["series"] == configs[1]["series"] and question.sign == -1
    assert len(series.HORIZONS.questions) == 2 * len(series._SETTINGS) + 1
