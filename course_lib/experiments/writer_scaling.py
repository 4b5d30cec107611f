"""Four sizes of the writer: how the loss falls with the operations of the training.

Each size reads half as many characters as the writer does, once at each of three learning rates.
They were chosen after a run of width 48 at 2.7e-3 had a higher loss than one of width 32 at 4e-3.
There are no rules, because single runs decide nothing; the course fits a line to them.
"""

import math
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import nn

from course_lib.data import files, load_shakespeare, shakespeare
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.writer import WriterConfig, nats, train
from course_lib.training import count_parameters

WIDTHS = (32, 48, 64, 96)
RATES = {"": 4e-3, "-half": 2e-3, "-twice": 8e-3}
SEEN = 200  # contexts of the validation text that are read after each part of the training
ARMS: dict[str, dict[str, Any]] = {
    f"width-{width}{name}": {
        "d_model": width,
        "d_ff": 4 * width,
        "learning_rate": rate,
    }
    for name, rate in RATES.items()
    for width in WIDTHS
}


@experiment(
    "writer-scaling",
    "a GPT on Shakespeare in four sizes",
    arms=ARMS,
    sizes={
        "cpu": Size(
            asdict(replace(WriterConfig(), epochs=4, steps=250)), (0, 1, 2), 1, "one CPU core"
        ),
    },
    questions=from_table("writer_scaling"),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one size, and count its weights and the operations of its training."""
    config = WriterConfig(**job.config)
    training, validation = load_shakespeare()
    number = {character: i for i, character in enumerate(sorted({*training, *validation}))}
    text, held_out = (
        torch.tensor([number[c] for c in part], device=job.device)
        for part in (training, validation)
    )

    def measure(model: nn.Module) -> dict[str, float]:
        part = held_out[: SEEN * config.context + 1]
        return {"validation_loss": nats(model, part, config.context)}

    model, history = train(config, job, len(number), text, measure, config.epochs, job.checkpoint)
    loss = nats(model, held_out, config.context)
    n_weights = sum(count_parameters(block) for block in model.blocks)
    n_tokens = config.epochs * config.steps * config.batch_size * config.context
    results: dict[str, Any] = {
        "validation_loss": loss,
        "bits_per_character": loss / math.log(2),
        "n_parameters": count_parameters(model),
        "n_weights": n_weights,
        "n_tokens": n_tokens,
        "operations": 6 * n_weights * n_tokens,
    }
    use = DataUse(
        "tinyshakespeare",
        "first 90 % to train on, all of the rest to validate",
        files.sha256_of(files.get(shakespeare.FILE)),
    )
    return Outcome([use], history, results)
