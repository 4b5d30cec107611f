"""Gradients and tokens over the depth of a stack, for five ways to put its blocks together."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ipywidgets

from course_lib.figures.base import Description, widget_box
from course_lib.transformer.depth import ARRANGEMENTS, Arrangement, depth_profile

__all__ = ["DEPTHS", "FORMULAS", "QUANTITIES", "Options", "depth_explorer", "describe", "widget"]

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
    "diversity": "share that tells tokens apart",
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
class Options:
    """What the figure shows at first.

    Attributes:
        arrangement: What surrounds each part, a key of :data:`FORMULAS`.
        depth: Number of blocks, one of :data:`DEPTHS`.
        quantity: What is drawn, one of :data:`QUANTITIES`.
        layer: The place that is read, from 0, the entrance, to the depth.
        sweep: All curves, measured when the figure is made; nothing to choose.
    """

    arrangement: str = "neither"
    depth: int = 12
    quantity: str = "gradient"
    layer: int = 0
    sweep: Sweep = field(default_factory=_sweep)


def depth_explorer(
    arrangement: Arrangement, depth: int = 12, quantity: str = "gradient", layer: int = 0
) -> dict[str, Any]:
    """Measure one quantity behind each block of a stack that has not been trained.

    Args:
        arrangement: What surrounds each part, a key of :data:`FORMULAS`.
        depth: Number L of blocks.
        quantity: One of :data:`QUANTITIES`, see
            :class:`~course_lib.transformer.depth.DepthProfile`.
        layer: The place that is read.

    Returns:
        The ``curve``, L + 1 numbers of four digits, the ``value`` at the place that is read, and
        the ``ratio`` of the first to the last.

    Example:
        >>> depth_explorer("neither", 8)["ratio"] < 0.001
        True
        >>> depth_explorer("pre", 8)["ratio"] > 1
        True
    """
    curve = _curve(arrangement, depth)[quantity]
    return {"curve": curve, "value": curve[layer], "ratio": curve[0] / curve[-1]}


def readout(arrangement: str, depth: int, quantity: str, layer: int, found: dict[str, Any]) -> str:
    """Say the state in a sentence; the script says the same one.

    Args:
        arrangement: What surrounds each part.
        depth: Number of blocks.
        quantity: What is drawn.
        layer: The place that is read.
        found: What :func:`depth_explorer` returned.

    Returns:
        Plain text.
    """
    place = f"behind block {layer}" if layer else "at the entrance"
    return (
        f"{FORMULAS[arrangement]}, {depth} blocks: {_LABELS[quantity]} {place} "
        f"{_number(found['value'])}; at the entrance {_number(found['ratio'])} times "
        "what it is at the end."
    )


def _number(value: float) -> str:
    """Three digits, as the script writes them."""
    if 0.01 <= value < 1000:
        return f"{value:.3g}" if value < 100 else f"{value:.0f}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    now = (options.arrangement, options.depth, options.quantity, options.layer)
    found = depth_explorer(*now)  # type: ignore[arg-type]
    return Description(
        "Down a deep stack.",
        "Choose what surrounds each part f of a block, how many blocks there are, and what is "
        "measured. Drag the point along the curve, or focus it and use the arrow keys. The scale "
        "is logarithmic: each line is a factor of ten or more.",
        readout(*now, found),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    controls = {
        "arrangement": ipywidgets.Dropdown(
            options=[(text, name) for name, text in FORMULAS.items()],
            value=options.arrangement,
            description="each part",
        ),
        "quantity": ipywidgets.Dropdown(
            options=[(text, name) for name, text in _LABELS.items()],
            value=options.quantity,
            description="measured",
        ),
        "depth": ipywidgets.SelectionSlider(
            options=DEPTHS, value=options.depth, description="blocks"
        ),
        "layer": ipywidgets.IntSlider(
            value=options.layer, min=0, max=max(DEPTHS), description="behind block"
        ),
    }

    def render(arrangement: Arrangement, quantity: str, depth: int, layer: int) -> str:
        layer = min(layer, depth)
        found = depth_explorer(arrangement, depth, quantity, layer)
        return f"{_drawn(found['curve'], layer)}<p>" + (
            f"{readout(arrangement, depth, quantity, layer, found)}</p>"
        )

    return widget_box(describe(options), controls, render)


def _drawn(values: Sequence[float], layer: int) -> str:
    logs = [math.log10(value) for value in values]
    low, high = math.floor(min(logs)), max(math.ceil(max(logs)), math.floor(min(logs)) + 1)
    points = [
        (10 + 300 * i / (len(logs) - 1), 130 - 120 * (log - low) / (high - low))
        for i, log in enumerate(logs)
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[layer]
    return (
        "<svg width='360' height='150'>"
        f"<polyline points='{line}' fill='none' stroke='#2B7BBA' stroke-width='2'/>"
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' fill='#D55E00'/>"
        f"<text x='316' y='14' font-size='11'>1e{high}</text>"
        f"<text x='316' y='134' font-size='11'>1e{low}</text></svg>"
    )
