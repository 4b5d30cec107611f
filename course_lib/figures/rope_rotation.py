"""A query and a key as hands of clocks, one clock for each pair of channels that turns."""

from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, choice, slider, switch
from course_lib.positions import rotary_angles, rotate

LAST = 64
"""The last position."""

QUERY = (0.9, 0.3, 0.8, -0.4, 0.2, 0.9, -0.6, 0.7)
"""The query before it is turned: four pairs of channels."""

KEY = (1.0, 0.1, 0.6, -0.7, 0.5, 0.8, -0.8, 0.4)
"""The key before it is turned."""


@dataclass(frozen=True)
class Options(Figure):
    title = "Clocks for a query and a key."
    use = (
        "Each dial is a pair of channels, with what it adds to the score below: the filled hand is "
        "the query, the open one the key. Drag the point on the curve, or focus it and use the "
        "arrow keys, to move the key; then let both move together and watch the score."
    )

    query: int = slider(20, "query", 0, LAST)
    key: int = slider(17, "key", 0, LAST)
    base: int = choice(100, "base", [10, 100, 1_000, 10_000])
    together: bool = switch(False, "both move together")

    def say(self, found: dict[str, Any]) -> str:
        parts = ", ".join(f"{part:.2f}" for part in found["parts"])
        return (
            f"Query at {self.query}, key at {self.key}, distance {self.key - self.query}: score "
            f"{found['score']:.2f}. The four pairs add {parts}."
        )


def rope_rotation(query: int, key: int, base: float = 100) -> dict[str, Any]:
    """Turn a query and a key by where they are, and let them meet.

    Returns the turned ``query_hands`` and ``key_hands`` (lists of 8), what each pair adds to the
    score as ``parts`` (4), their sum ``score``, and the score with keys at all positions from 0 to
    :data:`LAST` as ``curve``.
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
