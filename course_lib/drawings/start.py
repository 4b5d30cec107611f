"""Where a reader begins: the way through the course, an exercise, its grade, and two traps."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch

from course_lib.drawings import Page, Part, Sketch, drawing


@dataclass(frozen=True)
class CoursePart:
    """A part of the course.

    ``title``: as the table of contents has it; ``hours``: for reading it and its assignments,
    rounded; ``then``: what its reader can do, in two lines.
    """

    title: str
    hours: int
    chapters: dict[int, str]
    then: tuple[str, str]


# A test compares titles, numbers, hours and the core with the table of contents and the pages.
PARTS = (
    CoursePart(
        "I · From lookup to attention",
        16,
        {
            1: "Sequence to sequence",
            2: "Attention as lookup",
            3: "Scaled dot products",
            4: "Several heads",
            5: "Masks",
        },
        ("You compute attention by hand", "and write it with masks."),
    ),
    CoursePart(
        "II · The Transformer",
        26,
        {
            6: "The block",
            7: "Sinusoids",
            8: "Relative positions",
            9: "The Transformer",
            10: "Reading maps",
        },
        ("You build a whole Transformer,", "and it translates."),
    ),
    CoursePart(
        "III · Attention that sees",
        10,
        {11: "Space", 12: "Vision transformer", 13: "Seeing"},
        ("You build one that recognises", "images, and see where it looks."),
    ),
    CoursePart(
        "IV · Cheaper attention",
        12,
        {14: "Cheaper", 15: "Swin", 16: "FaViT"},
        ("You make long texts and large", "images affordable."),
    ),
    CoursePart(
        "V · Attention over time",
        6,
        {17: "The Informer", 18: "Ablations"},
        ("You forecast a series, and tell", "a finding from chance."),
    ),
    CoursePart(
        "VI · Two senses at once",
        4,
        {19: "Two senses"},
        ("You search images", "with words."),
    ),
)
CORE = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12)
CORE_HOURS = 45

X = torch.arange(1, 7).reshape(2, 3)
TURNED = {"x": X, "x.transpose(0, 1)": X.transpose(0, 1), "x.reshape(3, 2)": X.reshape(3, 2)}
OUT = torch.arange(1, 4)
PAIRS = OUT - OUT[:, None]
LOSS = (PAIRS.double() ** 2).mean().item()


def _stations(p: Page, chapters: dict[int, str], empty: int = 0) -> tuple[Part, Part]:
    """Chapters below one another, and so many empty places; a rail joins those of the core."""
    boxes, rows = [], []
    for number, said in chapters.items():
        core = number in CORE
        boxes.append(p.cells([[number]], "state", w=26, thick=core))
        name = p.text(said, kind="strong" * core, at="start")
        rows.append(p.flush(p.row(boxes[-1], name, gap=8)))
        if core:
            p.link(*boxes[-2:], tip=False)
    rows += [p.point(boxes[0].high) for _ in range(empty)]
    return p.flush(p.column(*rows, gap=6)), boxes[0]


@drawing(
    f"""The course begins here, with chapter 0. Parts I to III follow one another: from lookup to
    attention, chapters 1 to 5; the Transformer, chapters 6 to 10; attention that sees, chapters 11
    to 13. After them come three parts in any order: cheaper attention, chapters 14 to 16; attention
    over time, chapters 17 and 18; two senses at once, chapter 19. The parts take
    {", ".join(str(part.hours) for part in PARTS)} hours. A strong edge marks the core: chapters 0
    to 9, 11 and 12, about {CORE_HOURS} hours. Below each part is what you can do after it.""",
    numbers=lambda: [CORE_HOURS, *(part.hours for part in PARTS), *range(20)],
)
def the_way(s: Sketch) -> None:
    p = Page(s)
    start, first = _stations(p, {0: "Start here: tools, a first exercise"})
    legend = [
        p.flush(p.row(p.cells([[None]], "state", thick=core), p.texts(said, at="start"), gap=8))
        for core, said in (
            (True, f"the core, about {CORE_HOURS} hours"),
            (False, "to skip, or to read later"),
        )
    ]
    lines = [p.line(*legend), p.panel(start, w=s.width, edge=True)]
    for some in (PARTS[:3], PARTS[3:]):
        most = max(len(part.chapters) for part in some)
        named = []
        for part in some:
            hours = p.texts(f"about {part.hours} hours", at="start")
            stations, _ = _stations(p, part.chapters, p.of(most - len(part.chapters), 0))
            then = p.texts(*part.then, role="value", kind="small", at="start")
            named.append((part.title, p.column(hours, stations, then)))
        lines.append(p.panels(*named, gap=p.of(16, 26), edge=True))
    row, free = (line.each for line in lines[2:])
    p.link(first, *row)
    for part in p.of(free, ()):
        p.link(row[-1], part, bend="yy", at=0.8)
    lines.insert(3, p.text("then, in any order", kind="strong quiet", at="start"))
    p.done(p.column(*map(p.flush, lines), gap=26))


@drawing(
    """You write a function. The check calls it on fresh random inputs and fills a table with one
    row for each property: two rows pass, one fails. For the row that fails there is a hint, and a
    dashed arrow leads from the hint back to your function: you fix it and check again. When all
    rows pass, you go on to the next exercise."""
)
def way_of_an_exercise(s: Sketch) -> None:
    p = Page(s)
    verdicts = ("pass", "pass", "FAIL")
    given, mine = p.texts("random inputs"), p.layer("your", "function")
    ask, hint = p.step("check"), p.layer("hint")
    table = p.cells(
        [[verdict] for verdict in verdicts],
        lambda i, j: "key" if verdicts[i] == "FAIL" else "value",
        w=64,
        name="table",
        shape="",
    )
    p.link(given, ask)
    p.link(mine, ask, table)
    p.link(table, hint, bend="y")
    p.link(hint, mine, bend="x", dashed=True, label="fix it", side="below")
    rows = [[None, given, None, None], [mine, ask, table, None], [None, hint, None, None]]
    if s.narrow:
        rows = [row[:3] for row in rows]
    else:
        rows[1][3] = after = p.layer("next", "exercise")
        p.link(table, after, label="all pass")
    p.done(p.grid(*rows, gap=(p.of(80, 36), 14), turn=False))


def _role(first: torch.Tensor, i: int, j: int) -> str:
    """The colour of a number: those of the first row of x have one of their own."""
    return "query" if first[i, j] else "key"


@drawing(
    """A table x of two rows and three columns holds 1, 2 and 3 in its first row, which is blue,
    and 4, 5 and 6 in its second, which is orange. Transposed, it has three rows; the first column
    holds 1, 2 and 3, and the second 4, 5 and 6. Reshaped to the same shape, its rows are 1 and 2,
    then 3 and 4, then 5 and 6, so that the middle row mixes both colours.""",
    numbers=lambda: [X],
)
def same_shape(s: Sketch) -> None:
    p = Page(s)
    shown = []
    for said, numbers in TURNED.items():
        name = said.partition("(")[0].removeprefix("x.") if s.narrow else said
        role = partial(_role, torch.isin(numbers, X[0]))
        shown.append(p.cells(numbers, role, w=30, h=26, name=name))
    p.done(p.row(*shown, gap=p.of(60, 16)))


@drawing(
    f"""On the left, outputs 1, 2 and 3 minus targets 1, 2 and 3 of the same shape: the differences
    are 0, 0 and 0, and so is the loss. On the right the targets are in a column of shape 3 by 1.
    Each output meets each target, and the result is a table of nine differences with zeros on its
    diagonal only. The mean of their squares is {LOSS:.2f}.""",
    numbers=lambda: [LOSS, PAIRS],
)
def all_pairs(s: Sketch) -> None:
    p = Page(s)
    out = OUT.tolist()
    lines = []
    for said, role, numbers in (
        ("out", "value", out),
        ("y", "key", out),
        ("out − y", "step", (OUT - OUT).tolist()),
    ):
        line = p.named(p.cells([numbers], role, w=28), "", "(3)", at="right")
        lines.append(p.named(line, said, role=role, at="left"))
    meant = p.column(*lines, p.text("loss 0", kind="strong"))
    row = p.named(p.cells([out], "value", w=28), "out", "(3)", at="right", role="value")
    column = p.cells([[number] for number in out], "key", w=28, name="y", shape="(3, 1)", at="left")
    table = p.cells(PAIRS, "step", w=28, name="out − y", shape="(3, 3)", at="right")
    loss = p.text(f"loss {LOSS:.2f}", kind="strong")
    computed = p.grid((None, row), (column, table), (None, loss), gap=(14, 8), turn=False)
    p.done(p.panels(("meant: (3) − (3)", meant), ("computed: (3) − (3, 1)", computed)))


@drawing(
    """Three places. In the instructor's process, course grade hands a hand-in to a judge and
    writes the verdict it gets into the gradebook. A judge, one for each core, holds references,
    properties and hints and runs no line of a student's. Behind walls, without network and with a
    file system of their own, are the warm parent, which has imported torch once, and a worker,
    forked from it for one hand-in, which holds the student's cells and nothing to look up.
    Arguments go from the judge to the worker, values come back, as plain data."""
)
def processes_of_a_grade(s: Sketch) -> None:
    p = Page(s)

    def pair(first: Sequence[str], second: Sequence[str], role: str) -> list[Part]:
        """Two boxes, side by side on a phone, else one above another."""
        return [p.layer(*words, w=132, role=role) for words in (first, second)]

    grade, book = pair(["course grade"], ["gradebook"], "state")
    properties, references = pair(["properties,", "hints"], ["references"], "step")
    parent, worker = pair(["warm parent:", "has torch"], ["worker:", "student's cells"], "query")
    p.link(grade, properties, label="hand-in")
    p.link(references, book, label="verdict, page", side=p.of("", "left"))
    p.link(properties, parent, label="a worker, please", side=p.of("", "left"))
    p.link(parent, worker, label="fork")
    names = "instructor", "judge" if s.narrow else "judge, one a core", "behind walls"
    pairs = (grade, book), (properties, references), (parent, worker)
    stacks = [p.stack(*parts, gap=p.of(46, 28)) for parts in pairs]
    p.done(
        *(
            p.panel(stack, name, w=p.of(0, s.width))
            for name, stack in zip(names, stacks, strict=True)
        ),
        gap=p.of(82, 44),
    )
    a, b, aside = references.box, worker.box, 10
    if s.narrow:
        s.arrow((a.cx - aside, a.bottom), (a.cx - aside, b.y), label="arguments", side="left")
        s.arrow((a.cx + aside, b.y), (a.cx + aside, a.bottom), label="values")
    else:
        s.arrow((a.right, a.cy - aside), (b.x, a.cy - aside), label="arguments")
        s.arrow((b.x, a.cy + aside), (a.right, a.cy + aside), label="values", side="below")
