"""What examples by hand share: a row for each word, column beside column, and numbers as said."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_lib.drawings.sketch import Box, Sketch, table

_COLOURS = {
    "b": (0.62, 0.80, 0.93), "y": (0.95, 0.77, 0.06), "w": (0.94, 0.91, 0.84),
    "d": (0.30, 0.22, 0.18), "r": (0.72, 0.20, 0.18), "s": (0.13, 0.36, 0.52),
    "g": (0.45, 0.47, 0.40),
}  # fmt: skip


def painted(letters: str) -> torch.Tensor:
    """A picture ``(height, width, 3)`` of a letter for each pixel, such as ``"b"`` for sky blue."""
    return torch.tensor([[_COLOURS[pixel] for pixel in row] for row in letters.split()])


def pixels(picture: torch.Tensor) -> list[list[list[float]]]:
    """A picture ``(3, height, width)`` as :meth:`Sketch.pixels` takes it."""
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


@dataclass
class Rows:
    """Words below one another, each with a row of cells in every column.

    Args:
        s: The sheet.
        ys: Heights of the rows' middles.
        h: Height of a cell.
        texts: The words.
    """

    s: Sketch
    ys: Sequence[float]
    h: float
    texts: Sequence[str]

    def column(
        self,
        x: float,
        rows: torch.Tensor | Sequence[Sequence[object]],
        role: str,
        w: float,
        bars: bool = False,
    ) -> list[Box]:
        """A vector for each word, or a number if there is one for each."""
        if isinstance(rows, torch.Tensor) and rows.ndim == 1:
            rows = rows[:, None]
        return [
            self.s.cells(x, y - self.h / 2, [row], role, w=w, h=self.h, bars=bars)
            for row, y in zip(table(rows, points=bars), self.ys, strict=True)
        ]

    def words(self, x: float) -> None:
        """The words themselves, left of x."""
        for word, y in zip(self.texts, self.ys, strict=True):
            self.s.text(x - 8, y, word, kind="strong", at="end")

    def across(self, left: Sequence[Box], right: Sequence[Box]) -> None:
        """An arrow in each row, from column to column."""
        for a, b in zip(left, right, strict=True):
            self.s.arrow((a.right, a.cy), (b.x, b.cy))

    def weighted_sum(
        self, x: float, weights: torch.Tensor, values: torch.Tensor, *,
        w: float, gap: float, names: tuple[str, str],
    ) -> None:  # fmt: skip
        """Weights times values, row by row, and below them their sum.

        Args:
            x: Left edge of the weights.
            weights: One for each word ``(T,)``.
            values: A vector of two for each word ``(T, 2)``.
            w: Width of a value's cell.
            gap: Between the values and the products.
            names: What values and sum are called.
        """
        s, h = self.s, self.h
        shown = self.column(x, weights, "weight", 50, bars=True)
        s.name(shown[0], "weights *α*", f"({len(weights)})", role="weight")
        times = [s.sign(shown[0].right + 17, y, "×") for y in self.ys]
        given = self.column(times[0].right + 8, values, "value", w)
        shape = f"({len(weights)}, 2)"
        s.name(given[0], names[0], shape, role="value")
        parts = weights[:, None] * values
        shares = self.column(given[0].right + gap, parts.tolist(), "value", 40)
        self.across(given, shares)
        s.name(shares[0], "*α* · *v*", shape, role="value")
        total = s.sign(shares[-1].cx, shares[-1].bottom + 18, "+")
        s.flow(shares[-1], total, tip=False)
        out = [parts.sum(0).tolist()]
        end = s.cells(shares[0].x, total.bottom + 18, out, "value", w=40, h=h, thick=True)
        s.flow(total, end)
        s.name(end, names[1], "(2)", role="value", side="left")
