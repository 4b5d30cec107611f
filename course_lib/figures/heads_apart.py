"""One query cut into two heads, and the same query in one head of the full width."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.figures.base import Figure, slider

WORDS, MOST = ("Anna", "sings"), 4
"""The two words that are looked at, and how large a number of the query may be."""


@dataclass(frozen=True)
class Options(Figure):
    title = "Two questions, or one?"
    use = (
        "Change the query of sings; keys and values are those of the example until you change "
        "them, too. A point of the square says how the attention is divided."
    )

    query: Sequence[float] = slider((1, 1, 2, 1), "query", -MOST, MOST)
    keys: Sequence[Sequence[float]] = ((1, 2, 0, 1), (0, 1, 2, 0))
    values: Sequence[Sequence[float]] = ((1, 0, 0, 1), (0, 1, 1, 0))

    def __post_init__(self) -> None:
        """Refuse a query of another width, too."""
        super().__post_init__()
        if len(self.query) != 4:
            raise ValueError(f"query is {self.query}, expected four numbers")

    def say(self, found: dict[str, Any]) -> str:
        (left, _), (right, _) = found["two"]["weights"]
        two, one = (", ".join(f"{o:.2f}" for o in found[name]["output"]) for name in ("two", "one"))
        return (
            f"Two heads give {WORDS[0]} the weights {left:.2f} and {right:.2f}; joined: ({two}). "
            f"One head gives {found['one']['weights'][0][0]:.2f} to both halves: ({one})."
        )


def heads_apart(
    query: Sequence[float],
    keys: Sequence[Sequence[float]] = Options.keys,
    values: Sequence[Sequence[float]] = Options.values,
) -> dict[str, Any]:
    """Let a query look with two heads and with one.

    ``query``: numbers of one word; their count is even. Returns, for ``two`` heads and for ``one``
    the ``scores`` and ``weights`` of each head (nested lists) and the ``output``, joined.
    """
    found = {}
    for name, n_heads in (("two", 2), ("one", 1)):
        q, k, v = (
            split_heads(torch.tensor([rows], dtype=torch.float64), n_heads)
            for rows in ([query], keys, values)
        )
        out, weights = scaled_dot_product_attention(q, k, v)
        found[name] = {
            "scores": (q @ k.mT)[0, :, 0].tolist(),
            "weights": weights[0, :, 0].tolist(),
            "output": merge_heads(out)[0, 0].tolist(),
        }
    return found
