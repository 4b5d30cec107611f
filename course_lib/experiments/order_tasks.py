"""Copying, reversing and matching brackets: what each task loses without positions.

The sequence-and-space essay counts code among the tasks for which positions are critical, as its
syntax depends on the order of tokens. Three tasks on drawn sequences tell what of an order is
needed: *copy* them, *reverse* them, say whether their *brackets* match. Small models are told
positions or not, and read both ways or forwards. ``full`` has longer sequences and larger models.
"""

from dataclasses import asdict, dataclass
from itertools import product
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from course_lib.data.translation import Vocabulary
from course_lib.experiments.generated import Batch, Recipe, sha256_of, train_generated
from course_lib.experiments.no_positions import Guesser, ReadingRun
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.training import count_parameters, seeded_generator

Task = Literal["copy", "reverse", "brackets"]
TASKS: tuple[Task, ...] = get_args(Task)
FIRST_WORD = Vocabulary.unk + 1
"""Number of the first word; those below mean padding, and here the sign that asks for an answer."""
ASK = Vocabulary.bos
_TEST_SEED = 0
_UNASKED = -100  # what cross_entropy leaves out


@dataclass(frozen=True)
class OrderRun:
    """All settings."""

    task: Task = "copy"  # one of TASKS
    causal: bool = False  # whether a token sees only itself and those before it
    positions: Literal["sinusoidal", "none"] = "sinusoidal"
    length: int = 8  # words of a sequence, or pairs of brackets
    n_words: int = 16  # words that there are; those of a sequence are all different
    n_test: int = 500  # sequences to test on
    d_model: int = 32
    n_heads: int = 4
    d_ff: int = 64
    n_layers: int = 2
    batch_size: int = 32
    epochs: int = 4  # parts of the training
    steps: int = 80  # steps of a part
    learning_rate: float = 5e-3
    warmup: int = 40  # steps of the rise to it

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if self.task not in TASKS:
            raise ValueError(f"task is {self.task!r}, wanted one of {', '.join(TASKS)}")
        if not 2 <= self.length <= self.n_words:
            raise ValueError(f"length is {self.length}, wanted 2 to n_words {self.n_words}")


CPU = OrderRun()
FULL = OrderRun(
    length=30, n_words=100, n_test=2_000, d_model=256, n_heads=8, d_ff=1024, n_layers=6, epochs=20,
    steps=1000, learning_rate=3e-4, warmup=1000,
)  # fmt: skip
READERS = {"both-ways": False, "forwards": True}
ARMS: dict[str, dict[str, object]] = {
    f"{task}-{reader}{'' if told else '-none'}": {
        "task": task,
        "causal": READERS[reader],
        "positions": "sinusoidal" if told else "none",
    }
    for task, reader, told in product(TASKS, READERS, (True, False))
}


def draw(config: OrderRun, n: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Draw sequences and what is to be answered.

    Who reads both ways answers a sequence word by word at its places. Who reads forwards gets the
    sign that asks after it, and then answers word by word. About brackets both are asked once, at
    the sign; half of the sequences match, and all have as many closing ones as opening ones.
    Returns tokens and answers ``(n, T)``; -100 where nothing is asked.
    """
    ask = torch.full((n, 1), ASK)
    if config.task == "brackets":
        closing, matched = _brackets(n, 2 * config.length, generator)
        tokens = torch.cat([FIRST_WORD + closing.long(), ask], dim=1)
        answers = torch.full_like(tokens, _UNASKED)
        answers[:, -1] = FIRST_WORD + matched.long()
        return tokens, answers
    order = torch.rand(n, config.n_words, generator=generator).argsort(dim=1)
    words = FIRST_WORD + order[:, : config.length]
    wanted = words.flip(1) if config.task == "reverse" else words
    if not config.causal:
        return words, wanted
    tokens = torch.cat([words, ask, wanted[:, :-1]], dim=1)
    return tokens, torch.cat([torch.full_like(words, _UNASKED), wanted], dim=1)


def _brackets(n: int, length: int, generator: Generator) -> tuple[Tensor, Tensor]:
    """Brackets that close ``(n, length)``, and whether they match ``(n,)``."""
    closing = torch.rand(n, length, generator=generator).argsort(dim=1) % 2 == 1
    depth = (1 - 2 * closing.long()).cumsum(dim=1)
    # Read on from the place where it is lowest, a sequence matches.
    start = depth.argmin(dim=1, keepdim=True) + 1
    turned = closing.gather(1, (torch.arange(length) + start) % length)
    wanted = torch.rand(n, generator=generator) < 0.5
    # One that matches doesn't when it is read backwards.
    wrong = torch.where((depth.amin(dim=1) >= 0)[:, None], closing.flip(1), closing)
    return torch.where(wanted[:, None], turned, wrong), wanted


def build(config: OrderRun, seed: int) -> Guesser:
    """A model that is told positions or not, and reads both ways or forwards."""
    reader = ReadingRun(
        causal=config.causal,
        positions=config.positions,
        d_model=config.d_model,
        n_heads=config.n_heads,
        d_ff=config.d_ff,
        n_layers=config.n_layers,
    )
    return Guesser(reader, FIRST_WORD + config.n_words, seeded_generator(seed))


def right(model: nn.Module, tokens: Tensor, answers: Tensor) -> float:
    """Share of the answers ``(B, T)`` that a model gets right; -100 where nothing is asked."""
    asked = answers != _UNASKED
    with torch.no_grad():
        return (model(tokens).argmax(dim=-1) == answers)[asked].double().mean().item()


QUESTIONS = from_table("order_tasks")
"""Questions: the loss of each task without positions, and a control."""


@experiment(
    "order-tasks",
    "copying, reversing and matching brackets, with positions and without",
    arms=ARMS,
    sizes={
        "cpu": Size(asdict(CPU), (0, 1, 2, 3, 4), 0.1, "one CPU core"),
        "full": Size(asdict(FULL), (0, 1, 2), 20, "one GPU"),
    },
    questions=QUESTIONS,
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one model on one task."""
    config = OrderRun(**job.config)
    model = build(config, job.seed)
    test = draw(config, config.n_test, seeded_generator(_TEST_SEED, 4))

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        tokens, answers = batch
        return F.cross_entropy(model(tokens).transpose(1, 2), answers)

    def accuracy(model: nn.Module) -> float:
        return right(model, *(part.to(job.device) for part in test))

    history = train_generated(
        model,
        lambda generator: draw(config, config.batch_size, generator),
        loss,
        lambda model: {"accuracy": accuracy(model)},
        Recipe(config.epochs, config.steps, config.learning_rate, config.warmup),
        job,
    )
    model.eval()
    results = {"accuracy": accuracy(model), "n_parameters": count_parameters(model)}
    variant = f"generated; training seed {job.seed}, {config.n_test} test sequences of seed 0"
    return Outcome(
        [DataUse(f"{config.task} sequences", variant, sha256_of(test))], history, results
    )
