"""A thousand imagined experiments of paired runs: their intervals, and how many find something."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lib.experiments.verdict import t_quantile
from course_lib.figures.base import Figure, mulberry32, slider

__all__ = ["Options", "paired_plans"]

EXPERIMENTS, SHOWN, MOST = 1000, 24, 20
"""Numbers of imagined and drawn experiments, and the largest number of pairs.
"""


@dataclass(frozen=True)
class Options(Figure):
    title = "How often do paired runs find what is there?"
    use = (
        "Each line is the interval of one experiment. Move the true difference, the spread and the "
        "number of pairs; then set the difference to 0."
    )

    difference: float = slider(0.04, "difference", 0, 0.1)
    spread: float = slider(0.04, "spread", 0.01, 0.1)
    pairs: int = slider(5, "pairs", 2, MOST)
    quantiles: Sequence[float] = tuple(t_quantile(0.975, n - 1) for n in range(2, MOST + 1))

    def say(self, found: dict[str, Any]) -> str:
        here = found["found"][self.pairs - 2]
        if not self.difference:
            return (
                f"There is no difference, and {self.pairs} pairs find one in {here} of "
                f"{EXPERIMENTS} experiments."
            )
        enough = [n for n, share in enumerate(found["found"], 2) if share >= 0.8 * EXPERIMENTS]
        wanted = f"{enough[0]} pairs" if enough else f"more than {MOST} pairs"
        return (
            f"{self.pairs} pairs find the difference in {here} of {EXPERIMENTS} experiments. "
            f"Four in five take {wanted}."
        )


@cache
def luck() -> Tensor:
    """Random errors of pairs, ``(EXPERIMENTS, MOST)``, normally distributed."""
    both = torch.from_numpy(mulberry32(18, 2 * EXPERIMENTS * MOST))
    radius, angle = both.view(-1, 2).unbind(dim=1)
    normal = (-2 * (1 - radius).log()).sqrt() * (2 * torch.pi * angle).cos()
    return normal.view(EXPERIMENTS, MOST)


def paired_plans(
    difference: float, spread: float, pairs: int, quantiles: Sequence[float] = Options.quantiles
) -> dict[str, Any]:
    """Judge every imagined experiment by its interval.

    Returns ``means`` and ``halves``, the intervals of those that are drawn; ``found``, for 2, 3 and
    more pairs how many experiments have an interval without 0; ``wrong``, how many of those with so
    many pairs have it on the wrong side.
    """
    found, shown = [], {}
    for n, quantile in enumerate(quantiles, 2):
        gaps = difference + spread * luck()[:, :n]
        mean, half = gaps.mean(dim=1), quantile * gaps.std(dim=1) / n**0.5
        found.append(int((mean.abs() > half).sum()))
        if n == pairs:
            shown = {
                "means": mean[:SHOWN].tolist(),
                "halves": half[:SHOWN].tolist(),
                "wrong": int((mean + half < 0).sum()),
            }
    return {**shown, "found": found}
