"""Where the norm stands, over depth: which stacks learn in a few steps, with and without warm-up.

The CIFAR-10 report says that pre-norm trains more stably than post-norm. The language models are
those of ``extrapolation``; an arm differs in the order of the norms, the number of blocks and the
warm-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from course_lib.experiments import extrapolation
from course_lib.experiments.extrapolation import CPU, FULL
from course_lib.experiments.record import Record, pair_by_seed
from course_lib.experiments.registry import Conclusion, Experiment, Size
from course_lib.experiments.verdict import verdict

DEPTHS = (2, 6, 12)
_SHORT = replace(CPU, epochs=3, steps=60, warmup=0)
ARMS: dict[str, dict[str, int | str]] = {
    f"{norm}-{depth}": {"norm": norm, "n_layers": depth}
    for depth in DEPTHS
    for norm in ("pre", "post")
} | {"post-12-warm": {"norm": "post", "n_layers": 12, "warmup": _SHORT.steps}}


def conclude(records: Sequence[Record]) -> list[Conclusion]:
    """The report's claim at the largest depth and over depth, and a control."""

    def lead(larger: str, smaller: str) -> list[float]:
        """By how much the first arm's loss exceeds the second's."""
        pairs = pair_by_seed(records, larger, smaller, records[0].size)
        return [a.results["test_loss"] - b.results["test_loss"] for a, b in pairs]

    deep, shallow = lead("post-12", "pre-12"), lead("post-2", "pre-2")
    made = []
    if deep:
        claim = "Without warm-up, twelve pre-norm blocks learn more than twelve post-norm blocks."
        made.append(
            Conclusion(claim, "the CIFAR-10 report", verdict(deep, claimed_sign=1), key="deep")
        )
    if deep and len(deep) == len(shallow):
        wider = [a - b for a, b in zip(deep, shallow, strict=True)]
        claim = "Their lead is larger at twelve blocks than at two."
        made.append(
            Conclusion(claim, "the CIFAR-10 report", verdict(wider, claimed_sign=1), key="wider")
        )
    warmed = lead("post-12", "post-12-warm")
    if warmed:
        claim = "With warm-up, twelve post-norm blocks learn more than without."
        made.append(
            Conclusion(claim, "Xiong et al. (2020)", verdict(warmed, claimed_sign=1), key="warmup")
        )
    learned = [
        r.metrics[0]["test_loss"] - r.metrics[-1]["test_loss"] for r in records if r.arm == "pre-2"
    ]
    if learned:
        claim = "Two pre-norm blocks have a smaller loss after the last epoch than after the first."
        made.append(
            Conclusion(
                claim, "control", verdict(learned, claimed_sign=1), control=True, key="learns"
            )
        )
    return made


EXPERIMENT = Experiment(
    "norm-depth",
    "a language model's loss after a few steps, by place of the norm, depth and warm-up",
    ARMS,
    {
        "cpu": Size(asdict(_SHORT), (0, 1, 2, 3, 4), 0.5, "one CPU core"),
        "full": Size(asdict(replace(FULL, epochs=2, warmup=0)), (0, 1, 2), 30, "one GPU"),
    },
    extrapolation.EXPERIMENT.train,
    conclude,
)
"""The experiment."""
