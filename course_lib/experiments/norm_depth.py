"""Where the norm stands, over depth: which stacks learn in a few steps, with and without warm-up.

The CIFAR-10 report says that pre-norm trains more stably than post-norm. The language models are
those of ``extrapolation``; an arm differs in the order of the norms, the number of blocks and the
warm-up.
"""

from dataclasses import asdict, replace

from course_lib.experiments import extrapolation
from course_lib.experiments.extrapolation import CPU, FULL
from course_lib.experiments.questions import from_table
from course_lib.experiments.registry import Experiment, Size

DEPTHS = (2, 6, 12)
_SHORT = replace(CPU, epochs=3, steps=60, warmup=0)
ARMS: dict[str, dict[str, int | str]] = {
    f"{norm}-{depth}": {"norm": norm, "n_layers": depth}
    for depth in DEPTHS
    for norm in ("pre", "post")
} | {"post-12-warm": {"norm": "post", "n_layers": 12, "warmup": _SHORT.steps}}
QUESTIONS = from_table("norm_depth")
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
