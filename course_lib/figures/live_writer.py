"""The GPT that a page has trained, going on in that page with what a reader begins."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import torch
from safetensors.torch import load, save

from course_lib.figures.base import Figure, slider
from course_lib.whole import GPT, Block

UNKNOWN = "<unk>"


def packed(model: GPT, words: Sequence[str]) -> dict[str, Any]:
    """What :class:`Options` has to be told of a model: half-precision weights, heads, words."""
    weights = {name: value.half() for name, value in model.state_dict().items()}
    heads = cast(Block, model.blocks[0]).attention.n_heads
    return {"weights": b64encode(save(weights)).decode(), "heads": heads, "words": tuple(words)}


@cache
def _example() -> dict[str, Any]:
    """An untrained model of a few words, drawn with the seed 0."""
    words = (UNKNOWN, "the", "cats", "near", "tree", "are", "is", ".")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return packed(GPT(len(words), 24, d_model=8, n_heads=2, d_ff=16, n_layers=2), words)


@dataclass(frozen=True)
class Options(Figure):
    """What the figure shows at first, and the model: see :func:`packed`."""

    title = "The model that this page has trained, at work."
    use = (
        "Press a word to write it, draw one by chance, or type a beginning of your own. What you "
        "type stays on your machine."
    )

    beginning: str = "the cats near the tree"
    temperature: float = slider(0.5, "temperature", 0.25, 4)
    weights: str = field(default_factory=lambda: _example()["weights"])
    heads: int = field(default_factory=lambda: _example()["heads"])
    words: Sequence[str] = field(default_factory=lambda: _example()["words"])

    @property
    def scripts(self) -> tuple[str, ...]:
        return ("common", "runtime")

    def say(self, found: dict[str, Any]) -> str:
        """Tell the text and its likeliest next word."""
        share, word = max(zip(found["probabilities"], self.words, strict=True))
        return f"Written: \u201c{self.beginning}\u201d. Next: {word}, with probability {share:.2f}."


@torch.no_grad()
def live_writer(
    beginning: str, temperature: float, weights: str, heads: int, words: Sequence[str]
) -> dict[str, Any]:
    """Give each word's probability of being the next one, ``probabilities`` ``(V,)``.

    Words that the model does not know are :data:`UNKNOWN`. It computes in double precision.
    """
    state = {name: value.double() for name, value in load(b64decode(weights)).items()}
    (n, D), inner = state["positions"].shape, "blocks.0.feed_forward.in_proj.bias"
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("blocks."))
    model = GPT(len(words), n, D, heads, len(state[inner]), layers).double()
    model.load_state_dict(state)
    known = [words.index(word if word in words else UNKNOWN) for word in beginning.split()]
    logits = model(torch.tensor([known]))[0, -1]
    return {"probabilities": (logits / temperature).softmax(-1).tolist()}
