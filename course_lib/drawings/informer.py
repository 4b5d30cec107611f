"""The Informer: few queries attend, sequences are halved, windows are cut, and tokens differ."""

import torch
from torch.nn import functional as F

from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import Rows, said
from course_lib.informer import (
    PatchForecast,
    ProbSparse,
    SparseRules,
    budget,
    first_in_prefix,
    max_mean_measure,
)

# Four queries and four keys, two keys drawn by each query, and values of width 1.
SCORES = torch.tensor([[4, 0, 0, 0], [1, 1, 1, 1], [0, 2, 1, 1], [3, 3, -3, 3]]).float()
DRAWN = torch.tensor([[0, 2], [1, 3], [0, 1], [0, 1]])
VALUES = torch.tensor([[6.0], [0.0], [8.0], [2.0]])
MEASURE = max_mean_measure(SCORES.gather(1, DRAWN))
_RULES = SparseRules(factor=1)
SEATS = budget(4, _RULES.factor)
_ATTEND = ProbSparse(_RULES).eval()
_OUT, _WEIGHTS = _ATTEND(
    SCORES[None, None], torch.eye(4)[None, None], VALUES[None, None],
    scale=1.0, samples=DRAWN, return_weights=True,
)  # fmt: skip
OUT, WEIGHTS = _OUT[0, 0, :, 0], _WEIGHTS[0, 0]
ACTIVE = sorted(MEASURE.topk(SEATS).indices.tolist())

# Five queries of a decoder, and who is active in a sequence of four, of five, and by its prefix.
MEASURES = torch.tensor([5.0, 1.0, 0.0, 3.0, 9.0])
BUDGETS = [budget(n, 1) for n in range(1, 6)]
BY_PREFIX = first_in_prefix(MEASURES, factor=1).tolist()

# What a convolution has left of eight tokens, one channel of each.
CHANNEL = torch.tensor([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
HALF = F.max_pool1d(CHANNEL[None], kernel_size=3, stride=2, padding=1)[0]

# Hours and variables of the three ways to make tokens, and how many hours a patch has.
HOURS, VARIABLES, STRETCH = 64, 7, 16
PATCHES = len(PatchForecast(HOURS, 24, patch=STRETCH).positions)

# A small series from row BEGINS on, its test, and the windows of the test.
BEGINS, FIRST, LAST, READ, AHEAD = 10, 20, 25, 4, 3
WINDOWS = torch.arange(FIRST - READ, LAST + 1).unfold(0, READ + AHEAD, 1).tolist()


@drawing(
    f"""Four queries and four keys. Each query computes its scores with two keys only; the other
    cells are hatched. Its measure is the largest of these scores less their mean:
    {said(MEASURE, 1)}. The {SEATS} queries with the largest measures are active. They compute all
    scores and have weights of their own: {said(WEIGHTS[ACTIVE[0]])} for query {ACTIVE[0]} and
    {said(WEIGHTS[ACTIVE[1]])} for query {ACTIVE[1]}. The two lazy queries give every value the
    weight {WEIGHTS[1, 0]:.2f}. With the values
    {said(VALUES[:, 0], 0)} the outputs are {said(OUT)}.""",
    numbers=lambda: [MEASURE, WEIGHTS, OUT],
)
def probsparse_by_hand(s: Sketch) -> None:
    """Two of four queries attend."""
    h, gap = 26.0, 32.0
    names = [f"query {i}" for i in range(4)]
    top = 62.0
    rows = Rows(s, [top + h / 2 + i * gap for i in range(4)], h, names)
    x = 60.0 if s.narrow else 70.0
    rows.words(x)
    kept = [set(row) for row in DRAWN.tolist()]
    shown = []
    for i, y in enumerate(rows.ys):
        line: list[object] = [int(e) if j in kept[i] else None for j, e in enumerate(SCORES[i])]
        gone = [(0, j) for j in range(4) if j not in kept[i]]
        shown.append(s.cells(x, y - h / 2, [line], "step", w=28, h=h, hatched=gone))
    s.name_columns(shown[0], (f"*k*_{{{j}}}" for j in range(4)), gap=11, role="key")
    s.text(shown[0].cx, top - 32, "1. scores with 2 keys", kind="strong quiet")
    x = shown[0].right + (44 if s.narrow else 36)
    measure = rows.column(x, [[m] for m in MEASURE.tolist()], "query", 44)
    rows.across(shown, measure)
    s.text(measure[0].cx, top - 32, "2. judge", kind="strong quiet")
    s.text(measure[0].cx, top - 11, "max − mean", kind="small")
    for i, box in enumerate(measure):
        kind, role = ("strong", "query") if i in ACTIVE else ("quiet", "")
        s.text(box.right + 9, box.cy, "active" if i in ACTIVE else "lazy", kind=kind, role=role,
               at="start")  # fmt: skip
    if s.narrow:
        turn = rows.ys[-1] + 40
        s.arrow((measure[0].cx, measure[-1].bottom), (measure[0].cx, turn), (136, turn),
                (136, turn + 22), label="")  # fmt: skip
        top, x, w = turn + 106, 60.0, 40.0
        rows = Rows(s, [top + h / 2 + i * gap for i in range(4)], h, names)
        rows.words(x)
    else:
        x, w = measure[0].right + 100, 44.0
    weights = rows.column(x, WEIGHTS, "weight", w, bars=True)
    if not s.narrow:
        for a, b in zip(measure, weights, strict=True):
            s.arrow((a.right + 62, a.cy), (b.x, b.cy))
    values = s.cells(x, top - 54 if not s.narrow else top - 56, VALUES[:, 0], "value", w=w, h=24)
    s.text(values.x - 8, values.cy, "values", role="value", at="end")
    s.text(weights[0].cx, top - 12, "3. weights", kind="strong quiet")
    for a in weights:
        s.arrow((a.right, a.cy), (a.right + 28, a.cy))
    out = rows.column(weights[0].right + 28, OUT, "value", 46)
    s.text(out[0].cx, top - 12, "outputs", role="value")


def _best(n: int) -> list[bool]:
    """Who is active among the first n when all n are ranked together."""
    return [i in MEASURES[:n].topk(BUDGETS[n - 1]).indices.tolist() for i in range(n)]


def _queries(s: Sketch, x: float, y: float, w: float, active: list[bool]) -> list[Box]:
    """The queries so far with their measures; the active ones stand out."""
    boxes = []
    for i, chosen in enumerate(active):
        role = "query" if chosen else "state"
        box = s.cells(x + i * w, y, [[int(MEASURES[i])]], role, w=w - 8, h=26, thick=chosen)
        s.text(box.cx, box.bottom + 11, "active" if chosen else "lazy",
               kind="strong small" if chosen else "small quiet", role="query" * chosen)  # fmt: skip
        boxes.append(box)
    return boxes


@drawing(
    f"""Five queries of a decoder with the measures {said(MEASURES, 0)}. While there are four of
    them, the two largest of the four are active: queries 1 and 4. Query 5 arrives, and the two
    largest of the five are queries 1 and 5: query 4 has lost its place to a later query. Ranked
    each among those before it, query 1, query 4 and query 5 are active, and no later query can
    change that. The places for 1 to 5 queries are {said(torch.tensor(BUDGETS).float(), 0)}."""
)
def ranked_with_the_future(s: Sketch) -> None:
    """A later query takes the place of an earlier one."""
    w = 54.0 if s.narrow else 64.0
    x = 62.0 if s.narrow else 236.0
    step = 116.0 if s.narrow else 84.0
    stories = (
        ("four queries", "the 2 largest of 4", _best(4)),
        ("query 5 arrives", "the 2 largest of 5", _best(5)),
        ("each prefix by itself", "among those so far", BY_PREFIX),
    )
    for i in range(5):
        s.text(x + i * w + (w - 8) / 2, 8, f"*q*_{{{i + 1}}}", role="query")
    for n, (story, rule, active) in enumerate(stories):
        y = (54 if s.narrow else 24) + n * step
        boxes = _queries(s, x, y, w, active)
        if s.narrow:
            s.text(x, y - 14, f"{story}: {rule}", kind="strong small", at="start")
        else:
            s.text(x - 24, y + 7, story, kind="strong", at="end")
            s.text(x - 24, y + 24, rule, kind="small quiet", at="end")
        if n == 1:
            s.text(boxes[3].cx, boxes[3].bottom + 25, "pushed out", kind="small", role="key")
        if n == 2:
            for box, places in zip(boxes, BUDGETS, strict=True):
                s.text(box.cx, box.bottom + 27, str(places), kind="small quiet")
            s.text(x - 24 if not s.narrow else x - 8, boxes[0].bottom + 27, "places",
                   kind="small quiet", at="end")  # fmt: skip


@drawing(
    f"""Eight tokens, one channel of each: {said(CHANNEL, 0)}. Windows of three tokens, two apart,
    each keep their largest number, so four tokens are left: {said(HALF, 0)}. The first window
    has no token on its left.""",
    numbers=lambda: [CHANNEL, HALF],
)
def halving_by_hand(s: Sketch) -> None:
    """The largest of three, every second place."""
    w = 34.0 if s.narrow else 46.0
    x = 36.0 if s.narrow else 150.0
    above = s.cells(x, 30, CHANNEL, "state", w=w, h=28)
    s.text(above.cx, 12, "8 tokens, after the convolution", kind="small")
    below = []
    for i, largest in enumerate(HALF.tolist()):
        middle = above.cell(0, 2 * i)
        box = s.cells(middle.cx - w / 2, 112, [[int(largest)]], "value", w=w, h=28, thick=True)
        for j in (2 * i - 1, 2 * i, 2 * i + 1):
            if j >= 0:
                at = above.cell(0, j)
                end = box.cx + (j - 2 * i) * 8
                s.arrow((at.cx + (2 * i - j) * 6, at.bottom), (end, box.y), tip=j == 2 * i)
        below.append(box)
    s.text(above.cx, 158, "4 tokens: the largest of three, every second place", kind="small")


def _strip(s: Sketch, x: float, y: float, n: int, role: str) -> Box:
    """A sequence, a cell for eight hours; x, y is the middle of its left edge."""
    return s.cells(x, y - 11, [[None] * n], role, w=10, h=22, thick=role == "value")


@drawing(
    """The Informer. Its encoder reads 96 hours of 7 variables, adds the calendar, attends with few
    queries, halves the sequence and attends again: a memory of 48 tokens. Its decoder gets the last
    48 known hours and 24 zeros with their calendar. It attends with few queries and without the
    future, asks the memory by cross-attention, and a linear layer makes all 24 hours at once."""
)
def informer_whole(s: Sketch) -> None:
    """Encoder, decoder and shapes."""
    if s.narrow:
        left, right = 88.0, 262.0
        x = _strip(s, left - 60, 54, 12, "state")
        s.name(x, "96 hours", "(96, 7)")
        known = _strip(s, right - 45, 54, 6, "state")
        zeros = s.cells(known.right, 43, [[0]], "mask", w=30, h=22)
        s.text(right, 20, "48 known, 24 zeros")
        s.text(right, 34, "(72, 7)", kind="small quiet")
        ys = [104.0, 170.0, 232.0, 294.0]
        e1 = s.layer(left, ys[0], 122, 44, "embed,", "add the calendar")
        e2 = s.layer(left, ys[1], 122, 44, "ProbSparse", "attention")
        e3 = s.step(left, ys[2], 70, 28, "halve")
        e4 = s.layer(left, ys[3], 122, 44, "ProbSparse", "attention")
        memory = _strip(s, left - 30, 362, 6, "state")
        s.text(left, 386, "memory")
        s.text(left, 400, "(48, *D*)", kind="small quiet")
        s.flow(x, e1, e2, e3, e4, memory)
        d1 = s.layer(right, ys[0], 122, 44, "embed,", "add the calendar")
        d2 = s.layer(right, ys[1], 122, 44, "ProbSparse", "without future")
        d3 = s.layer(right, 362, 122, 44, "cross-", "attention")
        d4 = s.layer(right, 430, 70, 28, "linear")
        out = _strip(s, right - 15, 486, 3, "value")
        s.name(out, "24 hours", "(24, 7)", side="left", role="value")
        s.arrow((right, zeros.bottom), (right, d1.y))
        s.flow(d1, d2, d3, d4, out)
        s.flow(memory, d3)
        return
    up, low = 62.0, 196.0
    x = _strip(s, 4, up, 12, "state")
    s.name(x, "96 hours", "(96, 7)")
    e1 = s.layer(188, up, 92, 44, "embed, add", "the calendar")
    e2 = s.layer(300, up, 84, 44, "ProbSparse", "attention")
    e3 = s.step(390, up, 52, 28, "halve")
    e4 = s.layer(482, up, 84, 44, "ProbSparse", "attention")
    memory = _strip(s, 560, up, 6, "state")
    s.name(memory, "memory", "(48, *D*)")
    s.flow(x, e1, e2, e3, e4, memory)
    known = _strip(s, 4, low, 6, "state")
    zeros = s.cells(known.right, low - 11, [[0]], "mask", w=30, h=22)
    s.text(66, low - 35, "48 known, 24 zeros")
    s.text(66, low - 21, "(72, 7)", kind="small quiet")
    d1 = s.layer(188, low, 92, 44, "embed, add", "the calendar")
    d2 = s.layer(300, low, 100, 44, "ProbSparse", "without future")
    d3 = s.layer(436, low, 84, 44, "cross-", "attention")
    d4 = s.layer(538, low, 52, 28, "linear")
    out = _strip(s, 606, low, 3, "value")
    s.name(out, "24 hours", "(24, 7)", role="value")
    s.flow(zeros, d1, d2, d3, d4, out)
    s.arrow((memory.cx, memory.bottom), (memory.cx, 120), (d3.cx, 120), (d3.cx, d3.y))


@drawing(
    f"""The same table three times, a row for each variable and a column for each hour. The Informer
    takes a column as a token: {HOURS} tokens of {VARIABLES} numbers. PatchTST takes a stretch of
    one row: {PATCHES} tokens of {STRETCH} numbers for each variable, and the variables never meet.
    iTransformer takes a whole row: {VARIABLES} tokens of {HOURS} numbers."""
)
def what_is_a_token(s: Sketch) -> None:
    """Three ways to cut a table of hours and variables."""
    ways = (
        ("Informer", "one hour of all variables", f"{HOURS} tokens", (0, 3), (4, 1)),
        ("PatchTST", f"{STRETCH} hours of one variable", f"{PATCHES} tokens for each variable",
         (1, 2), (1, 3)),
        ("iTransformer", "all hours of one variable", f"{VARIABLES} tokens", (2, 0), (1, 8)),
    )  # fmt: skip
    w, h = (20.0, 20.0) if s.narrow else (18.0, 20.0)
    panels = s.panels((way[0] for way in ways), 182, gap=16)
    for panel, (_, token, count, (i, j), (high, wide)) in zip(panels, ways, strict=True):
        x, y = panel.x + (110 if s.narrow else 54), panel.y + 56
        table = s.cells(x, y, [[None] * 8] * 4, "state", w=w, h=h)
        s.text(table.cx, y - 11, "hours", kind="small quiet")
        if s.narrow:
            s.text(x - 8, table.cy, "variables", kind="small quiet", at="end")
        else:
            s.text(x - 14, table.cy, "variables", kind="small quiet", turn=True)
        at = table.cell(i, j)
        s.cells(at.x, at.y, [[None] * wide] * high, "query", w=w, h=h, thick=True)
        s.text(panel.cx, table.bottom + 14, token, role="query")
        s.text(panel.cx, table.bottom + 30, count, kind="small quiet")


@drawing(
    f"""Rows of a series: some for training, then some for validation, and rows {FIRST} to {LAST}
    for the test. The mean and the deviation come from the training rows alone. Below are
    {len(WINDOWS)} windows, one row apart. The first reads rows {WINDOWS[0][0]} to
    {WINDOWS[0][READ - 1]}, which belong to the validation, and forecasts rows {WINDOWS[0][READ]}
    to {WINDOWS[0][-1]}. The last forecasts rows {WINDOWS[-1][READ]} to {WINDOWS[-1][-1]}. Each row
    of the test is forecast by at least one window."""
)
def windows_of_a_series(s: Sketch) -> None:
    """What may be known of the test, and which windows it has."""
    w, left = (20.0, 12.0) if s.narrow else (33.0, 70.0)

    def rows(numbers: list[int], y: float, role: str) -> Box:
        at = left + (numbers[0] - BEGINS) * w
        return s.cells(at, y, [numbers], role, w=w, h=24, thick=role == "value")

    splits = {"training": (BEGINS, BEGINS + 4, "state"), "validation": (BEGINS + 4, FIRST, "state"),
              "test": (FIRST, LAST + 1, "value")}  # fmt: skip
    for name, (first, end, role) in splits.items():
        box = rows(list(range(first, end)), 28, role)
        s.text(box.cx, 14, name, kind="strong quiet")
        if name == "training":
            known = s.step(box.cx + 6, 100, 84 if s.narrow else 124, 36, "mean and", "deviation")
            s.arrow((known.cx, box.bottom), (known.cx, known.y))
    for n, window in enumerate(WINDOWS):
        y = 92.0 + 32 * n
        read, ahead = rows(window[:READ], y, "state"), rows(window[READ:], y, "value")
        if n == 0:
            s.text(read.cx, y - 13, "is read", kind="small")
            s.text(ahead.cx, y - 13, "is forecast", kind="small", role="value")
