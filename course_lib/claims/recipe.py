"""Claims about the CIFAR-10 report's pictures, its optimiser and its schedule."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from course_lib.claims.finding import Finding
from course_lib.data import DataError, load_cifar10, shape_images
from course_lib.experiments.vit_cifar10 import make_optimizer
from course_lib.training import accuracy, fit, minibatches, seeded_generator, warmup_cosine
from course_lib.vit import ViT, ViTConfig, load_kept

__all__ = ["guide_follows_the_setup", "sixty_thousand_pictures", "steps_of_a_tenth_train"]


def sixty_thousand_pictures() -> Finding:
    """Count pictures by class: of the test set as kept, and of both sets if they are here."""
    counts = {"test": load_kept("few").labels.bincount().tolist()}
    wanted = {"test": [1_000] * 10}
    try:
        counts["training"] = load_cifar10("train", download=False).labels.bincount().tolist()
        wanted["training"] = [5_000] * 10
    except DataError:
        pass  # The labels of the test set are kept with the book; the others are not.
    return Finding(
        holds=counts == wanted,
        evidence="; ".join(
            f"{sum(found):,} {name} pictures in {len(found)} classes of {min(found):,} or more"
            for name, found in counts.items()
        ),
    )


def guide_rate(step: int, warmup_steps: int, total_steps: int) -> float:
    """The factor of ``transformers.get_cosine_schedule_with_warmup``, which the guide calls.

    Returns a number in [0, 1].
    """
    if step < warmup_steps:
        return step / max(1, warmup_steps)
    progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return max(0.0, 0.5 * (1.0 + math.cos(math.pi * 0.5 * 2.0 * progress)))


def guide_follows_the_setup() -> Finding:
    """Take the setup's schedule through an optimiser, and compare with the one the guide calls."""
    epochs, each, ratio = 30, 10, 0.05
    total = epochs * each
    rise = int(ratio * total)

    def setup(step: int) -> float:  # as it is printed
        if step < rise:
            return float(step) / float(max(1, rise))
        progress = float(step - rise) / float(max(1, total - rise))
        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * progress)))

    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = LambdaLR(optimizer, setup)
    rates = []
    for _ in range(total):
        rates.append(float(schedule.get_last_lr()[0]))
        optimizer.step()
        schedule.step()
    gap = max(abs(rate - guide_rate(step, rise, total)) for step, rate in enumerate(rates))
    return Finding(
        holds=gap < 1e-9,
        evidence=f"over {total} steps the two differ by at most {gap:.0e}; the first step is taken "
        f"at a rate of {rates[0]:g}, and the largest factor is {max(rates):g}",
    )


def steps_of_a_tenth_train() -> Finding:
    """A tiny model says in which quarter of a picture a shape is, with the report's optimiser."""
    seen, unseen = (
        shape_images(n, torch.Generator().manual_seed(i), size=16)
        for i, n in enumerate((3_000, 500))
    )
    config = ViTConfig(16, 4, 3, 4, 32, 2, 2, 64, dropout=0.0, positions="learned")
    model = ViT(config, generator=seeded_generator(0))
    pictures = 2 * unseen.images - 1
    with torch.no_grad():
        before = accuracy(model.eval()(pictures), unseen.quadrant[:, 0])
    fit(
        model,
        make_optimizer(model, "sgd", 0.1, 1e-4),
        lambda epoch: minibatches(
            2 * seen.images - 1,
            seen.quadrant[:, 0],
            batch_size=64,
            generator=seeded_generator(0, epoch),
        ),
        lambda model, batch: F.cross_entropy(model(batch[0]), batch[1]),
        epochs=3,
        schedule=lambda step: warmup_cosine(step, total_steps=141, warmup_steps=7),
    )
    with torch.no_grad():
        after = accuracy(model.eval()(pictures), unseen.quadrant[:, 0])
    return Finding(
        holds=after > 0.45 and after > before + 0.15,
        evidence=f"in 141 steps of SGD at a rate of 0.1 a small model goes from {before:.2f} to "
        f"{after:.2f} right answers, where guessing gives 0.25",
    )
