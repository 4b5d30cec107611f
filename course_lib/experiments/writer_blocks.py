"""The writer with cheaper layers: what windows, a state and hybrids cost, and save in cache.

All variants read the writer's text with half of its width and steps. They differ in the layers that
mix tokens: a softmax over all earlier tokens or over a window, or a state by the gated delta rule.
Queries and keys of a softmax are rotated. A hybrid has three cheap layers, then a full one.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.data import files, load_shakespeare, shakespeare
from course_lib.efficient import GatedDeltaAttention
from course_lib.experiments.generated import Batch, Recipe, train_generated
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.writer import nats
from course_lib.masks import sliding_window_mask
from course_lib.positions import Rotary
from course_lib.training import count_parameters
from course_lib.whole import GPT, Block

BYTES = 4  # of a number in float32
ARMS = {
    "full": "full full full full",
    "state": "state state state state",
    "window": "window window window window",
    "state-full": "state state state full",
}


@dataclass(frozen=True)
class BlocksConfig:
    """All settings."""

    layers: str = ARMS["full"]  # what mixes the tokens in each block
    window: int = 16  # keys that a query of a window reads, its own included
    context: int = 64
    d_model: int = 64
    n_heads: int = 2
    d_ff: int = 256
    n_seen: int = 200  # contexts of the validation text that are read after each part
    batch_size: int = 12
    epochs: int = 4  # parts of the training
    steps: int = 250  # steps of a part
    learning_rate: float = 2e-3
    warmup: int = 100


class Mixer(nn.Module):
    """A layer of the library, called as the writer calls its attention."""

    def __init__(self, config: BlocksConfig, layer: str) -> None:
        super().__init__()
        kind = GatedDeltaAttention if layer == "state" else MultiHeadAttention
        self.attention: GatedDeltaAttention | MultiHeadAttention = kind(
            config.d_model, config.n_heads
        )
        self.window = {"full": config.context, "window": config.window, "state": 0}[layer]
        self.rotate = Rotary(config.d_model // config.n_heads, max_len=config.context)

    def forward(self, x: Tensor, causal: bool, past: list[Tensor] | None = None) -> Tensor:
        """Mix each of the tokens ``(B, T, D)`` with those before it."""
        out: Tensor
        if isinstance(self.attention, GatedDeltaAttention):
            out = self.attention(x)
        else:
            mask = sliding_window_mask(x.shape[1], self.window - 1).tril()
            out = self.attention(x, mask=mask, rotate=self.rotate)
        return out

    def kept(self, n_tokens: int) -> int:
        """Count the numbers that the next token needs: keys and values, or a state of each head."""
        D, H = self.attention.d_model, self.attention.n_heads
        return 2 * D * min(n_tokens, self.window) if self.window else D * D // H


def build(config: BlocksConfig, n_words: int, seed: int) -> GPT:
    """Make a writer whose blocks have the configured layers."""
    layers = config.layers.split()
    sizes = (config.d_model, config.n_heads, config.d_ff, len(layers))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = GPT(n_words, config.context, *sizes)
        for block, layer in zip(model.blocks, layers, strict=True):
            cast(Block, block).attention = Mixer(config, layer)  # type: ignore[assignment]
    return model


def cache_bytes(layers: Sequence[Mixer], n_tokens: int) -> int:
    """Count the bytes that a text of so many tokens leaves in the caches of all layers."""
    return BYTES * sum(layer.kept(n_tokens) for layer in layers)


@experiment(
    "writer-blocks",
    "a model of Shakespeare with windows, a state or a hybrid in place of attention",
    arms={arm: {"layers": layers} for arm, layers in ARMS.items()},
    sizes={"cpu": Size(asdict(BlocksConfig()), (0, 1, 2, 3, 4), 1, "one CPU core")},
    questions=from_table("writer_blocks"),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one model and measure its loss on all of the validation text."""
    config = BlocksConfig(**job.config)
    training, validation = load_shakespeare()
    number = {character: i for i, character in enumerate(sorted({*training, *validation}))}
    text, held_out = (torch.tensor([number[c] for c in part]) for part in (training, validation))
    model = build(config, len(number), job.seed)

    def stretches(generator: torch.Generator) -> Batch:
        start = torch.randint(
            len(text) - config.context, (config.batch_size, 1), generator=generator
        )
        return (text[start + torch.arange(config.context + 1)],)

    def measure(model: nn.Module, tokens: Tensor) -> dict[str, float]:
        return {"validation_loss": nats(model, tokens.to(job.device), config.context)}

    history = train_generated(
        model,
        stretches,
        lambda model, batch: cast(GPT, model).loss(batch[0]),
        lambda model: measure(model, held_out[: config.n_seen * config.context + 1]),
        Recipe(config.epochs, config.steps, config.learning_rate, config.warmup),
        job,
    )
    layers = [cast(Mixer, block.attention) for block in model.eval().blocks]
    results: dict[str, Any] = measure(model, held_out) | {
        "cache_bytes": cache_bytes(layers, config.context),
        "n_parameters": count_parameters(model),
    }
    use = DataUse(
        "tinyshakespeare",
        "first 90 % to train on, all of the rest to validate",
        files.sha256_of(files.get(shakespeare.FILE)),
    )
    return Outcome([use], history, results)
