"""A grid of places: which others has a code that is the same, or too much alike."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.figures.base import Figure, choice, slider
from course_lib.positions import sinusoidal_encoding

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
class Options(Figure):
    title = "Who has the same code?"
    use = (
        "Pick a place by a click, a tap or the arrow keys. The darker another one, the nearer its "
        "code; = is the same code, and a ring marks a place that is far in the image and yet "
        "nearer than a neighbour. Then change the code."
    )

    scheme: str = choice("added", "code", SCHEMES)
    rows: int = slider(8, "rows", 2, 12)
    columns: int = slider(8, "columns", 2, 12)
    row: int = slider(2, "row", 0, lambda now: now.rows - 1)
    column: int = slider(5, "column", 0, lambda now: now.columns - 1)

    def say(self, found: dict[str, Any]) -> str:
        same = ", ".join(f"({r}, {c})" for r, c in found["same"]) or "no other place"
        return (
            f"The code of ({self.row}, {self.column}) is shared by {same}. "
            f"Places that don't touch it and are nearer than one of its neighbours: "
            f"{len(found['mistaken'])}. "
            f"The grid has {found['distinct']} codes for {self.rows * self.columns} places."
        )


def _codes(scheme: str, rows: int, columns: int) -> Tensor:
    """Codes ``(rows * columns, D)`` in double precision, as the script computes them."""
    r, c = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).double().unbind(1)
    if scheme == "line":
        return sinusoidal_encoding(r * columns + c, WIDTH)
    if scheme == "added":
        return sinusoidal_encoding(r, WIDTH) + sinusoidal_encoding(c, WIDTH)
    base = 100.0 if scheme == "rotary" else 10_000.0
    halves = [sinusoidal_encoding(axis, WIDTH // 2, base=base) for axis in (r, c)]
    return torch.cat(halves, dim=1)


def collision_map(
    scheme: str, rows: int = 8, columns: int = 8, row: int = 2, column: int = 5
) -> dict[str, Any]:
    """Compare the code of one place with those of all others.

    ``scheme``: key of :data:`SCHEMES`. The code of a rotary place is the tips of its hands. Returns
    ``distances`` to all places (nested lists); ``same``, the others with the same code;
    ``mistaken``, those that touch it nowhere and yet are nearer than one of its neighbours above,
    below, left and right; and ``distinct``, the number of codes in the grid.
    """
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
