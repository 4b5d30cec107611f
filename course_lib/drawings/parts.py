"""Parts of a drawing, which know their size before they are placed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from course_lib.drawings.letters import number, written
from course_lib.drawings.shapes import Box, Point, table
from course_lib.drawings.sketch import Sketch

SIDES = ("left", "above", "right", "below")
Rows = Sequence[Sequence[object]]


@dataclass(eq=False)
class Part:
    """Something that is to be placed.

    Attributes:
        room: How far it reaches to the left, up, to the right and down from its anchor, through
            which the axis of its group runs.
        draw: Draws it with its anchor at x, y.
        names: How much further than its box texts reach on each of its four sides.
        round: Whether arrows turn once only on their way to it, as to a sign.
    """

    room: tuple[float, ...]
    draw: Callable[[float, float], Box]
    each: Sequence[Part] = ()
    names: list[float] = field(default_factory=lambda: [0.0] * 4)
    gap: float = 0
    round: bool = False
    box: Box = field(init=False)

    def put(self, x: float, y: float) -> None:
        """Draw it there."""
        self.box = self.draw(x, y)

    def end(self, side: str) -> Point:
        """Where an arrow touches it, beyond a name that is there."""
        at, (left, up, right, down) = self.box, self.names
        return {
            "left": (at.x - left, at.cy),
            "right": (at.right + right, at.cy),
            "above": (at.cx, at.y - up),
            "below": (at.cx, at.bottom + down),
        }[side]

    def grow(self, side: int, by: float, *, across: float = 0) -> None:
        """Take so much more room at a side, where a text of some width is."""
        room = [*self.room]
        room[side] += by
        for other in (0, 2):
            room[other] = max(room[other], across)
        self.room = tuple(room)

    @property
    def high(self) -> float:
        """Its height without its names."""
        return sum(self.room[1::2]) - sum(self.names[1::2])


def nothing(x: float, y: float) -> Box:
    """A place where nothing is drawn."""
    return Box(x, y, 0, 0)


class Parts:
    """Makes parts of a sketch ``s``."""

    def __init__(self, s: Sketch) -> None:
        self.s = s

    def of(self, page: Any, phone: Any) -> Any:
        """Differences between the layouts."""
        return phone if self.s.narrow else page

    def size(self, *lines: object, kind: str = "") -> float:
        """Measure how wide the longest line is."""
        letters = (13.0, 12.0)[self.s.narrow] - 1.5 * ("small" in kind)
        stretch = 1.07 if "strong" in kind else 1
        return max((written(f"{line}", letters, stretch)[1] for line in lines), default=0)

    def own(self, w: float, h: float, draw: Callable[[float, float], Box | None]) -> Part:
        """Anything of that size; ``draw`` gets its upper left corner."""

        def at(x: float, y: float) -> Box:
            return draw(x - w / 2, y - h / 2) or Box(x - w / 2, y - h / 2, w, h)

        return Part((w / 2, h / 2, w / 2, h / 2), at)

    def place(self, w: float = 0, h: float = 0) -> Part:
        """Room in which nothing is drawn."""
        return self.own(w, h, lambda x, y: None)

    def point(self, h: float = 0) -> Part:
        """A place on a line from which another line branches off, with so much room below it."""
        part = self.own(0, h, nothing)
        part.round = True
        return part

    def loose(self, part: Part, *, both: bool = False) -> Part:
        """A part that takes no width on a page, or in both, because nothing is beside it."""
        if both or not self.s.narrow:
            part.room = (0, part.room[1], 0, part.room[3])
        return part

    def flush(self, part: Part, side: str = "left") -> Part:
        """A part whose anchor is at its ``left`` or ``right``, where a column aligns it."""
        (left, up, right, down), draw = part.room, part.draw
        by = left if side == "left" else -right
        part.room, part.draw = (left - by, up, right + by, down), lambda x, y: draw(x + by, y)
        return part

    def text(self, said: str, *, role: str = "", kind: str = "", at: str = "middle") -> Part:
        """A line of text; at its ``start`` or ``end`` it is flush, whatever font shows it."""
        w = self.size(said, kind=kind) + 8
        left = {"start": 0.0, "middle": w / 2, "end": w}[at]

        def draw(x: float, y: float) -> Box:
            self.s.text(x, y, said, role=role, kind=kind, at=at)
            return Box(x - left, y - 8, w, 16)

        return Part((left, 8, w - left, 8), draw)

    def cells(
        self,
        rows: Tensor | Rows,
        role: str | Callable[[int, int], str],
        *,
        w: float = 0,
        h: float = 0,
        words: Iterable[object] = (),
        over: Iterable[object] = (),
        asks: tuple[str, str] = ("", ""),
        **how: Any,
    ) -> Part:
        """A vector or a matrix, as wide as its longest number asks for.

        Args:
            role: Its colour, or that of each cell by its place; ``thick`` has places then, too.
            words: A name left of each row.
            over: A name above each column.
            **how: ``name``, ``shape`` and ``at`` as :meth:`named` takes them, the shape being that
                of the rows if not given, and what :meth:`Sketch.cells` takes besides.
        """
        called = {key: how.pop(key) for key in ("name", "shape", "at") if key in how}
        shown, words, over = as_shown(rows, how), [*words], [*over]
        kind = "small strong" if any(asks) else ""
        thick, dark = (
            [] if isinstance(role, str) else how.pop(k, []) for k in ("thick", "hatched")
        )
        w = w or max(
            math.ceil(self.size(*over, kind="strong")) + 8 * bool(over), self.cell(shown, how)
        )
        h = h or (24 if over or said_in(shown, how) else 18)

        def draw(x: float, y: float) -> Box:
            box = Box(x, y, w * len(shown[0]), h * len(shown), len(shown), len(shown[0]))
            if isinstance(role, str):
                box = self.s.cells(x, y, rows, role, w=w, h=h, **how)
            else:  # strong edges last
                places = ((i, j) for i in range(box.rows) for j in range(box.columns))
                for i, j in sorted(places, key=lambda place: place in thick):
                    at, strong = box.cell(i, j), (i, j) in thick
                    one, how["hatched"] = [[shown[i][j]]], [(0, 0)] * ((i, j) in dark)
                    self.s.cells(at.x, at.y, one, role(i, j), w=w, h=h, thick=strong, **how)
            self.s.name_rows(box, words, role=asks[0], kind=kind or "strong")
            self.s.name_columns(box, over, role=asks[1], kind=kind or "small")
            return box

        part = self.own(w * len(shown[0]), h * len(shown), draw)
        beside = self.size(*words, kind=kind or "strong") + 11 if words else 0
        for side, by in ((0, beside), (1, 18 if over else 0)):
            part.names[side] += by
            part.grow(side, by)
        return self.called(part, rows, role if isinstance(role, str) else "", **called)

    def pixels(self, rows: Sequence[Sequence[Sequence[float]]], side: float) -> Part:
        """An image."""
        w, h = side * len(rows[0]), side * len(rows)
        return self.own(w, h, lambda x, y: self.s.pixels(x, y, rows, side))

    def layer(
        self, *lines: str, w: float = 0, beside: Part | None = None, role: str = "layer"
    ) -> Part:
        """Something with parameters, as large as its text asks for, or as high as what it reads."""
        wide = w or max(40, self.size(*lines) + self.of(22, 14))
        h = beside.high if beside else 13.0 + 15 * len(lines)
        return self.own(
            wide, h, lambda x, y: self.s.layer(x + wide / 2, y + h / 2, wide, h, *lines, role=role)
        )

    def step(
        self,
        *lines: str,
        beside: Part | None = None,
        upright: bool | None = None,
        role: str = "step",
    ) -> Part:
        """A function without parameters, ``upright`` beside tall parts: if not given, on a page."""
        w, h = self.size(*lines) + 26, 12.0 + 15 * len(lines)
        if beside and (not self.s.narrow if upright is None else upright):
            w, h = 26.0, max(w, beside.high + 16)
        elif beside:
            w = max(w, 100)
        return self.own(
            w, h, lambda x, y: self.s.step(x + w / 2, y + h / 2, w, h, *lines, role=role)
        )

    def sign(self, said: str, r: float = 9, role: str = "step") -> Part:
        """A circle with a sign."""
        part = self.own(2 * r, 2 * r, lambda x, y: self.s.sign(x + r, y + r, said, r=r, role=role))
        part.round = True
        return part

    def named(
        self,
        part: Part,
        said: str,
        shape: str = "",
        *,
        role: str = "",
        at: str = "above",
        free: bool = False,
    ) -> Part:
        """Give a part a name and its shape; ``at`` may be two sides, for a page and a phone.

        Where nothing else is at that side, the name is ``free``: it takes no room.
        """
        name = at.split()[-1 if self.s.narrow else 0]
        side = SIDES.index(name)
        wide = max(self.size(said), self.size(shape, kind="small"))
        (left, up, right, down), draw = part.names, part.draw
        by = (33.0 if said and shape else 18.0) if side % 2 else wide + 9

        def whole(x: float, y: float) -> Box:
            box = draw(x, y)
            around = Box(box.x - left, box.y, box.w + left + right, box.h)
            if side % 2:
                around = Box(box.x, box.y - up, box.w, box.h + up + down)
            kind = "" if said else "small quiet"
            self.s.name(
                around, said or shape, shape if said else "", role=role, side=name, kind=kind
            )
            return box

        part.draw = whole
        part.names[side] += by
        if not free:
            part.grow(side, by, across=wide / 2 if side % 2 else 0)
        return part

    def called(
        self,
        part: Part,
        of: Any,
        role: str,
        name: str = "",
        shape: str | None = None,
        at: str = "above",
    ) -> Part:
        """A part with its name and its size, in its colour if that is one of its own."""
        if shape is None:
            size = of.shape if isinstance(of, Tensor) else (len(of), len(of[0]))
            shape = f"({', '.join(map(str, size))})"
        role = "" if role in ("step", "state") else role
        return self.named(part, name, shape, role=role, at=at) if name else part

    def cell(self, rows: Rows, how: dict[str, Any]) -> float:
        """Measure how wide the widest number makes a cell."""
        said = said_in(rows, how)
        wide = math.ceil(self.size(*said) + (14 if how.get("bars") else 9))
        return max(self.of(24, 22), wide) if said else 14


def as_shown(rows: Any, how: dict[str, Any]) -> Rows:
    """Rows as cells show them."""
    return table(rows, points="digits" in how or bool(how.get("bars")))


def said_in(rows: Rows, how: dict[str, Any]) -> list[str]:
    """Contents of all cells."""
    digits = how.get("digits", 2)
    return [number(value, digits) for row in rows for value in row if value is not None]
