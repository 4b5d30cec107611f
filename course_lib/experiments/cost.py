"""Cost of cheaper attention: looking something up far back, with the same training for all.

A text of noise holds facts, each of a key and a value, and ends with questions: which value has
this key? A question can stand far behind its fact. All arms have two blocks, the same width and the
same steps, and differ in what their blocks attend with. Four kinds see about a quarter of what full
attention sees, each in its own way; ``delta`` has a state that it corrects; arms of two kinds have
one in each block. ``day`` has twice the tokens and facts and twice the width.
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.efficient import (
    BlockSparseAttention,
    GatedDeltaAttention,
    LinformerAttention,
    LongformerAttention,
    PerformerAttention,
)
from course_lib.experiments.generated import Batch, Recipe, sha256_of, train_generated
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.layers import EncoderBlock, xavier_init
from course_lib.training import count_parameters, saved_bytes, seeded_generator

KINDS = ("full", "window", "block-sparse", "linformer", "performer", "delta")
# Named as records are, which have no plus.
ARMS = {kind: kind for kind in KINDS} | {
    "performer-full": "performer+full",
    "full-performer": "full+performer",
    "window-full": "window+full",
}

_TEST_SEED = 1_000_000


@dataclass(frozen=True)
class RecallConfig:
    """Settings that all arms share."""

    length: int = 128  # tokens of a text, T, the questions included
    n_keys: int = 8  # keys K, and as many facts and questions
    n_values: int = 4  # values of a fact
    n_noise: int = 16  # kinds of noise
    d_model: int = 32
    n_heads: int = 2
    d_ff: int = 64
    n_layers: int = 2
    radius: int = 16  # neighbours on each side in a window
    block_size: int = 4  # positions of a block
    n_random: int = 3  # blocks drawn for each block and head, beside its neighbours and both ends
    rank: int = 32  # mixtures of Linformer
    n_features: int = 32  # features of Performer
    n_test: int = 100  # texts to test on
    batch_size: int = 8
    epochs: int = 10  # parts of the training
    steps: int = 60  # steps of a part
    learning_rate: float = 5e-3

    @property
    def reach(self) -> int:
        """Measure how far back a window sees through all blocks."""
        return self.n_layers * self.radius


CPU = RecallConfig()
# Twice as long, with twice the facts and values, twice as wide: ten times the work.
DAY = RecallConfig(
    length=256, n_keys=16, n_values=8, d_model=64, n_heads=4, d_ff=128, radius=32, block_size=8,
    rank=64, n_features=64, batch_size=16, steps=100, learning_rate=3e-3,
)  # fmt: skip
# The documents name no setting; this is ours for a GPU.
FULL = RecallConfig(
    length=4096, n_keys=64, n_values=32, d_model=256, n_heads=4, d_ff=1024, n_layers=4,
    radius=128, block_size=64, rank=256, n_features=256, n_test=2000, epochs=20, steps=1000,
    learning_rate=1e-3,
)  # fmt: skip


def texts(n: int, config: RecallConfig, generator: Generator) -> Batch:
    """Draw texts with their questions.

    Returns tokens ``(B, T)``; the right values of the last K tokens ``(B, K)``; and how far back
    each fact stands from its question, ``(B, K)``.
    """
    K, V, before = config.n_keys, config.n_values, config.length - config.n_keys
    noise = K * V + K + torch.randint(config.n_noise, (n, config.length), generator=generator)
    place = torch.rand(n, before, generator=generator).argsort(dim=1)[:, :K]
    value = torch.randint(V, (n, K), generator=generator)
    asked = torch.rand(n, K, generator=generator).argsort(dim=1)
    tokens = noise.scatter(1, place, torch.arange(K) * V + value)
    tokens[:, before:] = K * V + asked
    distance = before + torch.arange(K) - place.gather(1, asked)
    return tokens, value.gather(1, asked), distance


class FactEmbedding(nn.Module):
    """A fact is the sum of its key and its value, a question that of its key and a mark."""

    keys: nn.Parameter
    values: nn.Parameter
    others: nn.Parameter

    def __init__(self, config: RecallConfig, generator: Generator) -> None:
        super().__init__()
        sizes = {"keys": config.n_keys, "values": config.n_values, "others": 1 + config.n_noise}
        for name, size in sizes.items():
            drawn = torch.randn(size, config.d_model, generator=generator)
            self.register_parameter(name, nn.Parameter(drawn))

    def forward(self, tokens: Tensor) -> Tensor:
        """Embed ``(B, T)`` as ``(B, T, D)``."""
        facts = (self.keys[:, None] + self.values).flatten(0, 1)
        asks = self.keys + self.others[0]
        return F.embedding(tokens, torch.cat([facts, asks, self.others[1:]]))


class RecallModel(nn.Module):
    """Blocks of attention, without positions: facts are found by what they say.

    Linformer's mixtures have a column for each position all the same. Delta reads forwards, as its
    state does; questions stand behind all facts, so that it misses none of them. ``kind``: one of
    :data:`KINDS`, or several with a plus between them for blocks in turn.
    """

    def __init__(self, kind: str, config: RecallConfig, seed: int) -> None:
        super().__init__()
        kinds = kind.split("+")
        if not set(kinds) <= {*KINDS}:
            raise ValueError(f"kind is {kind!r}, wanted one of {', '.join(KINDS)}, or a sum")
        self.n_questions = config.n_keys
        generator = seeded_generator(seed)
        self.embedding = FactEmbedding(config, generator)
        self.blocks = nn.ModuleList(
            EncoderBlock(config.d_model, config.n_heads, config.d_ff)
            for _ in range(config.n_layers)
        )
        for layer, block in enumerate(self.blocks):
            kind = kinds[layer % len(kinds)]
            if kind != "full":
                block.attention = _attention(kind, config, seeded_generator(seed, 2, layer))
        self.norm = nn.LayerNorm(config.d_model)
        self.head = nn.Linear(config.d_model, config.n_values)
        xavier_init(self, generator=generator)
        for name, parameter in self.named_parameters():
            if "mix_" in name:
                bound = config.rank**-0.5
                nn.init.uniform_(parameter, -bound, bound, generator=generator)

    def forward(self, tokens: Tensor) -> Tensor:
        """Answer: ``(B, T)`` to logits ``(B, K, n_values)`` of the last K tokens."""
        x = self.embedding(tokens)
        for block in self.blocks:
            # Its own forward hands over masks, which not every kind of attention takes.
            assert isinstance(block, EncoderBlock)
            x = x + block.attention(block.attention_norm(x))
            x = x + block.feed_forward(block.feed_forward_norm(x))
        return self.head(self.norm(x[:, -self.n_questions :]))


def _attention(kind: str, config: RecallConfig, generator: Generator) -> nn.Module:
    D, H = config.d_model, config.n_heads
    if kind == "window":
        return LongformerAttention(D, H, config.radius)
    if kind == "block-sparse":
        return BlockSparseAttention(
            D,
            H,
            length=config.length,
            block_size=config.block_size,
            n_random=config.n_random,
            generator=generator,
        )
    if kind == "linformer":
        return LinformerAttention(D, H, config.length, config.rank)
    if kind == "delta":
        return GatedDeltaAttention(D, H)
    return PerformerAttention(D, H, config.n_features, generator=generator)


@torch.no_grad()
def recall(model: nn.Module, test: Batch, reach: int) -> dict[str, float]:
    """Share of the questions that are answered rightly: all, near ones and far ones.

    ``test``: as :func:`texts` returns it; ``reach``: up to which distance a fact is near.
    """
    device = next(model.parameters()).device
    tokens, values, distance = test
    said = torch.cat([model(part.to(device)).argmax(dim=-1).cpu() for part in tokens.split(50)])
    right = (said == values).double()
    near = distance <= reach
    return {
        "recall": right.mean().item(),
        "recall_near": right[near].mean().item(),
        "recall_far": right[~near].mean().item(),
    }


QUESTIONS = from_table("cost")
"""Claims of the documents on each, as far as a small task can tell, and a control."""


@experiment(
    "cost",
    "what cheaper attention gives up: recall of facts far back after the same training",
    arms={arm: {"kind": kind} for arm, kind in ARMS.items()},
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.2, "one CPU core"),
        "day": Size(asdict(DAY), (0, 1, 2), 2, "one CPU core", step=1),
        "full": Size(asdict(FULL), (0, 1, 2, 3, 4), 30, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one arm; the cost of its step stands beside what it recalls."""
    config = RecallConfig(**{k: v for k, v in job.config.items() if k != "kind"})
    test = texts(config.n_test, config, seeded_generator(_TEST_SEED))
    model = RecallModel(job.config["kind"], config, job.seed)

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        return F.cross_entropy(model(batch[0]).flatten(0, 1), batch[1].flatten())

    recipe = Recipe(config.epochs, config.steps, config.learning_rate, config.steps // 2)
    history = train_generated(
        model,
        lambda generator: texts(config.batch_size, config, generator),
        loss,
        lambda model: recall(model, test, config.reach),
        recipe,
        job,
    )
    model.cpu().eval()
    results = {key: history[-1][key] for key in ("recall", "recall_near", "recall_far")}
    # One text, so that the number is that of a text and not of a size of batch.
    kept = saved_bytes(lambda: loss(model, (test[0][:1], test[1][:1])))
    results |= {"kept_bytes": kept, "n_parameters": count_parameters(model)}
    variant = f"generated, {config.length} tokens, {config.n_keys} facts"
    return Outcome([DataUse("facts in noise", variant, sha256_of(test))], history, results)
