"""Where a reader begins: the way through the course, an exercise, and two traps of shapes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from course_lib.drawings import Box, Sketch, drawing


@dataclass(frozen=True)
class Part:
    """A part of the course.

    Attributes:
        title: As the table of contents has it.
        hours: For reading it and its assignments, rounded.
        chapters: Number and short name of each.
        then: What its reader can do, in two lines.
    """

    title: str
    hours: int
    chapters: dict[int, str]
    then: tuple[str, str]


# A test compares titles, numbers, hours and the core with the table of contents and the pages.
PARTS = (
    Part(
        "I · From lookup to attention", 15,
        {1: "Sequence to sequence", 2: "Attention as lookup", 3: "Scaled dot products",
         4: "Several heads", 5: "Masks"},
        ("You compute attention by hand", "and write it with masks."),
    ),
    Part(
        "II · The Transformer", 19,
        {6: "The block", 7: "Sinusoids", 8: "Relative positions", 9: "The Transformer",
         10: "Reading maps"},
        ("You build a whole Transformer,", "and it translates."),
    ),
    Part(
        "III · Attention that sees", 9,
        {11: "Space", 12: "Vision transformer", 13: "Seeing"},
        ("You build one that recognises", "pictures, and see where it looks."),
    ),
    Part(
        "IV · Cheaper attention", 10,
        {14: "Cheaper", 15: "Swin", 16: "FaViT"},
        ("You make long texts and large", "pictures affordable."),
    ),
    Part(
        "V · Attention over time", 6,
        {17: "The Informer", 18: "Ablations"},
        ("You forecast a series, and tell", "a finding from chance."),
    ),
    Part(
        "VI · Two senses at once", 4,
        {19: "Two senses"},
        ("You search pictures", "with words."),
    ),
)  # fmt: skip
CORE = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12)
CORE_HOURS = 39

X = torch.arange(1, 7).reshape(2, 3)
TURNED = {"x": X, "x.transpose(0, 1)": X.transpose(0, 1), "x.reshape(3, 2)": X.reshape(3, 2)}
OUT = torch.arange(1, 4)
PAIRS = OUT - OUT[:, None]
LOSS = (PAIRS.double() ** 2).mean().item()


def _stations(s: Sketch, x: float, y: float, chapters: dict[int, str], pitch: float) -> None:
    """Chapters below one another; a rail joins those of the core."""
    before: Box | None = None
    for i, (number, said) in enumerate(chapters.items()):
        core = number in CORE
        box = s.cells(x, y + i * pitch, [[number]], "state", w=26, h=19, thick=core)
        s.text(x + 34, box.cy, said, kind="strong" if core else "", at="start")
        if before and core:
            s.flow(before, box, tip=False)
        before = box


@drawing(
    f"""The course begins here, with chapter 0. Parts I to III follow one another: from lookup to
    attention, chapters 1 to 5; the Transformer, chapters 6 to 10; attention that sees, chapters 11
    to 13. After them come three parts in any order: cheaper attention, chapters 14 to 16; attention
    over time, chapters 17 and 18; two senses at once, chapter 19. The parts take
    {", ".join(str(part.hours) for part in PARTS)} hours. A strong edge marks the core: chapters 0
    to 9, 11 and 12, about {CORE_HOURS} hours. Below each part stands what you can do after it.""",
    numbers=lambda: [CORE_HOURS, *(part.hours for part in PARTS), *range(20)],
)
def the_way(s: Sketch) -> None:
    """Three parts in a row, three beside each other."""
    narrow = s.narrow
    pitch, w = 24.0, 344.0 if narrow else 212.0
    _stations(s, 12, 4, {0: "Start here: tools, a first exercise"}, pitch)
    legend = ((True, f"the core, about {CORE_HOURS} hours"), (False, "to skip, or to read later"))
    for i, (core, said) in enumerate(legend):
        x, y = (46.0, 34.0 + 19 * i) if narrow else (306.0 + 184 * i, 6.0)
        box = s.cells(x, y, [[None]], "state", w=16, h=14, thick=core)
        s.text(box.right + 8, box.cy, said, kind="small quiet", at="start")
    y = 82.0 if narrow else 48.0
    tall = 46 + 24 * 5 + 38
    before: Box | None = None
    for i, part in enumerate(PARTS):
        if narrow:
            x, high = 0.0, 34 + pitch * len(part.chapters) + 38
        else:
            x, high = 228.0 * (i % 3), tall if i < 3 else 46 + pitch * 3 + 38
            y = 48.0 if i < 3 else 48.0 + tall + 48
        panel = s.panel(x, y, w, high, part.title)
        hours = f"about {part.hours} hours"
        if narrow:
            s.text(panel.right - 12, y + 15, hours, kind="small quiet", at="end")
        else:
            s.text(x + 12, y + 32, hours, kind="small quiet", at="start")
        _stations(s, x + 12, y + (32 if narrow else 46), part.chapters, pitch)
        for j, line in enumerate(part.then):
            s.text(x + 12, panel.bottom - 27 + 15 * j, line, kind="small", role="value", at="start")
        if not i:
            s.arrow((25, 23), (25, y))
        elif i < 3 and before:
            ends = [(25.0, before.bottom), (25.0, y)]
            s.arrow(*(ends if narrow else [(before.right, y + 95), (x, y + 95)]))
        elif not narrow:
            start, goal = (562.0, y - 48), (panel.cx, y)
            bend = [(562.0, y - 18), (panel.cx, y - 18)] if i < 5 else []
            s.arrow(start, *bend, goal)
        y, before = panel.bottom + (26 if narrow else 0), panel
        if i == 2 and narrow:
            s.text(172, y + 2, "then, in any order", kind="strong quiet")
            y += 20
    if not narrow:
        s.text(12, 48 + tall + 18, "then, in any order", kind="strong quiet", at="start")


@drawing(
    """You write a function. The check calls it on fresh random inputs and fills a table with one
    row for each property: two rows pass, one fails. For the row that fails there is a hint, and a
    dashed arrow leads from the hint back to your function: you mend it and check again. When all
    rows pass, you go on to the next exercise."""
)
def way_of_an_exercise(s: Sketch) -> None:
    """Write, check, read, mend."""
    verdicts = ("pass", "pass", "FAIL")
    if s.narrow:
        mine = s.layer(62, 60, 104, 44, "your", "function")
        ask = s.step(180, 60, 66, 30, "check")
        x, y = 262.0, 60.0
    else:
        mine = s.layer(70, 60, 120, 44, "your function")
        ask = s.step(258, 60, 90, 30, "check")
        x, y = 388.0, 60.0
    given = s.text(ask.cx, 14, "random inputs", kind="small quiet")
    s.arrow((ask.cx, given.bottom + 3), (ask.cx, ask.y))
    rows = [
        s.cells(x, y - 36 + 24 * i, [[said]], "key" if said == "FAIL" else "value", w=64, h=24)
        for i, said in enumerate(verdicts)
    ]
    s.text(rows[0].cx, rows[0].y - 10, "table", kind="strong")
    s.flow(mine, ask, rows[1])
    if s.narrow:
        hint = s.layer(180, 134, 66, 28, "hint")
        s.arrow((rows[2].cx, rows[2].bottom), (rows[2].cx, hint.cy), (hint.right, hint.cy))
    else:
        hint = s.layer(258, 134, 90, 28, "hint")
        s.arrow((rows[2].cx, rows[2].bottom), (rows[2].cx, hint.cy), (hint.right, hint.cy))
        after = s.layer(580, y, 120, 44, "next exercise")
        s.flow(rows[1], after, label="all pass")
    s.arrow((hint.x, hint.cy), (mine.cx, hint.cy), (mine.cx, mine.bottom), dashed=True)
    s.text((mine.cx + hint.x) / 2, hint.cy + 13, "mend it", kind="small quiet")


def _striped(
    s: Sketch, x: float, y: float, numbers: torch.Tensor, w: float, first: Sequence[int]
) -> Box:
    """A table of whole numbers; those of the first row of x have a colour of their own."""
    for i, row in enumerate(numbers.tolist()):
        for j, number in enumerate(row):
            role = "query" if number in first else "key"
            s.cells(x + j * w, y + 26 * i, [[number]], role, w=w, h=26)
    return Box(x, y, w * numbers.shape[1], 26 * numbers.shape[0])


@drawing(
    """A table x of two rows and three columns holds 1, 2 and 3 in its first row, which is blue,
    and 4, 5 and 6 in its second, which is orange. Transposed, it has three rows; the first column
    holds 1, 2 and 3, and the second 4, 5 and 6. Reshaped to the same shape, its rows are 1 and 2,
    then 3 and 4, then 5 and 6, so that the middle row mixes both colours.""",
    numbers=lambda: [X],
)
def same_shape(s: Sketch) -> None:
    """A transpose and a reshape have one shape and two contents."""
    w = 30.0
    xs = (4.0, 120.0, 244.0) if s.narrow else (60.0, 260.0, 470.0)
    for x, (said, numbers) in zip(xs, TURNED.items(), strict=True):
        box = _striped(s, x, 40, numbers, w, X[0].tolist())
        name = said.partition("(")[0].removeprefix("x.") if s.narrow else said
        s.name(box, name, str(tuple(numbers.shape)))


@drawing(
    f"""On the left, outputs 1, 2 and 3 minus targets 1, 2 and 3 of the same shape: the differences
    are 0, 0 and 0, and so is the loss. On the right the targets stand in a column of shape 3 by 1.
    Each output meets each target, and the result is a table of nine differences with zeros on its
    diagonal only. The mean of their squares is {LOSS:.2f}.""",
    numbers=lambda: [LOSS, PAIRS],
)
def all_pairs(s: Sketch) -> None:
    """Three differences were meant, nine came."""
    w, h = 28.0, 24.0
    out = OUT.tolist()
    left, top = (88.0, 0.0) if s.narrow else (98.0, 0.0)
    wide = 344.0 if s.narrow else 322.0
    s.panel(0, top, wide, 196 if not s.narrow else 178, "meant: (3) − (3)")
    y = top + 44
    for said, role, numbers in (
        ("out", "value", out), ("y", "key", out), ("out − y", "step", (OUT - OUT).tolist())
    ):  # fmt: skip
        row = s.cells(left, y, [numbers], role, w=w, h=h)
        s.text(row.x - 10, row.cy, said, role=role, at="end")
        s.text(row.right + 10, row.cy, "(3)", kind="small quiet", at="start")
        y += 36
    s.text(left + 42, y + 4, "loss 0", kind="strong")
    x, y = (0.0, 196.0) if s.narrow else (346.0, 0.0)
    s.panel(x, y, wide, 196, "computed: (3) − (3, 1)")
    row = s.cells(x + 118, y + 44, [out], "value", w=w, h=h)
    s.text(row.right + 10, row.cy, "out  (3)", role="value", at="start")
    column = s.cells(x + 76, y + 76, [[number] for number in out], "key", w=w, h=h)
    s.text(column.x - 10, column.cell(0).cy, "y", role="key", at="end")
    s.text(column.x - 10, column.cell(1).cy, "(3, 1)", kind="small quiet", at="end")
    table = s.cells(row.x, column.y, PAIRS, "step", w=w, h=h)
    s.text(table.right + 10, table.cell(0).cy, "out − y", at="start")
    s.text(table.right + 10, table.cell(1).cy, "(3, 3)", kind="small quiet", at="start")
    s.text(table.cx, table.bottom + 18, f"loss {LOSS:.2f}", kind="strong")
