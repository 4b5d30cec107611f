"""An image in patches that are shuffled with or without their positions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_lib.attention import attention_weights
from course_lib.data.shapes import shape_images
from course_lib.figures.base import Figure, choice
from course_lib.positions import sinusoidal_encoding
from course_lib.vit.patches import patchify

SIDE = 4
"""Patches along a side, and pixels along a side of a patch."""

TELLINGS = {
    "together": "patches and positions move together",
    "patches": "patches move, positions stay",
    "positions": "positions move, patches stay",
    "none": "patches move, there are no positions",
}


def picture(seed: int = 11) -> list[list[str]]:
    """A small image cut into patches: of each the pixels' colours as ``#rrggbb``, row by row."""
    made = shape_images(
        1, torch.Generator().manual_seed(seed), size=SIDE**2, n_shapes=2, noise=0.03
    )
    patches = patchify((255 * made.images).round(), SIDE)[0].unflatten(1, (3, -1)).transpose(1, 2)
    return [["#{:02x}{:02x}{:02x}".format(*map(int, rgb)) for rgb in p] for p in patches.tolist()]


@dataclass(frozen=True)
class Options(Figure):
    title = "Shuffled patches: what arrives?"
    use = (
        "First the tokens in the order in which they are read, each with the row and column that "
        "it is told; then the image that can be put together from them. Shuffle, or press two "
        "tokens to exchange them, and choose what moves."
    )

    # Patches in the order in which they are read as number 0, 1, …
    order: Sequence[int] = (5, 11, 0, 14, 9, 2, 12, 7, 3, 15, 6, 10, 1, 13, 8, 4)
    telling: str = choice("together", "what moves", TELLINGS)  # key of TELLINGS
    patches: list[list[str]] = field(default_factory=picture)

    def say(self, found: dict[str, Any]) -> str:
        n = len(found["tokens"])
        told = (
            "No patch is told a place."
            if found["tokens"][0][1] < 0
            else f"{found['moved']} of {n} patches are told a place that isn't theirs."
        )
        return f"{told} The mean output of the attention layer changes by {found['change']:.3f}."


def _features(patches: Sequence[Sequence[str]]) -> Tensor:
    """Mean colour of each patch, in three of eight channels."""
    values = [[[int(p[i : i + 2], 16) for i in (1, 3, 5)] for p in patch] for patch in patches]
    colours = torch.tensor(values, dtype=torch.float64).mean(dim=1) / 127.5 - 1
    return torch.nn.functional.pad(2 * colours, (0, 5))


def patch_shuffler(
    patches: Sequence[Sequence[str]], order: Sequence[int], telling: str = "together"
) -> dict[str, Any]:
    """Input of a model from a shuffled image, and whether it notices.

    The model is one head of attention whose queries, keys and values are the tokens, and a mean
    over its outputs. A token is the mean colour of a patch plus, if there are positions, the code
    of the place that it is told. ``tokens`` are pairs of a patch and the place it is told, -1 for
    none; ``change`` is by how much the mean output differs from that for the image as it was.
    """
    n = len(patches)
    if sorted(order) != list(range(n)):
        raise ValueError(f"order has {len(order)} entries, expected a permutation of {n}")
    here = list(range(n))
    shown = here if telling == "positions" else list(order)
    told = {"together": list(order), "patches": here, "positions": list(order), "none": [-1] * n}
    places = told[telling]
    before = _pooled(patches, here, here if telling != "none" else places)
    return {
        "tokens": [list(pair) for pair in zip(shown, places, strict=True)],
        "moved": sum(place not in (-1, patch) for patch, place in zip(shown, places, strict=True)),
        "change": float((_pooled(patches, shown, places) - before).abs().max()),
    }


def _pooled(patches: Sequence[Sequence[str]], shown: list[int], places: list[int]) -> Tensor:
    grid = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE)).double()
    codes = sinusoidal_encoding(grid, 4).flatten(1)
    # One more, for those that are told nothing.
    x = _features(patches)[shown] + torch.nn.functional.pad(codes, (0, 0, 0, 1))[places]
    return (attention_weights(x, x) @ x).mean(dim=0)
