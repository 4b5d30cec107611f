"""Longer texts than in training: what becomes of a language model's loss, by kind of position.

Small language models read generated sentences, one after the other, in stretches of one length,
and are then measured on stretches four times as long. What is compared is the loss at places
beyond the trained length with that before its end, for the same model.
"""

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.data.text import annotated_text
from course_lib.data.translation import Vocabulary
from course_lib.experiments.generated import Batch, Recipe, sha256_of, train_generated
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse, Record
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.layers import Norm, xavier_init
from course_lib.positions import Alibi, RelativeBias, Rotary
from course_lib.training import count_parameters, seeded_generator
from course_lib.transformer import Encoder, PositionedEmbedding
from course_lib.transformer.stacks import with_causal_mask

Scheme = Literal["sinusoidal", "learned", "none", "rotary", "alibi", "t5-bias"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

_TEST_SEED = 0


@dataclass(frozen=True)
class LanguageConfig:
    """Settings of a small language model and of its training."""

    positions: Scheme = "sinusoidal"  # one of SCHEMES
    norm: Norm = "pre"  # "pre" or "post"
    n_layers: int = 2
    length: int = 32  # tokens of a stretch in training
    n_sentences: int = 4_000
    n_test: int = 64  # stretches to test on
    d_model: int = 32
    n_heads: int = 4
    d_ff: int = 64
    batch_size: int = 16
    epochs: int = 4  # parts of the training
    steps: int = 100  # steps of a part
    learning_rate: float = 5e-3
    warmup: int = 40  # steps of the rise to it

    @property
    def test_length(self) -> int:
        """Tokens of a stretch in the test: four times those in training."""
        return 4 * self.length


CPU = LanguageConfig()
DAY = LanguageConfig(
    n_layers=4, length=64, n_sentences=40_000, d_model=64, d_ff=256, epochs=8, steps=250,
    learning_rate=3e-3, warmup=200,
)  # fmt: skip
# The documents name no setting; this is ours for a GPU.
FULL = LanguageConfig(
    n_layers=6, length=256, n_sentences=200_000, n_test=500, d_model=256, n_heads=8, d_ff=1024,
    batch_size=64, epochs=10, steps=1000, learning_rate=1e-3, warmup=1000,
)  # fmt: skip


@dataclass(frozen=True)
class Corpus:
    """Text to train and to test on."""

    train: Tensor  # all training sentences one after the other, (N,)
    test: Tensor  # stretches of other sentences, (n_test, test_length + 1)
    vocabulary: Vocabulary


def make_corpus(config: LanguageConfig, seed: int) -> Corpus:
    """Generate text: that for training depends on the seed, that for testing does not."""
    long = config.test_length + 1
    # No sentence is shorter than three tokens with its end.
    training = annotated_text(config.n_sentences, seed, "train")
    testing = annotated_text(config.n_test * -(-long // 3), _TEST_SEED, "test")
    vocabulary = Vocabulary.of(sentence.tokens for sentence in (*training, *testing))
    streams = [
        torch.tensor([token for s in part for token in vocabulary.encode(s.tokens)])
        for part in (training, testing)
    ]
    test = streams[1][: config.n_test * long].view(config.n_test, long)
    return Corpus(streams[0], test, vocabulary)


class LanguageModel(nn.Module):
    """Blocks under a causal mask, with one kind of positions."""

    def __init__(self, config: LanguageConfig, n_words: int, generator: Generator) -> None:
        super().__init__()
        if config.positions not in SCHEMES:
            raise ValueError(
                f"positions is {config.positions!r}, wanted one of {', '.join(SCHEMES)}"
            )
        scheme, longest = config.positions, config.test_length
        self.embedding = PositionedEmbedding(
            n_words,
            config.d_model,
            max_len=longest,
            scaled=True,
            positions=scheme if scheme in ("sinusoidal", "learned") else "none",
        )
        self.bias: nn.Module | None = None
        if scheme == "alibi":
            self.bias = Alibi(config.n_heads, max_len=longest)
        elif scheme == "t5-bias":
            self.bias = RelativeBias(
                config.n_heads,
                bidirectional=False,
                n_buckets=16,
                max_distance=config.length,
                generator=generator,
            )
        d_head = config.d_model // config.n_heads
        self.rotate = Rotary(d_head, max_len=longest) if scheme == "rotary" else None
        self.blocks = Encoder(
            config.d_model, config.n_heads, config.d_ff, config.n_layers, norm=config.norm
        )
        xavier_init(self, generator=generator)
        nn.init.normal_(self.embedding.tokens.weight, std=config.d_model**-0.5, generator=generator)
        if scheme == "learned" and self.embedding.positions is not None:
            nn.init.normal_(self.embedding.positions, std=0.02, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """Predict, after each token, the next one: ``(B, T)`` to logits ``(B, T, V)``."""
        x = self.embedding(tokens)
        bias = None if self.bias is None else self.bias(tokens.shape[1])[None]
        x = self.blocks(x, mask=with_causal_mask(x, None, 0), bias=bias, rotate=self.rotate)
        return self.embedding.logits(x)


def losses(model: nn.Module, tokens: Tensor) -> Tensor:
    """Cross-entropy of every token but the first: ``(B, T + 1)`` to ``(B, T)``."""
    logits = model(tokens[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")


def train_language(job: Job, config: LanguageConfig) -> Outcome:
    """Train a language model and measure its mean loss by the last place of stretches of places."""
    corpus = make_corpus(config, job.seed)
    model = LanguageModel(config, len(corpus.vocabulary), seeded_generator(job.seed))
    T = config.length
    ends = [0, T // 2, T, 2 * T, 4 * T]

    def stretches(generator: Generator) -> Batch:
        last = len(corpus.train) - T - 1
        start = torch.randint(last, (config.batch_size, 1), generator=generator)
        return (corpus.train[start + torch.arange(T + 1)],)

    @torch.no_grad()
    def by_place(model: nn.Module) -> Tensor:
        return losses(model, corpus.test.to(job.device)).mean(dim=0).cpu()

    history = train_generated(
        model,
        stretches,
        lambda model, batch: losses(model, batch[0]).mean(),
        lambda model: {"test_loss": by_place(model)[:T].mean().item()},
        Recipe(config.epochs, config.steps, config.learning_rate, config.warmup),
        job,
    )
    model.eval()
    place = by_place(model)
    results = {
        "test_loss": history[-1]["test_loss"],
        "loss_by_place": {
            str(end): round(place[start:end].mean().item(), 4) for start, end in pairwise(ends)
        },
        "n_parameters": count_parameters(model),
    }
    sha256 = sha256_of([corpus.train, corpus.test])
    variant = f"generated, {config.n_sentences} sentences, seed {job.seed}"
    return Outcome([DataUse("annotated-text", variant, sha256)], history, results)


def rise(record: Record) -> float:
    """By how much the loss at the last places exceeds that at the last of the trained ones."""
    by_place = record.results["loss_by_place"]
    length = record.config["length"]
    return float(by_place[str(4 * length)] - by_place[str(length)])


QUESTIONS = from_table("extrapolation", {"rise": rise})
"""Claims of the papers on positions beyond the trained length, and a control."""


@experiment(
    "extrapolation",
    "a language model on texts longer than in training, by kind of position",
    arms={scheme: {"positions": scheme} for scheme in SCHEMES},
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.5, "one CPU core"),
        "day": Size(asdict(DAY), (0, 1, 2), 8, "one CPU core", step=6),
        "full": Size(asdict(FULL), (0, 1, 2, 3, 4), 30, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one language model."""
    return train_language(job, LanguageConfig(**job.config))
