"""The maps of a small trained model, read head by head and row by row."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ipywidgets
import torch

from course_lib.attention_maps import (
    archetype,
    diagonality,
    entropy,
    max_weight,
    mean_relative_position,
)
from course_lib.data.text import annotated_text, collate_text
from course_lib.figures.base import Description, bars, widget_box
from course_lib.trained import hide_words, load_reader

__all__ = ["Options", "Reading", "attention_map_reader", "describe", "read_sentences", "widget"]

# In the test sentences: a far subject, a pronoun, a rare name, an intensifier.
_SENTENCES = (86, 85, 49, 72)


@dataclass(frozen=True)
class Reading:
    """A sentence and all maps of it.

    Attributes:
        words: T words, both ends included; the hidden verb in brackets.
        asks: Place of the hidden verb.
        maps: Weights in thousandths ``(L, H, T, T)``.
        kinds: The archetype of each map ``(L, H)``.
    """

    words: Sequence[str]
    asks: int
    maps: Sequence[Sequence[Sequence[Sequence[int]]]]
    kinds: Sequence[Sequence[str]]


@cache
def read_sentences() -> tuple[Reading, ...]:
    """Let the trained reader read four test sentences, the last verb of each hidden."""
    reader = load_reader()
    every = annotated_text(max(_SENTENCES) + 1, 0, "test")
    found = []
    for number in _SENTENCES:
        sentence = every[number]
        batch = collate_text([sentence], reader.vocabulary)
        place = max(start for start, _ in sentence.relations["agreement"]) + 1
        hidden = torch.arange(batch.tokens.shape[1]) == place
        with torch.no_grad():
            tokens = hide_words(batch.tokens, hidden[None])
            _, weights = reader.model(tokens, batch.keep, return_weights=True)
        words = ["(start)", *sentence.tokens, "(end)"]
        words[place] = f"[{words[place]}]"
        maps = (1000 * weights[:, 0]).round().int()
        kinds = [[archetype(one) for one in layer] for layer in weights[:, 0]]
        found.append(Reading(words, place, maps.tolist(), kinds))
    return tuple(found)


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        readings: The sentences with their maps.
        sentence: Which of them, from 0.
        layer: From 0.
        head: From 0.
    """

    readings: Sequence[Reading] = field(default_factory=read_sentences)
    sentence: int = 0
    layer: int = 0
    head: int = 2

    def __post_init__(self) -> None:
        """Refuse a map that is not there.

        Raises:
            ValueError: Naming what came and what was wanted.
        """
        if not 0 <= self.sentence < len(self.readings):
            raise ValueError(f"sentence is {self.sentence}, wanted 0 to {len(self.readings) - 1}")
        maps = self.readings[self.sentence].maps
        if not (0 <= self.layer < len(maps) and 0 <= self.head < len(maps[0])):
            raise ValueError(
                f"layer and head are {self.layer} and {self.head}, wanted below {len(maps)} "
                f"and {len(maps[0])}"
            )


def attention_map_reader(weights: Sequence[Sequence[float]], row: int) -> dict[str, Any]:
    """Measure a map and read one of its rows.

    Args:
        weights: One map ``(T, T)``; rows are made to sum to 1.
        row: The query that is read.

    Returns:
        The ``row``, and of the whole map ``entropy`` as a share of the largest possible,
        ``near_diagonal`` within one place, ``largest`` weight and ``relative_position``, all means
        over the queries.

    Example:
        >>> found = attention_map_reader([[3, 1], [1, 3]], row=1)
        >>> found["row"], found["largest"], found["relative_position"]
        ([0.25, 0.75], 0.75, 0.0)
    """
    made = torch.tensor(weights, dtype=torch.float64)
    made = made / made.sum(dim=-1, keepdim=True)
    return {
        "row": made[row].tolist(),
        "entropy": entropy(made, normalised=True).item(),
        "near_diagonal": diagonality(made, 1).item(),
        "largest": max_weight(made).item(),
        "relative_position": mean_relative_position(made).item(),
    }


def readout(reading: Reading, layer: int, head: int, row: int, found: dict[str, Any]) -> str:
    """Say a map and a row in sentences; the script says the same ones.

    Args:
        reading: The sentence.
        layer: From 0.
        head: From 0.
        row: The query that is read.
        found: What :func:`attention_map_reader` returned.

    Returns:
        Plain text.
    """
    ranked = sorted(range(len(reading.words)), key=lambda s: -found["row"][s])[:3]
    best = ", ".join(f"{reading.words[s]} {found['row'][s]:.2f}" for s in ranked)
    return (
        f"Layer {layer + 1}, head {head + 1} looks {reading.kinds[layer][head]}: entropy "
        f"{found['entropy']:.2f}, near the diagonal {found['near_diagonal']:.2f}, largest weight "
        f"{found['largest']:.2f}, relative position {found['relative_position']:.1f}. "
        f"“{reading.words[row]}” looks at {best}."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    reading = options.readings[options.sentence]
    weights = reading.maps[options.layer][options.head]
    found = attention_map_reader(weights, reading.asks)
    return Description(
        "Reading heads.",
        "Choose a sentence, a layer and a head; point at a word on the left, tap it, or move with "
        "the arrow keys. The verb in brackets was hidden from the model.",
        readout(reading, options.layer, options.head, reading.asks, found),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    readings = options.readings
    maps = readings[options.sentence].maps
    controls = {
        "sentence": ipywidgets.Dropdown(
            options=[(" ".join(r.words[1:-1]), n) for n, r in enumerate(readings)],
            value=options.sentence,
            description="sentence",
        ),
        "layer": ipywidgets.Dropdown(
            options=[(str(n + 1), n) for n in range(len(maps))],
            value=options.layer,
            description="layer",
        ),
        "head": ipywidgets.Dropdown(
            options=[(str(n + 1), n) for n in range(len(maps[0]))],
            value=options.head,
            description="head",
        ),
        "row": ipywidgets.IntSlider(
            value=readings[options.sentence].asks,
            min=0,
            max=max(len(r.words) for r in readings) - 1,
            description="word",
        ),
    }

    def render(sentence: int, layer: int, head: int, row: int) -> str:
        reading = readings[sentence]
        # A shorter sentence has fewer words than the slider places.
        row = min(row, len(reading.words) - 1)
        found = attention_map_reader(reading.maps[layer][head], row)
        said = html.escape(readout(reading, layer, head, row, found))
        return bars(reading.words, found["row"]) + f"<p>{said}</p>"

    return widget_box(describe(options), controls, render)
