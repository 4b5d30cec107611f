"""A vision transformer over 300 epochs: what its losses, accuracy and calibration do.

The CIFAR-10 report prints losses and an accuracy at five epochs of one run. In its table the
validation loss rises from epoch 200 to 300, and the accuracy rises too. ``full`` is the report's
setting. ``cpu`` keeps its recipe, the 300 epochs included, for a small model and 1,000 pictures:
it can show which way the columns go, not how far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from torch import Tensor

from course_lib.calibration import expected_calibration_error
from course_lib.experiments.questions import Question
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import FULL, Seeing, SeeingRun, as_config

EPOCHS = (10, 50, 100, 200, 300)
"""At which the report prints its numbers."""
CPU = replace(
    FULL, patch_size=8, d_model=64, n_layers=4, n_heads=4, d_ff=128, n_train=1_000, n_watched=1_000
)
# Columns of the metrics, by the names that the results have for them.
_COLUMNS = {
    "training_loss": "loss",
    "validation_loss": "test_loss",
    "validation_accuracy": "accuracy",
    "validation_calibration_error": "calibration_error",
}


def by_epoch(metrics: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Values of the report's table, by column, at its epochs that there are."""
    return {
        name: {str(n): metrics[n - 1][column] for n in EPOCHS if n <= len(metrics)}
        for name, column in _COLUMNS.items()
    }


# By column, the margin and the last epoch up to which the report's falls; after that it rises.
_WAYS = {
    "training_loss": (0.05, 300), "validation_loss": (0.05, 200), "validation_accuracy": (0.02, 0),
}  # fmt: skip


def _least_step(record: Record) -> float:
    """The smallest of the table's twelve steps, in the report's direction and in margins."""
    return min(
        (column[str(late)] - column[str(early)]) * (-1 if late <= falls else 1) / margin
        for name, (margin, falls) in _WAYS.items()
        for early, late in pairwise(EPOCHS)
        if (column := record.results[name])
    )


QUESTIONS = (
    # One question: that a training loss falls is certain, and makes the others look surer.
    Question(
        "table",
        "All three columns move as the report's from each of its epochs to the next.",
        "the CIFAR-10 report",
        "whole",
        metric=_least_step,
        minus=0.0,
        margin=1.0,
        versus="no step",
        fresh=range(10, 15),
    ),
    Question(
        "calibration",
        "The calibration error is higher after the last epoch than after epoch 100.",
        "a guess",
        "whole",
        metric=f"validation_calibration_error.{EPOCHS[-1]}",
        minus="validation_calibration_error.100",
        margin=0.02,
        asked="2026-11-21T23:16:25+00:00",
    ),
    Question(
        "learns",
        "After the last epoch the training loss is lower than after epoch 10.",
        "control",
        "whole",
        metric=f"training_loss.{EPOCHS[-1]}",
        minus=f"training_loss.{EPOCHS[0]}",
        sign=-1,
    ),
)
"""The report's table, a guess, and a control."""


class Calibrated(Seeing):
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
        "full": Size(as_config(FULL), (0, 1, 2), 60, "one GPU", own=True),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one run; a row of its metrics is kept with six digits, as there are 300."""
    outcome = Calibrated(job, SeeingRun(**job.config)).run()
    rows = [{name: float(f"{value:.6g}") for name, value in row.items()} for row in outcome.metrics]
    rows = [row | {"epoch": n} for n, row in enumerate(rows, 1)]
    return replace(outcome, metrics=rows, results=outcome.results | by_epoch(rows))
