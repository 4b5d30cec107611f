"""Two positions as hands on the dials of their codes, and how alike the codes are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch

from course_lib.figures.base import Description, widget_box
from course_lib.positions import sinusoidal_encoding, wavelengths

__all__ = ["SPAN", "Options", "describe", "sinusoid_explorer", "widget"]

SPAN = 64
"""The largest distance that is drawn."""


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        position: Where the first token stands, up to 64.
        distance: How far behind it the second one stands, up to :data:`SPAN`.
        d_model: Width of a code: 4, 8, 16 or 32.
        base: A power of 10 from 10 to 10,000.
        cosines: Whether a code has its cosines; without them, only the heights of the hands.
    """

    position: int = 5
    distance: int = 3
    d_model: int = 16
    base: int = 10_000
    cosines: bool = True


def sinusoid_explorer(
    position: int, distance: int, d_model: int = 16, base: float = 10_000, cosines: bool = True
) -> dict[str, Any]:
    """Make the codes of two positions and compare them.

    Args:
        position: Where the first token stands.
        distance: How far behind it the second one stands.
        d_model: Width D of a code with cosines, even.
        base: Base of the wavelengths.
        cosines: Whether a code has its cosines, too, or only its D / 2 sines.

    Returns:
        The codes ``here`` and ``there`` (lists, sine and cosine by turns), their ``product`` and
        their ``gap`` (Euclidean distance), the product at all distances from 0 to :data:`SPAN` as
        ``curve``, and the ``waves`` of the pairs, in positions.

    Example:
        With its cosines a code compares by distance alone; without, the place matters.

        >>> [round(sinusoid_explorer(p, 3)["product"], 6) for p in (5, 50)]
        [5.543101, 5.543101]
        >>> [round(sinusoid_explorer(p, 3, cosines=False)["product"], 2) for p in (5, 50)]
        [0.01, 2.05]
    """
    places = torch.tensor(position, dtype=torch.float64) + torch.arange(SPAN + 1)
    codes = sinusoidal_encoding(places, d_model, base=base)
    if not cosines:
        codes = codes[:, 0::2]
    curve = codes @ codes[0]
    return {
        "here": codes[0].tolist(),
        "there": codes[distance].tolist(),
        "product": float(curve[distance]),
        "gap": float((codes[distance] - codes[0]).norm()),
        "curve": curve.tolist(),
        "waves": wavelengths(d_model, base=base).tolist(),
    }


def readout(position: int, distance: int, found: dict[str, Any]) -> str:
    """Say the state in a sentence; the script says the same one.

    Args:
        position: Where the first token stands.
        distance: How far behind it the second one stands.
        found: What :func:`sinusoid_explorer` returned.

    Returns:
        Plain text.
    """
    return (
        f"Positions {position} and {position + distance}: inner product {found['product']:.2f}, "
        f"of the first with itself {found['curve'][0]:.2f}; "
        f"the codes are {found['gap']:.2f} apart. "
        f"Wavelengths from {found['waves'][0]:.1f} to {found['waves'][-1]:.1f} positions."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    found = sinusoid_explorer(
        options.position, options.distance, options.d_model, options.base, options.cosines
    )
    return Description(
        "Clocks for two positions.",
        "Each dial is a pair of channels, with its wavelength below: the filled hand is the first "
        "token, the open one the second. Drag the point on the curve, or focus it and use the "
        "arrow keys, to move the second token; then move both, and take the cosines away.",
        readout(options.position, options.distance, found),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    controls = {
        "position": ipywidgets.IntSlider(
            value=options.position, min=0, max=SPAN, description="position"
        ),
        "distance": ipywidgets.IntSlider(
            value=options.distance, min=0, max=SPAN, description="distance"
        ),
        "d_model": ipywidgets.SelectionSlider(
            options=[4, 8, 16, 32], value=options.d_model, description="width"
        ),
        "base": ipywidgets.SelectionSlider(
            options=[10, 100, 1_000, 10_000], value=options.base, description="base"
        ),
        "cosines": ipywidgets.Checkbox(options.cosines, description="with cosines"),
    }

    def render(position: int, distance: int, d_model: int, base: int, cosines: bool) -> str:
        found = sinusoid_explorer(position, distance, d_model, base, cosines)
        drawn = _dials(found, cosines) + _curve(found["curve"], distance)
        return f"{drawn}<p>{readout(position, distance, found)}</p>"

    return widget_box(describe(options), controls, render)


def _dials(found: dict[str, Any], cosines: bool) -> str:
    step = 2 if cosines else 1
    parts = []
    for pair, wave in enumerate(found["waves"]):
        parts.append(f"<g transform='translate({24 + 46 * pair} 26)'>")
        parts.append("<circle r='18' fill='none' stroke='#999'/>")
        for code, color in ((found["there"], "#D55E00"), (found["here"], "#2B7BBA")):
            x = 18 * code[step * pair + 1] if cosines else 0.0
            y = -18 * code[step * pair]
            parts.append(f"<line x2='{x:.2f}' y2='{y:.2f}' stroke='{color}' stroke-width='2'/>")
            parts.append(f"<circle cx='{x:.2f}' cy='{y:.2f}' r='3.5' fill='{color}'/>")
        parts.append(f"<text y='34' font-size='10' text-anchor='middle'>{wave:.3g}</text></g>")
    width = 46 * len(found["waves"]) + 4
    return f"<svg width='{width}' height='66'>{''.join(parts)}</svg>"


def _curve(values: Sequence[float], distance: int) -> str:
    largest = max(map(abs, values)) or 1.0
    points = [(5 * k + 5, 60 - 50 * value / largest) for k, value in enumerate(values)]
    line = " ".join(f"{x},{y:.2f}" for x, y in points)
    x, y = points[distance]
    return (
        f"<br><svg width='{5 * len(values) + 10}' height='120'>"
        f"<line x1='5' x2='{points[-1][0]}' y1='60' y2='60' stroke='#999'/>"
        f"<polyline points='{line}' fill='none' stroke='#2B7BBA' stroke-width='2'/>"
        f"<circle cx='{x}' cy='{y:.2f}' r='5' fill='#D55E00'/></svg>"
    )
