"""The smallest task that asks a vision transformer where things are: three questions on a picture.

One of two shapes is red. *What* is it (no position needed), *where* is it (one position), and is
it *left of* the other one (the relation of two)? One small model answers all three, so that what
changes with its positions can be told apart by question.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.data.shapes import COLOURS, QUADRANTS, SHAPES, shape_images
from course_lib.vit.config import Positions, ViTConfig
from course_lib.vit.model import ViT

QUESTIONS = {"what": len(SHAPES), "where": len(QUADRANTS), "left of": 2}
"""The questions, and the number of answers that each can have."""


@dataclass(frozen=True)
class Scenes:
    """Pictures of a red shape and another one ``(B, 3, H, W)``, roughly from -1 to 1.

    ``answers``: what the red shape is, its quadrant, and whether it is the left one: ``(B, 3)``.
    """

    images: Tensor
    answers: Tensor


def red_scenes(n: int, generator: torch.Generator, *, size: int = 24) -> Scenes:
    """Draw n pictures with one red shape of two; what is seen grows with their size in pixels.

    Example:
        >>> red_scenes(2, torch.Generator().manual_seed(0)).answers[0]  # a cross, top right
        tensor([3, 1, 0])
    """
    red = COLOURS.index("red")
    images, answers = torch.empty(0, 3, size, size), torch.empty(0, 3, dtype=torch.long)
    while len(images) < n:
        # One picture in three has a red shape.
        made = shape_images(3 * n + 50, generator, size=size, n_shapes=2)
        which = (made.colour == red).long()
        found = which.any(dim=1)
        first = which[:, 1:] == 0
        what = (made.shape * which).sum(dim=1)
        where = (made.quadrant * which).sum(dim=1)
        left = made.left_of[:, None] == first
        told = torch.stack([what, where, left[:, 0].long()], dim=1)
        images = torch.cat([images, 2 * made.images[found] - 1])
        answers = torch.cat([answers, told[found]])
    return Scenes(images[:n], answers[:n])


def train_on_scenes(
    scenes: Scenes, positions: Positions, *, steps: int = 300, seed: int = 0
) -> ViT:
    """Train a small model to answer all three questions about square images, 64 per step.

    ``positions``: as in :class:`~course_lib.vit.ViTConfig`.
    """
    generator = torch.Generator().manual_seed(seed)
    config = ViTConfig(
        image_size=scenes.images.shape[-1],
        patch_size=4,
        n_classes=sum(QUESTIONS.values()),
        d_model=48,
        n_layers=1,
        n_heads=4,
        d_ff=96,
        dropout=0.0,
        positions=positions,
    )
    model = ViT(config, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    for _ in range(steps):
        chosen = torch.randint(len(scenes.images), (64,), generator=generator)
        told = model(scenes.images[chosen]).split(list(QUESTIONS.values()), dim=1)
        wanted = scenes.answers[chosen].unbind(dim=1)
        losses = [F.cross_entropy(logits, w) for logits, w in zip(told, wanted, strict=True)]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def answers_right(model: ViT, scenes: Scenes) -> dict[str, float]:
    """Accuracy on each of :data:`QUESTIONS`."""
    told = model(scenes.images).split(list(QUESTIONS.values()), dim=1)
    right = [
        logits.argmax(dim=1) == wanted
        for logits, wanted in zip(told, scenes.answers.unbind(dim=1), strict=True)
    ]
    return {name: float(r.float().mean()) for name, r in zip(QUESTIONS, right, strict=True)}
