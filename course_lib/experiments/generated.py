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
    """How long and how fast to train.

    Attributes:
        epochs: Parts of the training, after each of which it is measured and can be taken up again.
        steps: Batches of a part.
        learning_rate: Largest learning rate of AdamW.
        warmup: Steps of the rise to it.

    Raises:
        ValueError: If there is no step, or the rise is longer than the training.

    Example:
        >>> Recipe(epochs=4, steps=50, learning_rate=1e-3, warmup=300)
        Traceback (most recent call last):
        ...
        ValueError: warmup is 300, wanted 0 to 200, the steps of all 4 epochs
    """

    epochs: int
    steps: int
    learning_rate: float
    warmup: int

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

    Args:
        model: Trained in place, on the job's device.
        make_batch: Draws a batch; every step has a generator of its own.
        loss: From model and batch, which is on the job's device, to a scalar.
        evaluate: Measures the model after every epoch.
        recipe: How long and how fast.
        job: For seed, device, checkpoint and progress.

    Returns:
        One row an epoch, with the seconds that a record wants.

    Raises:
        FloatingPointError: If the loss stops being a number.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> def points(generator):
        ...     x = torch.randn(16, 1, generator=generator)
        ...     return x, 3 * x
        >>> with TemporaryDirectory() as folder:
        ...     rows = train_generated(
        ...         nn.Linear(1, 1), points, lambda m, b: (m(b[0]) - b[1]).square().mean(),
        ...         lambda m: {}, Recipe(epochs=2, steps=60, learning_rate=0.2, warmup=5),
        ...         Job("a", {}, 0, torch.device("cpu"), Path(folder) / "c.pt", False),
        ...     )
        >>> len(rows), rows[-1]["loss"] < rows[0]["loss"] / 10
        (2, True)
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
    """SHA-256 over the values of tensors, for the record of generated data.

    Args:
        tensors: Of any shape, on the CPU.

    Example:
        >>> sha256_of([torch.arange(3)]) == sha256_of([torch.arange(3)])
        True
        >>> sha256_of([torch.arange(3)]) == sha256_of([torch.arange(4)])
        False
    """
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()
