"""The maps of a small trained model, read head by head and row by row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

from course_lib.attention_maps import (
    archetype,
    diagonality,
    entropy,
    max_weight,
    mean_relative_position,
)
from course_lib.data.text import annotated_text, collate_text
from course_lib.figures.base import Figure, choice, slider
from course_lib.trained import hide_words, load_reader

# In the test sentences: a far subject, a pronoun, a rare name, an intensifier.
_SENTENCES = (86, 85, 49, 72)


@dataclass(frozen=True)
class Reading:
    """A sentence and all maps of it."""

    words: Sequence[str]  # T words, both ends included; the hidden verb in brackets
    asks: int  # place of the hidden verb
    maps: Sequence[Sequence[Sequence[Sequence[int]]]]  # weights in thousandths (L, H, T, T)
    kinds: Sequence[Sequence[str]]  # the archetype of each map (L, H)


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
        words = ["<bos>", *sentence.tokens, "<eos>"]
        words[place] = f"[{words[place]}]"
        maps = (1000 * weights[:, 0]).round().int()
        kinds = [[archetype(one) for one in layer] for layer in weights[:, 0]]
        found.append(Reading(words, place, maps.tolist(), kinds))
    return tuple(found)


def _numbered(places: Sequence[object]) -> dict[int, str]:
    """Layers or heads as a reader counts them."""
    return {n: str(n + 1) for n in range(len(places))}


@dataclass(frozen=True)
class Options(Figure):
    """First state; ``row``: the query that is read, the hidden verb if not given."""

    title = "Reading heads."
    use = (
        "Choose a sentence, a layer and a head; point at a word on the left, tap it, or move with "
        "the arrow keys. The verb in brackets was hidden from the model."
    )

    readings: Sequence[Reading] = field(default_factory=read_sentences)
    sentence: int = choice(
        0, "sentence", lambda now: {n: " ".join(r.words[1:-1]) for n, r in enumerate(now.readings)}
    )
    layer: int = choice(0, "layer", lambda now: _numbered(now.readings[0].maps))  # from 0
    head: int = choice(2, "head", lambda now: _numbered(now.readings[0].maps[0]))  # from 0
    row: int = slider(None, "word", 0, lambda now: len(now.readings[now.sentence].words) - 1)

    def __post_init__(self) -> None:
        """Read the hidden verb if no word is chosen."""
        super().__post_init__()
        if self.row is None:
            object.__setattr__(self, "row", self.readings[self.sentence].asks)

    def find(self) -> dict[str, Any]:
        weights = self.readings[self.sentence].maps[self.layer][self.head]
        return attention_map_reader(weights, self.row)

    def say(self, found: dict[str, Any]) -> str:
        reading = self.readings[self.sentence]
        ranked = sorted(range(len(reading.words)), key=lambda s: -found["row"][s])[:3]
        best = ", ".join(f"{reading.words[s]} {found['row'][s]:.2f}" for s in ranked)
        return (
            f"Layer {self.layer + 1}, head {self.head + 1} looks "
            f"{reading.kinds[self.layer][self.head]}: entropy {found['entropy']:.2f}, near the "
            f"diagonal {found['near_diagonal']:.2f}, largest weight {found['largest']:.2f}, "
            f"relative position {found['relative_position']:.1f}. "
            f"“{reading.words[self.row]}” looks at {best}."
        )


def attention_map_reader(weights: Sequence[Sequence[float]], row: int) -> dict[str, Any]:
    """Measure a map and read one of its rows.

    Returns the ``row``, and of the whole map ``entropy`` as a share of the largest possible,
    ``near_diagonal`` within one place, ``largest`` weight and ``relative_position``, all means over
    the queries.
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
