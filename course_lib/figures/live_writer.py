"""The course's writer in a page: it goes on with what a reader begins, and shows where it looks."""

import html
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import torch

from course_lib.figures.base import Figure, cell, choice, slider, table
from course_lib.figures.models import kilobytes
from course_lib.trained import TrainedWriter, load_writer

LIKELY = 5
"""Number of next tokens offered."""
_NUMBERS = {n: str(n + 1) for n in range(4)}  # as a reader counts layers and heads


@cache
def _writer() -> TrainedWriter:
    """The writer in double precision, as a page computes."""
    kept = load_writer()
    return TrainedWriter(deepcopy(kept.model).double(), kept.tokenizer)


def visible(token: str) -> str:
    """A token that can be seen: line ends and spaces have signs."""
    return token.replace("\n", "\u21b5").replace(" ", "\u00b7")


@dataclass(frozen=True)
class Options(Figure):
    """First state of the figure; ``kilobytes``: what a page loads when a reader wants it."""

    title = "A GPT that has read Shakespeare, at work."
    use = (
        "Write a beginning, press a token, or let the model go on. Colour shows what the chosen "
        "head looks at to find the next token. What you type stays on your machine."
    )

    beginning: str = "ROMEO:\nMy lord, I"
    temperature: float = slider(0.75, "temperature", 0.25, 2)
    layer: int = choice(0, "layer", _NUMBERS)
    head: int = choice(0, "head", _NUMBERS)
    likely: int = LIKELY
    kilobytes: int = field(default_factory=partial(kilobytes, "writer"))

    def find(self) -> dict[str, Any]:
        tokens = _writer().tokenizer.encode(self.beginning)
        return live_writer(tokens, self.temperature, self.layer, self.head)

    def _likely(self, found: dict[str, Any]) -> list[tuple[float, str]]:
        named = zip(found["probabilities"], _writer().tokenizer.tokens, strict=True)
        return sorted(named, reverse=True)[:LIKELY]

    def say(self, found: dict[str, Any]) -> str:
        """Tell the likeliest next token, and the token that the head looks at most."""
        (share, token), *_ = self._likely(found)
        numbers = _writer().tokenizer.encode(self.beginning)[-len(found["weights"]) :]
        weight, most = max((weight, n) for n, weight in enumerate(found["weights"]))
        target = visible(_writer().tokenizer.tokens[numbers[most]])
        return (
            f"Next: \u201c{visible(token)}\u201d, with probability {share:.2f}. Layer "
            f"{self.layer + 1}, head {self.head + 1} looks most at \u201c{target}\u201d: "
            f"{weight:.2f}."
        )

    @property
    def still(self) -> str:
        """The likeliest next tokens as a table, where no script draws more."""
        caption = f"<caption>After {html.escape(visible(self.beginning))}</caption>"
        rows = (
            [f"<th scope='row'>{html.escape(visible(token))}</th>", cell(f"{share:.2f}", share)]
            for share, token in self._likely(self.find())
        )
        return (
            f'<div class="figure-still">{table(rows).replace("<table>", "<table>" + caption)}</div>'
        )


@torch.no_grad()
def live_writer(
    tokens: Sequence[int], temperature: float, layer: int, head: int
) -> dict[str, list[float]]:
    """Read the last tokens of a text, as many as the model can.

    Returns each token's probability of being the next one, ``probabilities`` ``(V,)``, and the
    ``weights`` ``(T,)`` of a head's last query.
    """
    writer = _writer()
    read = torch.tensor([tokens])[:, -len(writer.model.positions) :]
    logits = writer.model(read)[0, -1]
    return {
        "probabilities": (logits / temperature).softmax(-1).tolist(),
        "weights": writer.maps(read)[layer, head, -1].tolist(),
    }
