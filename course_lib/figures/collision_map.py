"""A grid of places: which others has a code that is the same, or too much alike."""

from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch
from torch import Tensor

from course_lib.figures.base import Description, widget_box
from course_lib.positions import sinusoidal_encoding

__all__ = ["SCHEMES", "WIDTH", "Options", "collision_map", "describe", "widget"]

WIDTH = 32
"""Channels of a code."""

SCHEMES = {
    "line": "one number for each place, row after row",
    "added": "code of the row + code of the column",
    "concatenated": "half of the channels each",
    "rotary": "rotations by row and by column",
}

_SAME = 1e-5


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        scheme: Key of :data:`SCHEMES`.
        rows: Height of the grid, from 2 to 12.
        columns: Its width, from 2 to 12.
        row: The place that is picked.
        column: The place that is picked.
    """

    scheme: str = "added"
    rows: int = 8
    columns: int = 8
    row: int = 2
    column: int = 5


def _codes(scheme: str, rows: int, columns: int) -> Tensor:
    """Codes ``(rows * columns, D)`` in double precision, as the script computes them."""
    r, c = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).double().unbind(1)
    if scheme == "line":
        return sinusoidal_encoding(r * columns + c, WIDTH)
    if scheme == "added":
        return sinusoidal_encoding(r, WIDTH) + sinusoidal_encoding(c, WIDTH)
    if scheme in ("concatenated", "rotary"):
        base = 100.0 if scheme == "rotary" else 10_000.0
        halves = [sinusoidal_encoding(axis, WIDTH // 2, base=base) for axis in (r, c)]
        return torch.cat(halves, dim=1)
    raise ValueError(f"scheme is {scheme!r}, wanted one of {', '.join(SCHEMES)}")


def collision_map(
    scheme: str, rows: int = 8, columns: int = 8, row: int = 2, column: int = 5
) -> dict[str, Any]:
    """Compare the code of one place with those of all others.

    Args:
        scheme: Key of :data:`SCHEMES`. The code of a rotary place is the tips of its hands.
        rows: Height of the grid.
        columns: Its width.
        row: The place that is picked.
        column: The place that is picked.

    Returns:
        ``distances`` to all places (nested lists); ``same``, the others with the same code;
        ``mistaken``, those that touch it nowhere and yet are nearer than one of its neighbours
        above, below, left and right; and ``distinct``, the number of codes in the grid.

    Raises:
        ValueError: If the scheme is unknown or the place lies outside.

    Example:
        >>> found = collision_map("added", 8, 8, 2, 5)
        >>> found["same"], found["distinct"]
        ([[5, 2]], 36)
        >>> collision_map("concatenated", 8, 8, 2, 5)["distinct"]
        64
    """
    if not (0 <= row < rows and 0 <= column < columns):
        raise ValueError(f"the place is ({row}, {column}), wanted one in {rows} x {columns}")
    codes = _codes(scheme, rows, columns)
    gaps = (codes[:, None] - codes).norm(dim=-1)
    equal = gaps < _SAME
    distances = gaps[row * columns + column].view(rows, columns)
    places = [(r, c) for r in range(rows) for c in range(columns) if (r, c) != (row, column)]
    apart = {(r, c): float(distances[r, c]) for r, c in places}
    neighbours = [d for (r, c), d in apart.items() if abs(r - row) + abs(c - column) == 1]
    limit = max(neighbours, default=0.0) - _SAME
    return {
        "distances": distances.tolist(),
        "same": [[r, c] for (r, c), d in apart.items() if d < _SAME],
        "mistaken": [
            [r, c]
            for (r, c), d in apart.items()
            if d < limit and max(abs(r - row), abs(c - column)) > 1
        ],
        "distinct": int((~equal.tril(-1).any(dim=1)).sum()),
    }


def readout(rows: int, columns: int, row: int, column: int, found: dict[str, Any]) -> str:
    """Say the state in a sentence or three; the script says the same.

    Args:
        rows: Height of the grid.
        columns: Its width.
        row: The place that is picked.
        column: The place that is picked.
        found: What :func:`collision_map` returned.

    Returns:
        Plain text.
    """
    same = ", ".join(f"({r}, {c})" for r, c in found["same"]) or "no other place"
    return (
        f"The code of ({row}, {column}) is shared by {same}. "
        f"Places that don't touch it and are nearer than one of its neighbours: "
        f"{len(found['mistaken'])}. "
        f"The grid has {found['distinct']} codes for {rows * columns} places."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    place = (options.rows, options.columns, options.row, options.column)
    return Description(
        "Who has the same code?",
        "Pick a place by a click, a tap or the arrow keys. The darker another one, the nearer its "
        "code; = is the same code, and a ring marks a place that is far in the picture and yet "
        "nearer than a neighbour. Then change the code.",
        readout(*place, collision_map(options.scheme, *place)),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    controls = {
        "scheme": ipywidgets.Dropdown(
            options=[(text, name) for name, text in SCHEMES.items()],
            value=options.scheme,
            description="code",
        ),
        **{
            name: ipywidgets.IntSlider(value, min=2, max=12, description=name)
            for name, value in (("rows", options.rows), ("columns", options.columns))
        },
        **{
            name: ipywidgets.IntSlider(value, min=0, max=11, description=name)
            for name, value in (("row", options.row), ("column", options.column))
        },
    }

    def render(scheme: str, rows: int, columns: int, row: int, column: int) -> str:
        row, column = min(row, rows - 1), min(column, columns - 1)
        found = collision_map(scheme, rows, columns, row, column)
        table = _table(found, row, column)
        return f"{table}<p>{readout(rows, columns, row, column, found)}</p>"

    return widget_box(describe(options), controls, render)


def _table(found: dict[str, Any], row: int, column: int) -> str:
    largest = max(map(max, found["distances"])) or 1.0
    lines = []
    for r, distances in enumerate(found["distances"]):
        cells = []
        for c, distance in enumerate(distances):
            mark = "=" if [r, c] in found["same"] else "o" if [r, c] in found["mistaken"] else ""
            mark = "x" if (r, c) == (row, column) else mark
            share = 1 - distance / largest
            cells.append(
                f"<td style='background:rgba(59,130,196,{share:.3f});border:1px solid #767676;"
                f"width:2em;height:2em;text-align:center'>{mark}</td>"
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"
