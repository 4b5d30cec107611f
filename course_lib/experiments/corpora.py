"""Training on a corpus, epoch by epoch: the loop, and the translators that share one."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from course_lib.data.translation import Batch, SentencePair, Vocabulary, batches, collate
from course_lib.experiments.provenance import Clock
from course_lib.seq2seq import Seq2Seq
from course_lib.training import derive_seed, fit, warmup_cosine
from course_lib.transformer import EncoderDecoder

_CHUNK = 200

Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs and vocabularies of one run."""

    train: list[SentencePair]
    test: list[SentencePair]  # test pairs; no sentence of theirs is in train
    source: Vocabulary  # source vocabulary, from the training pairs
    target: Vocabulary  # target vocabulary, from the training pairs

    @classmethod
    def of(cls, train: list[SentencePair], test: list[SentencePair]) -> "Corpus":
        """With the vocabularies of the training pairs."""
        source = Vocabulary.of(pair.source for pair in train)
        return cls(train, test, source, Vocabulary.of(pair.target for pair in train))

    @property
    def sha256(self) -> str:
        """Of the text of all pairs."""
        text = "\n".join(str(pair) for pair in (*self.train, *self.test))
        return hashlib.sha256(text.encode()).hexdigest()


def train_epochs(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    batches: Callable[[int], Iterable[Piece]],
    loss: Callable[[nn.Module, Piece], Tensor],
    evaluate: Callable[[], Mapping[str, float]],
    *,
    epochs: int,
    steps: int,
    warmup: int,
    seed: int,
    checkpoint: Path | None = None,
    progress: bool = False,
) -> list[dict[str, float]]:
    """Train with a rise of the learning rate and half a cosine, and measure after every epoch.

    ``batches``: from the number of an epoch to its batches; ``loss``: from model and batch to a
    scalar. Returns one row an epoch, with the seconds that a record wants.
    """
    clock = Clock(next(model.parameters()).device)
    return fit(
        model,
        optimizer,
        batches,
        loss,
        epochs=epochs,
        seed=seed,
        schedule=lambda step: warmup_cosine(step, total_steps=epochs * steps, warmup_steps=warmup),
        evaluate=lambda _: {**evaluate(), **clock.lap()},
        checkpoint=checkpoint,
        progress=progress,
    )


def train_translator(
    model: Seq2Seq | EncoderDecoder,
    data: Corpus,
    *,
    epochs: int,
    batch_size: int,
    learning_rate: float,
    seed: int,
    checkpoint: Path | None = None,
    progress: bool = False,
) -> list[dict[str, float]]:
    """Train a translator; the learning rate rises for half an epoch. Returns one row an epoch."""
    device = next(model.parameters()).device
    steps = -(-len(data.train) // batch_size)

    def loss(_: nn.Module, batch: Batch) -> Tensor:
        batch = batch.to(device)
        return model.loss(batch.source, batch.source_lengths, batch.target)

    return train_epochs(
        model,
        torch.optim.Adam(model.parameters(), lr=learning_rate),
        lambda epoch: batches(
            data.train, data.source, data.target, batch_size, derive_seed(seed, epoch)
        ),
        loss,
        lambda: {"exact": share_exact(model, data, data.test)},
        epochs=epochs,
        steps=steps,
        warmup=steps // 2,
        seed=seed,
        checkpoint=checkpoint,
        progress=progress,
    )


def exact_matches(
    model: Seq2Seq | EncoderDecoder, data: Corpus, pairs: Sequence[SentencePair]
) -> list[bool]:
    """Pairs that the model translates without an error, decoding greedily."""
    device = next(model.parameters()).device
    longest = 2 + max(len(pair.target) for pair in pairs)
    correct: list[bool] = []
    for start in range(0, len(pairs), _CHUNK):
        chunk = pairs[start : start + _CHUNK]
        batch = collate(chunk, data.source, data.target).to(device)
        tokens = model.generate(batch.source, batch.source_lengths, max_len=longest).tokens
        correct += [
            tuple(data.target.decode(row)) == pair.target
            for row, pair in zip(tokens, chunk, strict=True)
        ]
    return correct


def share_exact(
    model: Seq2Seq | EncoderDecoder, data: Corpus, pairs: Sequence[SentencePair]
) -> float:
    """Share of the pairs that are translated without an error; arguments as above."""
    return sum(exact_matches(model, data, pairs)) / len(pairs)
