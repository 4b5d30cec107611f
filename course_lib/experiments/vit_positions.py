"""Six ways to tell a vision transformer where its patches stand, and none.

Recipe and size are those of ``vit-study``. The CIFAR-10 report fixes sinusoids of row and column
side by side, and calls positions crucial; the sequence-and-space essay takes a sum for the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from course_lib.experiments import vit_study
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Conclusion, Experiment, Size
from course_lib.experiments.vit_ablations import as_config, judge
from course_lib.experiments.vit_study import STUDY_CPU, STUDY_FULL
from course_lib.vit import Positions

ARMS: dict[str, dict[str, Any]] = {name: {"positions": name} for name in get_args(Positions)}
_ESSAY = "the sequence-and-space essay"
# The arm that should be better, the other, the claim and who makes it.
_CLAIMS = (
    ("fixed", "learned", "Fixed codes are more accurate than learned ones.", "a guess"),
    ("fixed", "sinusoid", "Row and column are more accurate than the patch's number.", _ESSAY),
    ("fixed", "added", "Codes side by side are more accurate than their sum.", "a guess"),
    ("axial", "fixed", "Axial rotations are more accurate than codes that are added.", "a guess"),
    ("mixed", "axial", "Mixed rotations are more accurate than axial ones.",
     "the paper on mixed rotations"),
    ("fixed", "none", "Positions make the model more accurate.", "the CIFAR-10 report"),
)  # fmt: skip


def conclude(records: Sequence[Record]) -> list[Conclusion]:
    """Position schemes beside each other and beside none, and a control."""
    return judge(records, _CLAIMS) + vit_study.learns(records)


EXPERIMENT = Experiment(
    "vit-positions",
    "a vision transformer told by six schemes where its patches stand, and by none",
    ARMS,
    {
        "cpu": Size(as_config(STUDY_CPU), (0, 1, 2, 3, 4), 0.15, "one CPU core"),
        "full": Size(as_config(STUDY_FULL), (0, 1, 2), 60, "one GPU"),
    },
    vit_study.EXPERIMENT.train,
    conclude,
)
"""The experiment."""
