"""An attention matrix between two sentences, read word by word."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, choice, slider

_SOURCE = ("ich", "habe", "das", "Buch", "im", "Zug", "gelesen")
_TARGET = ("I", "read", "the", "book", "on", "the", "train")
# Source words that each target word renders: "read" two of them, "im" rendered by two.
_LINKS = ((0,), (1, 6), (2,), (3,), (4,), (4,), (5,))


@dataclass(frozen=True)
class Options(Figure):
    title = "Reading an alignment."
    use = (
        "Point at a word on the left, tap it, or move with the arrow keys: the words it looks at "
        "light up."
    )

    source: Sequence[str] = _SOURCE  # the words that are looked at, S of them
    target: Sequence[str] = _TARGET  # the words that look, T of them
    scores: Sequence[Sequence[float]] = tuple(
        tuple(float(s in links) for s in range(len(_SOURCE))) for links in _LINKS
    )
    row: int = choice(1, "word", lambda now: dict(enumerate(now.target)))
    sharpness: float = slider(4.0, "sharpness", 0, 10)

    def __post_init__(self) -> None:
        """Refuse scores that don't fit the words, too."""
        shape = (len(self.scores), *{len(row) for row in self.scores})
        if shape != (len(self.target), len(self.source)):
            wanted = (len(self.target), len(self.source))
            raise ValueError(f"scores have shape {shape}, expected one for each pair: {wanted}")
        super().__post_init__()

    def say(self, found: dict[str, Any]) -> str:
        ranked = sorted(range(len(self.source)), key=lambda s: -found["weights"][s])[:3]
        best = ", ".join(f"{self.source[s]} {found['weights'][s]:.2f}" for s in ranked)
        heaviest = max(range(len(self.source)), key=lambda s: found["columns"][s])
        return (
            f"“{self.target[self.row]}” looks at {best}. Its row adds up to 1; the column of "
            f"“{self.source[heaviest]}” adds up to {found['columns'][heaviest]:.2f}."
        )


def alignment_reader(
    scores: Sequence[Sequence[float]], row: int = 0, sharpness: float = 1.0
) -> dict[str, Any]:
    """Turn scores into an alignment and read one row of it.

    ``scores``: scores ``(T, S)``. Returns ``weights`` of that row (its sum is 1), ``columns``: how
    much attention each source word gets from all target words together (no reason to be 1), and the
    row's ``entropy``.
    """
    matrix = (torch.tensor(scores, dtype=torch.float64) * sharpness).softmax(dim=-1)
    weights = matrix[row]
    return {
        "weights": weights.tolist(),
        "columns": matrix.sum(dim=0).tolist(),
        "entropy": float(torch.special.entr(weights).sum()),
    }
