"""The ablation report's tables on ETTh1 again: one change at a time, five seeds an arm or more.

The report trains each variant once. ``full`` is its setting; ``cpu`` is a small model of the same
parts, trained for a few hundred steps, which can show signs and spreads and no error that compares
with the report's. ``day`` has the published width and schedule with its early stop.
Unlike there all arms but ``vanilla`` have full attention, so that no arm changes two things at
once, and every window of the test split counts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor, nn

from course_lib.data.ett import Windows, ett_windows, load_ett
from course_lib.experiments.informer_asked import QUESTIONS
from course_lib.experiments.provenance import Clock
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.informer import (
    ChannelForecast,
    Informer,
    InformerConfig,
    Levelled,
    LinearForecast,
    PatchForecast,
    SparseRules,
    repeat_last,
    seasonal_naive,
)
from course_lib.training import (
    count_parameters,
    derive_seed,
    fit,
    seeded_generator,
    warmup_cosine,
    write_tensors,
)


@dataclass(frozen=True)
class AblationRun:
    """All settings of a run but the arm's own, which are those of an ``InformerConfig``.

    ``rounds``: times that the model is measured on validation windows: "epochs" of the record;
    ``schedule``: ``"cosine"`` after a rise of a tenth of all steps, or ``"halving"`` each round.
    """

    seq_len: int = 64  # steps that are read
    label_len: int = 48  # known steps with which the decoder begins
    pred_len: int = 24  # steps that are forecast
    d_model: int = 32
    n_heads: int = 4
    d_ff: int = 64
    dropout: float = 0.0
    rounds: int = 4
    steps: int = 100  # optimiser steps in a round
    batch_size: int = 16
    learning_rate: float = 3e-3
    schedule: Literal["cosine", "halving"] = "cosine"


@dataclass(frozen=True)
class PublishedRun(AblationRun):
    """The published schedule.

    ``patience``: rounds without a smaller validation error after which training ends. What is
    measured on the test windows is the model of the round with the smallest.
    """

    patience: int = 3


CPU = AblationRun()
# The report names all of this but dropout and schedule, which are those of the published script.
FULL = AblationRun(
    d_model=512,
    n_heads=8,
    d_ff=2048,
    dropout=0.05,
    rounds=6,
    steps=267,
    batch_size=32,
    learning_rate=1e-4,
    schedule="halving",
)
DAY = PublishedRun(**vars(FULL))
_LAYERS = {"attention": "full", "positions_at": "layers"}
ARMS: dict[str, dict[str, Any]] = {
    "repeat-last": {"forecast": "repeat-last"},
    "linear": {"forecast": "linear"},
    "vanilla": {"attention": "prob"},
    "full-attention": {"attention": "full"},
    "no-positions": {"attention": "full", "positions": "none"},
    "no-positions-sparse": {"attention": "prob", "positions": "none"},
    "delta-values": {
        "attention": "full",
        "delta_value": True,
        "positions": "none",
        "time": "none",
    },
    "delta-times": {"attention": "full", "delta_value": True, "positions": "none"},
    "delta": {"attention": "full", "delta_value": True},
    "delta-deep": {"attention": "full", "delta_value": True, "ff_depth": 3},
    "deep": {"attention": "full", "ff_depth": 3},
    "legendre": {"attention": "full", "positions": "legendre"},
    "legendre-delta": {"attention": "full", "positions": "legendre", "delta_value": True},
    "legendre-even": {"attention": "full", "positions": "legendre", "normalise_positions": True},
    "legendre-basis": {"attention": "full", "positions": "legendre_basis"},
    "rotary": {"attention": "full", "positions": "rotary"},
    "relative": {"attention": "full", "positions": "relative"},
    "input-and-layers": {"attention": "full", "positions_at": "both"},
    "every-layer": _LAYERS,
    "every-layer-even": {**_LAYERS, "rescale_terms": True},
    "cross": {**_LAYERS, "terms": ["tp", "pt"]},
    "cross-even": {**_LAYERS, "terms": ["tp", "pt"], "rescale_terms": True},
    "position-only": {**_LAYERS, "terms": ["pp"]},
}
"""Changes by arm. ``even`` arms divide the scores by the number of terms they add up, which
leaves one term as it is; ``legendre-even`` makes all rows of its code equally long."""


def measure(
    forecast: Callable[[Tensor, Tensor, Tensor], Tensor], windows: Windows, every: int = 1
) -> dict[str, float]:
    """Errors of a forecast, in units of the training rows' deviation.

    ``forecast``: from values ``(B, seq_len, C)`` and the times of both parts to ``(B, pred_len,
    C)``. Returns ``mse`` and ``mae``, means over windows, steps and variables.
    """
    return {
        name: float(errors.mean())
        for name, errors in window_errors(forecast, windows, every).items()
    }


@torch.no_grad()
def window_errors(
    forecast: Callable[[Tensor, Tensor, Tensor], Tensor], windows: Windows, every: int = 1
) -> dict[str, Tensor]:
    """Errors of a forecast for each window, ``(N,)``; arguments as of :func:`measure`."""
    squared, absolute = [], []
    for rows in torch.arange(0, len(windows), every).split(200):
        inputs = windows.x[rows], windows.x_time[rows], windows.y_time[rows]
        error = (forecast(*inputs).double().cpu() - windows.y[rows].double()).flatten(1)
        squared.append(error.square().mean(dim=1))
        absolute.append(error.abs().mean(dim=1))
    return {"mse": torch.cat(squared), "mae": torch.cat(absolute)}


def _baseline(kind: str, training: Windows) -> Callable[..., Tensor]:
    steps = training.y.shape[1]
    if kind == "repeat-last":
        return lambda x, *_: repeat_last(x, steps)
    if kind == "yesterday":
        return lambda x, *_: seasonal_naive(x, steps, 24)
    linear = LinearForecast(training.x, training.y)
    return lambda x, *_: linear(x)


def _model(seed: int, settings: dict[str, Any]) -> nn.Module:
    tokens, level = settings.pop("tokens", "steps"), settings.pop("level", None)
    if tokens == "steps":
        model: nn.Module = Informer(InformerConfig(seed=seed, **settings))
    else:
        kind = {"patches": PatchForecast, "channels": ChannelForecast}[tokens]
        sizes = ("seq_len", "pred_len", "d_model", "n_heads", "d_ff")
        model = kind(**{name: settings[name] for name in sizes})
    return model if level is None else Levelled(model, level)


def train(job: Job, training: Windows, valid: Windows) -> tuple[nn.Module, list[dict[str, float]]]:
    """Train one arm. Returns the model, and one row a round."""
    shared = {k: v for k, v in job.config.items() if k in PublishedRun.__dataclass_fields__}
    own = {k: v for k, v in job.config.items() if k not in shared and k != "series"}
    patience = shared.pop("patience", None)
    run = AblationRun(**shared)
    sizes = ("seq_len", "label_len", "pred_len", "d_model", "n_heads", "d_ff", "dropout")
    settings = {name: getattr(run, name) for name in sizes} | own
    if "terms" in settings:
        settings["terms"] = tuple(settings["terms"])
    if "published_factor" in settings:
        rules = SparseRules(factor=settings.pop("published_factor")).published()
        settings |= {"attention": "prob", "rules": rules, "mix": True}
    # A series with four rows an hour has minutes in its calendar, too.
    settings["minutes"] = training.x_time.shape[-1] > 4
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(job.seed))
        model = _model(job.seed, settings).to(job.device)
    clock = Clock(job.device)
    total = run.rounds * run.steps

    def predict(*inputs: Tensor) -> Tensor:
        made: Tensor = model(*(part.to(job.device) for part in inputs))
        return made

    def batches(epoch: int) -> Iterator[Tensor]:
        draw = seeded_generator(job.seed, epoch)
        for _ in range(run.steps):
            yield torch.randint(len(training), (run.batch_size,), generator=draw)

    def loss(_: nn.Module, rows: Tensor) -> Tensor:
        forecast = predict(training.x[rows], training.x_time[rows], training.y_time[rows])
        return (forecast - training.y[rows].to(job.device)).square().mean()

    # Beside the checkpoint, so that it is there after an interruption, too.
    best = job.checkpoint.with_suffix(".best.safetensors")

    def evaluate(_: nn.Module) -> dict[str, float]:
        errors = measure(predict, valid, every=16)
        row = {"valid_mse": errors["mse"], "valid_mae": errors["mae"], **clock.lap()}
        if patience is not None and not (best.exists() and row["valid_mse"] >= _best(best)):
            write_tensors(best, model.state_dict(), {"valid_mse": repr(row["valid_mse"])})
        return row

    def enough(history: Sequence[Mapping[str, float]]) -> bool:
        errors = [row["valid_mse"] for row in history]
        return patience is not None and len(errors) - 1 - errors.index(min(errors)) >= patience

    def schedule(step: int) -> float:
        if run.schedule == "halving":
            return float(0.5 ** (step // run.steps))
        return warmup_cosine(step, total_steps=total, warmup_steps=total // 10)

    history = fit(
        model,
        torch.optim.Adam(model.parameters(), lr=run.learning_rate),
        batches,
        loss,
        epochs=run.rounds,
        seed=job.seed,
        schedule=schedule,
        evaluate=evaluate,
        enough=enough,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )
    if patience is not None:
        model.load_state_dict(load_file(best))
        best.unlink()
    model.eval()
    return model, history


def _best(path: Path) -> float:
    with safe_open(path, framework="pt") as file:
        return float(file.metadata()["valid_mse"])


@experiment(
    "informer-ablations",
    "an Informer on ETTh1, one change at a time, beside forecasts without attention",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.3, "one CPU core"),
        "day": Size(
            asdict(DAY),
            (0, 1, 2),
            37,
            "one CPU core",
            step=4,
            own=True,
            reading="with the early stop",
        ),
        "full": Size(asdict(FULL), (0, 1, 2), 3, "one GPU", own=True, reading="after six epochs"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm and measure it on every test window."""
    ett = load_ett(job.config.get("series", "ETTh1"), progress=job.progress)
    lengths = job.config["seq_len"], job.config["pred_len"]
    training, valid, test = (
        ett_windows(ett, "train", *lengths),
        ett_windows(ett, "valid", *lengths),
        ett_windows(ett, "test", *lengths),
    )
    variant = f"the published file; all {len(test):,} windows of the test months"
    use = DataUse(ett.name, variant, ett.sha256)
    if "forecast" in job.config:
        clock = Clock(job.device)
        forecast = _baseline(job.config["forecast"], training)
        errors = measure(forecast, valid, every=16)
        row = {"epoch": 1, "valid_mse": errors["mse"], "valid_mae": errors["mae"], **clock.lap()}
        return _measured(use, [row], window_errors(forecast, test))
    model, history = train(job, training, valid)

    def predict(*inputs: Tensor) -> Tensor:
        made: Tensor = model(*(part.to(job.device) for part in inputs))
        return made

    parameters = {"n_parameters": count_parameters(model)}
    return _measured(use, history, window_errors(predict, test), parameters)


def _measured(
    use: DataUse,
    history: list[dict[str, float]],
    errors: Mapping[str, Tensor],
    more: Mapping[str, Any] | None = None,
) -> Outcome:
    results = {name: float(each.mean()) for name, each in errors.items()}
    return Outcome([use], history, {**results, **(more or {})}, items=errors)
