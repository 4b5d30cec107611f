"""The smallest pairs of picture and caption that two towers can learn from, some kept back.

A shape fills the picture, and its caption names its colour and what it is. Six of the 24 captions
are kept back, such that every word is learned from others: what is asked of the model afterwards
is a combination that it has never seen, in pictures or in words.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from course_lib.data.shapes import COLOURS, SHAPES, shape_images
from course_lib.multimodal.contrastive import contrastive_loss
from course_lib.multimodal.towers import DualEncoder, DualEncoderConfig

_WORDS = ("", "a", ".", *COLOURS, *SHAPES)
_FIRST_COLOUR, _FIRST_SHAPE, _END = 3, 3 + len(COLOURS), 2
_SIDE, _AROUND = 16, 48

CAPTIONS = tuple(f"a {colour} {shape}" for colour in COLOURS for shape in SHAPES)
"""Captions of an image: caption ``len(SHAPES) * colour + shape``."""

KEPT_BACK = tuple(
    CAPTIONS.index(f"a {thing}")
    for thing in (
        "red square",
        "green triangle",
        "blue circle",
        "yellow cross",
        "magenta square",
        "cyan triangle",
    )
)
"""The captions that are not trained on: one of each colour, and at least one of each shape."""


@dataclass(frozen=True)
class CaptionedShapes:
    """Pictures of one shape ``(B, 3, 16, 16)``, from -1 to 1, and numbers of :data:`CAPTIONS`."""

    images: Tensor
    caption: Tensor


def all_captions() -> Tensor:
    """All captions as numbers of words ``(24, 4)``: the article, colour, shape and end."""
    number = torch.arange(len(CAPTIONS))
    colour, shape = number // len(SHAPES), number % len(SHAPES)
    article = torch.ones_like(colour)
    return torch.stack(
        [article, _FIRST_COLOUR + colour, _FIRST_SHAPE + shape, torch.full_like(colour, _END)],
        dim=1,
    )


def close_ups(n: int, generator: torch.Generator, *, jitter: int = 2) -> CaptionedShapes:
    """Cut n single shapes out of larger pictures, up to ``jitter`` pixels beside the middle."""
    if jitter < 0:
        raise ValueError(f"jitter is {jitter}, wanted at least 0 pixels")
    made = shape_images(n, generator, size=_AROUND)
    shift = torch.randint(-jitter, jitter + 1, (n, 2), generator=generator)
    corner = (made.centre[:, 0].round().long() - _SIDE // 2 + shift).clamp(0, _AROUND - _SIDE)
    places = corner[:, :, None] + torch.arange(_SIDE)
    rows, columns = places[:, 0, :, None], places[:, 1, None, :]
    cut = made.images[torch.arange(n)[:, None, None], :, rows, columns].permute(0, 3, 1, 2)
    return CaptionedShapes(2 * cut - 1, len(SHAPES) * made.colour[:, 0] + made.shape[:, 0])


def train_towers(
    pairs: CaptionedShapes, *, kept_back: Sequence[int] = KEPT_BACK, steps: int = 600, seed: int = 0
) -> tuple[DualEncoder, Tensor]:
    """Train two small towers on pairs, 64 per step: the model, and each step's loss ``(steps,)``.

    Pairs with the captions ``kept_back`` are left out.
    """
    generator = torch.Generator().manual_seed(seed)
    config = DualEncoderConfig(
        image_size=_SIDE,
        patch_size=8,
        image_d_model=48,
        image_n_layers=1,
        image_d_ff=96,
        n_words=len(_WORDS),
        max_len=4,
        end=_END,
        text_d_model=24,
        text_n_layers=1,
        text_n_heads=2,
        text_d_ff=48,
        d_embedding=24,
    )
    model = DualEncoder(config, generator=generator)
    shown = ~torch.isin(pairs.caption, torch.tensor(kept_back))
    images, tokens = pairs.images[shown], all_captions()[pairs.caption[shown]]
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 3e-3, total_steps=steps, pct_start=0.15
    )
    losses = []
    for _ in range(steps):
        chosen = torch.randint(len(images), (64,), generator=generator)
        loss = contrastive_loss(model(images[chosen], tokens[chosen]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        model.temperature.clamp_()
        losses.append(loss.detach())
    return model.eval(), torch.stack(losses)
