"""A drawing described once: parts that know their size, and groups that place them.

The main axis of a :class:`Page` runs to the right on a page and down on a phone. :meth:`Page.line`
goes along it, :meth:`Page.stack` across; :meth:`Page.row` and :meth:`Page.column` do not turn.
Nothing is drawn before :meth:`Page.done` has placed all parts; the links between them come last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from course_lib.drawings.parts import SIDES, Part, Parts, Rows, as_shown, nothing
from course_lib.drawings.shapes import Box, Point
from course_lib.drawings.sketch import Sketch


class Page(Parts):
    """A sketch whose parts are placed by what they are beside."""

    def __init__(self, s: Sketch) -> None:
        super().__init__(s)
        self._links: list[Callable[[], None]] = []

    def row(self, *parts: Part, gap: float = 16, axle: int | None = None) -> Part:
        """Side by side, their anchors at one height; ``axle`` is the part that holds the row's."""
        return _chain(parts, gap, 0, axle)

    def column(self, *parts: Part, gap: float = 12, axle: int | None = None) -> Part:
        """Below one another, their anchors on one line."""
        return _chain(parts, gap, 1, axle)

    def texts(self, *lines: str, kind: str = "small quiet", **how: str) -> Part:
        """Lines of text, each as :meth:`text` takes it."""
        return self.column(*(self.text(line, kind=kind, **how) for line in lines), gap=0)

    def line(self, *parts: Part, gap: float = 16, axle: int | None = None) -> Part:
        """Side by side on a page, below one another on a phone."""
        return _chain(parts, gap, int(self.s.narrow), axle)

    def stack(self, *parts: Part, gap: float = 16, axle: int | None = None) -> Part:
        """Below one another on a page, side by side on a phone."""
        return _chain(parts, gap, int(not self.s.narrow), axle)

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
        columns = [*zip(*lines, strict=True)]
        for axis, some in [(1, line) for line in lines] + [(0, column) for column in columns]:
            there = [part for part in some if part]
            low, high = (
                max(part.room[i] for part in there) if there else 0.0 for i in (axis, axis + 2)
            )
            for part in there:
                room = [*part.room]
                room[axis], room[axis + 2] = low, high
                part.room = tuple(room)
        wide = [next((part.room for part in column if part), (0.0,) * 4) for column in columns]
        empty = [(room[0], 0, room[2], 0) for room in wide]
        made = [
            self.row(
                *(part or Part(empty[j], nothing) for j, part in enumerate(line)),
                gap=gap[0],
                axle=axle if turn else None,
            )
            for line in lines
        ]
        return self.column(*made, gap=gap[1], axle=None if turn else axle)

    def titled(self, *pairs: tuple[Sequence[str], Part], gap: float = 14) -> Part:
        """Parts below one another, each with lines of text at its left or, on a phone, above it."""
        at = self.of("end", "start")
        lines: list[tuple[Part, Part]] = []
        for (name, *more), part in pairs:
            said = [self.text(name, kind="strong", at=at)]
            said += [self.text(line, kind="small quiet", at=at) for line in more]
            lines.append((self.column(*said, gap=0), self.flush(part)))
        if self.s.narrow:
            return self.row(self.column(*(self.column(*line, gap=6) for line in lines), gap=gap))
        return self.grid(*lines, gap=(14, gap), turn=False)

    def rows(
        self,
        numbers: Tensor | Sequence[Any],
        role: str | Sequence[str],
        *,
        gap: float = 8,
        words: Iterable[str] = (),
        over: Iterable[object] = (),
        **how: Any,
    ) -> Part:
        """A matrix whose rows are apart; a vector has one number in each row.

        Each row may have a role and ``asks`` of its own, and ``thick`` may be the number of one
        row. All else is as for :meth:`cells`.
        """
        called = {key: how.pop(key) for key in ("name", "shape", "at") if key in how}
        dark, thick = [*how.pop("hatched", ())], how.pop("thick", False)
        vector = isinstance(numbers, Tensor) and numbers.ndim == 1
        rows: Rows = as_shown(torch.as_tensor(numbers)[:, None] if vector else numbers, how)
        asks = how.pop("asks", ("", ""))
        roles = [role] * len(rows) if isinstance(role, str) else role
        how["w"] = how.get("w") or self.cell(rows, how)
        made = []
        for i, (row, word) in enumerate(zip(rows, [*words] or [""] * len(rows), strict=True)):
            gone = [(0, j) for at, j in dark if at == i]
            strong = thick is True or (thick is not False and thick == i)
            made.append(
                self.cells(
                    [row],
                    roles[i],
                    words=[word] * bool(word),
                    hatched=gone,
                    asks=asks[i] if isinstance(asks, list) else asks,
                    over=() if i else over,
                    thick=strong,
                    **how,
                )
            )
        return self.called(self.column(*made, gap=gap), numbers, roles[0], **called)

    def signs(self, said: str, beside: Part, r: float = 8) -> Part:
        """A sign for each row of the parts beside it."""
        gap = sum(beside.each[-1].room[1::2]) + beside.gap - 2 * r
        return self.column(*(self.sign(said, r) for _ in beside.each), gap=gap)

    def weighted(
        self, weights: Tensor, values: Tensor, words: Iterable[str], names: tuple[str, str]
    ) -> Part:
        """Weights ``(T,)`` times values ``(T, D)``, row by row, and below them their sum."""
        products, words = weights[:, None] * values, words if self.s.narrow else ()
        share = self.rows(weights, "weight", bars=True, words=words, name="weights *α*")
        times, given = self.signs("×", share), self.rows(values, "value", name=names[0])
        parts, plus = self.rows(products.tolist(), "value", name="*α* · *v*"), self.sign("+")
        total = self.cells([products.sum(0).tolist()], "value", thick=True)
        self.named(total, names[1], "(2)", role="value", at="left", free=True)
        self.each(given, parts)
        self.link(parts, plus, tip=False)
        self.link(plus, total)
        added = self.column(parts, plus, total, gap=10, axle=0)
        return self.row(self.row(share, times, given, gap=8), added, gap=24)

    def panel(
        self,
        part: Part,
        said: str = "",
        *,
        w: float = 0,
        h: float = 0,
        axle: bool = False,
        edge: bool = False,
    ) -> Part:
        """A ground behind a part that is as large as it asks for, with a name in its upper left
        corner.

        ``axle``: whether its anchor is that of the part, and not its middle; ``edge``: whether the
        part is at its left edge, below the name, and not in its middle.
        """
        left, up, right, down = part.room
        w = max(w, left + right + self.of(24, 12), self.size(said, kind="strong") + 24)
        above = 30.0 if said else 12.0
        h = max(h, above + up + down + 12)
        x, y = 12 + left if edge else (w - left - right) / 2 + left, above + up
        cx, cy = (x, y) if axle else (w / 2, h / 2)

        def draw(at_x: float, at_y: float) -> Box:
            aside = axle and self.s.narrow  # the stream enters from above
            box = self.s.panel(at_x - cx, at_y - cy, w, h, "" if aside else said)
            if aside:
                self.s.text(box.right - 12, box.y + 15, said, kind="strong quiet", at="end")
            part.put(box.x + x, box.y + y)
            return box

        return Part((cx, cy, w - cx, h - cy), draw, [part])

    def panels(
        self,
        *named: tuple[str, Part],
        gap: float = 10,
        below: bool | None = None,
        edge: bool = False,
    ) -> Part:
        """Grounds that fill the sheet side by side or ``below`` another, or as the layout is."""
        w, below = self.s.width, self.s.narrow if below is None else below
        if not below:
            w = (w - gap * (len(named) - 1)) / len(named)
        high = max(part.room[1] + part.room[3] for _, part in named) + 42
        h = 0 if below else high
        grounds = [self.panel(part, said, w=w, h=h, edge=edge) for said, part in named]
        return _chain(grounds, gap, int(below))

    def behind(self, *parts: Part) -> None:
        """A ground behind parts of several groups and their names."""

        def draw() -> None:
            xs, ys = ([part.end(side)[i] for part in parts for side in SIDES] for i in (0, 1))
            left, top = min(xs) - 10, min(ys) - 10
            self.s.panel(left, top, max(xs) + 10 - left, max(ys) + 10 - top)

        self._links.append(draw)

    def over(self, parts: Sequence[Part], *lines: str) -> None:
        """A layer over several places, such as one that reads all rows."""

        def draw() -> None:
            at = _around(parts)
            self.s.layer(at.cx, at.cy, at.w, at.h, *lines)

        self._links.append(draw)

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
            label: What is written beside the longest piece.
            side: ``below`` or ``left``, where the label is not to be above or right.
            bend: Where the arrow turns: ``late``, it goes along the main axis and then across;
                ``early``, the other way round; ``x`` or ``y``, along that axis first; ``xx`` or
                ``yy``, along it first and last; if not given, once at signs and else twice.
            at: How much of the way it goes before it turns twice.
            share: How far along its piece the label is.
        """

        def draw() -> None:
            for a, b in pairwise(parts):
                way = self._way(a, b, bend, at)
                self.s.arrow(*way, **how)
                if label:
                    start, end = max(pairwise(way), key=_length)
                    self.s.label(start, end, label, side, share)

        self._links.append(draw)

    def each(self, *parts: Part, label: str = "", bend: str = "", **how: Any) -> None:
        """Arrows from part to part: where two are side by side, one from each of their rows."""

        def draw() -> None:
            rows = max(parts, key=lambda part: len(part.each)).each
            for a, b in pairwise(parts):
                if a.box.right > b.box.x or not _meets(a.box, b.box, 1):
                    self.s.arrow(*self._way(a, b, bend, 0.5), **how)
                    continue
                for i, row in enumerate(rows):
                    start, end = (a.end("right")[0], row.box.cy), (b.end("left")[0], row.box.cy)
                    self.s.arrow(start, end, label="" if i else label, **how)

        self._links.append(draw)

    def done(self, *parts: Part, gap: float = 0) -> None:
        """Place parts along the main axis, in the middle of the sheet, and draw all."""
        free = self.s.width - 12 - sum(part.room[0] + part.room[2] for part in parts)
        most = 22 if self.s.narrow else max(8, min(42, free / max(1, len(parts) - 1)))
        whole = self.line(*parts, gap=gap or most)
        left, up, right, _ = whole.room
        whole.put((self.s.width - left - right) / 2 + left, up)
        for link in self._links:
            link()

    def _way(self, a: Part, b: Part, bend: str, at: float) -> list[Point]:
        """Where an arrow runs: straight, around one corner, or around two."""
        for axis in (1, 0):
            if _meets(a.box, b.box, axis):
                small = min(a.box, b.box, key=lambda box: box.h if axis else box.w)
                start, end = _facing(a, b, 1 - axis)
                if axis:
                    return [(start[0], small.cy), (end[0], small.cy)]
                return [(small.cx, start[1]), (small.cx, end[1])]
        bend = bend or ("late" if b.round else "early" if a.round else "")
        main = int(self.s.narrow)
        if not bend or bend in ("xx", "yy"):
            main = "xy".index(bend[0]) if bend else main
            start, end = _facing(a, b, main)
            turn = start[main] + at * (end[main] - start[main])
            corners = ((start[0], turn), (end[0], turn)), ((turn, start[1]), (turn, end[1]))
            return [start, *corners[1 - main], end]
        axis = {"late": main, "early": 1 - main, "x": 0, "y": 1}[bend]
        start, end = _facing(a, b, axis)[0], _facing(a, b, 1 - axis)[1]
        return [start, (start[0], end[1]) if axis else (end[0], start[1]), end]


def _chain(parts: Sequence[Part], gap: float, axis: int, axle: int | None = None) -> Part:
    """Parts one after the other along an axis, 0 for x; one of them may hold the anchor."""
    before, after, aside = axis, axis + 2, 1 - axis
    long = [part.room[before] + part.room[after] for part in parts]
    starts = [0.0, *accumulate(size + gap for size in long)]
    middle = (starts[-1] - gap) / 2 if axle is None else starts[axle] + parts[axle].room[before]
    room = [0.0] * 4
    room[before], room[after] = middle, starts[-1] - gap - middle
    room[aside], room[aside + 2] = (max(p.room[i] for p in parts) for i in (aside, aside + 2))
    names = [max(part.names[side] for part in parts) for side in range(4)]
    names[before], names[after] = parts[0].names[before], parts[-1].names[after]

    def draw(x: float, y: float) -> Box:
        for part, start in zip(parts, starts, strict=False):
            shift = start + part.room[before] - middle
            part.put(*((x, y + shift) if axis else (x + shift, y)))
        return _around(parts)

    return Part(tuple(room), draw, parts, names, gap)


def _around(parts: Sequence[Part]) -> Box:
    left, top = min(p.box.x for p in parts), min(p.box.y for p in parts)
    right, bottom = max(p.box.right for p in parts), max(p.box.bottom for p in parts)
    return Box(left, top, right - left, bottom - top)


def _facing(a: Part, b: Part, axis: int) -> tuple[Point, Point]:
    """The ends of two parts that look at each other along an axis."""
    low, high = SIDES[axis], SIDES[axis + 2]
    ahead = (a.box.cy < b.box.cy) if axis else (a.box.cx < b.box.cx)
    return a.end(high if ahead else low), b.end(low if ahead else high)


def _meets(a: Box, b: Box, axis: int) -> bool:
    """Tell whether the middle of the smaller box lies within the other along an axis."""
    small, large = sorted((a, b), key=lambda box: box.h if axis else box.w)
    if axis:
        return large.y <= small.cy <= large.bottom
    return large.x <= small.cx <= large.right


def _length(piece: tuple[Point, Point]) -> float:
    return abs(piece[0][0] - piece[1][0]) + abs(piece[0][1] - piece[1][1])
