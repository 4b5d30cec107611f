"""Scores, the scale they are divided by, and the weights that the softmax makes of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, choice, slider, switch


@dataclass(frozen=True)
class Options(Figure):
    title = "From scores to weights."
    use = (
        "Drag a score up or down, or focus it and use the arrow keys; then widen the heads with "
        "and without the division."
    )

    scores: Sequence[float] = slider((1.6, 0.7, 0.1, -0.4, -0.9, -1.4), "score", -3, 3)
    d_head: int = choice(64, "head width", [4**i for i in range(6)])
    scaled: bool = switch(True, "divide by its root")
    temperature: float = slider(1.0, "temperature", 0.1, 4)

    def say(self, found: dict[str, Any]) -> str:
        weights = found["weights"]
        return (
            f"Largest weight {max(weights):.3f}. Entropy {found['entropy']:.2f} nats of at most "
            f"{math.log(len(weights)):.2f}. Gradient that gets through: {found['slope']:.3f}."
        )


def softmax_temperature(
    scores: Sequence[float], d_head: int = 1, scaled: bool = True, temperature: float = 1.0
) -> dict[str, Any]:
    """Weigh keys whose scores are dot products of width ``d_head``.

    A dot product of two vectors with independent entries of variance 1 has the standard deviation
    ``sqrt(d_head)``. So unit scores are first multiplied by that root, then divided by it if
    ``scaled``, then divided by the temperature. ``scaled``: whether to divide by ``sqrt(d_head)``.
    Returns ``logits`` and ``weights`` (lists), ``entropy`` in nats, and ``slope``: the trace of the
    softmax's Jacobian, ``1 - sum(weights ** 2)``, which is how much gradient gets through.
    """
    width = math.sqrt(d_head)
    logits = torch.tensor(scores, dtype=torch.float64) * (1.0 if scaled else width) / temperature
    weights = logits.softmax(dim=-1)
    entropy = torch.special.entr(weights).sum()
    slope = 1 - (weights**2).sum()
    return {
        "logits": logits.tolist(),
        "weights": weights.tolist(),
        "entropy": float(entropy),
        "slope": float(slope),
    }
