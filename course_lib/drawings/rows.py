"""Shared helpers of examples by hand: small images, and numbers as a sentence says them."""

import torch

_COLOURS = {
    "b": (0.62, 0.80, 0.93), "y": (0.95, 0.77, 0.06), "w": (0.94, 0.91, 0.84),
    "d": (0.30, 0.22, 0.18), "r": (0.72, 0.20, 0.18), "s": (0.13, 0.36, 0.52),
    "g": (0.45, 0.47, 0.40),
}  # fmt: skip


def painted(letters: str) -> torch.Tensor:
    """An image ``(height, width, 3)`` of a letter for each pixel, such as ``"b"`` for sky blue."""
    return torch.tensor([[_COLOURS[pixel] for pixel in row] for row in letters.split()])


def pixels(picture: torch.Tensor) -> list[list[list[float]]]:
    """An image ``(3, height, width)`` as :meth:`Sketch.pixels` takes it."""
    rows: list[list[list[float]]] = picture.permute(1, 2, 0).tolist()
    return rows


def whole(numbers: torch.Tensor) -> list[object]:
    """Numbers that are written without a point."""
    return [int(number) for number in numbers]


def listed(numbers: torch.Tensor) -> str:
    """Whole numbers as a sentence lists them."""
    return ", ".join(map(str, whole(numbers.flatten())))


def said(numbers: torch.Tensor, digits: int = 2) -> str:
    """Numbers as a sentence says them."""
    *most, last = (f"{number:.{digits}f}" for number in numbers.tolist())
    return f"{', '.join(most)} and {last}"
