"""An Informer and a line that forecast the oil temperature of ETTh1 alone, kept to be tried.

One variable, so that a reader can make up a series for them, and full attention. One seed: what it
shows is an example, and no difference is concluded from it.
"""

import json
from dataclasses import asdict, replace

from torch import Tensor

from course_lib.data.ett import COLUMNS, Windows, ett_windows, load_ett
from course_lib.experiments.informer_ablations import PublishedRun, train, window_errors
from course_lib.experiments.provenance import Clock
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.informer import (
    Informer,
    InformerConfig,
    LinearForecast,
    kept_weights,
    repeat_last,
    seasonal_naive,
)
from course_lib.training import count_parameters

CPU = PublishedRun(
    seq_len=96, dropout=0.05, rounds=8, steps=200, batch_size=32, learning_rate=2e-3, patience=8
)
ARMS: dict[str, dict[str, object]] = {
    "informer": {"attention": "full", "in_channels": 1, "out_channels": 1},
    "linear": {"forecast": "linear"},
    "yesterday": {"forecast": "yesterday"},
    "repeat-last": {"forecast": "repeat-last"},
}
_OIL = COLUMNS.index("OT")


def oil_alone(windows: Windows) -> Windows:
    """Windows of the oil temperature ``(N, T, 1)``, with their times."""
    x, y, mean, std = (
        part[..., _OIL : _OIL + 1] for part in (windows.x, windows.y, windows.mean, windows.std)
    )
    return replace(windows, x=x, y=y, mean=mean, std=std)


@experiment(
    "informer-oil",
    "an Informer and a line on the oil temperature of ETTh1 alone, kept to be tried in a page",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(CPU), (0,), 4, "one CPU core"),
        "full": Size(asdict(replace(CPU, d_model=128, d_ff=512)), (0,), 10, "one GPU"),
    },
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm; what is kept is what is measured."""
    ett = load_ett("ETTh1", progress=job.progress)
    lengths = job.config["seq_len"], job.config["pred_len"]
    training, valid, test = (
        oil_alone(ett_windows(ett, split, *lengths)) for split in ("train", "valid", "test")
    )
    use = DataUse(ett.name, f"the oil temperature; all {len(test):,} test windows", ett.sha256)
    clock, kind = Clock(job.device), job.config.get("forecast")
    kept: dict[str, Tensor] = {}
    text = {"mean": repr(training.mean.item()), "std": repr(training.std.item())}
    found: dict[str, int] = {}
    history: list[dict[str, float]] = []
    if kind is None:
        model, history = train(job, training, valid)
        assert isinstance(model, Informer)  # of these settings
        kept, found = kept_weights(model), {"n_parameters": count_parameters(model)}
        usual, settings = vars(InformerConfig()), vars(model.config).items()
        text["config"] = json.dumps({name: v for name, v in settings if v != usual[name]})
    line = LinearForecast(training.x, training.y) if kind == "linear" else None
    if line is not None:
        kept = {"line": line.weight.half()}
        line.weight = kept["line"].double()

    def forecast(x: Tensor, x_time: Tensor, y_time: Tensor) -> Tensor:
        if line is not None:
            return line(x)
        if kind is not None:
            steps = job.config["pred_len"]
            return repeat_last(x, steps) if kind == "repeat-last" else seasonal_naive(x, steps, 24)
        made: Tensor = model(*(part.to(job.device) for part in (x, x_time, y_time)))
        return made.cpu()

    if not history:
        error = float(window_errors(forecast, valid, every=16)["mse"].mean())
        history = [{"epoch": 1, "valid_mse": error, **clock.lap()}]
    errors = window_errors(forecast, test)
    results = {name: float(each.mean()) for name, each in errors.items()} | found
    return Outcome([use], history, results, items=errors, weights=(kept, text) if kept else None)
