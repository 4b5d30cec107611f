"""Other changes of a vision transformer: optimiser, images, patches, convolutions, a teacher.

The CIFAR-10 report trains with SGD at a rate of 0.1, says that few pictures are the trouble, and
names hybrids and distillation as what comes next. All arms share the seed's order of the pictures
and take as many steps, on 2,500 pictures; those with ``share`` see fewer of them, more often. Arms
whose names begin with ``few`` are the rows of the report's table of models: a fifth of the
pictures, five times as often. After each epoch, how far each layer looks and how evenly is kept in
the metrics.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention_maps import entropy
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import (
    CPU,
    FULL,
    Seeing,
    SeeingRun,
    as_config,
    pixel_distances,
    vit_config,
)
from course_lib.experiments.vit_rivals import KEPT_RESNET, load_trained
from course_lib.training import seeded_generator
from course_lib.vit import DistilledViT, ViT, distillation_loss


@dataclass(frozen=True)
class StudyRun(SeeingRun):
    """All settings of a run.

    ``teacher``: ``"none"``, or whether the convolutional network kept by ``vit-rivals`` teaches by
    its ``"soft"`` distribution or its ``"hard"`` answer.
    """

    teacher: Literal["none", "soft", "hard"] = "none"
    n_test: int = 10_000  # the first so many test images count at the end
    n_mapped: int = 200  # the first so many test images are asked where they are looked at


STUDY_CPU = StudyRun(
    **vars(replace(CPU, n_train=2_500, n_watched=200, epochs=4)), n_test=2_000, n_mapped=50
)
# Four times the weights, eight times the pictures, and ten times the steps.
STUDY_DAY = replace(
    STUDY_CPU,
    d_model=128,
    d_ff=256,
    n_train=20_000,
    epochs=10,
    batch_size=100,
    learning_rate=1e-3,
    n_test=10_000,
)
STUDY_FULL = StudyRun(**vars(FULL))
ARMS: dict[str, dict[str, Any]] = {
    "whole": {},
    "sgd": {"optimizer": "sgd", "learning_rate": 0.1, "weight_decay": 1e-4},
    "share-20": {"share": 0.2},
    "share-5": {"share": 0.05},
    "hybrid": {"kind": "hybrid"},
    "soft-teacher": {"teacher": "soft"},
    "hard-teacher": {"teacher": "hard"},
    "few-resnet": {"kind": "resnet", "share": 0.2},
    "few-4": {"patch_size": 4, "share": 0.2},
    "few-4-shifted": {"patch_size": 4, "share": 0.2, "crop": True},
    # Maps of 256 patches are large, and few pictures tell how far they look.
    "few-2": {"patch_size": 2, "share": 0.2, "n_mapped": 5},
}


def _last_layer(record: Record) -> float:
    layers = sum(name.startswith("distance_") for name in record.metrics[-1])
    return record.metrics[-1][f"distance_{layers}"]


QUESTIONS = from_table(
    "vit_study",
    {
        "distance of the first": lambda record: record.metrics[-1]["distance_1"],
        "distance of the last layer": _last_layer,
        "entropy at first": lambda record: record.metrics[0]["entropy_1"],
        "entropy at the end": lambda record: record.metrics[-1]["entropy_1"],
    },
)
"""Each change beside what was changed, depth and distance, and a control."""


class Studying(Seeing):
    """A run that may have a teacher, and in which a transformer is watched layer by layer."""

    settings: StudyRun

    def build(self) -> nn.Module:
        """The network; one with a token for the teacher, if there is one."""
        settings = self.settings
        if settings.teacher == "none":
            return super().build()
        if settings.kind != "vit":
            raise ValueError(f"kind is {settings.kind!r}, wanted 'vit' for a teacher")
        self.teacher = load_trained(KEPT_RESNET)[0].to(self.job.device)
        generator = seeded_generator(self.job.seed)
        return DistilledViT(vit_config(settings), generator=generator)

    def n_test(self) -> int:
        """As the settings say."""
        return self.settings.n_test

    def loss(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy, and what the teacher says."""
        kind = self.settings.teacher
        if kind == "none":
            return F.cross_entropy(model(pictures), labels)
        by_label, by_teacher = model(pictures, apart=True)
        with torch.no_grad():
            taught = self.teacher(pictures)
        return distillation_loss(by_label, by_teacher, taught, labels, kind=kind)

    def watch(self, model: nn.Module, pictures: Tensor) -> dict[str, float]:
        """Mean over the heads of each layer: how far it looks, in pixels, and how evenly."""
        if not isinstance(model, ViT):
            return {}
        _, weights = model(pictures[: self.settings.n_mapped], return_weights=True)
        far = pixel_distances(model, weights)
        even = entropy(weights, normalised=True)
        return {
            f"{name}_{layer}": round(value, 4)
            for name, values in (("distance", far), ("entropy", even))
            for layer, value in enumerate(values.flatten(1).mean(dim=1).tolist(), 1)
        }

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, Any]:
        """Measure how good the teacher is itself, where there is one."""
        if self.settings.teacher == "none":
            return {}
        right = torch.cat([self.teacher(part).argmax(-1) for part in pictures.split(500)]) == labels
        return {"accuracy_of_the_teacher": right.float().mean().item()}


@experiment(
    "vit-study",
    "optimiser, pictures, patches, convolutions and teachers of a vision transformer",
    arms=ARMS,
    sizes={
        "cpu": Size(as_config(STUDY_CPU), (0, 1, 2, 3, 4), 0.4, "one CPU core"),
        "day": Size(as_config(STUDY_DAY), (0, 1, 2), 10, "one CPU core", step=7),
        "full": Size(as_config(STUDY_FULL), (0, 1, 2), 60, "one GPU", own=True),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm."""
    return Studying(job, StudyRun(**job.config)).run()
