"""A drawing described once: parts that know their size, and groups that place them.

The main axis of a :class:`Page` runs to the right on a page and down on a phone. :meth:`Page.line`
goes along it, :meth:`Page.stack` across; :meth:`Page.row` and :meth:`Page.column` do not turn.
Nothing is drawn before :meth:`Page.done` has placed all parts; the links between them come last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

from torch import Tensor

from course_lib.drawings.letters import number, written
from course_lib.drawings.sketch import Box, Point, Sketch, table

_NOWHERE = Box(0, 0, 0, 0)
_SIDES = ("left", "above", "right", "below")


@dataclass(eq=False)
class Part:
    """Something that is to be placed.

    Attributes:
        room: How far it reaches to the left, up, to the right and down from its anchor, through
            which the axis of its group runs.
        draw: Draws it with its anchor at x, y.
        each: The parts of a group.
        names: How much further than its box texts reach on each of its four sides.
        round: Whether arrows turn once only on their way to it, as to a sign.
        gap: Between the parts of a group.
        box: Where its shape stands, once it is placed.
    """

    room: tuple[float, ...]
    draw: Callable[[float, float], Box]
    each: Sequence[Part] = ()
    names: list[float] = field(default_factory=lambda: [0.0] * 4)
    round: bool = False
    gap: float = 0
    box: Box = _NOWHERE

    def put(self, x: float, y: float) -> None:
        """Draw it there."""
        self.box = self.draw(x, y)

    def end(self, side: str) -> Point:
        """Where an arrow touches it, beyond a name that stands there."""
        at, (left, up, right, down) = self.box, self.names
        return {
            "left": (at.x - left, at.cy),
            "right": (at.right + right, at.cy),
            "above": (at.cx, at.y - up),
            "below": (at.cx, at.bottom + down),
        }[side]


class Page:
    """A sketch whose parts are placed by what they are beside.

    Attributes:
        s: The sketch; what parts cannot say is drawn on it after :meth:`done`.
    """

    def __init__(self, s: Sketch) -> None:
        self.s = s
        self._links: list[Callable[[], None]] = []

    # --------------------------------------------------------------------- parts

    def of(self, page: Any, phone: Any) -> Any:
        """What differs between the layouts."""
        return phone if self.s.narrow else page

    def size(self, *lines: str, kind: str = "") -> float:
        """How wide the longest line is."""
        letters = (13.0, 12.0)[self.s.narrow] + 2 * ("big" in kind) - 1.5 * ("small" in kind)
        return max(written(said, letters, 1.07 if "strong" in kind else 1)[1] for said in lines)

    def own(self, w: float, h: float, draw: Callable[[float, float], Box | None]) -> Part:
        """Anything of that size; ``draw`` gets its upper left corner."""

        def at(x: float, y: float) -> Box:
            return draw(x - w / 2, y - h / 2) or Box(x - w / 2, y - h / 2, w, h)

        return Part((w / 2, h / 2, w / 2, h / 2), at)

    def point(self, h: float = 0) -> Part:
        """A place on a line from which another line branches off, with so much room below it."""
        part = self.own(0, h, nothing)
        part.round = True
        return part

    def loose(self, part: Part, *, both: bool = False) -> Part:
        """A part that takes no width on a page, or in both, because nothing stands beside it."""
        if both or not self.s.narrow:
            part.room = (0, part.room[1], 0, part.room[3])
        return part

    def text(self, said: str, *, role: str = "", kind: str = "") -> Part:
        """A line of text."""
        wide = self.size(said, kind=kind)
        return self.own(
            wide, 16, lambda x, y: self.s.text(x + wide / 2, y + 8, said, role=role, kind=kind)
        )

    def cells(
        self,
        rows: Tensor | Sequence[Sequence[object]],
        role: str | Callable[[int, int], str],
        *,
        w: float = 0,
        h: float = 0,
        words: Iterable[object] = (),
        over: Iterable[object] = (),
        asks: tuple[str, str] = ("", ""),
        name: str = "",
        shape: str | None = None,
        at: str = "above",
        **how: Any,
    ) -> Part:
        """A vector or a matrix, as wide as its longest number asks for.

        Args:
            rows: As :meth:`Sketch.cells` takes them.
            role: Its colour, or that of each cell by its place.
            w: Width of a cell, where it is not to follow from the numbers.
            h: Height of a cell.
            words: A name left of each row.
            over: A name above each column.
            asks: The roles of these.
            name: Its own name.
            shape: What stands below that, if not its size.
            at: Where they stand, as for :meth:`named`.
            **how: What :meth:`Sketch.cells` takes besides.
        """
        shown = _shown(rows, how)
        words, over = [*words], [*over]
        thick = [] if isinstance(role, str) else how.pop("thick", [])
        heads = math.ceil(self.size(*map(str, over), kind="strong")) + 8 if over else 0
        w = w or max(heads, self._wide(shown, how))
        h = h or (24 if over or _said(shown, how) else 18)

        kind = "small strong" if any(asks) else ""

        def draw(x: float, y: float) -> Box:
            if isinstance(role, str):
                box = self.s.cells(x, y, rows, role, w=w, h=h, **how)
            else:
                box = Box(x, y, w * len(shown[0]), h * len(shown), len(shown), len(shown[0]))
                for i, j in sorted(_places(shown), key=lambda at: (*at,) in thick):
                    at, strong = box.cell(i, j), (i, j) in thick
                    one = [[shown[i][j]]]
                    self.s.cells(at.x, at.y, one, role(i, j), w=w, h=h, thick=strong, **how)
            self.s.name_rows(box, words, role=asks[0], kind=kind or "strong")
            self.s.name_columns(box, over, role=asks[1], kind=kind or "small")
            return box

        part = self.own(w * len(shown[0]), h * len(shown), draw)
        beside = self.size(*map(str, words), kind=kind or "strong") + 8 if words else 0
        part = _grown(part, beside, 18 if over else 0)
        return self._called(part, name, shape, rows, role if isinstance(role, str) else "", at)

    def pixels(self, rows: Sequence[Sequence[Sequence[float]]], side: float) -> Part:
        """A picture."""
        w, h = side * len(rows[0]), side * len(rows)
        return self.own(w, h, lambda x, y: self.s.pixels(x, y, rows, side))

    def layer(
        self,
        *lines: str,
        w: float = 0,
        h: float = 0,
        beside: Part | None = None,
        role: str = "layer",
    ) -> Part:
        """Something with parameters, as large as its text asks for, or as high as what it reads."""
        w = w or max(40, self.size(*lines) + (14 if self.s.narrow else 22))
        h = h or (_high(beside) if beside else 13.0 + 15 * len(lines))
        return self.own(
            w, h, lambda x, y: self.s.layer(x + w / 2, y + h / 2, w, h, *lines, role=role)
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
        upright = not self.s.narrow if upright is None else upright
        w = max(w, 100) if beside is not None and not upright else w
        if beside is not None and upright:
            w, h = 26.0, max(w, _high(beside) + 16)
        return self.own(
            w, h, lambda x, y: self.s.step(x + w / 2, y + h / 2, w, h, *lines, role=role)
        )

    def sign(self, said: str, r: float = 9, role: str = "step") -> Part:
        """A circle with a sign."""
        part = self.own(2 * r, 2 * r, lambda x, y: self.s.sign(x + r, y + r, said, r=r, role=role))
        part.round = True
        return part

    def signs(self, said: str, beside: Part, r: float = 8) -> Part:
        """A sign for each row of the parts beside it."""
        pitch = sum(beside.each[0].room[1::2]) + beside.gap
        return self.column(*(self.sign(said, r) for _ in beside.each), gap=pitch - 2 * r)

    def named(
        self, part: Part, said: str, shape: str = "", *,
        role: str = "", at: str = "above", free: bool = False,
    ) -> Part:  # fmt: skip
        """Give a part a name and its shape; ``at`` may be two sides, for a page and a phone.

        Where nothing else stands at that side, the name is ``free``: it takes no room.
        """
        side = at.split()[-1 if self.s.narrow else 0]
        wide = max(self.size(said), self.size(shape, kind="small"))
        index = _SIDES.index(side)
        before = [*part.names]
        part.names[index] += wide + 9 if index % 2 == 0 else (33 if said and shape else 18)
        draw = part.draw

        def whole(x: float, y: float) -> Box:
            box = draw(x, y)
            left, up, right, down = before
            around = Box(box.x - left, box.y - up, box.w + left + right, box.h + up + down)
            if index % 2:
                around = Box(box.x, around.y, box.w, around.h)
            if said:
                self.s.name(around, said, shape, role=role, side=side)
            else:
                self.s.name(around, shape, role=role, side=side, kind="small quiet")
            return box

        part.draw = whole
        room = [*part.room]
        room[index] += part.names[index] - before[index]
        if index % 2:
            room[0], room[2] = max(room[0], wide / 2), max(room[2], wide / 2)
        part.room = part.room if free else tuple(room)
        return part

    # -------------------------------------------------------------------- groups

    def row(self, *parts: Part, gap: float = 16, axle: int | None = None) -> Part:
        """Side by side, their anchors at one height; ``axle`` is the part that holds the row's."""
        return self._chain(parts, gap, 0, axle)

    def column(self, *parts: Part, gap: float = 12, axle: int | None = None) -> Part:
        """Below one another, their anchors on one line."""
        return self._chain(parts, gap, 1, axle)

    def line(self, *parts: Part, gap: float = 16, axle: int | None = None) -> Part:
        """Side by side on a page, below one another on a phone."""
        return self._chain(parts, gap, int(self.s.narrow), axle)

    def stack(self, *parts: Part, gap: float = 16, axle: int | None = None) -> Part:
        """Below one another on a page, side by side on a phone."""
        return self._chain(parts, gap, int(not self.s.narrow), axle)

    def grid(
        self,
        *rows: Sequence[Part | None],
        gap: tuple[float, float] = (16, 12),
        axle: int | None = None,
        turn: bool = True,
    ) -> Part:
        """Parts in line with those above and beside them; a phone has columns for rows."""
        turn = turn and self.s.narrow
        lines = [*zip(*rows, strict=True)] if turn else [*rows]
        for axis, some in [(1, line) for line in lines] + [
            (0, c) for c in zip(*lines, strict=True)
        ]:
            there = [part for part in some if part]
            low, high = (max(part.room[i] for part in there) for i in (axis, axis + 2))
            for part in there:
                room = [*part.room]
                room[axis], room[axis + 2] = low, high
                part.room = tuple(room)
        firsts = [next(part for part in column if part) for column in zip(*lines, strict=True)]
        like = [(part.room[0], 0, part.room[2], 0) for part in firsts]
        made = [
            self.row(
                *(part or Part(like[j], nothing) for j, part in enumerate(line)),
                gap=gap[0],
                axle=axle if turn else None,
            )
            for line in lines
        ]
        return self.column(*made, gap=gap[1], axle=None if turn else axle)

    def rows(
        self,
        numbers: Tensor | Sequence[object],
        role: str | Sequence[str],
        *,
        gap: float = 8,
        words: Iterable[str] = (),
        name: str = "",
        shape: str | None = None,
        at: str = "above",
        **how: Any,
    ) -> Part:
        """A matrix whose rows stand apart; a vector has one number in each row.

        Each row may have a role of its own, and ``thick`` may be the number of one row.
        """
        if isinstance(numbers, Tensor) and numbers.ndim == 1:
            rows = _shown(numbers[:, None], how)
        else:
            rows = _shown(numbers, how)
        dark = [*how.pop("hatched", ())]
        how["w"] = how.get("w") or self._wide(rows, how)
        names = [*words] or [""] * len(rows)
        roles = [role] * len(rows) if isinstance(role, str) else [*role]
        thick = how.pop("thick", False)
        made = [
            self.cells(
                [row],
                roles[i],
                words=[word] * bool(word),
                hatched=[(0, j) for at, j in dark if at == i],
                thick=thick is True or (thick is not False and thick == i),
                **how,
            )
            for i, (row, word) in enumerate(zip(rows, names, strict=True))
        ]
        part = self.column(*made, gap=gap)
        return self._called(part, name, shape, numbers, roles[0], at)

    def weighted(
        self, weights: Tensor, values: Tensor, words: Iterable[str], names: tuple[str, str]
    ) -> Part:
        """Weights times values, row by row, and below them their sum; a phone repeats the words.

        Args:
            weights: One for each word ``(T,)``.
            values: A vector for each word ``(T, D)``.
            words: The words.
            names: What values and sum are called.
        """
        products = weights[:, None] * values
        words = words if self.s.narrow else ()
        share = self.rows(weights, "weight", bars=True, words=words, name="weights *α*")
        times, given = self.signs("×", share), self.rows(values, "value", name=names[0])
        parts = self.rows(products.tolist(), "value", name="*α* · *v*")
        plus, out = self.sign("+"), [products.sum(0).tolist()]
        total = self.cells(out, "value", thick=True)
        self.named(total, names[1], "(2)", role="value", at="left", free=True)
        self.each(given, parts)
        self.link(parts, plus, tip=False)
        self.link(plus, total)
        added = self.column(parts, plus, total, gap=10, axle=0)
        return self.row(self.row(share, times, given, gap=8), added, gap=24)

    def panel(
        self, part: Part, said: str = "", *, w: float = 0, h: float = 0, axle: bool = False
    ) -> Part:
        """A ground behind a part, with a name in its upper left corner.

        Args:
            part: What stands on it.
            said: The name.
            w: Its width, where it is not to follow from the part.
            h: Its height.
            axle: Whether its anchor is that of the part, and not its middle.
        """
        left, up, right, down = part.room
        pad = 6.0 if self.s.narrow else 12.0
        w = max(w, left + right + 2 * pad, self.size(said, kind="strong") + 24 if said else 0)
        above = 30.0 if said else 12.0
        h = max(h, above + up + down + 12)
        x, y = (w - left - right) / 2 + left, above + up
        cx, cy = (x, y) if axle else (w / 2, h / 2)

        def draw(at_x: float, at_y: float) -> Box:
            aside = axle and self.s.narrow  # the stream enters from above
            box = self.s.panel(at_x - cx, at_y - cy, w, h, "" if aside else said)
            if aside:
                self.s.text(box.right - 12, box.y + 15, said, kind="strong quiet", at="end")
            part.put(box.x + x, box.y + y)
            return box

        return Part((cx, cy, w - cx, h - cy), draw, [part])

    def panels(self, *named: tuple[str, Part], gap: float = 10, below: bool | None = None) -> Part:
        """Grounds that fill the sheet side by side or ``below`` another, or as the layout is."""
        w, below = self.s.width, self.s.narrow if below is None else below
        if not below:
            w = (w - gap * (len(named) - 1)) / len(named)
        high = max(part.room[1] + part.room[3] for _, part in named) + 42
        grounds = [self.panel(part, said, w=w, h=0 if below else high) for said, part in named]
        return self._chain(grounds, gap, int(below))

    # --------------------------------------------------------------------- links

    def link(
        self,
        *parts: Part,
        label: str = "",
        side: str = "",
        bend: str = "",
        at: float = 0.5,
        share: float = 0.5,
        **how: Any,
    ) -> None:
        """An arrow from each part to the next, once they are placed.

        Args:
            parts: What is joined: straight where it can be.
            label: What is written beside the longest piece.
            side: ``below`` or ``left``, where the label is not to be above or right.
            bend: Where the arrow turns: ``late``, it goes along the main axis and then across;
                ``early``, the other way round; ``x`` or ``y``, along that axis first; ``xx`` or
                ``yy``, along it first and last; if not given, once at signs and else twice.
            share: How far along its piece the label stands.
            at: How much of the way it goes before it turns twice.
            **how: What :meth:`Sketch.arrow` takes besides.
        """

        def draw() -> None:
            for a, b in pairwise(parts):
                way = self._way(a, b, bend, at)
                self.s.arrow(*way, **how)
                if label:
                    self.s.label(*_longest(way), label, side, share)

        self._links.append(draw)

    def each(self, *parts: Part, label: str = "", bend: str = "", **how: Any) -> None:
        """Arrows from part to part: where two stand side by side, one from each of their rows."""

        def draw() -> None:
            rows = max(parts, key=lambda part: len(part.each)).each
            for a, b in pairwise(parts):
                if a.box.right > b.box.x or not _meets(a.box, b.box, 1):
                    self.s.arrow(*self._way(a, b, bend, 0.5), **how)
                    continue
                for i, row in enumerate(rows):
                    start, end = (a.box.right, row.box.cy), (b.box.x, row.box.cy)
                    self.s.arrow(start, end, label="" if i else label, **how)

        self._links.append(draw)

    def done(self, *parts: Part, gap: float = 0) -> None:
        """Place parts along the main axis, in the middle of the sheet, and draw all.

        Args:
            parts: What stands on the sheet.
            gap: Between two; if not given, 22 on a phone and up to 42 on a page.
        """
        if not gap:
            free = self.s.width - 12 - sum(part.room[0] + part.room[2] for part in parts)
            gap = 22 if self.s.narrow else max(8, min(42, free / max(1, len(parts) - 1)))
        whole = self.line(*parts, gap=gap)
        left, up, right, _ = whole.room
        whole.put((self.s.width - left - right) / 2 + left, up)
        for link in self._links:
            link()

    # ------------------------------------------------------------------- private

    def _wide(self, rows: Sequence[Sequence[object]], how: dict[str, Any]) -> float:
        """How wide the widest number makes a cell."""
        said = _said(rows, how)
        beside = 14 if how.get("bars") else 9
        least = 22 if self.s.narrow else 24
        return max(least, math.ceil(self.size(*said) + beside)) if said else 14

    def _called(
        self, part: Part, name: str, shape: str | None, of: Any, role: str, at: str
    ) -> Part:
        """A part with its name and its size."""
        if not name:
            return part
        if shape is None:
            size = of.shape if isinstance(of, Tensor) else (len(of), len(of[0]))
            shape = f"({', '.join(map(str, size))})"
        return self.named(part, name, shape, role="" if role in ("step", "state") else role, at=at)

    def _chain(self, parts: Sequence[Part], gap: float, axis: int, axle: int | None = None) -> Part:
        """Parts one after the other along an axis, 0 for x; one of them may hold the anchor."""
        before, after, aside = axis, axis + 2, 1 - axis
        long = [part.room[before] + part.room[after] for part in parts]
        whole = sum(long) + gap * (len(parts) - 1)
        starts = [0.0, *accumulate(size + gap for size in long)]
        hung = 0.0 if axle is None else starts[axle] + parts[axle].room[before] - whole / 2
        room = [whole / 2] * 4
        room[aside], room[aside + 2] = (max(p.room[i] for p in parts) for i in (aside, aside + 2))

        def draw(x: float, y: float) -> Box:
            for part, at in zip(parts, starts, strict=False):
                shift = at + part.room[before] - whole / 2 - hung
                part.put(*((x, y + shift) if axis else (x + shift, y)))
            return _around([part.box for part in parts])

        room[axis], room[axis + 2] = room[axis] + hung, room[axis + 2] - hung
        return Part(tuple(room), draw, parts, gap=gap)

    def _way(self, a: Part, b: Part, bend: str, at: float) -> list[Point]:
        """Where an arrow runs: straight, around one corner, or around two."""
        for axis in (1, 0):
            if _meets(a.box, b.box, axis):
                small = min(a.box, b.box, key=lambda box: box.h if axis else box.w)
                start, end = _facing(a, b, 1 - axis)
                if axis:
                    return [(start[0], small.cy), (end[0], small.cy)]
                return [(small.cx, start[1]), (small.cx, end[1])]
        main = int(self.s.narrow)
        bend = bend or ("late" if b.round else "early" if a.round else "")
        if not bend or bend[1:] == bend[:1]:
            main = "xy".find(bend[0]) if bend else main
            start, end = _facing(a, b, main)
            turn = start[main] + at * (end[main] - start[main])
            first, last = (
                ((start[0], turn), (end[0], turn)) if main else ((turn, start[1]), (turn, end[1]))
            )
            return [start, first, last, end]
        axis = {"late": main, "early": 1 - main, "x": 0, "y": 1}[bend]
        start, end = _facing(a, b, axis)[0], _facing(a, b, 1 - axis)[1]
        return [start, (start[0], end[1]) if axis else (end[0], start[1]), end]


def _facing(a: Part, b: Part, axis: int) -> tuple[Point, Point]:
    """The ends of two parts that look at each other along an axis."""
    low, high = _SIDES[axis], _SIDES[axis + 2]
    ahead = (a.box.cy < b.box.cy) if axis else (a.box.cx < b.box.cx)
    return a.end(high if ahead else low), b.end(low if ahead else high)


def _meets(a: Box, b: Box, axis: int) -> bool:
    """Whether the middle of the smaller box lies within the other along an axis."""
    small, large = sorted((a, b), key=lambda box: box.h if axis else box.w)
    if axis:
        return large.y <= small.cy <= large.bottom
    return large.x <= small.cx <= large.right


def _shown(rows: Any, how: dict[str, Any]) -> Sequence[Sequence[object]]:
    """Rows as cells show them."""
    return table(rows, points="digits" in how or bool(how.get("bars")))


def _said(rows: Sequence[Sequence[object]], how: dict[str, Any]) -> list[str]:
    """What stands in all cells."""
    digits = how.get("digits", 2)
    return [number(value, digits) for row in rows for value in row if value is not None]


def _places(rows: Sequence[Sequence[object]]) -> list[tuple[int, int]]:
    return [(i, j) for i, row in enumerate(rows) for j in range(len(row))]


def _high(part: Part) -> float:
    """How high it is without its names."""
    return sum(part.room[1::2]) - sum(part.names[1::2])


def nothing(x: float, y: float) -> Box:
    """A place where nothing is drawn."""
    return Box(x, y, 0, 0)


def _around(boxes: Sequence[Box]) -> Box:
    x, y = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.right for box in boxes), max(box.bottom for box in boxes)
    return Box(x, y, right - x, bottom - y)


def _grown(part: Part, left: float, up: float) -> Part:
    """A part with texts on its left and above it."""
    part.room = (part.room[0] + left, part.room[1] + up, *part.room[2:])
    part.names[0] += left
    part.names[1] += up
    return part


def _longest(way: Sequence[Point]) -> tuple[Point, Point]:
    return max(pairwise(way), key=lambda ab: abs(ab[0][0] - ab[1][0]) + abs(ab[0][1] - ab[1][1]))
