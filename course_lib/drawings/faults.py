"""Faults of a layout, found from the places of its texts, shapes and lines alone."""

from collections.abc import Iterator
from itertools import pairwise

from course_lib.drawings.shapes import Box, Point
from course_lib.drawings.sketch import Sketch


def faults(sketch: Sketch) -> Iterator[str]:
    """Find texts that leave the sheet or touch, shapes that meet, and arrows behind a shape.

    Example:
        >>> sketch = Sketch()
        >>> box = sketch.step(50, 20, 60, 26, "softmax")
        >>> sketch.arrow((80, 20), (140, 20), label="their weights")
        >>> list(faults(sketch))
        ["'their weights' crosses the edge of a shape at 20, 7"]
    """
    for i, (said, box) in enumerate(sketch.texts):
        if box.x < -0.5 or box.right > sketch.width + 0.5:
            yield f"{said!r} leaves the sheet: {box.x:.0f} to {box.right:.0f} of {sketch.width:g}"
        for other, place in sketch.texts[i + 1 :]:
            if _meet(box, place, 3, -0.5):
                yield f"{said!r} touches {other!r}"
        for shape in sketch.shapes:
            if _meet(box, shape, -1, -1) and not _inside(box, shape, 1):
                yield f"{said!r} crosses the edge of a shape at {shape.x:.0f}, {shape.y:.0f}"
        if not any(_inside(box, shape, 0) for shape in sketch.shapes):
            for line in sketch.lines:
                if _crosses(line, box):
                    (ax, ay), (bx, by) = line
                    yield f"{said!r} lies on an arrow from {ax:.0f}, {ay:.0f} to {bx:.0f}, {by:.0f}"
    for i, one in enumerate(sketch.shapes):
        if one.x < -0.5 or one.right > sketch.width + 0.5:
            yield f"a shape leaves the sheet at {one.x:.0f}, {one.y:.0f}"
        for two in sketch.shapes[i + 1 :]:
            if _meet(one, two, -1, -1) and not _inside(one, two, 0) and not _inside(two, one, 0):
                yield f"shapes meet at {one.x:.0f}, {one.y:.0f} and {two.x:.0f}, {two.y:.0f}"
        for points, stream in sketch.ways:
            inner = Box(one.x + 1, one.y + 1, one.w - 2, one.h - 2)
            behind = [piece for piece in pairwise(points) if _crosses(piece, inner)]
            ends = (_inside(Box(*points[i], 0, 0), one, 8) for i in (0, -1))
            if behind and not stream and not any(ends) and not _strung(behind[0], one):
                yield f"an arrow runs behind a shape at {one.x:.0f}, {one.y:.0f}"


def _strung(line: tuple[Point, Point], sign: Box) -> bool:
    """Tell whether a small sign is on the line, with its middle."""
    at = Box(sign.cx - 1, sign.cy - 1, 2, 2)
    return sign.w == sign.h <= 20 and _crosses(line, at)


def _meet(a: Box, b: Box, across: float, down: float) -> bool:
    """Tell whether two boxes come nearer than that, or overlap by more where it is negative."""
    return (
        a.x < b.right + across
        and b.x < a.right + across
        and a.y < b.bottom + down
        and b.y < a.bottom + down
    )


def _inside(a: Box, b: Box, slack: float) -> bool:
    return (
        a.x >= b.x - slack
        and a.right <= b.right + slack
        and a.y >= b.y - slack
        and a.bottom <= b.bottom + slack
    )


def _crosses(line: tuple[Point, Point], box: Box) -> bool:
    """Tell whether any of a line lies in a box: what is left of it after each edge has cut."""
    (ax, ay), (bx, by) = line
    first, last = 0.0, 1.0
    for start, way, low, high in (
        (ax, bx - ax, box.x, box.right),
        (ay, by - ay, box.y, box.bottom),
    ):
        if way == 0:
            if not low < start < high:
                return False
            continue
        near, far = sorted(((low - start) / way, (high - start) / way))
        first, last = max(first, near), min(last, far)
    return first < last
