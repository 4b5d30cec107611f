"""Words to numbers and back, and sentences to padded batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from course_lib.data.translation.pairs import SentencePair

PAD, BOS, EOS, UNK = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIAL = (PAD, BOS, EOS, UNK)


class Vocabulary:
    """A fixed list of tokens; the four special ones come first.

    ``pad``, ``bos``, ``eos`` and ``unk`` are their numbers, 0 to 3.

    Example:
        >>> vocabulary = Vocabulary(["good", "evening"])
        >>> vocabulary.encode(["good", "night"], bos=True, eos=True)
        [1, 4, 3, 2]
        >>> vocabulary.decode([1, 4, 5, 2, 0, 0])
        ['good', 'evening']
    """

    pad, bos, eos, unk = range(4)

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = (*SPECIAL, *tokens)
        self._index = {token: i for i, token in enumerate(self.tokens)}
        if len(self._index) != len(self.tokens):
            twice = [token for token, n in Counter(self.tokens).items() if n > 1]
            raise ValueError(f"tokens repeat {twice}, wanted each once and none of {SPECIAL}")

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], min_count: int = 1) -> Vocabulary:
        """The tokens that occur at least ``min_count`` times, the most frequent first."""
        counts = Counter(token for sentence in sentences for token in sentence)
        kept = sorted((-n, token) for token, n in counts.items() if n >= min_count)
        return cls(token for _, token in kept)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._index

    def encode(self, tokens: Iterable[str], bos: bool = False, eos: bool = False) -> list[int]:
        """Numbers of the tokens, ``unk`` for those that are not in the vocabulary."""
        ids = [self._index.get(token, self.unk) for token in tokens]
        return [self.bos] * bos + ids + [self.eos] * eos

    def decode(self, ids: Iterable[int] | Tensor) -> list[str]:
        """Tokens up to the first ``eos``, without ``bos`` and ``pad``."""
        tokens: list[str] = []
        for i in ids.tolist() if isinstance(ids, Tensor) else ids:
            if not 0 <= i < len(self.tokens):
                raise ValueError(f"a number is {i}, wanted 0 to {len(self.tokens) - 1}")
            if i == self.eos:
                break
            if i not in (self.bos, self.pad):
                tokens.append(self.tokens[i])
        return tokens


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as padded tensors.

    ``source`` ``(B, S)``, ``target`` ``(B, T)`` with ``bos`` and ``eos``, and their lengths
    ``(B,)``.
    """

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor

    def __len__(self) -> int:
        return len(self.source)

    @property
    def target_in(self) -> Tensor:
        """Input of the decoder ``(B, T - 1)``: everything but the last token."""
        return self.target[:, :-1]

    @property
    def target_out(self) -> Tensor:
        """Target of the decoder ``(B, T - 1)``: everything but ``bos``."""
        return self.target[:, 1:]

    def to(self, device: torch.device | str) -> Batch:
        """The batch on another device; lengths stay where packing wants them, on the CPU."""
        return Batch(
            self.source.to(device), self.source_lengths, self.target.to(device), self.target_lengths
        )


def collate(pairs: Sequence[SentencePair], source: Vocabulary, target: Vocabulary) -> Batch:
    """Encode and pad pairs, up to the longest sentences.

    Example:
        >>> pair = SentencePair(("guten", "abend"), ("good", "evening"), ())
        >>> batch = collate([pair], Vocabulary(pair.source), Vocabulary(pair.target))
        >>> batch.source.tolist(), batch.target.tolist()
        ([[4, 5]], [[1, 4, 5, 2]])
    """
    if not pairs:
        raise ValueError("pairs is empty, wanted at least one")
    sources = [torch.tensor(source.encode(pair.source)) for pair in pairs]
    targets = [torch.tensor(target.encode(pair.target, bos=True, eos=True)) for pair in pairs]
    pad = torch.nn.utils.rnn.pad_sequence
    return Batch(
        pad(sources, batch_first=True, padding_value=source.pad),
        torch.tensor([len(ids) for ids in sources]),
        pad(targets, batch_first=True, padding_value=target.pad),
        torch.tensor([len(ids) for ids in targets]),
    )


def batches(
    pairs: Sequence[SentencePair],
    source: Vocabulary,
    target: Vocabulary,
    batch_size: int,
    seed: int | None = None,
) -> Iterator[Batch]:
    """Cut pairs into batches of ``batch_size``, the last one perhaps of fewer.

    With a seed, a new one for every epoch, the order is random, and sentences of like length share
    a batch, because padding costs time: pairs are shuffled, sorted by length within pools of 20
    batches, and the batches shuffled again. Without one the order is that of ``pairs``.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size is {batch_size}, wanted at least 1")
    order = list(range(len(pairs)))
    rng = None if seed is None else Random(seed)
    if rng is not None:
        rng.shuffle(order)
        pool = 20 * batch_size
        order = [
            i
            for start in range(0, len(order), pool)
            for i in sorted(order[start : start + pool], key=lambda i: len(pairs[i].source))
        ]
    cuts = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    if rng is not None:
        rng.shuffle(cuts)
    for cut in cuts:
        yield collate([pairs[i] for i in cut], source, target)
