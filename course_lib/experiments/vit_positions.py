"""Six ways to tell a vision transformer where its patches stand, and none.

Recipe and size are those of ``vit-study``. The CIFAR-10 report fixes sinusoids of row and column
side by side, and calls positions crucial; the sequence-and-space essay takes a sum for the same.
``vit-cifar10`` asks the first question alone, in the report's own setting.
"""

from dataclasses import replace
from typing import Any, get_args

from course_lib.experiments import vit_study
from course_lib.experiments.questions import Question, from_table, learned
from course_lib.experiments.registry import Experiment, Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import CPU, FULL, Seeing, SeeingRun, as_config
from course_lib.experiments.vit_study import STUDY_CPU, STUDY_DAY, STUDY_FULL
from course_lib.vit import Positions

ARMS: dict[str, dict[str, Any]] = {name: {"positions": name} for name in get_args(Positions)}
QUESTIONS = from_table("vit_positions")
"""Position schemes beside each other and beside none, and a control."""

EXPERIMENT = Experiment(
    "vit-positions",
    "a vision transformer told by six schemes where its patches stand, and by none",
    ARMS,
    {
        "cpu": Size(as_config(STUDY_CPU), (0, 1, 2, 3, 4), 0.15, "one CPU core"),
        "day": Size(as_config(STUDY_DAY), (0, 1, 2), 10, "one CPU core", step=7),
        "full": Size(as_config(STUDY_FULL), (0, 1, 2), 60, "one GPU", own=True),
    },
    vit_study.EXPERIMENT.train,
    QUESTIONS,
)
"""The experiment."""

# Of the experiment that came first; its records name no other settings.
_FIRST = (
    "n_train epochs d_model n_layers n_heads d_ff dropout batch_size optimizer learning_rate "
    "weight_decay warmup crop std"
).split()


def _first(settings: SeeingRun) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in _FIRST}


@experiment(
    "vit-cifar10",
    "a vision transformer on CIFAR-10, with fixed positions and with none",
    arms={"fixed": {"positions": "fixed"}, "none": {"positions": "none"}},
    sizes={
        "cpu": Size(
            _first(replace(CPU, n_train=20_000, batch_size=100)), (0, 1, 2), 3, "two CPU cores"
        ),
        "full": Size(_first(FULL), (0, 1, 2), 60, "one GPU", own=True),
    },
    questions=(
        Question(
            "positions",
            "A vision transformer without positional encoding is less accurate.",
            "the CIFAR-10 report",
            "fixed",
            "none",
            margin=0.02,
            differs="positions",
        ),
        Question(
            "learns",
            "After the last epoch the model is better than after the first.",
            "control",
            "fixed",
            metric=learned("accuracy"),
            minus=0.0,
        ),
    ),
)
def REPORT(job: Job) -> Outcome:
    """Train one arm.

    The report finds that a model without positional encoding loses 8.7 points after 300 epochs.
    ``full`` is its setting; ``cpu`` can show the sign of that difference, not its size.
    """
    return Seeing(job, SeeingRun(**job.config)).run()
