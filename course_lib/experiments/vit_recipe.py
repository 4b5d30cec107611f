"""A vision transformer trained three ways with the same number of steps, kept to be looked at.

The CIFAR-10 report calls augmentation crucial, and shows a table in which the validation loss rises
while the accuracy rises too. ``cpu`` is a small model for which this can be watched in minutes: on
few images without augmentation (``few``), on the same images shifted and flipped (``augmented``),
and on many images, seen a few times and flipped (``many``). One seed: what it shows is an example,
and no difference is concluded from it.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.calibration import expected_calibration_error
from course_lib.data.cifar import load_cifar10, normalise
from course_lib.experiments.provenance import Clock
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.vit_cifar10 import augment, make_optimizer
from course_lib.training import (
    accuracy,
    count_parameters,
    fit,
    minibatches,
    seeded_generator,
    warmup_cosine,
)
from course_lib.vit import ViT, ViTConfig


@dataclass(frozen=True)
class RecipeRun:
    """All settings of a run.

    Args:
        n_train: The first so many training images.
        n_watched: The first so many test images are looked at after every epoch.
        epochs: Passes over the training images.
        augmentation: ``"none"``, ``"flip"``, or ``"crop"`` for flips and shifts.
        d_model: Width of the tokens.
        n_layers: Blocks.
        n_heads: Heads a block.
        d_ff: Hidden width of the feed-forward parts.
        batch_size: Images a step.
        optimizer: ``"sgd"`` with momentum 0.9, or ``"adamw"``.
        learning_rate: At the top of the schedule.
        weight_decay: Of the optimiser.
        warmup: Share of all steps in which the learning rate rises.
    """

    n_train: int = 5_000
    n_watched: int = 2_000
    epochs: int = 20
    augmentation: Literal["none", "flip", "crop"] = "none"
    d_model: int = 64
    n_layers: int = 4
    n_heads: int = 4
    d_ff: int = 128
    batch_size: int = 100
    optimizer: Literal["sgd", "adamw"] = "adamw"
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warmup: float = 0.1


CPU = RecipeRun()
FULL = RecipeRun(n_train=50_000, n_watched=10_000, epochs=100, d_model=192, n_layers=6, d_ff=768)
ARMS: dict[str, dict[str, object]] = {
    "few": {},
    "many": {"n_train": 25_000, "epochs": 4, "augmentation": "flip"},
    "augmented": {"augmentation": "crop"},
}
# Whose test logits are kept beside the record, and whose weights.
_LOGITS, _WEIGHTS = ("few", "many"), ("many",)


@experiment(
    "vit-recipe",
    "a vision transformer trained three ways with the same number of steps",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(CPU), (0,), 4, "two CPU cores"),
        "full": Size(asdict(FULL), (0, 1, 2), 10, "one GPU"),
    },
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm; it is measured as it is kept, in half precision."""
    settings = RecipeRun(**job.config)
    training, test = load_cifar10("train"), load_cifar10("test")
    images = training.images[: settings.n_train].to(job.device)
    labels = training.labels[: settings.n_train].to(job.device)
    test_images, test_labels = normalise(test.images).to(job.device), test.labels.to(job.device)

    model = ViT(
        ViTConfig(
            d_model=settings.d_model,
            n_layers=settings.n_layers,
            n_heads=settings.n_heads,
            d_ff=settings.d_ff,
            dropout=0.0,
            positions="learned",
        ),
        generator=seeded_generator(job.seed),
    ).to(job.device)
    optimizer = make_optimizer(
        model, settings.optimizer, settings.learning_rate, settings.weight_decay
    )
    total_steps = settings.epochs * -(-settings.n_train // settings.batch_size)
    clock = Clock(job.device)

    def batches(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        generator = seeded_generator(job.seed, epoch)
        for chosen, answers in minibatches(
            images, labels, batch_size=settings.batch_size, generator=generator
        ):
            if settings.augmentation != "none":
                chosen = augment(chosen, generator, settings.augmentation == "crop")
            yield normalise(chosen), answers

    def logits_of(n: int) -> Tensor:
        return torch.cat([model(chunk) for chunk in test_images[:n].split(500)])

    def measure(logits: Tensor) -> dict[str, float]:
        answers = test_labels[: len(logits)]
        return {
            "accuracy": accuracy(logits, answers),
            "test_loss": F.cross_entropy(logits, answers).item(),
            "calibration_error": expected_calibration_error(logits.cpu(), answers.cpu()),
        }

    def evaluate(_: nn.Module) -> dict[str, float]:
        return measure(logits_of(settings.n_watched)) | clock.lap()

    history = fit(
        model,
        optimizer,
        batches,
        lambda _, batch: F.cross_entropy(model(batch[0]), batch[1]),
        epochs=settings.epochs,
        seed=job.seed,
        schedule=lambda step: warmup_cosine(
            step, total_steps=total_steps, warmup_steps=int(settings.warmup * total_steps)
        ),
        evaluate=evaluate,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )
    kept = {name: value.detach().half() for name, value in model.state_dict().items()}
    model.load_state_dict(kept)
    model.eval()
    with torch.no_grad():
        logits = logits_of(len(test_images)).half()
    results = measure(logits.float()) | {"n_parameters": count_parameters(model)}
    tensors = {"logits": logits.cpu(), "labels": test_labels.byte().cpu()}
    if job.arm in _WEIGHTS:
        tensors |= {f"model.{name}": value.cpu() for name, value in kept.items()}
    text = {"config": json.dumps(asdict(model.config)), "variant": training.variant}
    wanted = job.seed == 0 and job.arm in _LOGITS
    return Outcome(
        [DataUse("cifar10", training.variant, training.sha256)],
        history,
        results,
        (tensors, text) if wanted else None,
    )
