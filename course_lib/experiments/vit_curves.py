"""A vision transformer over 300 epochs: what its losses, accuracy and calibration do.

The CIFAR-10 report prints losses and an accuracy at five epochs of one run. In its table the
validation loss rises from epoch 200 to 300, and the accuracy rises too. ``full`` is the report's
setting. ``cpu`` keeps its recipe, the 300 epochs included, for a small model and 1,000 pictures:
it can show which way the columns go, not how far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from torch import Tensor

from course_lib.calibration import expected_calibration_error
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Conclusion, Job, Outcome, Size, experiment
from course_lib.experiments.verdict import verdict
from course_lib.experiments.vit_ablations import FULL, Seeing, SeeingRun, as_config

EPOCHS = (10, 50, 100, 200, 300)
"""At which the report prints its numbers."""
CPU = replace(
    FULL,
    patch_size=8,
    d_model=64,
    n_layers=4,
    n_heads=4,
    d_ff=128,
    n_train=1_000,
    n_watched=1_000,
)
# Columns of the metrics, by the names that the results have for them.
_COLUMNS = {
    "training_loss": "loss",
    "validation_loss": "test_loss",
    "validation_accuracy": "accuracy",
    "validation_calibration_error": "calibration_error",
}
# Where the report's columns fall; everywhere else they rise.
_FALLS = {"training_loss": EPOCHS, "validation_loss": EPOCHS[:-1]}


def by_epoch(metrics: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """What the report's table has, at its epochs.

    Args:
        metrics: One row an epoch.

    Returns:
        For each column of the table its number at each epoch that there is.

    Example:
        >>> row = {"loss": 2.0, "test_loss": 2.1, "accuracy": 0.3, "calibration_error": 0.1}
        >>> by_epoch([row] * 20)["validation_loss"]
        {'10': 2.1}
    """
    return {
        name: {str(n): metrics[n - 1][column] for n in EPOCHS if n <= len(metrics)}
        for name, column in _COLUMNS.items()
    }


def conclude(records: Sequence[Record]) -> list[Conclusion]:
    """The report's columns from each of its epochs to the next, a guess, and a control."""
    if not records:
        return []

    def gains(name: str, early: int, late: int) -> list[float]:
        found = [record.results[name] for record in records]
        return [column[str(late)] - column[str(early)] for column in found]

    made = []
    for name in ("training_loss", "validation_loss", "validation_accuracy"):
        for early, late in zip(EPOCHS, EPOCHS[1:], strict=False):
            falls = late in _FALLS.get(name, ())
            way = "lower" if falls else "higher"
            claim = f"The {name.replace('_', ' ')} is {way} after epoch {late} than after {early}."
            judged = verdict(gains(name, early, late), claimed_sign=-1 if falls else 1)
            made.append(Conclusion(claim, "the CIFAR-10 report", judged, key=f"{name}.{late}"))
    claim = "The calibration error is higher after the last epoch than after epoch 100."
    judged = verdict(gains("validation_calibration_error", 100, EPOCHS[-1]), claimed_sign=1)
    made.append(Conclusion(claim, "a guess", judged, key="calibration"))
    claim = "After the last epoch the training loss is lower than after epoch 10."
    judged = verdict(gains("training_loss", EPOCHS[0], EPOCHS[-1]), claimed_sign=-1)
    made.append(Conclusion(claim, "control", judged, control=True, key="learns"))
    return made


class _Watched(Seeing):
    """A run that also tells how far its confidence is off."""

    def measure(self, logits: Tensor, labels: Tensor) -> dict[str, float]:
        """With the calibration error."""
        error = expected_calibration_error(logits.cpu(), labels.cpu())
        return super().measure(logits, labels) | {"calibration_error": error}


@experiment(
    "vit-curves",
    "losses, accuracy and calibration of a vision transformer over 300 epochs",
    arms={"whole": {}},
    sizes={
        "cpu": Size(as_config(CPU), (0, 1, 2, 3, 4), 4, "one CPU core"),
        "full": Size(as_config(FULL), (0, 1, 2), 60, "one GPU"),
    },
    conclude=conclude,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one run; a row of its metrics is kept with six digits, as there are 300."""
    outcome = _Watched(job, SeeingRun(**job.config)).run()
    rows = [{name: float(f"{value:.6g}") for name, value in row.items()} for row in outcome.metrics]
    rows = [row | {"epoch": n} for n, row in enumerate(rows, 1)]
    return replace(outcome, metrics=rows, results=outcome.results | by_epoch(rows))
