"""A query and a key as hands of clocks, one clock for each pair of channels that turns."""

from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch

from course_lib.figures.base import Description, widget_box
from course_lib.positions import rotary_angles, rotate

__all__ = ["KEY", "LAST", "QUERY", "Options", "describe", "rope_rotation", "widget"]

LAST = 64
"""The last position."""

QUERY = (0.9, 0.3, 0.8, -0.4, 0.2, 0.9, -0.6, 0.7)
"""The query before it is turned: four pairs of channels."""

KEY = (1.0, 0.1, 0.6, -0.7, 0.5, 0.8, -0.8, 0.4)
"""The key before it is turned."""


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        query: Where the query stands, up to :data:`LAST`.
        key: Where the key stands, up to :data:`LAST`.
        base: A power of 10 from 10 to 10,000.
        together: Whether the key moves along when the query is moved.
    """

    query: int = 20
    key: int = 17
    base: int = 100
    together: bool = False


def rope_rotation(query: int, key: int, base: float = 100) -> dict[str, Any]:
    """Turn a query and a key by where they stand, and let them meet.

    Args:
        query: Position of the query.
        key: Position of the key.
        base: Base of the frequencies.

    Returns:
        The turned ``query_hands`` and ``key_hands`` (lists of 8), what each pair adds to the score
        as ``parts`` (4), their sum ``score``, and the score with keys at all positions from 0 to
        :data:`LAST` as ``curve``.

    Example:
        The distance decides, not the place.

        >>> [round(rope_rotation(query, query - 3)["score"], 6) for query in (20, 50)]
        [0.717087, 0.717087]
    """
    q, k = torch.tensor([QUERY, KEY], dtype=torch.float64)
    hands = rotate(q, rotary_angles(torch.tensor(query), 8, base=base))
    keys = rotate(k, rotary_angles(torch.arange(LAST + 1), 8, base=base))
    curve = keys @ hands
    parts = (hands * keys[key]).unflatten(-1, (4, 2)).sum(dim=-1)
    return {
        "query_hands": hands.tolist(),
        "key_hands": keys[key].tolist(),
        "parts": parts.tolist(),
        "score": float(curve[key]),
        "curve": curve.tolist(),
    }


def readout(query: int, key: int, found: dict[str, Any]) -> str:
    """Say the state in a sentence; the script says the same one.

    Args:
        query: Position of the query.
        key: Position of the key.
        found: What :func:`rope_rotation` returned.

    Returns:
        Plain text.
    """
    parts = ", ".join(f"{part:.2f}" for part in found["parts"])
    return (
        f"Query at {query}, key at {key}, distance {key - query}: score {found['score']:.2f}. "
        f"The four pairs add {parts}."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    found = rope_rotation(options.query, options.key, options.base)
    return Description(
        "Clocks for a query and a key.",
        "Each dial is a pair of channels, with what it adds to the score below: the filled hand is "
        "the query, the open one the key. Drag the point on the curve, or focus it and use the "
        "arrow keys, to move the key; then let both move together and watch the score.",
        readout(options.query, options.key, found),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    together = ipywidgets.Checkbox(options.together, description="both move together")
    query = ipywidgets.IntSlider(value=options.query, min=0, max=LAST, description="query")
    key = ipywidgets.IntSlider(value=options.key, min=0, max=LAST, description="key")
    base = ipywidgets.SelectionSlider(
        options=[10, 100, 1_000, 10_000], value=options.base, description="base"
    )

    def follow(change: Any) -> None:
        if together.value:
            key.value = min(LAST, max(0, key.value + change["new"] - change["old"]))

    query.observe(follow, names="value")
    controls = {"query": query, "key": key, "base": base, "together": together}

    def render(query: int, key: int, base: int, together: bool) -> str:
        found = rope_rotation(query, key, base)
        return f"{_dials(found)}{_curve(found, key)}<p>{readout(query, key, found)}</p>"

    return widget_box(describe(options), controls, render)


def _dials(found: dict[str, Any]) -> str:
    parts = []
    for pair, part in enumerate(found["parts"]):
        parts.append(f"<g transform='translate({25 + 52 * pair},26)'>")
        parts.append("<circle r='20' fill='none' stroke='#999'/>")
        for hands, color in ((found["key_hands"], "#D55E00"), (found["query_hands"], "#2B7BBA")):
            x, y = 18 * hands[2 * pair], -18 * hands[2 * pair + 1]
            parts.append(f"<line x2='{x:.2f}' y2='{y:.2f}' stroke='{color}' stroke-width='2'/>")
            parts.append(f"<circle cx='{x:.2f}' cy='{y:.2f}' r='3.5' fill='{color}'/>")
        parts.append(f"<text y='38' font-size='11' text-anchor='middle'>{part:.2f}</text></g>")
    return f"<svg width='212' height='70'>{''.join(parts)}</svg>"


def _curve(found: dict[str, Any], key: int) -> str:
    points = [(5 * n + 5, 60 - 12 * value) for n, value in enumerate(found["curve"])]
    line = " ".join(f"{x},{y:.2f}" for x, y in points)
    x, y = points[key]
    return (
        f"<br><svg width='{5 * len(points) + 10}' height='120'>"
        f"<line x1='5' x2='{points[-1][0]}' y1='60' y2='60' stroke='#999'/>"
        f"<polyline points='{line}' fill='none' stroke='#2B7BBA' stroke-width='2'/>"
        f"<circle cx='{x}' cy='{y:.2f}' r='5' fill='#D55E00'/></svg>"
    )
