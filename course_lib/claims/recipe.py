"""A claim about the CIFAR-10 report's schedule."""

import math

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from course_lib.claims.finding import Finding


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
