"""Language models that are told no positions: one that reads forwards, one that reads both ways.

The sequence-and-space essay says that GPT-style models collapse without positional encoding. Four
small models learn the annotated sentences: two guess the next word and see only what came before,
two guess hidden words and see everything else; one of each is told positions. Afterwards a linear
probe asks how much of a place can be read from the tokens of sentences whose words are drawn at
random, so that words say nothing about it. ``full`` draws more sentences and a larger model.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.attention_maps import LinearProbe
from course_lib.data.text import TextBatch, annotated_text, collate_text
from course_lib.data.translation import Vocabulary
from course_lib.experiments.corpora import train_epochs
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.layers import xavier_init
from course_lib.masks import causal_mask
from course_lib.trained import hide_words
from course_lib.training import count_parameters, minibatches, seeded_generator
from course_lib.transformer import Encoder, PositionedEmbedding


@dataclass(frozen=True)
class ReadingRun:
    """All settings.

    ``causal``: whether a token sees only itself and those before it, and guesses the next one;
    otherwise it sees all, and words that are hidden are guessed.
    """

    causal: bool = True
    positions: Literal["sinusoidal", "none"] = "sinusoidal"
    n_train: int = 3_000
    n_test: int = 400
    d_model: int = 48
    n_heads: int = 4
    d_ff: int = 96
    n_layers: int = 2
    epochs: int = 4
    batch_size: int = 64
    learning_rate: float = 4e-3
    hide: float = 0.25  # probability that a word is hidden from who sees all
    n_probed: int = 200  # random sentences to learn the probe from, and as many to test it
    n_places: int = 8  # words of such a sentence, and classes of the probe


CPU = ReadingRun()
FULL = ReadingRun(n_train=100_000, n_test=4_000, d_model=256, d_ff=1024, n_layers=6, epochs=20)
ARMS: dict[str, dict[str, object]] = {
    "forwards": {},
    "forwards-none": {"positions": "none"},
    "both-ways": {"causal": False},
    "both-ways-none": {"causal": False, "positions": "none"},
}
QUESTIONS = from_table(
    "no_positions", {"70 % of the accuracy": lambda record: 0.7 * record.results["accuracy"]}
)
"""Questions: the loss without positions, places known all the same, and a control."""


class Guesser(nn.Module):
    """Blocks over words, with or without positions, forwards or both ways."""

    def __init__(self, settings: ReadingRun, vocab_size: int, generator: Generator) -> None:
        super().__init__()
        self.causal = settings.causal
        self.embed = PositionedEmbedding(
            vocab_size, settings.d_model, max_len=64, positions=settings.positions, scaled=True
        )
        self.encoder = Encoder(settings.d_model, settings.n_heads, settings.d_ff, settings.n_layers)
        xavier_init(self, generator=generator)
        words = self.embed.tokens.weight
        nn.init.normal_(words, std=settings.d_model**-0.5, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """From numbers of words ``(B, T)`` to logits ``(B, T, V)``."""
        return self.embed.logits(self.encode(tokens))

    def encode(self, tokens: Tensor) -> Tensor:
        """From numbers of words ``(B, T)`` to vectors ``(B, T, D)``."""
        mask = (tokens != Vocabulary.pad)[:, None, None, :]
        x = self.embed(tokens)
        if self.causal:
            mask = mask & causal_mask(tokens.shape[1], device=tokens.device)
        out: Tensor = self.encoder(x, mask=mask)
        return out


def guesses(
    model: Guesser, tokens: Tensor, hide: float, generator: Generator
) -> tuple[Tensor, Tensor]:
    """Answers ``(n, V)`` where a model guesses in texts ``(B, T)``, and the right ones ``(n,)``."""
    if model.causal:
        asked = tokens[:, 1:] != Vocabulary.pad
        return model(tokens[:, :-1])[asked], tokens[:, 1:][asked]
    drawn = torch.rand(tokens.shape, generator=generator).to(tokens.device) < hide
    hidden = drawn & (tokens > Vocabulary.unk)
    return model(hide_words(tokens, hidden))[hidden], tokens[hidden]


def place_known(model: Guesser, settings: ReadingRun, vocab_size: int, seed: int) -> float:
    """Measure how often a linear probe names the place of a random word in a new sentence."""
    n, places = settings.n_probed, settings.n_places
    drawn = torch.randint(
        Vocabulary.unk + 1, vocab_size, (2 * n, places), generator=seeded_generator(seed, 3)
    )
    device = next(model.parameters()).device
    with torch.no_grad():
        vectors = model.encode(drawn.to(device)).cpu()
    labels = torch.arange(places).expand(2 * n, places)
    probe = LinearProbe(places).fit(vectors[:n].flatten(0, 1), labels[:n].flatten())
    return probe.accuracy(vectors[n:].flatten(0, 1), labels[n:].flatten())


@experiment(
    "no-positions",
    "language models with positions and without, reading forwards and both ways",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.1, "one CPU core"),
        "full": Size(asdict(FULL), (0, 1, 2), 20, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one model on sentences, then ask it for places."""
    settings = ReadingRun(**job.config)
    training = annotated_text(settings.n_train, job.seed)
    test = annotated_text(settings.n_test, job.seed, "test")
    vocabulary = Vocabulary.of(sentence.tokens for sentence in training)
    seen = collate_text(training, vocabulary).tokens.to(job.device)
    asked: TextBatch = collate_text(test, vocabulary)
    test_tokens = asked.tokens.to(job.device)
    model = Guesser(settings, len(vocabulary), seeded_generator(job.seed, 1)).to(job.device)
    steps = -(-settings.n_train // settings.batch_size)

    def batches(epoch: int) -> Iterator[tuple[Tensor, Generator]]:
        generator = seeded_generator(job.seed, 2, epoch)
        for (tokens,) in minibatches(seen, batch_size=settings.batch_size, generator=generator):
            yield tokens, generator

    def loss(_: nn.Module, batch: tuple[Tensor, Generator]) -> Tensor:
        return F.cross_entropy(*guesses(model, batch[0], settings.hide, batch[1]))

    def measure() -> dict[str, float]:
        said, right = guesses(model, test_tokens, settings.hide, seeded_generator(job.seed, 4))
        return {
            "accuracy": (said.argmax(-1) == right).float().mean().item(),
            "test_loss": F.cross_entropy(said, right).item(),
        }

    history = train_epochs(
        model,
        torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.01),
        batches,
        loss,
        measure,
        epochs=settings.epochs,
        steps=steps,
        warmup=settings.epochs * steps // 10,
        seed=job.seed,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )
    model.eval()
    with torch.no_grad():
        results = measure()
    results["place"] = place_known(model, settings, len(vocabulary), job.seed)
    results["n_parameters"] = count_parameters(model)
    text = "\n".join(" ".join(sentence.tokens) for sentence in training)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Outcome([DataUse("annotated text", f"seed {job.seed}", digest)], history, results)
