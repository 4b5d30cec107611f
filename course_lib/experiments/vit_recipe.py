"""A vision transformer trained three ways with the same number of steps, kept to be looked at.

The CIFAR-10 report calls augmentation crucial, and shows a table in which the validation loss rises
while the accuracy rises too. ``cpu`` is a small model for which this can be watched in minutes: on
few images without augmentation (``few``), on the same images shifted and flipped (``augmented``),
and on many images, seen a few times and flipped (``many``).
"""

import json
from dataclasses import asdict, replace

import torch
from torch import Tensor, nn

from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_ablations import SeeingRun, vit_config
from course_lib.experiments.vit_curves import Calibrated

# As in SeeingRun; the augmentation is "none", "flip", or "crop" for flips and shifts.
CPU: dict[str, object] = {
    "n_train": 5_000,
    "n_watched": 2_000,
    "epochs": 20,
    "augmentation": "none",
    "d_model": 64,
    "n_layers": 4,
    "n_heads": 4,
    "d_ff": 128,
    "batch_size": 100,
    "optimizer": "adamw",
    "learning_rate": 2e-3,
    "weight_decay": 0.05,
    "warmup": 0.1,
}
FULL = CPU | {
    "n_train": 50_000, "n_watched": 10_000, "epochs": 100, "d_model": 192, "n_layers": 6,
    "d_ff": 768,
}  # fmt: skip
ARMS: dict[str, dict[str, object]] = {
    "few": {},
    "many": {"n_train": 25_000, "epochs": 4, "augmentation": "flip"},
    "augmented": {"augmentation": "crop"},
}
# Settings whose weights are kept beside the test logits.
_WEIGHTS = ("many",)


class _Halved(Calibrated):
    """A run that is measured as it is kept, in half precision."""

    kept = ("few", "many")

    def vary(self, pictures: Tensor, generator: torch.Generator) -> Tensor:
        augmented = self.job.config["augmentation"] != "none"
        return super().vary(pictures, generator) if augmented else pictures

    def after(self, model: nn.Module, pictures: Tensor, labels: Tensor) -> dict[str, float]:
        self.halved = {name: value.half() for name, value in model.state_dict().items()}
        model.load_state_dict(self.halved)
        self.logits = torch.cat([model(chunk) for chunk in pictures.split(500)]).half()
        self.labels = labels.byte()
        return self.measure(self.logits.float(), labels)

    def weights(self, model: nn.Module) -> dict[str, Tensor]:
        tensors = {"logits": self.logits, "labels": self.labels}
        if self.job.arm in _WEIGHTS:
            tensors |= {f"model.{name}": value for name, value in self.halved.items()}
        return {name: value.cpu() for name, value in tensors.items()}


@experiment(
    "vit-recipe",
    "a vision transformer trained three ways with the same number of steps",
    arms=ARMS,
    sizes={
        "cpu": Size(CPU, (0,), 4, "two CPU cores"),
        "full": Size(FULL, (0, 1, 2), 10, "one GPU"),
    },
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm; what is kept says how the model is made."""
    shared = {k: v for k, v in job.config.items() if k != "augmentation"}
    crop = job.config["augmentation"] == "crop"
    settings = SeeingRun(**shared, positions="learned", dropout=0.0, crop=crop, std="pixel")
    outcome = _Halved(job, settings).run()
    if outcome.weights is None:
        return outcome
    tensors, text = outcome.weights
    config = json.dumps(asdict(vit_config(settings)))
    return replace(outcome, weights=(tensors, {**text, "config": config}))
