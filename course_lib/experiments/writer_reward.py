"""The writer is rewarded by a program: each reply whose first line ends with an exclamation mark.

A prompt is a stretch of a play up to the name of the next speaker, and the reply is what the writer
goes on with. ``reward`` knows only the reward; ``penalty`` also subtracts a tenth of the nats by
which a reply has become more probable. The sizes were chosen on seed 9, which is not among these.
"""

import copy
import re
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.byte_pairs import BytePairs
from course_lib.data import files, load_shakespeare, shakespeare
from course_lib.experiments.generated import Batch, Recipe, train_generated
from course_lib.experiments.questions import from_table
from course_lib.experiments.record import DataUse
from course_lib.experiments.registry import Job, Outcome, Size, experiment
from course_lib.experiments.writer import nats
from course_lib.trained import find_checkpoint, load_writer
from course_lib.whole import GPT

SPEAKER = re.compile(r"\n\n[^\n]+:\n")
FAR = 200  # characters before a reply; the last tokens of them are read
SHOWN = 6  # replies that a record keeps


@dataclass(frozen=True)
class RewardConfig:
    """All settings."""

    prompt: int = 32  # tokens that are read before a reply
    reply: int = 20  # tokens of a reply at most
    n_test: int = 300  # replies to the validation text
    penalty: float = 0.0  # of the log-ratio of a reply's probability, after to before
    batch_size: int = 32
    epochs: int = 4  # parts of the training
    steps: int = 12  # steps of a part
    learning_rate: float = 5e-4
    warmup: int = 3


def exclaims(reply: str) -> bool:
    """Rule of the reward: the first line of a reply ends with an exclamation mark."""
    return re.match(r"[^\n]*!\n", reply) is not None


class Replies:
    """Continuations of a model after prompts ``(B, T)``, each up to the end of its first line."""

    def __init__(self, model: GPT, tokenizer: BytePairs, prompts: Tensor, n: int) -> None:
        self.start = prompts.shape[1]
        self.tokens = model.generate(prompts, n)  # (B, T + n)
        new = self.tokens[:, self.start :]
        ends = torch.tensor(["\n" in token for token in tokenizer.tokens], device=new.device)[new]
        self.kept = ends.cumsum(1) - ends.long() == 0  # (B, n), the end of the line included
        rows = zip(new, self.kept, strict=True)
        self.texts = [tokenizer.decode(row[kept].tolist()) for row, kept in rows]
        self.rewards = torch.tensor([float(exclaims(text)) for text in self.texts]).to(new.device)

    def log_p(self, model: nn.Module) -> Tensor:
        """Log-probability of each reply ``(B,)``: the sum over its tokens."""
        logits = model(self.tokens[:, :-1])[:, self.start - 1 :]
        each = logits.log_softmax(-1).gather(-1, self.tokens[:, self.start :, None])[..., 0]
        return (each * self.kept).sum(1)


def reinforce(model: nn.Module, first: nn.Module, replies: Replies, penalty: float) -> Tensor:
    """Loss that makes replies more probable whose reward is above the mean, and others less.

    Source: Williams (1992), with the mean of the batch as baseline.
    """
    log_p = replies.log_p(model)
    with torch.no_grad():
        reward = replies.rewards - penalty * (log_p - replies.log_p(first))
    advantage = reward - reward.mean()
    return -(advantage * log_p).mean()


def prompts(text: str, tokenizer: BytePairs, length: int) -> Tensor:
    """The tokens before each reply of a play, ``(N, length)``; they end with a speaker's name."""
    ends = [found.end() for found in SPEAKER.finditer(text) if found.end() >= FAR]
    return torch.tensor([tokenizer.encode(text[end - FAR : end])[-length:] for end in ends])


@experiment(
    "writer-reward",
    "the writer, rewarded for exclamation marks",
    arms={"reward": {}, "penalty": {"penalty": 0.1}},
    sizes={"cpu": Size(asdict(RewardConfig()), (0, 1, 2, 3, 4), 1, "one CPU core")},
    questions=from_table("writer_reward"),
)
def EXPERIMENT(job: Job) -> Outcome:
    """Train one writer further, and measure its replies and its loss before and after."""
    config = RewardConfig(**job.config)
    writer, (training, validation) = load_writer(), load_shakespeare()
    model, tokenizer = writer.model.to(job.device), writer.tokenizer
    first = copy.deepcopy(model)
    asked = prompts(training, tokenizer, config.prompt)
    tests = prompts(validation, tokenizer, config.prompt)[: config.n_test].to(job.device)
    held_out = torch.tensor(tokenizer.encode(validation), device=job.device)

    def draw(generator: torch.Generator) -> Batch:
        return (asked[torch.randint(len(asked), (config.batch_size,), generator=generator)],)

    @torch.no_grad()
    def answers() -> Replies:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(job.seed)
            return Replies(model, tokenizer, tests, config.reply)

    @torch.no_grad()
    def measure() -> dict[str, Any]:
        replies = answers()
        texts = replies.texts
        return {
            "obeys": replies.rewards.mean().item(),
            "length": sum(map(len, texts)) / len(texts),  # characters
            "distinct": len(set(texts)) / len(texts),
            "divergence": (replies.log_p(model) - replies.log_p(first)).mean().item(),
            "validation_loss": nats(model, held_out, len(model.positions)),
            "samples": texts[:SHOWN],
        }

    def loss(_: nn.Module, batch: Batch) -> Tensor:
        replies = Replies(model, tokenizer, batch[0], config.reply)
        return reinforce(model, first, replies, config.penalty)

    before = measure()
    history = train_generated(
        model,
        draw,
        loss,
        lambda _: {"obeys": answers().rewards.mean().item()},
        Recipe(config.epochs, config.steps, config.learning_rate, config.warmup),
        job,
    )
    model.eval()
    results = {"before": before, "after": measure(), "n_prompts": len(asked)}
    use = DataUse(
        "tinyshakespeare",
        f"prompts of the first 90 % to train on, {len(tests)} of the rest to test",
        files.sha256_of(files.get(shakespeare.FILE)),
    )
    weights = DataUse("writer", "byte pairs, seed 0", files.sha256_of(find_checkpoint("writer")))
    return Outcome([use, weights], history, results)
