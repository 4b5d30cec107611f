"""A vision transformer on CIFAR-10, with and without positions.

The CIFAR-10 report trains for 300 epochs and finds that a model without positional encoding loses
8.7 points. ``full`` is the report's setting. ``cpu`` is a much smaller model, trained for minutes:
it can show the sign of that difference, not its size, and no accuracy that compares with the
report's.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.data.cifar import IMAGE_STD, PIXEL_STD, load_cifar10, normalise
from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import Question, learned
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.training import (
    accuracy,
    count_parameters,
    fit,
    minibatches,
    seeded_generator,
    warmup_cosine,
)
from course_lib.vit import Positions, ViT, ViTConfig


@dataclass(frozen=True)
class ViTRun:
    """All settings of a run; the defaults are the CIFAR-10 report's.

    Args:
        positions: ``"fixed"`` or ``"none"``: the arm.
        n_train: The first so many training images.
        epochs: Passes over them.
        d_model: Width of the tokens.
        n_layers: Blocks.
        n_heads: Heads a block.
        d_ff: Hidden width of the feed-forward parts.
        dropout: Probability of dropping.
        batch_size: Images a step.
        optimizer: ``"sgd"`` with momentum 0.9, or ``"adamw"``.
        learning_rate: At the top of the schedule.
        weight_decay: Of the optimiser.
        warmup: Share of all steps in which the learning rate rises.
        crop: Whether training images are shifted by up to 4 pixels, besides being flipped.
        std: What pixels are divided by: the report's mean ``"image"`` deviation or the ``"pixel"``
            deviation.
    """

    positions: Positions = "fixed"
    n_train: int = 50_000
    epochs: int = 300
    d_model: int = 400
    n_layers: int = 6
    n_heads: int = 8
    d_ff: int = 512
    dropout: float = 0.1
    batch_size: int = 100
    optimizer: Literal["sgd", "adamw"] = "sgd"
    learning_rate: float = 0.1
    weight_decay: float = 1e-4
    warmup: float = 0.05
    crop: bool = True
    std: Literal["image", "pixel"] = "image"


CPU = ViTRun(
    n_train=20_000,
    epochs=5,
    d_model=64,
    n_layers=4,
    n_heads=4,
    d_ff=128,
    dropout=0.0,
    optimizer="adamw",
    learning_rate=2e-3,
    weight_decay=0.05,
    warmup=0.1,
    crop=False,
    std="pixel",
)
FULL = ViTRun()


def augment(images: Tensor, generator: torch.Generator, crop: bool) -> Tensor:
    """Flip half of the images, and shift each by up to 4 pixels if ``crop``.

    What a shift brings in is black, as in the report.

    Args:
        images: Bytes ``(B, 3, H, W)``.
        generator: Source of randomness.
        crop: Whether to shift.

    Returns:
        Bytes ``(B, 3, H, W)``.

    Example:
        >>> images = torch.arange(6, dtype=torch.uint8).view(1, 1, 2, 3).expand(1, 3, 2, 3)
        >>> made = [augment(images, torch.Generator().manual_seed(i), crop=False)
        ...         for i in range(20)]
        >>> sorted({tuple(image[0, 0, 0].tolist()) for image in made})
        [(0, 1, 2), (2, 1, 0)]
    """
    n, _, height, width = images.shape
    flip = torch.rand(n, generator=generator) < 0.5
    images = torch.where(flip.view(-1, 1, 1, 1).to(images.device), images.flip(-1), images)
    if not crop:
        return images
    down, right = torch.randint(9, (2, n, 1), generator=generator).to(images.device)
    rows = torch.arange(height, device=images.device) + down
    columns = torch.arange(width, device=images.device) + right
    padded = F.pad(images, (4, 4, 4, 4)).permute(0, 2, 3, 1)  # (B, H + 8, W + 8, 3)
    batch = torch.arange(n, device=images.device).view(-1, 1, 1)
    return padded[batch, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)


def make_optimizer(
    model: nn.Module,
    name: Literal["sgd", "adamw"],
    learning_rate: float,
    weight_decay: float,
) -> torch.optim.Optimizer:
    """The report's optimiser, or the one that transformers are usually trained with.

    Args:
        model: Whose parameters are to change.
        name: ``"sgd"`` with momentum 0.9, or ``"adamw"``.
        learning_rate: At the top of the schedule.
        weight_decay: Of all parameters.

    Example:
        >>> type(make_optimizer(nn.Linear(2, 2), "adamw", 1e-3, 0.05)).__name__
        'AdamW'
    """
    if name == "sgd":
        return torch.optim.SGD(
            model.parameters(), lr=learning_rate, momentum=0.9, weight_decay=weight_decay
        )
    return torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=weight_decay)


QUESTIONS = (
    Question("positions", "A vision transformer without positional encoding is less accurate.",
             "the CIFAR-10 report", "fixed", "none", margin=0.02),
    Question("learns", "After the last epoch the model is better than after the first.",
             "control", "fixed", metric=learned("accuracy"), minus=0.0),
)  # fmt: skip
"""The report's claim about positions, and a control."""


@experiment(
    "vit-cifar10",
    "a vision transformer on CIFAR-10, with fixed positions and with none",
    arms={"fixed": {"positions": "fixed"}, "none": {"positions": "none"}},
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2), 3, "two CPU cores"),
        "full": Size(asdict(FULL), (0, 1, 2), 60, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm; the accuracy is that after the last epoch, nothing was chosen by it."""
    settings = ViTRun(**job.config)
    training, test = load_cifar10("train"), load_cifar10("test")
    std = PIXEL_STD if settings.std == "pixel" else IMAGE_STD
    images = training.images[: settings.n_train].to(job.device)
    labels = training.labels[: settings.n_train].to(job.device)
    test_images = normalise(test.images, std=std).to(job.device)
    test_labels = test.labels.to(job.device)

    model = ViT(
        ViTConfig(
            d_model=settings.d_model,
            n_layers=settings.n_layers,
            n_heads=settings.n_heads,
            d_ff=settings.d_ff,
            dropout=settings.dropout,
            positions=settings.positions,
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
            yield normalise(augment(chosen, generator, settings.crop), std=std), answers

    def evaluate(_: nn.Module) -> dict[str, float]:
        logits = torch.cat([model(chunk) for chunk in test_images.split(500)])
        return {
            "accuracy": accuracy(logits, test_labels),
            "test_loss": F.cross_entropy(logits, test_labels).item(),
            **clock.lap(),
        }

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
    results = {
        "accuracy": history[-1]["accuracy"],
        "test_loss": history[-1]["test_loss"],
        "n_parameters": count_parameters(model),
    }
    return Outcome([DataUse("cifar10", training.variant, training.sha256)], history, results)
