"""Components of drawings: words, cells, layers, steps, signs and arrows.

Every element returns the :class:`Box` that it fills, and arrows join boxes, so that a longer label
moves what is beside it. Texts, shapes and lines are kept with their places, so that
:func:`~course_lib.drawings.faults.faults` finds collisions without a browser. The markup holds no
ids: both layouts of a drawing are in one page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from torch import Tensor

from course_lib.drawings.letters import number, plain, written
from course_lib.drawings.shapes import Box, Point, hatching, line, rect, table, unit
from course_lib.drawings.style import HANGUL, rules


class Sketch:
    """One layout of a drawing; wide for a page, narrow for a phone. Its height grows by itself."""

    def __init__(self, narrow: bool = False) -> None:
        self.narrow = narrow
        self.width = 344.0 if narrow else 668.0
        self.texts: list[tuple[str, Box]] = []
        self.shapes: list[Box] = []
        self.ways: list[tuple[tuple[Point, ...], bool]] = []
        self._grounds: list[Box] = []
        self._layers: tuple[list[str], ...] = ([], [], [], [])  # panels, arrows, shapes, words

    # --------------------------------------------------------------------- words

    def text(
        self,
        x: float,
        y: float,
        said: str,
        *,
        role: str = "",
        kind: str = "",
        at: str = "middle",
        turn: bool = False,
    ) -> Box:
        """Write a line whose middle has the height y.

        Args:
            role: Whose colour it has, one of :data:`course_lib.drawings.style.ROLES`.
            kind: ``small``, ``big``, ``strong``, ``quiet``, or several of them.
            at: ``start`` or ``end``, where x is its left or its right.
            turn: Whether it runs upwards, with its middle at x, y.
        """
        size = (13.0, 12.0)[self.narrow]
        size += 2 * ("big" in kind) - 1.5 * ("small" in kind)
        parts, wide = written(said, size, 1.07 if "strong" in kind else 1)
        names = " ".join(name for name in kind.split() if name not in ("small", "big"))
        how = f' class="{names}"' if names else ""
        how += f' transform="rotate(-90 {x:g} {y:g})"' if turn else ""
        drawn = f'<text x="{x:g}" y="{y + 0.36 * size:.4g}" font-size="{size:g}" text-anchor="{at}"'
        self._put(3, role, f"{drawn}{how}>{parts}</text>")
        left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[at]
        box = Box(left, y - size / 2, wide, size)
        if turn:
            box = Box(x - size / 2, y - wide / 2, size, wide)
        self.texts.append((plain(said), box))
        return box

    def name(
        self,
        box: Box,
        said: str,
        shape: str = "",
        *,
        role: str = "",
        side: str = "above",
        kind: str = "",
    ) -> None:
        """Write what a box is and its shape: ``above`` it, ``below``, ``left`` or ``right``."""
        gap = 14 if shape else 0
        x, at, y = box.cx, "middle", box.y - 10 - gap
        if side == "below":
            y = box.bottom + 12
        if side in ("left", "right"):
            x, at = (box.x - 9, "end") if side == "left" else (box.right + 9, "start")
            y = box.cy - gap / 2
        self.text(x, y, said, role=role, at=at, kind=kind)
        if shape:
            self.text(x, y + gap, shape, kind="small quiet", at=at)

    def name_rows(
        self,
        box: Box,
        names: Iterable[object],
        *,
        gap: float = 8,
        role: str = "",
        kind: str = "strong",
    ) -> None:
        """Write a name left of each row of a matrix, from the first one on."""
        for i, said in enumerate(names):
            self.text(box.x - gap, box.cell(i).cy, f"{said}", role=role, kind=kind, at="end")

    def name_columns(
        self,
        box: Box,
        names: Iterable[object],
        *,
        gap: float = 10,
        role: str = "",
        kind: str = "small",
    ) -> None:
        """Write a name above each column of a matrix, from the first one on."""
        for j, said in enumerate(names):
            self.text(box.cell(0, j).cx, box.y - gap, f"{said}", role=role, kind=kind)

    # -------------------------------------------------------------------- shapes

    def panel(self, x: float, y: float, w: float, h: float, said: str = "") -> Box:
        """A ground behind what belongs together, with its name in its upper left corner."""
        self._put(0, "", rect(Box(x, y, w, h), "panel", 10))
        self._grounds.append(Box(x, y, w, h))
        if said:
            self.text(x + 12, y + 15, said, kind="strong quiet", at="start")
        return self._grounds[-1]

    def panels(
        self,
        said: Iterable[str],
        high: float,
        *,
        phone: float | None = None,
        gap: float = 12,
        below: float = 10,
    ) -> Iterator[Box]:
        """Grounds of one size, beside one another on a page and below one another on a phone."""
        names = [*said]
        high = phone if self.narrow and phone is not None else high
        wide = self.width if self.narrow else (self.width - gap * (len(names) - 1)) / len(names)
        for i, name in enumerate(names):
            x, y = (0.0, i * (high + below)) if self.narrow else (i * (wide + gap), 0.0)
            yield self.panel(x, y, wide, high, name)

    def cells(
        self,
        x: float,
        y: float,
        rows: Tensor | Sequence[Sequence[object]],
        role: str,
        *,
        w: float = 28,
        h: float = 24,
        digits: int | None = None,
        bars: bool = False,
        hatched: Iterable[tuple[int, int]] = (),
        cut: int = 0,
        thick: bool = False,
    ) -> Box:
        """A vector or a matrix; x, y is its upper left corner.

        Args:
            rows: Its numbers or words, of one row or of several; None leaves a cell empty.
            digits: How many a float has behind its point; if not given, a tensor of
                whole numbers has none, and all others have two.
            bars: Whether cells are filled in proportion, as weights are.
            hatched: Which cells, row and column, are masked.
            cut: After which column a dotted line runs through.
        """
        rows = table(rows, points=bars or digits is not None)
        box = Box(x, y, len(rows[0]) * w, len(rows) * h, len(rows), len(rows[0]))
        masked = {place: box.cell(*place) for place in hatched}
        numbers = [(i, j, value) for i, row in enumerate(rows) for j, value in enumerate(row)]
        inside = rect(box, "shape thick" if thick else "shape", 4)
        for i, j, value in numbers:
            if bars and isinstance(value, float) and value > 0.004 and (i, j) not in masked:
                at = box.cell(i, j)
                inside += rect(Box(at.x, at.y, value * w, h), "bar", 2)
        self._put(2, role, inside)
        if masked:
            ground = "".join(rect(at, "shape", 2, ' stroke="none"') for at in masked.values())
            lines = "".join(map(hatching, masked.values()))
            self._put(2, "mask", f'{ground}<path class="line hatch" d="{lines}"/>')
        grid = "".join(f"M{x + j * w:g} {y:g}v{box.h:g}" for j in range(1, box.columns))
        grid += "".join(f"M{x:g} {y + i * h:g}h{box.w:g}" for i in range(1, box.rows))
        over = f'<path class="line grid" d="{grid}"/>' if grid else ""
        over += rect(box, "line", 4) if masked else ""
        if cut:
            over += f'<path class="cut" d="M{x + cut * w:g} {y:g}v{box.h:g}"/>'
        self._put(2, role, over)
        self.shapes.append(box)
        for i, j, value in numbers:
            if value is not None:
                at = box.cell(i, j)
                self.shapes.append(at)
                under = (i, j) in masked
                said = number(value, 2 if digits is None else digits)
                self.text(at.cx, at.cy, said, role="mask" if under else role, kind="halo" * under)
        return box

    def layer(
        self, x: float, y: float, w: float, h: float, *lines: str, role: str = "layer"
    ) -> Box:
        """Something with parameters: a rectangle with a strong edge; x, y are its middle."""
        return self._block(Box(x - w / 2, y - h / 2, w, h), lines, f"layer {role}", 5)

    def step(self, x: float, y: float, w: float, h: float, *lines: str, role: str = "step") -> Box:
        """A function without parameters: a pill, upright with its text; x, y are its middle."""
        box = Box(x - w / 2, y - h / 2, w, h)
        return self._block(box, lines, role, min(w, h) / 2, turn=h > 1.5 * w)

    def sign(self, x: float, y: float, said: str, *, r: float = 9, role: str = "step") -> Box:
        """A circle: ``+``, ``×`` or the ``·`` of a dot product, or a longer sign as text."""
        box = Box(x - r, y - r, 2 * r, 2 * r)
        self._put(2, role, f'<circle class="shape" cx="{x:g}" cy="{y:g}" r="{r:g}"/>')
        self.shapes.append(box)
        a, b = r * 0.5, r * 0.38
        strokes = {
            "+": line((x - a, y), (x + a, y)) + line((x, y - a), (x, y + a)),
            "×": line((x - b, y - b), (x + b, y + b)) + line((x - b, y + b), (x + b, y - b)),
        }
        if said in strokes:
            self._put(3, "", f'<path class="flow" d="{strokes[said]}"/>')
        elif said == "·":
            self._put(3, "", f'<circle class="tip" cx="{x:g}" cy="{y:g}" r="2.4"/>')
        elif said:
            self.text(x, y, said, role=role)
        return box

    def pixels(
        self, x: float, y: float, rows: Sequence[Sequence[Sequence[float]]], side: float
    ) -> Box:
        """An image of red, green and blue from 0 to 1; ``side`` is the width of a pixel."""
        box = Box(x, y, side * len(rows[0]), side * len(rows), len(rows), len(rows[0]))
        for i, row in enumerate(rows):
            for j, rgb in enumerate(row):
                colour = "#" + "".join(f"{round(255 * part):02x}" for part in rgb)
                self._put(2, "", rect(box.cell(i, j), "pixel", 0, f' fill="{colour}"'))
        self.shapes.append(box)
        return box

    def curve(
        self,
        points: Sequence[Point],
        role: str = "state",
        *,
        closed: bool = False,
        dashed: bool = False,
    ) -> None:
        """A line through points, of no direction: a circle, a wave, a triangle."""
        path, names = line(*points) + "z" * closed, "line" + " dashed" * dashed
        self._put(1, role, f'<path class="{names}" d="{path}" stroke-width="1.5"/>')
        self._grounds += [Box(x, y, 0, 0) for x, y in points]

    # -------------------------------------------------------------------- arrows

    def arrow(
        self,
        *points: Point,
        tip: bool = True,
        dashed: bool = False,
        stream: bool = False,
        hop: float | None = None,
        label: str = "",
        side: str = "",
        gap: float = 2,
    ) -> None:
        """Data that flow along the points, around round corners.

        Args:
            stream: Whether it is the residual stream, a thick line.
            hop: The height at which an upright piece jumps over another line.
            label: What is written beside its first piece.
            side: ``below`` or ``left``, where the label is not to be above or right.
            gap: How far before the last point the head ends.
        """
        path = list(points)
        self.ways.append((points, stream))
        (ux, uy), (x, y) = unit(path[-2], path[-1]), path[-1]
        if tip:
            x, y, half = x - gap * ux, y - gap * uy, 7 if stream else 4
            bx, by = x - 1.75 * half * ux, y - 1.75 * half * uy
            wing = half * uy, half * ux
            head = line((x, y), (bx - wing[0], by + wing[1]), (bx + wing[0], by - wing[1]))
            self._put(1, "", f'<path class="tip" d="{head}z"/>')
            path[-1] = (x - 5 * ux, y - 5 * uy)
        d, bow = f"M{path[0][0]:g} {path[0][1]:g}", ""
        for before, at, after in zip(path, path[1:], [*path[2:], None], strict=False):
            r = min(8, math.dist(before, at) / 2, math.dist(at, after) / 2) if after else 0
            ux, uy = unit(before, at)
            goal = (at[0] - r * ux, at[1] - r * uy)
            if hop is not None and not ux and (before[1] - hop) * (goal[1] - hop) < 0:
                # The bow is a path of its own: dashes would break it.
                rise = f"{at[0]:g} {hop - 6 * uy:g}"
                d += f"L{rise}M{at[0]:g} {hop + 6 * uy:g}"
                bow = f'<path class="flow" d="M{rise}a6 6 0 0 {int(uy > 0)} 0 {12 * uy:g}"/>'
            d += f"L{goal[0]:.4g} {goal[1]:.4g}"
            if after is not None:
                vx, vy = unit(at, after)
                d += f"Q{at[0]:g} {at[1]:g} {at[0] + r * vx:.4g} {at[1] + r * vy:.4g}"
        names = "flow" + " dashed" * dashed + " stream" * stream
        self._put(1, "", f'<path class="{names}" d="{d}"/>{bow}')
        if label:
            self.label(points[0], points[1], label, side)

    def label(
        self, start: Point, end: Point, said: str, side: str = "", share: float = 0.5
    ) -> None:
        """Write beside a piece of an arrow: above or right of it, or on another ``side``."""
        (ax, ay), (bx, by) = start, end
        x, y, at = ax + share * (bx - ax), ay + (11 if side == "below" else -10), "middle"
        if ay != by:
            x, at = (ax - 7, "end") if side == "left" else (ax + 7, "start")
            y = ay + share * (by - ay)
        self.text(x, y, said, kind="small quiet", at=at)

    def flow(self, *boxes: Box, **how: Any) -> None:
        """A straight arrow from each box to the next, by the smaller one: across, or up or down."""
        for a, b in pairwise(boxes):
            if a.y < b.bottom and b.y < a.bottom:
                y = min(a, b, key=lambda box: box.h).cy
                start, end = (a.right, b.x) if a.x < b.x else (a.x, b.right)
                self.arrow((start, y), (end, y), **how)
            else:
                x = min(a, b, key=lambda box: box.w).cx
                start, end = (a.bottom, b.y) if a.y < b.y else (a.y, b.bottom)
                self.arrow((x, start), (x, end), **how)

    # ------------------------------------------------------------------- reading

    @property
    def lines(self) -> list[tuple[Point, Point]]:
        """The straight pieces of all arrows."""
        return [piece for points, _ in self.ways for piece in pairwise(points)]

    def words(self) -> list[str]:
        """All texts as a reader says them, in the order in which they were drawn."""
        return [said for said, _ in self.texts]

    def svg(self, *, alone: bool = False) -> str:
        """The layout as SVG; ``alone``: in a file of its own, in light colours on a white sheet."""
        body = "".join("".join(layer) for layer in self._layers)
        every = [*self.shapes, *self._grounds, *(box for _, box in self.texts)]
        heights = [y for line in self.lines for _, y in line]
        top = min([box.y for box in every] + heights) - 4
        high = max([box.bottom for box in every] + heights) + 4 - top
        layout = "narrow" if self.narrow else "wide"
        if not alone:
            view = f'viewBox="0 {top:.4g} {self.width:g} {high:.4g}"'
            return f'<svg class="{layout}" {view} aria-hidden="true" focusable="false">{body}</svg>'
        place = f'x="-8" y="{top - 4:.4g}" width="{self.width + 16:g}" height="{high + 8:.4g}"'
        x, y, w, h = re.findall(r'"(.*?)"', place)
        font = HANGUL if re.search("[가-힣]", body) else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x} {y} {w} {h}" width="{w}" '
            f'height="{h}"><style>{font}{rules(body, dark=False)}</style>'
            f'<rect {place} fill="#fff"/><g class="drawing">{body}</g></svg>'
        )

    def _put(self, layer: int, role: str, markup: str) -> None:
        if markup:
            self._layers[layer].append(f'<g class="{role}">{markup}</g>' if role else markup)

    def _block(
        self, box: Box, lines: Sequence[str], role: str, r: float, *, turn: bool = False
    ) -> Box:
        self._put(2, role, rect(box, "shape", r))
        self.shapes.append(box)
        for i, said in enumerate(lines):
            down = (i - (len(lines) - 1) / 2) * 15
            self.text(box.cx, box.cy + down, said, role=role.split()[-1], turn=turn)
        return box
