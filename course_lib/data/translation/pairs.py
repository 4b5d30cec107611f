"""A sentence pair with its gold alignment, and the phrases it is put together from.

A grammar cannot know where a word will stand until the sentence is finished. So it links *words*,
not positions: every source word is an object, every target word names the source words that it
translates, and only ``Phrase.pair`` turns both into positions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(frozen=True)
class SentencePair:
    """A source sentence, its translation, and which word translates which.

    Args:
        source, target: S and T tokens.
        alignment: Links ``(source position, target position)``, sorted. A source token may have
            several links (1 to n), a target token too (n to 1).

    Example:
        >>> pair = SentencePair(("guten", "abend"), ("good", "evening"), ((0, 0), (1, 1)))
        >>> pair.alignment_matrix().int().tolist()
        [[1, 0], [0, 1]]
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        for i, j in self.alignment:
            if not (0 <= i < len(self.source) and 0 <= j < len(self.target)):
                raise ValueError(
                    f"link ({i}, {j}) lies outside a sentence of {len(self.source)} source and "
                    f"{len(self.target)} target tokens"
                )

    def alignment_matrix(self) -> Tensor:
        """The links as boolean ``(T, S)``, as weights are: rows are queries, columns are keys."""
        matrix = torch.zeros(len(self.target), len(self.source), dtype=torch.bool)
        for i, j in self.alignment:
            matrix[j, i] = True
        return matrix

    def __str__(self) -> str:
        return f"{' '.join(self.source)} -> {' '.join(self.target)}"


@dataclass(eq=False)
class Word:
    """One source word; its identity, not its text, is what target words link to."""

    text: str


@dataclass
class Phrase:
    """Source words in source order, and target words in target order with their source words."""

    source: list[Word] = field(default_factory=list)
    target: list[tuple[str, tuple[Word, ...]]] = field(default_factory=list)

    @classmethod
    def of(cls, source: str, target: str) -> Phrase:
        """A phrase of which every target word translates the whole of ``source``."""
        words = [Word(text) for text in source.split()]
        return cls(words, [(text, tuple(words)) for text in target.split()])

    @classmethod
    def join(cls, source: Iterable[Phrase], target: Iterable[Phrase] | None = None) -> Phrase:
        """Put phrases together: ``source`` in source order, ``target`` in target order.

        Without ``target`` both languages use the same order.
        """
        source = list(source)
        target = source if target is None else list(target)
        return cls(
            [word for phrase in source for word in phrase.source],
            [word for phrase in target for word in phrase.target],
        )

    def __len__(self) -> int:
        return len(self.source)

    def pair(self) -> SentencePair:
        """The finished sentence pair, with links as positions."""
        position = {id(word): i for i, word in enumerate(self.source)}
        links = {
            (position[id(word)], j) for j, (_, words) in enumerate(self.target) for word in words
        }
        return SentencePair(
            tuple(word.text for word in self.source),
            tuple(text for text, _ in self.target),
            tuple(sorted(links)),
        )
