"""How much of a recurrent state each word gets: the last state, and the state after one word."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, slider
from course_lib.recurrence import gru_step, unroll


@dataclass(frozen=True)
class Options(Figure):
    """What the figure shows at first, as :func:`shared_state` takes it."""

    title = "How much of the card does a word get?"
    use = (
        "Each bar is the part of one word; the bars of a state sum to 1. Move the valve, the "
        "length, and the word that is to be translated."
    )

    words: int = slider(8, "words", 2, 20)
    keep: float = slider(0.5, "kept", 0.05, 0.95)
    wanted: int = slider(1, "wanted word", 1, lambda now: now.words)

    def say(self, found: dict[str, Any]) -> str:
        last, after = (100 * found[name][self.wanted - 1] for name in ("last", "after"))
        return (
            f"{self.words} words, and each keeps {self.keep:.2f} of the state before it. Word "
            f"{self.wanted} has {last:.1f} % of the last state and {after:.1f} % of the state "
            f"after word {self.wanted}."
        )


def shared_state(words: int, keep: float, wanted: int) -> dict[str, Any]:
    """Differentiate the states of a gated unit with respect to the words that it has read.

    The unit is a GRU of width 1 whose gate has the same opening at every word. Returns each word's
    part of all that the words do to the ``last`` state, and to the state ``after`` the wanted word;
    both lists sum to 1.
    """
    x = torch.zeros(1, words, 1, dtype=torch.float64, requires_grad=True)
    content = x.new_tensor([[0.0], [0.0], [1.0]])  # reset gate, keep gate, new content
    gate = x.new_tensor([0.0, math.log(keep / (1 - keep)), 0.0])
    none = torch.zeros_like(content)
    states, _ = unroll(gru_step, x, x.new_zeros(1, 1), content, none, gate, none[:, 0])
    parts = {}
    for name, place in (("last", words), ("after", wanted)):
        (slopes,) = torch.autograd.grad(states[0, place - 1, 0], x, retain_graph=True)
        parts[name] = (slopes / slopes.sum()).flatten().tolist()
    return parts
