"""A GPT on Shakespeare: the language model that pages of the course meet again and again.

``characters`` is nanoGPT's setting for a processor: its README prints a validation loss of 1.88.
``byte-pairs`` has the same blocks and steps on tokens that the text has taught; seed 0 of it is
what :func:`course_lib.trained.load_writer` loads.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.byte_pairs import learn_byte_pairs
from course_lib.data import files, load_shakespeare, shakespeare
from course_lib.experiments.provenance import Clock
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.trained import pack_writer
from course_lib.training import count_parameters, fit, seeded_generator, warmup_cosine
from course_lib.whole import GPT


@dataclass(frozen=True)
class WriterConfig:
    """All settings; those of the sizes are nanoGPT's for a processor."""

    n_merges: int = 0  # tokens that are learned beside the characters
    start: str = "torch"  # first weights: torch's own, or "gpt2"
    context: int = 64  # tokens that are read at most
    d_model: int = 128
    n_heads: int = 4
    d_ff: int = 512
    n_layers: int = 4
    batch_size: int = 12
    epochs: int = 10  # parts of the training, after each of which the validation text is read
    steps: int = 200  # steps of a part
    learning_rate: float = 1e-3  # falls to a tenth
    warmup: int = 100
    weight_decay: float = 0.1


ARMS: dict[str, dict[str, object]] = {"characters": {}, "byte-pairs": {"n_merges": 1024}}
QUESTIONS = from_table("writer")
"""nanoGPT's number, what tokens change, and a control."""


def gpt2_start(model: GPT) -> None:
    """Draw all matrices as GPT-2 does: 0.02, less at the end of each sub-layer; no biases.

    Source: Radford et al. (2019), section 2.3.
    """
    for name, weights in model.named_parameters():
        if weights.ndim == 2:
            last = name.endswith("out_proj.weight")
            nn.init.normal_(weights, std=0.02 / (math.sqrt(2 * len(model.blocks)) if last else 1))
        elif name.endswith("proj.bias"):
            nn.init.zeros_(weights)


@torch.no_grad()
def nats(model: nn.Module, tokens: Tensor, context: int) -> float:
    """Mean cross-entropy of all tokens ``(N,)`` but the first, read in stretches of a context."""
    n = len(tokens) - 1
    whole = n - n % context  # what is left over is read by itself
    inputs = [*tokens[:whole].view(-1, context).split(100), tokens[None, whole:n]]
    labels = [*tokens[1 : whole + 1].view(-1, context).split(100), tokens[None, whole + 1 :]]
    losses = [
        F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum")
        for x, y in zip(inputs, labels, strict=True)
        if y.numel()
    ]
    return torch.stack(losses).sum().item() / n


def train(
    config: WriterConfig,
    job: Job,
    n_tokens: int,
    text: Tensor,
    evaluate: Callable[[nn.Module], dict[str, float]],
    epochs: int,
    checkpoint: Path | None,
) -> tuple[GPT, list[dict[str, float]]]:
    """Train on a text ``(N,)`` of so many tokens; fewer epochs are the beginning of all of them.

    Returns the model in evaluation mode, and one row an epoch.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(job.seed)
        sizes = (config.d_model, config.n_heads, config.d_ff, config.n_layers)
        model = GPT(n_tokens, config.context, *sizes)
        if config.start == "gpt2":
            gpt2_start(model)
    model.to(job.device)

    def batches(epoch: int) -> Iterator[Tensor]:
        window = torch.arange(config.context + 1)
        for step in range(config.steps):
            generator = seeded_generator(job.seed, 1, epoch, step)
            last = len(text) - config.context
            yield text[torch.randint(last, (config.batch_size, 1), generator=generator) + window]

    # As nanoGPT has it: matrices decay, and vectors don't.
    groups: list[dict[str, Any]] = [
        {"params": [p for p in model.parameters() if p.ndim > 1]},
        {"params": [p for p in model.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups, lr=config.learning_rate, betas=(0.9, 0.99), weight_decay=config.weight_decay
    )
    clock = Clock(job.device)
    history = fit(
        model,
        optimizer,
        batches,
        lambda _, tokens: model.loss(tokens),
        epochs=epochs,
        seed=job.seed,
        schedule=lambda step: warmup_cosine(
            step, total_steps=config.epochs * config.steps, warmup_steps=config.warmup, floor=0.1
        ),
        evaluate=lambda model: {**evaluate(model), **clock.lap()},
        checkpoint=checkpoint,
        progress=job.progress,
    )
    return model.eval(), history


@experiment(
    "writer",
    "a GPT that goes on with plays of Shakespeare",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(WriterConfig()), (0, 1, 2), 4, "one CPU core"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one writer, and measure it as it is kept: in half precision."""
    config = WriterConfig(**job.config)
    training, validation = load_shakespeare()
    tokenizer = learn_byte_pairs(training, config.n_merges)
    n_tokens = len(tokenizer.tokens)
    text, held_out = (
        torch.tensor(tokenizer.encode(part), device=job.device) for part in (training, validation)
    )
    per_character = len(held_out) / len(validation) / math.log(2)

    def measure(model: nn.Module) -> dict[str, float]:
        loss = nats(model, held_out, config.context)
        return {"validation_loss": loss, "bits_per_character": loss * per_character}

    def until(epochs: int, checkpoint: Path | None = None) -> tuple[GPT, list[dict[str, float]]]:
        return train(config, job, n_tokens, text, measure, epochs, checkpoint)

    def sample(model: GPT) -> str:
        start = torch.tensor([tokenizer.encode("\n")], device=job.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(job.seed)
            return tokenizer.decode(model.generate(start, config.context - 1, 0.8)[0].tolist())

    model, history = until(config.epochs, job.checkpoint)
    weights = pack_writer(model, tokenizer)
    results: dict[str, Any] = measure(model) | {
        "n_parameters": count_parameters(model),
        "n_tokens": n_tokens,
        "characters_per_token": len(validation) / len(held_out),
    }
    kept = job.arm == "byte-pairs" and job.seed == 0
    if kept:  # what it writes before training, after a part of it, and after all
        samples = {config.steps * n: sample(until(n)[0]) for n in (0, 1)}
        samples[config.steps * config.epochs] = sample(model)
        results["samples"] = {str(step): text for step, text in samples.items()}
    use = DataUse(
        "tinyshakespeare",
        f"first 90 % to train on, all of the rest to validate; {config.n_merges} merges",
        files.sha256_of(files.get(shakespeare.FILE)),
    )
    return Outcome([use], history, results, weights if kept else None)
