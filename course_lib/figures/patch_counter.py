"""An image cut into patches: how many tokens it becomes, and what each part of a model costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from course_lib.figures.base import Figure, choice
from course_lib.vit.config import ViTConfig

PATCHES = (1, 2, 4, 8, 16)
"""Sides of a patch, in pixels."""

WIDTHS = (32, 64, 128, 256)
"""Widths of the tokens."""

PARTS = (
    "cut, flatten",
    "matrix E",
    "class, positions",
    "projections",
    "scores, mixing",
    "feed-forward",
    "norm, head",
)
"""From the image to the logits; the parts of all blocks together, each with its norm."""

Rectangle = tuple[int, int, int, int, str]
Costs = Mapping[str, Mapping[str, Any]]

_HULL = tuple((18 + i, 3 + i // 2, 1, 26 - 2 * (i // 2), "#444444") for i in range(6))
SHIP: Sequence[Rectangle] = (
    (0, 0, 21, 32, "#a8c4dc"), (21, 0, 11, 32, "#33546e"), *_HULL,
    (13, 11, 5, 10, "#ffffff"), (8, 14, 5, 4, "#aa3333"),
)  # fmt: skip
"""An image of 32 x 32 pixels: row, column, height, width and colour, painted in this order."""


def config_of(patch_size: int, d_model: int) -> ViTConfig:
    """Make the model that is counted: four blocks and ten classes on images of 32 x 32."""
    return ViTConfig(
        patch_size=patch_size,
        d_model=d_model,
        n_layers=4,
        n_heads=4,
        d_ff=2 * d_model,
        dropout=0.0,
        positions="learned",
    )


@dataclass(frozen=True)
class Options(Figure):
    """First state; ``costs``: what :func:`patch_counter` finds for every choice."""

    title = "How many tokens, and what do they cost?"
    use = (
        "Move the side of the patches and the width. The model has four blocks and ten classes. "
        "Products are multiplications for one image; a bar is a share of its column."
    )

    patch_size: int = choice(4, "side of a patch", PATCHES)
    d_model: int = choice(64, "width", WIDTHS)
    picture: Sequence[Rectangle] = SHIP  # what is cut, as SHIP
    costs: Costs = field(
        default_factory=lambda: {f"{p} {d}": patch_counter(p, d) for p in PATCHES for d in WIDTHS}
    )

    def say(self, found: dict[str, Any]) -> str:
        work = found["multiplications"]
        share = 100 * work[PARTS.index("scores, mixing")] / sum(work)
        return (
            f"Patches of {self.patch_size} x {self.patch_size} pixels and a width of "
            f"{self.d_model}: {found['tokens'] - 1:,} patches, each a line of {found['line']} "
            f"numbers, and with the class token {found['tokens']:,} tokens. "
            f"{sum(found['parameters']):,} parameters, {sum(work):,} multiplications an image; "
            f"scores and mixing take {share:.1f} % of them."
        )


def patch_counter(patch_size: int, d_model: int) -> dict[str, Any]:
    """Count what a vision transformer makes of an image of 32 x 32, part by part.

    Returns ``tokens``: T, with the class token; ``line``: numbers of a patch; ``parameters`` and
    ``multiplications``: for each of :data:`PARTS`.
    """
    config = config_of(patch_size, d_model)
    patches, line = config.n_patches, config.n_channels * config.patch_size**2
    tokens, blocks, hidden = patches + 1, config.n_layers, config.d_ff
    norm = 2 * d_model
    parts = (
        (0, 0),
        (line * d_model + d_model, patches * line * d_model),
        (d_model + tokens * d_model, 0),
        (blocks * (4 * (d_model**2 + d_model) + norm), blocks * 4 * tokens * d_model**2),
        (0, blocks * 2 * tokens**2 * d_model),
        (
            blocks * (2 * d_model * hidden + hidden + d_model + norm),
            blocks * 2 * tokens * d_model * hidden,
        ),
        (norm + (d_model + 1) * config.n_classes, d_model * config.n_classes),
    )
    return {
        "tokens": tokens,
        "line": line,
        "parameters": [parameters for parameters, _ in parts],
        "multiplications": [multiplications for _, multiplications in parts],
    }
