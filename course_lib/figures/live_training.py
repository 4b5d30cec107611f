"""A small network learns to read backwards in the page, with more or less around its sub-layers."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import vector_to_parameters

from course_lib.figures.base import Figure, choice, mulberry32, slider, switch, table
from course_lib.figures.depth_explorer import FORMULAS
from course_lib.layers import EncoderBlock
from course_lib.transformer.depth import Arrangement, arranged_block
from course_lib.transformer.mirror import N_DIGITS, Mirror

WIDTH, LENGTH, BATCH, TEST = 8, 8, 32, 50
STEPS, WARM_UP = 300, 200
BLOCKS = (1, 2, 4)
# Biases of keys have the gradient 0 but for rounding errors. A smaller number would let Adam divide
# these by each other, and no two processors would agree.
EPSILON = 1e-6
RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
COMPARED: tuple[Arrangement, ...] = ("pre", "post", "norm", "neither")
EXAMPLE = (3, 1, 4, 1, 5, 9, 2, 6)
_COLORS = ("#2B7BBA", "#D55E00", "#137A58", "#8A5BB8")
_DASHES = ("", "6 3", "2 3", "9 3 2 3")
_KEY = "display:inline;width:36px;height:10px"


SIZES: dict[str, Any] = {
    "width": WIDTH,
    "length": LENGTH,
    "digits": N_DIGITS,
    "batch": BATCH,
    "test": TEST,
    "steps": STEPS,
    "warmUp": WARM_UP,
    "epsilon": EPSILON,
    "blocks": BLOCKS,
    "rates": RATES,
    "formulas": FORMULAS,
    "example": EXAMPLE,
}
"""Settings of the page's networks and of their training."""


def make_model(
    arrangement: Arrangement, blocks: int, weights: int | Sequence[float]
) -> tuple[Mirror, list[nn.Parameter]]:
    """Make the network in double precision, as a page computes: it and its parameters.

    Norms that the arrangement leaves out are not among them.
    """
    with torch.random.fork_rng(devices=[]):
        model = Mirror(arrangement, blocks, WIDTH, 1, LENGTH).double()
    bare = arrangement in ("neither", "residual")
    named = [(n, p) for n, p in model.named_parameters() if not (bare and "norm" in n)]
    parameters = [p for _, p in named]
    if not isinstance(weights, int):
        vector_to_parameters(torch.tensor(weights, dtype=torch.float64), parameters)
        return model, parameters
    matrices = [p.numel() for p in parameters if p.ndim > 1]
    drawn = iter(np.split(mulberry32(weights, sum(matrices)), np.cumsum(matrices)[:-1]))
    with torch.no_grad():
        for name, p in named:
            if p.ndim > 1:
                embeds = name.startswith(("places", "digits"))
                std = 1.0 if embeds else math.sqrt(2 / sum(p.shape))
                numbers = std * math.sqrt(3) * (2 * next(drawn) - 1)
                p.copy_(torch.from_numpy(numbers).view_as(p))
            else:
                p.fill_(name.endswith("norm.weight"))
    return model, parameters


def _loss(logits: Tensor, digits: Tensor) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), digits.flip(1).flatten())


def _sequences(seed: int, *shape: int) -> Tensor:
    numbers = np.floor(N_DIGITS * mulberry32(seed, math.prod(shape))).astype(int)
    return torch.from_numpy(numbers).view(shape)


def _flat(tensors: Sequence[Tensor]) -> list[float]:
    return torch.cat([tensor.detach().flatten() for tensor in tensors]).tolist()


def live_training(
    arrangement: Arrangement, blocks: int, weights: Sequence[float], digits: Sequence[int]
) -> dict[str, Any]:
    """Let the network read one sequence backwards.

    Returns ``loss`` in nats a digit, ``logits`` ``(T * 10,)`` and ``maps`` ``(L, T, T)``.
    """
    model, _ = make_model(arrangement, blocks, weights)
    tokens = torch.tensor([digits])
    with torch.no_grad():
        x = model.digits(tokens) + model.places
        maps = []
        for block in model.stack.blocks:
            assert isinstance(block, EncoderBlock)
            first = block.attention_norm(x) if arrangement in ("pre", "norm") else x
            maps.append(block.attention(first, return_weights=True)[1][0, 0].tolist())
            x = arranged_block(arrangement, block, x)
        logits = model(tokens)
        loss = _loss(logits, tokens)
    return {"loss": loss.item(), "logits": _flat([logits]), "maps": maps}


def adam_steps(
    arrangement: Arrangement,
    blocks: int,
    weights: int | Sequence[float],
    batches: Sequence[Sequence[Sequence[int]]] | Tensor,
    rates: Sequence[float],
) -> dict[str, Any]:
    """Take a step of Adam for each batch.

    ``batches``: one for each step, B sequences of T digits each. Returns the ``losses`` before each
    step, the ``gradients`` of the last one with respect to all weights, and the ``weights``
    afterwards.
    """
    model, parameters = make_model(arrangement, blocks, weights)
    optimizer = torch.optim.Adam(parameters, eps=EPSILON)
    losses = []
    for batch, rate in zip(batches, rates, strict=True):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        digits = torch.as_tensor(batch)
        loss = _loss(model(digits), digits)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    gradients = [p.grad for p in parameters if p.grad is not None]
    return {"losses": losses, "gradients": _flat(gradients), "weights": _flat(parameters)}


@dataclass(frozen=True)
class Run:
    """One training."""

    losses: list[float]  # before each step, in nats a digit
    accuracy: float  # share of the digits of 50 fresh sequences that are right at the end
    weights: list[float]  # all of them at the end, one after another

    @property
    def last(self) -> float:
        """Mean loss of the last ten steps; not a number without any."""
        some = self.losses[-10:]
        return sum(some) / len(some) if some else math.nan


@cache
def train(
    arrangement: Arrangement,
    blocks: int,
    rate: float = 0.03,
    warm_up: bool = False,
    seed: int = 1,
    steps: int = STEPS,
) -> Run:
    """Train as the page does: weights, batches and test come from three seeds of their own."""
    batches = _sequences(3 * seed + 1, steps, BATCH, LENGTH)
    rates = [rate * (min(1.0, (t + 1) / WARM_UP) if warm_up else 1.0) for t in range(steps)]
    if steps:
        found = adam_steps(arrangement, blocks, 3 * seed, batches, rates)
    else:
        found = {"losses": [], "weights": _flat(make_model(arrangement, blocks, 3 * seed)[1])}
    model, _ = make_model(arrangement, blocks, found["weights"])
    test = _sequences(3 * seed + 2, TEST, LENGTH)
    with torch.no_grad():
        right = model(test).argmax(-1) == test.flip(1)
    return Run(found["losses"], right.double().mean().item(), found["weights"])


@dataclass(frozen=True)
class Options(Figure):
    title = "A network learns while you watch."
    use = (
        "It has to write eight digits backwards. Choose what surrounds the sub-layers f of its "
        "blocks, press Train, and watch the loss fall, or not. Each change begins a new run of 300 "
        "steps; the curves of earlier runs stay."
    )

    arrangement: Arrangement = choice("pre", "each sub-layer", FORMULAS)
    blocks: int = choice(1, "blocks", BLOCKS)  # how many blocks there are
    rate: float = choice(0.03, "learning rate", RATES)  # learning rate
    warm_up: bool = switch(False, "warm-up")
    seed: int = slider(1, "seed", 0, 9)
    sizes: dict[str, Any] = field(default_factory=SIZES.copy)  # what the page's network is made of

    def find(self) -> Run:
        return train(self.arrangement, self.blocks, self.rate, self.warm_up, self.seed)

    def say(self, found: Run) -> str:
        after = f"{found.losses[-1]:.2f}" if found.losses else "not measured"
        warm = ", with warm-up" if self.warm_up else ""
        return (
            f"{FORMULAS[self.arrangement]}; blocks: {self.blocks}; learning rate {self.rate}"
            f"{warm}; seed {self.seed}. After {STEPS} steps the loss is {after}, and "
            f"{found.accuracy:.0%} of the fresh digits are right. Guessing has a loss of "
            f"{math.log(N_DIGITS):.2f} and 10% right."
        )

    @property
    def scripts(self) -> tuple[str, ...]:
        return ("common", "runtime", "backward")

    @property
    def still(self) -> str:
        """The curves of four stacks of two blocks and of the two orders with four."""
        parts = []
        for blocks in BLOCKS[1:]:
            runs = {name: train(name, blocks, self.rate, seed=self.seed) for name in COMPARED}
            rows = [["<td></td>"] + [f"<th scope='col'>{t}</th>" for t in ("loss", "right")]]
            for (name, run), color, dash in zip(runs.items(), _COLORS, _DASHES, strict=True):
                key = _line("0,5 36,5", color, dash)
                key = f"<svg width='36' height='10' style='{_KEY}' aria-hidden='true'>{key}</svg>"
                head = f"{key} {html.escape(FORMULAS[name])}"
                cells = f"{run.last:.2f}", f"{run.accuracy:.0%}"
                rows.append([f"<th scope='row' style='text-align:left'>{head}</th>"])
                rows[-1] += [f"<td>{text}</td>" for text in cells]
            caption = (
                f"{blocks} blocks, learning rate {self.rate}, seed {self.seed}: loss over {STEPS} "
                "steps, its mean over the last ten, and the share of fresh digits that are right"
            )
            told = table(rows).replace("<table>", f"<table><caption>{caption}</caption>")
            drawn = _curves([run.losses for run in runs.values()])
            parts.append(f"<div class='figure-panel'>{drawn}{told}</div>")
        return f"<div class='figure-panels figure-still'>{''.join(parts)}</div>"


def _line(points: str, color: str, dash: str) -> str:
    return (
        f"<polyline points='{points}' fill='none' stroke='{color}' stroke-width='2' "
        f"stroke-dasharray='{dash}'/>"
    )


def _curves(runs: Sequence[Sequence[float]]) -> str:
    """Losses from 0 to 3 over the steps, and a line for that of guessing."""
    parts = []
    for loss in range(4):
        y = 150 - 45 * loss
        parts.append(f"<line x1='24' x2='330' y1='{y}' y2='{y}' class='axis' stroke='#bbb'/>")
        parts.append(f"<text x='12' y='{y + 4}' font-size='13' text-anchor='middle'>{loss}</text>")
    for step in range(0, STEPS + 1, 100):
        x = 24 + 306 * step / STEPS
        parts.append(f"<text x='{x}' y='168' font-size='13' text-anchor='middle'>{step}</text>")
    guess = 150 - 45 * math.log(N_DIGITS)
    parts.append(
        f"<line x1='24' x2='330' y1='{guess:.1f}' y2='{guess:.1f}' stroke='#888' "
        "stroke-dasharray='1 4'/>"
    )
    for losses, color, dash in zip(runs, _COLORS, _DASHES, strict=False):
        # The mean of five steps: two dozen points for each hundred are enough for a still image.
        means = [sum(losses[t : t + 5]) / len(losses[t : t + 5]) for t in range(0, len(losses), 5)]
        points = " ".join(
            f"{24 + 306 * (5 * t + 2) / STEPS:.1f},{150 - 45 * min(loss, 3.1):.1f}"
            for t, loss in enumerate(means)
        )
        parts.append(_line(points, color, dash))
    return f"<svg viewBox='0 0 340 174' width='340' aria-hidden='true'>{''.join(parts)}</svg>"
