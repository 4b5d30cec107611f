"""The ablation report's tables on ETTh1 at its own setting, with the attention that it names.

The rule was committed before the first run. Tables 2 and 4 have ProbSparse attention; Tables 5 and
6 (cross products) have full attention. Each run trains for the six epochs that the report names
and keeps the round at which its early stop (patience 3) would have ended, so that one training
gives two readings. A claim *holds* or *fails* if both readings of seeds 100 to 102 say so with
three pairs each, by the margin of ``informer-ablations``; one reading alone leaves it undecided.
All runs of a pair are on one kind of device, in one dtype and with one version of torch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from course_lib.data.ett import Windows, ett_windows, load_ett
from course_lib.experiments.informer_ablations import ARMS, FULL, measure, window_errors
from course_lib.experiments.informer_asked import MARGIN
from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import Question
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.informer import Informer, InformerConfig
from course_lib.training import (
    count_parameters,
    derive_seed,
    fit,
    seeded_generator,
    write_tensors,
)

PATIENCE = 3
"""Rounds without a smaller validation error after which the published script stops."""

_SPARSE = "delta-values legendre delta-times delta delta-deep legendre-delta".split()
_FULL = "full-attention no-positions every-layer position-only cross".split()
REPORT_ARMS: dict[str, dict[str, Any]] = {
    "vanilla": ARMS["vanilla"],
    **{f"{arm}-sparse": {**ARMS[arm], "attention": "prob"} for arm in _SPARSE},
    **{arm: ARMS[arm] for arm in _FULL},
}

# Arm, baseline, whether its error is claimed larger, what it changes, and the claim.
_CLAIMS = (
    (
        "delta-values-sparse",
        "vanilla",
        1,
        "delta_value positions time",
        "Steps between values don't replace positions and times.",
    ),
    (
        "delta-times-sparse",
        "vanilla",
        1,
        "delta_value positions",
        "Steps between values don't replace positions where the calendar is kept.",
    ),
    (
        "delta-sparse",
        "vanilla",
        -1,
        "delta_value",
        "Beside all embeddings, steps between values make forecasts better.",
    ),
    (
        "delta-deep-sparse",
        "vanilla",
        -1,
        "delta_value ff_depth",
        "Steps between values and a deep MLP make forecasts better.",
    ),
    (
        "legendre-sparse",
        "vanilla",
        1,
        "positions",
        "Legendre positions forecast worse than sinusoidal ones.",
    ),
    (
        "legendre-delta-sparse",
        "vanilla",
        1,
        "delta_value positions",
        "Legendre positions with steps between values forecast worse than sinusoidal ones.",
    ),
    ("no-positions", "full-attention", 1, "positions", "Without positions forecasts are worse."),
    (
        "position-only",
        "every-layer",
        1,
        "terms",
        "The position-position term alone forecasts worse than all four.",
    ),
    ("cross", "every-layer", 1, "terms", "The two cross terms alone forecast worse than all four."),
)

_READINGS = {"stop": "early stop", "six": "six epochs"}
_WHEN = {"stop": "with the early stop", "six": "after six epochs"}


def _questions() -> Iterator[Question]:
    for arm, other, sign, differs, claim in _CLAIMS:
        for reading, said in _READINGS.items():
            for error in ("mse", "mae"):
                absolute = ", by absolute error" if error == "mae" else ""
                metric = f"{reading}_{error}"
                yield Question(
                    f"{arm}/{other}, {said}{absolute}",
                    f"{claim.rstrip('.')} ({said}{absolute}).",
                    "the ablation report",
                    arm,
                    other,
                    metric,
                    sign=sign,
                    margin=MARGIN,
                    items=metric,
                    block=24,
                    differs=differs,
                    family=f"{said}{absolute}",
                    training=f"{arm}/{other}{absolute}",
                    reading=_WHEN[reading],
                    named={"attention": "prob" if other == "vanilla" else "full"},
                )


@experiment(
    "informer-report",
    "the ablation report's tables on ETTh1: its setting and attention, read twice",
    arms=REPORT_ARMS,
    sizes={"day": Size(asdict(FULL), (100, 101, 102), 46, "one CPU core", step=4, own=True)},
    questions=tuple(_questions()),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm for six epochs; measure its last model, and the one that was kept."""
    ett = load_ett("ETTh1", progress=job.progress)
    lengths = job.config["seq_len"], job.config["pred_len"]
    training, valid, test = (
        ett_windows(ett, part, *lengths) for part in ("train", "valid", "test")
    )
    use = DataUse(
        ett.name, f"the published file; all {len(test):,} windows of the test months", ett.sha256
    )
    model, kept, history = _train(job, training, valid)
    errors: dict[str, Tensor] = {}
    for reading, weights in (("six", model.state_dict()), ("stop", kept)):
        model.load_state_dict(weights)
        found = window_errors(lambda *inputs: _predict(model, inputs, job), test)
        errors |= {f"{reading}_{name}": each for name, each in found.items()}
    results = {name: float(each.mean()) for name, each in errors.items()}
    results["n_parameters"] = count_parameters(model)
    return Outcome([use], history, results, items=errors)


def _predict(model: nn.Module, inputs: tuple[Tensor, ...], job: Job) -> Tensor:
    made: Tensor = model(*(part.to(job.device) for part in inputs))
    return made


def _train(
    job: Job, training: Windows, valid: Windows
) -> tuple[nn.Module, Mapping[str, Tensor], list[dict[str, float]]]:
    """Model after all rounds, weights of the early stop's round, and one row a round."""
    training_only = {"rounds", "steps", "batch_size", "learning_rate", "schedule"}
    settings = {k: v for k, v in job.config.items() if k not in training_only}
    settings |= {"terms": tuple(settings["terms"])} if "terms" in settings else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive_seed(job.seed))
        model = Informer(InformerConfig(seed=job.seed, **settings)).to(job.device)
    clock = Clock(job.device)
    # Beside the checkpoint, so that it is there after an interruption, too.
    best = job.checkpoint.with_suffix(".best.safetensors")
    state = job.checkpoint.with_suffix(".stop")

    def batches(epoch: int) -> Iterator[Tensor]:
        draw = seeded_generator(job.seed, epoch)
        for _ in range(job.config["steps"]):
            yield torch.randint(len(training), (job.config["batch_size"],), generator=draw)

    def loss(_: nn.Module, rows: Tensor) -> Tensor:
        forecast = _predict(
            model, (training.x[rows], training.x_time[rows], training.y_time[rows]), job
        )
        return (forecast - training.y[rows].to(job.device)).square().mean()

    def evaluate(_: nn.Module) -> dict[str, float]:
        errors = measure(lambda *inputs: _predict(model, inputs, job), valid, every=16)
        before = [float(e) for e in state.read_text("utf-8").split()] if state.exists() else []
        if not stopped(before) and errors["mse"] < min(before, default=float("inf")):
            write_tensors(best, model.state_dict(), {"valid_mse": repr(errors["mse"])})
        # A round that a kill cut off between here and its checkpoint comes again, and is alike.
        if before[-1:] != [errors["mse"]]:
            state.write_text(" ".join(map(repr, [*before, errors["mse"]])), encoding="utf-8")
        return {"valid_mse": errors["mse"], "valid_mae": errors["mae"], **clock.lap()}

    history = fit(
        model,
        torch.optim.Adam(model.parameters(), lr=job.config["learning_rate"]),
        batches,
        loss,
        epochs=job.config["rounds"],
        seed=job.seed,
        schedule=lambda step: float(0.5 ** (step // job.config["steps"])),
        evaluate=evaluate,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )
    kept = load_file(best)
    best.unlink()
    state.unlink()
    model.eval()
    return model, kept, history


def stopped(errors: list[float]) -> bool:
    """Tell whether the early stop has ended a training with these validation errors.

    Example:
        >>> stopped([0.9, 0.7, 0.8, 0.8]), stopped([0.9, 0.7, 0.8, 0.8, 0.7])
        (False, True)
    """
    return bool(errors) and len(errors) - 1 - errors.index(min(errors)) >= PATIENCE
