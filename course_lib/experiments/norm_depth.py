"""Where the norm stands, over depth: which stacks learn in a few steps, with and without warm-up.

The CIFAR-10 report says that pre-norm trains more stably than post-norm. The language models are
those of ``extrapolation``; an arm differs in the order of the norms, the number of blocks and the
warm-up.
"""

from dataclasses import asdict, replace

from course_lib.experiments import extrapolation
from course_lib.experiments.extrapolation import CPU, FULL
from course_lib.experiments.questions import Question, learned
from course_lib.experiments.registry import Experiment, Size

DEPTHS = (2, 6, 12)
_SHORT = replace(CPU, epochs=3, steps=60, warmup=0)
ARMS: dict[str, dict[str, int | str]] = {
    f"{norm}-{depth}": {"norm": norm, "n_layers": depth}
    for depth in DEPTHS
    for norm in ("pre", "post")
} | {"post-12-warm": {"norm": "post", "n_layers": 12, "warmup": _SHORT.steps}}


_REPORT = "the CIFAR-10 report"
_DEEP, _SHALLOW = ("post-12", "pre-12"), ("post-2", "pre-2")
QUESTIONS = (
    Question("deep",
             "Without warm-up, twelve pre-norm blocks learn more than twelve post-norm blocks.",
             _REPORT, *_DEEP, "test_loss", margin=0.05, differs="norm"),
    Question("wider", "Their lead is larger at twelve blocks than at two.",
             _REPORT, *_DEEP, "test_loss", beyond=_SHALLOW, margin=0.05, differs="n_layers norm"),
    Question("warmup", "With warm-up, twelve post-norm blocks learn more than without.",
             "Xiong et al. (2020)", "post-12", "post-12-warm", "test_loss", margin=0.05,
             fresh=range(10, 20), differs="warmup"),
    Question("learns",
             "Two pre-norm blocks have a smaller loss after the last epoch than after the first.",
             "control", "pre-2", metric=learned("test_loss"), minus=0.0, sign=-1),
)  # fmt: skip
"""The report's claim at the largest depth and over depth, and a control."""

EXPERIMENT = Experiment(
    "norm-depth",
    "a language model's loss after a few steps, by place of the norm, depth and warm-up",
    ARMS,
    {
        "cpu": Size(asdict(_SHORT), (0, 1, 2, 3, 4), 0.5, "one CPU core"),
        "full": Size(asdict(replace(FULL, epochs=2, warmup=0)), (0, 1, 2), 30, "one GPU"),
    },
    extrapolation.EXPERIMENT.train,
    QUESTIONS,
)
"""The experiment."""
