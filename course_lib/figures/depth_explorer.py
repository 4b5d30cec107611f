"""Gradients and tokens over the depth of a stack, for five ways to put its blocks together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from course_lib.figures.base import Figure, choice, slider
from course_lib.transformer.depth import ARRANGEMENTS, Arrangement, depth_profile

DEPTHS = (2, 4, 8, 12, 16, 24)
QUANTITIES = ("gradient", "diversity", "variance")
FORMULAS: dict[str, str] = {
    "neither": "f(x)",
    "residual": "x + f(x)",
    "norm": "f(norm(x))",
    "post": "norm(x + f(x)), post-norm",
    "pre": "x + f(norm(x)), pre-norm",
}
_LABELS = {
    "gradient": "gradient that arrives",
    "diversity": "share that differs between tokens",
    "variance": "variance of the stream",
}

Sweep = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]


@cache
def _curve(arrangement: Arrangement, depth: int) -> dict[str, list[float]]:
    profile = depth_profile(arrangement, depth)
    # Four digits: a page carries a thousand of these numbers.
    return {
        quantity: [float(f"{value:.3e}") for value in getattr(profile, quantity).tolist()]
        for quantity in QUANTITIES
    }


def _sweep() -> Sweep:
    return {a: {str(depth): _curve(a, depth) for depth in DEPTHS} for a in ARRANGEMENTS}


@dataclass(frozen=True)
class Options(Figure):
    """First state; ``sweep``: all curves, measured when the figure is made."""

    title = "Down a deep stack."
    use = (
        "Choose what surrounds each sub-layer f of a block, how many blocks there are, and what is "
        "measured. Drag the point along the curve, or focus it and use the arrow keys. The scale "
        "is logarithmic: each line is a factor of ten or more."
    )

    arrangement: Arrangement = choice("neither", "each sub-layer", FORMULAS)
    depth: int = choice(12, "blocks", DEPTHS)
    quantity: str = choice("gradient", "measured", _LABELS)
    layer: int = slider(0, "after block", 0, lambda now: now.depth)
    sweep: Sweep = field(default_factory=_sweep)

    def say(self, found: dict[str, Any]) -> str:
        place = f"after block {self.layer}" if self.layer else "at the entrance"
        return (
            f"{FORMULAS[self.arrangement]}, {self.depth} blocks: {_LABELS[self.quantity]} {place} "
            f"{_number(found['value'])}; at the entrance {_number(found['ratio'])} times "
            "what it is at the end."
        )


def depth_explorer(
    arrangement: Arrangement, depth: int = 12, quantity: str = "gradient", layer: int = 0
) -> dict[str, Any]:
    """Measure one quantity after each block of a stack that has not been trained.

    ``arrangement``: what surrounds each sub-layer, a key of :data:`FORMULAS`; ``quantity``: one of
    :data:`QUANTITIES`, see :class:`~course_lib.transformer.depth.DepthProfile`. Returns the
    ``curve``, L + 1 numbers of four digits, the ``value`` at the place that is read, and the
    ``ratio`` of the first to the last.
    """
    curve = _curve(arrangement, depth)[quantity]
    return {"curve": curve, "value": curve[layer], "ratio": curve[0] / curve[-1]}


def _number(value: float) -> str:
    """Three digits, as the script writes them."""
    if 0.01 <= value < 1000:
        return f"{value:.3g}" if value < 100 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"
