"""Scores, the scale they are divided by, and the weights that the softmax makes of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch

from course_lib.figures.base import Description, bars, widget_box

__all__ = ["Options", "describe", "softmax_temperature", "widget"]


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        scores: One score per key as it would be at head width 1: numbers of unit variance.
        d_head: Head width, a power of 4 up to 1024; it multiplies the scores by its square root.
        scaled: Whether the scores are divided by that square root again.
        temperature: A further divisor.
    """

    scores: Sequence[float] = (1.6, 0.7, 0.1, -0.4, -0.9, -1.4)
    d_head: int = 64
    scaled: bool = True
    temperature: float = 1.0


def softmax_temperature(
    scores: Sequence[float], d_head: int = 1, scaled: bool = True, temperature: float = 1.0
) -> dict[str, Any]:
    """Weigh keys whose scores are dot products of width ``d_head``.

    A dot product of two vectors with independent entries of variance 1 has the standard deviation
    ``sqrt(d_head)``. So unit scores are first multiplied by that root, then divided by it if
    ``scaled``, then divided by the temperature.

    Args:
        scores: One unit-variance score per key.
        d_head: Head width.
        scaled: Whether to divide by ``sqrt(d_head)``.
        temperature: A further divisor, more than 0.

    Returns:
        ``logits`` and ``weights`` (lists), ``entropy`` in nats, and ``slope``: the trace of the
        softmax's Jacobian, ``1 - sum(weights ** 2)``, which is how much gradient gets through.

    Raises:
        ValueError: If the temperature is not positive.

    Example:
        >>> sharp = softmax_temperature([1.0, 0.0], d_head=64, scaled=False)
        >>> [round(weight, 4) for weight in sharp["weights"]], round(sharp["slope"], 4)
        ([0.9997, 0.0003], 0.0007)
        >>> mild = softmax_temperature([1.0, 0.0], d_head=64)
        >>> [round(weight, 4) for weight in mild["weights"]], round(mild["slope"], 4)
        ([0.7311, 0.2689], 0.3932)
    """
    if temperature <= 0:
        raise ValueError(f"temperature is {temperature}, wanted more than 0")
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


def readout(found: dict[str, Any]) -> str:
    """Say the numbers in a sentence; the script says the same one.

    Args:
        found: What :func:`softmax_temperature` returned.

    Returns:
        Plain text.
    """
    weights = found["weights"]
    return (
        f"Largest weight {max(weights):.3f}. Entropy {found['entropy']:.2f} nats of at most "
        f"{math.log(len(weights)):.2f}. Gradient that gets through: {found['slope']:.3f}."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    return Description(
        "From scores to weights.",
        "Drag a score up or down, or focus it and use the arrow keys; then widen the heads with "
        "and without the division.",
        readout(
            softmax_temperature(options.scores, options.d_head, options.scaled, options.temperature)
        ),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    controls: dict[str, Any] = {
        f"score{i}": ipywidgets.FloatSlider(
            value=score, min=-3, max=3, step=0.1, description=f"score {i + 1}"
        )
        for i, score in enumerate(options.scores)
    }
    controls["d_head"] = ipywidgets.SelectionSlider(
        options=[4**i for i in range(6)], value=options.d_head, description="head width"
    )
    controls["scaled"] = ipywidgets.Checkbox(options.scaled, description="divide by its root")
    controls["temperature"] = ipywidgets.FloatSlider(
        value=options.temperature, min=0.1, max=4, step=0.1, description="temperature"
    )

    def render(d_head: int, scaled: bool, temperature: float, **scores: float) -> str:
        found = softmax_temperature([*scores.values()], d_head, scaled, temperature)
        labels = [f"key {i + 1}" for i in range(len(scores))]
        return bars(labels, found["weights"]) + f"<p>{readout(found)}</p>"

    return widget_box(describe(options), controls, render)
