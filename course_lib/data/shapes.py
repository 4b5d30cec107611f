"""Generated pictures of coloured shapes, with what is to be seen in them.

Three questions can be asked of one picture, and they need different things of a model: *which*
shape (no position needed), *where* it is (position), and whether it is *left of* another one (the
relation of two positions).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

SHAPES = ("circle", "square", "triangle", "cross")
COLOURS = ("red", "green", "blue", "yellow", "magenta", "cyan")
QUADRANTS = ("top left", "top right", "bottom left", "bottom right")
_RGB = torch.tensor(
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=torch.float32
)


@dataclass(frozen=True)
class ShapeImages:
    """Pictures ``(B, 3, H, W)`` in [0, 1] with K shapes each, and their labels.

    Shapes and colours are numbers of ``SHAPES`` and ``COLOURS``, ``(B, K)``; ``centre`` is row and
    column ``(B, K, 2)``, ``radius`` half the width ``(B, K)``, in pixels.
    """

    images: Tensor
    shape: Tensor
    colour: Tensor
    centre: Tensor
    radius: Tensor

    def __len__(self) -> int:
        return len(self.images)

    @property
    def quadrant(self) -> Tensor:
        """Number of ``QUADRANTS`` in which each shape's centre lies ``(B, K)``."""
        size = torch.tensor(self.images.shape[-2:])
        lower, right = (self.centre > (size - 1) / 2).long().unbind(-1)
        return 2 * lower + right

    @property
    def left_of(self) -> Tensor:
        """Tell whether the first of two shapes is left of the second ``(B,)``, boolean."""
        if self.shape.shape[1] < 2:
            raise ValueError("a picture has 1 shape, wanted 2 for left_of")
        return self.centre[:, 0, 1] < self.centre[:, 1, 1]


def shape_images(
    n: int, generator: torch.Generator, size: int = 32, n_shapes: int = 1, noise: float = 0.05
) -> ShapeImages:
    """Draw pictures.

    Shapes of one picture differ in colour and share no column, so that "left of" always has an
    answer; yet both may be in the same half, so that the place of one does not give it away.

    Args:
        n, n_shapes: Number of pictures; shapes a picture, one or two.
        size: Height and width in pixels, at least 16.
        noise: Standard deviation of the Gaussian noise on the grey background and the shapes.
    """
    if n < 0:
        raise ValueError(f"n is {n}, wanted at least 0")
    if size < 16:
        raise ValueError(f"size is {size}, wanted at least 16 pixels")
    if n_shapes not in (1, 2):
        raise ValueError(f"n_shapes is {n_shapes}, wanted 1 or 2")

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    shape = torch.randint(len(SHAPES), (n, n_shapes), generator=generator)
    colour = uniform(n, len(COLOURS)).argsort(dim=1)[:, :n_shapes]
    radius = size * (0.09 + 0.05 * uniform(n, n_shapes))
    # From the left: free columns, a shape, a gap, the other shape. Small gaps are the likelier,
    # so that often both shapes are in the same half.
    order = uniform(n, n_shapes).argsort(dim=1)
    diameters = (2 * radius).gather(1, order)
    free = size - 1 - diameters.sum(dim=1, keepdim=True)
    gap = free * uniform(n, 1) ** 3 if n_shapes == 2 else torch.zeros(n, 1)
    gaps = uniform(n, 1) * (free - gap) + gap * torch.arange(n_shapes)
    ordered = gaps + diameters.cumsum(dim=1) - diameters / 2
    column = torch.zeros_like(ordered).scatter(1, order, ordered)
    row = radius + uniform(n, n_shapes) * (size - 1 - 2 * radius)
    centre = torch.stack([row, column], dim=-1)
    middle = (size - 1) / 2
    centre = torch.where(centre == middle, centre - 0.25, centre)

    images = torch.full((n, 3, size, size), 0.5)
    for k in range(n_shapes):
        inside = _inside(shape[:, k], centre[:, k], radius[:, k], size).unsqueeze(1)
        images = torch.where(inside, _RGB[colour[:, k]].view(n, 3, 1, 1), images)
    images = images + noise * torch.randn(images.shape, generator=generator)
    return ShapeImages(images.clamp(0, 1), shape, colour, centre, radius)


def _inside(shape: Tensor, centre: Tensor, radius: Tensor, size: int) -> Tensor:
    """Pixels ``(B, H, W)`` that a shape ``(B,)`` covers, from each shape's inequality."""
    pixel = torch.arange(size, dtype=torch.float32)
    scale = radius.view(-1, 1, 1)
    y = (pixel.view(1, size, 1) - centre[:, 0].view(-1, 1, 1)) / scale
    x = (pixel.view(1, 1, size) - centre[:, 1].view(-1, 1, 1)) / scale
    height, width = y.abs(), x.abs()
    inside = torch.stack(
        [
            x**2 + y**2 <= 1,
            torch.maximum(height, width) <= 0.9,
            (height <= 1) & (width <= (y + 1) / 2),
            (torch.minimum(height, width) <= 0.35) & (torch.maximum(height, width) <= 1),
        ],
        dim=1,
    )
    return inside[torch.arange(len(shape)), shape]
