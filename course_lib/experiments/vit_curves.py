"""A vision transformer over 300 epochs: what its losses, accuracy and calibration do.

The CIFAR-10 report prints losses and an accuracy at five epochs of one run. In its table the
validation loss rises from epoch 200 to 300, and the accuracy rises too. ``full`` is the report's
setting. ``cpu`` keeps its recipe, the 300 epochs included, for a small model and 1,000 pictures:
it can show which way the columns go, not how far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, product, starmap

from torch import Tensor

from course_lib.calibration import expected_calibration_error
from course_lib.experiments.questions import Question
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
# Where the report's columns fall; everywhere else they rise.
_FALLS = {"training_loss": EPOCHS, "validation_loss": EPOCHS[:-1]}


def by_epoch(metrics: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """What the report's table has, at its epochs.

    Returns, for each column of the table its number at each epoch that there is.
    """
    return {
        name: {str(n): metrics[n - 1][column] for n in EPOCHS if n <= len(metrics)}
        for name, column in _COLUMNS.items()
    }


def _step(name: str, epochs: tuple[int, int]) -> Question:
    early, late = epochs
    falls = late in _FALLS.get(name, ())
    way, words = "lower" if falls else "higher", name.replace("_", " ")
    # Losses are told to hundredths, accuracies by pictures.
    return Question(
        f"{name}.{late}",
        f"The {words} is {way} after epoch {late} than after {early}.",
        "the CIFAR-10 report",
        "whole",
        metric=f"{name}.{late}",
        minus=f"{name}.{early}",
        sign=-1 if falls else 1,
        margin=0.02 if name == "validation_accuracy" else 0.05,
        fresh=range(10, 15),
    )


QUESTIONS = (
    *starmap(
        _step,
        product(("training_loss", "validation_loss", "validation_accuracy"), pairwise(EPOCHS)),
    ),
    Question("calibration",
             "The calibration error is higher after the last epoch than after epoch 100.",
             "a guess", "whole", metric=f"validation_calibration_error.{EPOCHS[-1]}",
             minus="validation_calibration_error.100", margin=0.02,
             asked="2026-11-21T23:16:25+00:00"),
    Question("learns", "After the last epoch the training loss is lower than after epoch 10.",
             "control", "whole", metric=f"training_loss.{EPOCHS[-1]}",
             minus=f"training_loss.{EPOCHS[0]}", sign=-1),
)  # fmt: skip
"""The report's columns from each of its epochs to the next, a guess, and a control."""


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
