"""Where something is, and the outlines that drawings are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A rectangle in which something is, of ``rows`` times ``columns`` cells."""

    x: float
    y: float
    w: float
    h: float
    rows: int = 1
    columns: int = 1

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.x + self.w

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.y + self.h

    @property
    def cx(self) -> float:
        """Its middle from the left."""
        return self.x + self.w / 2

    @property
    def cy(self) -> float:
        """Its middle from above."""
        return self.y + self.h / 2

    def cell(self, row: int, column: int = 0) -> Box:
        """One cell of a matrix."""
        w, h = self.w / self.columns, self.h / self.rows
        return Box(self.x + column * w, self.y + row * h, w, h)


def table(
    numbers: Tensor | Sequence[Sequence[object]], *, points: bool = False
) -> Sequence[Sequence[object]]:
    """Rows as cells show them: numbers of a tensor that are all whole have no points."""
    if not isinstance(numbers, Tensor):
        return numbers
    if not points and bool((numbers % 1 == 0).all()):
        numbers = numbers.long()
    rows: list[list[object]] = numbers.reshape(-1, numbers.shape[-1]).tolist()
    return rows


def unit(a: Point, b: Point) -> Point:
    """The direction from one point to another."""
    long = math.dist(a, b) or 1
    return (b[0] - a[0]) / long, (b[1] - a[1]) / long


def line(*points: Point) -> str:
    """A path through points."""
    return "M" + "L".join(f"{x:.4g} {y:.4g}" for x, y in points)


def rect(box: Box, kind: str, r: float, more: str = "") -> str:
    """A rectangle of a class, with round corners."""
    place = f'x="{box.x:g}" y="{box.y:g}" width="{box.w:.4g}" height="{box.h:.4g}"'
    return f'<rect class="{kind}" {place} rx="{r:g}"{more}/>'


def hatching(box: Box, gap: float = 7) -> str:
    """Lines that rise to the right, cut at the edges; a pattern would need an id."""
    lines, k = "", gap / 2
    while k < box.w + box.h:
        a = (box.x + min(k, box.w), box.y + max(0, k - box.w))
        b = (box.x + max(0, k - box.h), box.y + min(k, box.h))
        lines += line(a, b)
        k += gap
    return lines
