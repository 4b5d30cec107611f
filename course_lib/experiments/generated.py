"""Training on batches that are drawn as they are needed, for experiments on generated data."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from course_lib.experiments.provenance import Clock
from course_lib.experiments.registry import Job
from course_lib.training import fit, seeded_generator, warmup_cosine

Batch = tuple[Tensor, ...]


@dataclass(frozen=True)
class Recipe:
    """Length and speed of training, in parts after each of which it is measured and can go on."""

    epochs: int
    steps: int  # batches of a part
    learning_rate: float
    warmup: int  # steps of the rise to it

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        if self.epochs < 1 or self.steps < 1:
            raise ValueError(
                f"epochs is {self.epochs} and steps {self.steps}, wanted at least 1 of each"
            )
        if not 0 <= self.warmup <= self.total:
            raise ValueError(
                f"warmup is {self.warmup}, wanted 0 to {self.total}, the steps of all "
                f"{self.epochs} epochs"
            )

    @property
    def total(self) -> int:
        """Steps of all epochs."""
        return self.epochs * self.steps


def train_generated(
    model: nn.Module,
    make_batch: Callable[[Generator], Batch],
    loss: Callable[[nn.Module, Batch], Tensor],
    evaluate: Callable[[nn.Module], Mapping[str, float]],
    recipe: Recipe,
    job: Job,
) -> list[dict[str, float]]:
    """Train a model on batches drawn with the job's seed.

    ``make_batch``: draws a batch; every step has a generator of its own. Returns one row an epoch,
    with the seconds that a record wants.
    """
    model.to(job.device)
    clock = Clock(job.device)

    def batches(epoch: int) -> Iterator[Batch]:
        for step in range(recipe.steps):
            # The first number keeps batches apart from weights and test data of the same seed.
            yield make_batch(seeded_generator(job.seed, 1, epoch, step))

    def on_device(model: nn.Module, batch: Batch) -> Tensor:
        return loss(model, tuple(part.to(job.device) for part in batch))

    def measured(model: nn.Module) -> dict[str, float]:
        return {**evaluate(model), **clock.lap()}

    return fit(
        model,
        torch.optim.AdamW(model.parameters(), lr=recipe.learning_rate, weight_decay=0.01),
        batches,
        on_device,
        epochs=recipe.epochs,
        seed=job.seed,
        schedule=lambda step: warmup_cosine(
            step, total_steps=recipe.total, warmup_steps=recipe.warmup
        ),
        evaluate=measured,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )


def sha256_of(tensors: Sequence[Tensor]) -> str:
    """SHA-256 over the values of tensors, for the record of generated data."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
