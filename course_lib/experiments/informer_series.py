"""The ablation report's Informer on the other series, at other horizons, and as it was published.

Training and rule are those of ``informer-ablations``.
"""

from dataclasses import asdict, replace
from typing import Any

from course_lib.experiments import informer_ablations
from course_lib.experiments.informer_ablations import ARMS, CPU, FULL
from course_lib.experiments.informer_asked import beats_last_value, compare, compare_table
from course_lib.experiments.registry import Experiment, Size

_TRAIN = informer_ablations.EXPERIMENT.train

_ETTM1_ARMS = (
    "repeat-last linear vanilla full-attention delta-values delta-times delta position-only"
).split()

_ETTM1_QUESTIONS = (*compare_table("informer_ettm1"), beats_last_value("vanilla", "repeat-last"))


ETTM1 = Experiment(
    "informer-ettm1",
    "an Informer on ETTm1, 96 quarters of an hour ahead, with increments of the values and without",
    {arm: ARMS[arm] for arm in _ETTM1_ARMS},
    {
        "cpu": Size(
            {"series": "ETTm1", **asdict(replace(CPU, pred_len=96))},
            (0, 1, 2, 3, 4),
            0.5,
            "one CPU core",
        ),
        # Six epochs of four times as many windows.
        "full": Size(
            {"series": "ETTm1", **asdict(replace(FULL, pred_len=96, steps=1075))},
            (0, 1, 2),
            10,
            "one GPU",
            own=True,
        ),
    },
    _TRAIN,
    _ETTM1_QUESTIONS,
)
"""Table 3 of the report, at the horizon that it names."""

# Windows, horizons and factor of the published scripts; rules and rest of the published code.
_PUBLISHED = {
    "etth1-24": ("ETTh1", 48, 48, 24, 3, 267),
    "ettm1-24": ("ETTm1", 672, 96, 24, 5, 1058),
    "ettm1-96": ("ETTm1", 384, 384, 96, 5, 1065),
}
_NAMES = ("series", "seq_len", "label_len", "pred_len", "published_factor", "steps")
_RECIPE = ("published_factor", "steps")

PUBLISHED = Experiment(
    "informer-published",
    "the Informer as it was published, with other windows than the ablation report's",
    {arm: dict(zip(_NAMES, values, strict=True)) for arm, values in _PUBLISHED.items()},
    {
        "cpu": Size(asdict(CPU), (), 2, "one CPU core"),
        "full": Size(asdict(FULL), (0, 1, 2), 15, "one GPU"),
    },
    _TRAIN,
)
"""Without records: a small model has nothing to say about how its errors compare."""


# The report's windows at the horizons that it doesn't name for the series, and a published window.
# Those of ETTm1, of 384 and 672 steps, take minutes a run even so small: see ``PUBLISHED``.
_SETTINGS: dict[str, dict[str, Any]] = {
    "etth1-96": {"series": "ETTh1", "pred_len": 96},
    "ettm1-24": {"series": "ETTm1", "pred_len": 24},
    "etth1-24-published": {
        name: _PUBLISHED["etth1-24"][i] for i, name in enumerate(_NAMES) if name not in _RECIPE
    },
}
_ATTENTION = {"etth1-24-published": {"published_factor": _PUBLISHED["etth1-24"][4]}}


def _horizon_arms() -> dict[str, dict[str, Any]]:
    arms: dict[str, dict[str, Any]] = {}
    for name, setting in _SETTINGS.items():
        arms[f"{name}-repeat-last"] = {**setting, "forecast": "repeat-last"}
        arms[f"{name}-linear"] = {**setting, "forecast": "linear"}
        arms[name] = {**setting, **_ATTENTION.get(name, {"attention": "prob"})}
    return arms


_WHERE = {
    "etth1-96": "On ETTh1, 96 hours ahead",
    "ettm1-24": "On ETTm1, 24 quarters of an hour ahead",
    "etth1-24-published": "From the published windows of ETTh1, 24 hours ahead",
}
_FORECASTS = {"etth1-24-published": "forecast published_factor"}
_HORIZON_QUESTIONS = (
    *(
        question
        for name, where in _WHERE.items()
        for question in compare(
            f"{name}-linear",
            name,
            -1,
            "Zeng et al. (2023)",
            f"{where}, a linear map forecasts better than an Informer.",
            differs=_FORECASTS.get(name, "attention forecast"),
        )
    ),
    beats_last_value("etth1-96", "etth1-96-repeat-last"),
)


HORIZONS = Experiment(
    "informer-horizons",
    "an Informer at the other horizon of each series, and in a published window, beside a line",
    _horizon_arms(),
    {
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.4, "one CPU core"),
        # Six passes over ETTm1; ETTh1 has a quarter of its rows and is seen four times as often.
        "full": Size(asdict(replace(FULL, steps=1075)), (0, 1, 2), 10, "one GPU"),
    },
    _TRAIN,
    _HORIZON_QUESTIONS,
)
"""Questions that ``informer-ablations`` and ``informer-ettm1`` leave: the other horizons,
and window, rules and factor of the published script, each beside a line and the last value.
"""


# One training for all; what is a token differs, and what is taken for the level.
_ALONE = ("repeat-last", "yesterday", "linear")
_TOKEN_ARMS: dict[str, dict[str, Any]] = {
    **{forecast: {"forecast": forecast} for forecast in _ALONE},
    "informer": {"attention": "prob"},
    "informer-last": {"attention": "prob", "level": "last"},
    "patches": {"tokens": "patches", "level": "window"},
    "channels": {"tokens": "channels", "level": "window"},
}
_TOKEN_QUESTIONS = (*compare_table("informer_tokens"), beats_last_value("informer", "repeat-last"))


TOKENS = Experiment(
    "informer-tokens",
    "hours, patches or variables as tokens on ETTh1, beside forecasts without attention",
    _TOKEN_ARMS,
    {
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.3, "one CPU core"),
        "full": Size(asdict(FULL), (0, 1, 2), 3, "one GPU"),
    },
    _TRAIN,
    _TOKEN_QUESTIONS,
)
"""Choice of token, and whether the level of a window is forecast, in small models of one width,
number of heads and training. Patches and variables have the level of the window taken off, as in
their papers; the margin is that of ``informer-ablations`` and was named before the first run.
"""
