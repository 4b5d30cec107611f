"""An attention matrix between two sentences, read word by word."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch

from course_lib.figures.base import Description, bars, widget_box

__all__ = ["Options", "alignment_reader", "describe", "widget"]

_SOURCE = ("ich", "habe", "das", "Buch", "im", "Zug", "gelesen")
_TARGET = ("I", "read", "the", "book", "on", "the", "train")
# Which source words each target word renders: "read" two of them, "im" rendered by two.
_LINKS = ((0,), (1, 6), (2,), (3,), (4,), (4,), (5,))


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        source: The words that are looked at, S of them.
        target: The words that look, T of them.
        scores: Scores ``(T, S)`` before the softmax; by default 1 where a target word renders a
            source word and 0 elsewhere.
        row: The target word that is read first, from 0.
        sharpness: What the scores are multiplied by; 1 leaves given scores as they are.
    """

    source: Sequence[str] = _SOURCE
    target: Sequence[str] = _TARGET
    scores: Sequence[Sequence[float]] = tuple(
        tuple(float(s in links) for s in range(len(_SOURCE))) for links in _LINKS
    )
    row: int = 1
    sharpness: float = 4.0

    def __post_init__(self) -> None:
        """Refuse scores that don't fit the words.

        Raises:
            ValueError: Naming the shape that came and the one wanted.
        """
        shape = (len(self.scores), *{len(row) for row in self.scores})
        if shape != (len(self.target), len(self.source)):
            wanted = (len(self.target), len(self.source))
            raise ValueError(f"scores have shape {shape}, wanted one for each pair: {wanted}")


def alignment_reader(
    scores: Sequence[Sequence[float]], row: int = 0, sharpness: float = 1.0
) -> dict[str, Any]:
    """Turn scores into an alignment and read one row of it.

    Args:
        scores: Scores ``(T, S)``.
        row: The target word to read.
        sharpness: What the scores are multiplied by before the softmax.

    Returns:
        ``weights`` of that row (its sum is 1), ``columns``: how much attention each source word
        gets from all target words together (no reason to be 1), and the row's ``entropy``.

    Example:
        Two target words that look at the same source word leave nothing for the others.

        >>> found = alignment_reader([[9.0, 0.0], [9.0, 0.0]])
        >>> [round(column, 2) for column in found["columns"]]
        [2.0, 0.0]
    """
    matrix = (torch.tensor(scores, dtype=torch.float64) * sharpness).softmax(dim=-1)
    weights = matrix[row]
    return {
        "weights": weights.tolist(),
        "columns": matrix.sum(dim=0).tolist(),
        "entropy": float(torch.special.entr(weights).sum()),
    }


def readout(options: Options, row: int, found: dict[str, Any]) -> str:
    """Say a row in a sentence; the script says the same one.

    Args:
        options: The words.
        row: The target word that is read.
        found: What :func:`alignment_reader` returned.

    Returns:
        Plain text.
    """
    ranked = sorted(range(len(options.source)), key=lambda s: -found["weights"][s])[:3]
    best = ", ".join(f"{options.source[s]} {found['weights'][s]:.2f}" for s in ranked)
    heaviest = max(range(len(options.source)), key=lambda s: found["columns"][s])
    return (
        f"“{options.target[row]}” looks at {best}. Its row adds up to 1; the column of "
        f"“{options.source[heaviest]}” adds up to {found['columns'][heaviest]:.2f}."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    found = alignment_reader(options.scores, options.row, options.sharpness)
    return Description(
        "Reading an alignment.",
        "Point at a word on the left, tap it, or move with the arrow keys: the words it looks at "
        "light up.",
        readout(options, options.row, found),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    controls = {
        "row": ipywidgets.Dropdown(
            options=[(word, t) for t, word in enumerate(options.target)],
            value=options.row,
            description="word",
        ),
        "sharpness": ipywidgets.FloatSlider(
            value=options.sharpness, min=0, max=10, step=0.5, description="sharpness"
        ),
    }

    def render(row: int, sharpness: float) -> str:
        found = alignment_reader(options.scores, row, sharpness)
        said = html.escape(readout(options, row, found))
        return bars(options.source, found["weights"]) + f"<p>{said}</p>"

    return widget_box(describe(options), controls, render)
