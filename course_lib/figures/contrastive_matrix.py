"""A batch of pairs: the weights of all images and captions at some temperature."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, choice, slider, switch
from course_lib.multimodal import contrastive_loss

HUB = 0.4
"""Extra similarity of a hub to every caption."""

_COSINES = (
    (0.6, 0.1, 0.2, -0.1, 0.0),
    (0.0, 0.5, 0.1, 0.2, -0.2),
    (0.2, 0.1, 0.4, 0.0, 0.1),
    (-0.1, 0.3, 0.0, 0.5, 0.1),
    (0.1, -0.1, 0.2, 0.0, 0.4),
)


@dataclass(frozen=True)
class Options(Figure):
    title = "The loss of a batch in both directions."
    use = (
        "Rows are images, columns are captions, pairs are on the diagonal. Cool the softmax, "
        "change the queries, and then make the first image a hub."
    )

    cosines: Sequence[Sequence[float]] = _COSINES
    cooling: int = slider(5, "cooling", 0, 20)
    queries: str = choice("images", "queries", {n: n for n in ("images", "captions")})
    hub: bool = switch(False, "image 1 is a hub")

    def say(self, found: dict[str, Any]) -> str:
        n = len(found["weights"])
        return (
            f"Temperature {found['temperature']:.3f}. Images: loss {found['by_row']:.3f}, "
            f"{found['images']} of {n} prefer their own caption. Captions: loss "
            f"{found['by_column']:.3f}, {found['captions']} of {n} prefer their own image. "
            f"Together: {found['loss']:.3f}."
        )


def contrastive_matrix(
    cosines: Sequence[Sequence[float]], cooling: int = 5, queries: str = "images", hub: bool = False
) -> dict[str, Any]:
    """Weights and losses of a batch in both directions.

    ``cosines``: cosine of each image (row) with each caption (column); pairs on the diagonal;
    ``cooling``: the temperature is ``10 ** (-cooling / 10)``; ``queries``: whose weights are shown,
    ``images`` (softmax by row) or ``captions`` (by column); ``hub``: whether :data:`HUB` is added
    to the first row. Returns the ``temperature``, the ``weights`` of the softmax (nested lists),
    the losses ``by_row`` and ``by_column`` and their mean ``loss``, and how many images and
    captions give most weight to their own, ``images`` and ``captions``.
    """
    s = torch.tensor(cosines, dtype=torch.float64)
    if hub:
        s[0] += HUB
    temperature = 10 ** (-cooling / 10)
    s = s / temperature
    own = torch.arange(len(s))
    by_row, by_column = (torch.nn.functional.cross_entropy(x, own).item() for x in (s, s.T))
    return {
        "temperature": temperature,
        "weights": s.softmax(dim=1 if queries == "images" else 0).tolist(),
        "by_row": by_row,
        "by_column": by_column,
        "loss": contrastive_loss(s).item(),
        "images": int((s.argmax(dim=1) == own).sum()),
        "captions": int((s.argmax(dim=0) == own).sum()),
    }
