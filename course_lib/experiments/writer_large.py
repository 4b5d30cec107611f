"""nanoGPT's setting for a GPU: the writer with thirteen times the weights, and with dropout.

Its README prints a validation loss of 1.4697 after 5,000 steps, the smallest of the training. Here,
too, the smallest counts; it is measured on all of the held-out text, where nanoGPT draws samples.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.byte_pairs import learn_byte_pairs
from course_lib.data import files, load_shakespeare, shakespeare
from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.writer import nats
from course_lib.training import count_parameters, fit, seeded_generator, warmup_cosine
from course_lib.transformer import DecoderOnly, DecoderOnlyConfig


@dataclass(frozen=True)
class LargeWriterConfig:
    """All settings; nanoGPT's for a GPU."""

    context: int = 256
    d_model: int = 384
    n_heads: int = 6
    d_ff: int = 1536
    n_layers: int = 6
    dropout: float = 0.2
    batch_size: int = 64
    epochs: int = 20  # parts of the training, after each of which the validation text is read
    steps: int = 250  # steps of a part
    learning_rate: float = 1e-3  # falls to a tenth
    warmup: int = 100
    weight_decay: float = 0.1
    autocast: str = "bfloat16"


@experiment(
    "writer-large",
    "a GPT of 10.7 million weights on Shakespeare",
    arms={"characters": {}},
    sizes={"full": Size(asdict(LargeWriterConfig()), (0, 1, 2), 4, "a GPU", step=5, own=True)},
    questions=from_table("writer_large"),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one large writer."""
    config = LargeWriterConfig(**job.config)
    training, validation = load_shakespeare()
    characters = learn_byte_pairs(training, 0)
    text, held_out = (
        torch.tensor(characters.encode(part), device=job.device) for part in (training, validation)
    )
    model = DecoderOnly(
        DecoderOnlyConfig(
            len(characters.tokens),
            config.context,
            config.d_model,
            config.n_heads,
            config.d_ff,
            config.n_layers,
            dropout=config.dropout,
            bias=False,
        ),
        generator=seeded_generator(job.seed),
    ).to(job.device)
    window = torch.arange(config.context + 1, device=job.device)

    def batches(epoch: int) -> Iterator[Tensor]:
        for step in range(config.steps):
            generator = seeded_generator(job.seed, 1, epoch, step)
            shape = config.batch_size, 1
            first = torch.randint(len(text) - config.context, shape, generator=generator)
            yield text[first.to(job.device) + window]

    clock = Clock(job.device)

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {"validation_loss": nats(model, held_out, config.context), **clock.lap()}

    groups: list[dict[str, Any]] = [
        {"params": [p for p in model.parameters() if p.ndim > 1]},
        {"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    history = fit(
        model,
        torch.optim.AdamW(
            groups, lr=config.learning_rate, betas=(0.9, 0.99), weight_decay=config.weight_decay
        ),
        batches,
        lambda _, tokens: model.loss(tokens),
        epochs=config.epochs,
        seed=job.seed,
        schedule=lambda step: warmup_cosine(
            step, total_steps=config.epochs * config.steps, warmup_steps=config.warmup, floor=0.1
        ),
        autocast=getattr(torch, config.autocast),
        evaluate=evaluate,
        checkpoint=job.checkpoint,
        progress=job.progress,
    )
    losses = [row["validation_loss"] for row in history]
    best = min(losses)
    results = {
        "validation_loss": best,
        "last_validation_loss": losses[-1],
        "bits_per_character": best / math.log(2),
        "best_step": config.steps * (1 + losses.index(best)),
        "n_parameters": count_parameters(model),
    }
    use = DataUse(
        "tinyshakespeare",
        "first 90 % to train on, all of the rest to validate",
        files.sha256_of(files.get(shakespeare.FILE)),
    )
    return Outcome([use], history, results)
