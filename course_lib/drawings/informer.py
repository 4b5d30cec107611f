"""The Informer: few queries attend, sequences are halved, windows are cut, and tokens differ."""

import torch
from torch.nn import functional as F

from course_lib.drawings import Box, Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
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
    SCORES[None, None],
    torch.eye(4)[None, None],
    VALUES[None, None],
    scale=1.0,
    samples=DRAWN,
    return_weights=True,
)
OUT, WEIGHTS = _OUT[0, 0, :, 0], _WEIGHTS[0, 0]
ACTIVE = sorted(MEASURE.topk(SEATS).indices.tolist())

# Five queries of a decoder, and who is active in a sequence of four, of five, and by its prefix.
MEASURES = torch.tensor([5.0, 1.0, 0.0, 3.0, 9.0])
BUDGETS = [budget(n, 1) for n in range(1, 6)]
BY_PREFIX = first_in_prefix(MEASURES, factor=1).tolist()

# One channel of six tokens, a kernel, what the convolution and the ELU make of them, and the pool.
CHANNEL, KERNEL = torch.tensor([1.0, 3.0, 2.0, 0.0, 4.0, 1.0]), torch.tensor([1.0, 1.0, -1.0])
BENT = F.elu(F.conv1d(F.pad(CHANNEL[None], (1, 1), mode="circular"), KERNEL[None, None]))[0]
HALF = F.max_pool1d(BENT[None], kernel_size=3, stride=2, padding=1)[0]

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
    p = Page(s)
    names = [f"query {i}" for i in range(4)]
    kept = [set(row) for row in DRAWN.tolist()]
    lines = [
        [int(e) if j in kept[i] else None for j, e in enumerate(row)]
        for i, row in enumerate(SCORES.tolist())
    ]
    gone = [(i, j) for i in range(4) for j in range(4) if j not in kept[i]]
    shown = p.rows(
        lines, "step", words=names, hatched=gone, over=[f"*k*_{{{j}}}" for j in range(4)]
    )
    p.named(shown, "1. scores with 2 keys")
    measure = p.rows(MEASURE, "query", digits=2, name="2. judge", shape="max − mean")
    judged = p.rows(
        [["active" if i in ACTIVE else "lazy"] for i in range(4)],
        ["query" if i in ACTIVE else "mask" for i in range(4)],
    )
    words = names if s.narrow else ()
    weights = p.rows(WEIGHTS, "weight", bars=True, words=words, name="3. weights", shape="")
    values = p.cells(
        VALUES[:, 0], "value", w=weights.each[-1].room[2] / 2, name="values", shape="", at="left"
    )
    out = p.rows(OUT, "value", name="outputs", shape="")
    p.each(shown, measure)
    found = p.column(values, weights, axle=1)
    if s.narrow:
        p.link(judged, found)
        p.each(weights, out)
    else:
        p.each(judged, weights, out)
    p.done(p.row(shown, measure, judged, gap=p.of(22, 30)), p.row(found, out, gap=26))


def _best(n: int) -> list[bool]:
    """Active queries among the first n when all n are ranked together."""
    return [i in MEASURES[:n].topk(BUDGETS[n - 1]).indices.tolist() for i in range(n)]


@drawing(
    f"""Five queries of a decoder with the measures {said(MEASURES, 0)}. While there are four of
    them, the two largest of the four are active: queries 1 and 4. Query 5 arrives, and the two
    largest of the five are queries 1 and 5: query 4 has lost its place to a later query. Ranked
    each among those before it, query 1, query 4 and query 5 are active, and no later query can
    change that. The places for 1 to 5 queries are {said(torch.tensor(BUDGETS).float(), 0)}."""
)
def ranked_with_the_future(s: Sketch) -> None:
    p = Page(s)
    stories = {
        "four queries": ("the 2 largest of 4", _best(4)),
        "query 5 arrives": ("the 2 largest of 5", _best(5)),
        "each prefix by itself": ("among those so far", BY_PREFIX),
    }
    lines: list[tuple[tuple[str, str], Part]] = []
    for story, (rule, active) in stories.items():
        queries = []
        for i, (measure, chosen) in enumerate(zip(MEASURES.long().tolist(), active, strict=False)):
            role = "query" if chosen else "state"
            over = [] if lines else [f"*q*_{{{i + 1}}}"]
            box = p.cells(
                [[measure]], role, w=p.of(60, 56), h=26, thick=chosen, over=over, asks=("", "query")
            )
            p.named(
                box, "active" * chosen, "lazy" * (not chosen), role="query" * chosen, at="below"
            )
            if len(lines) == 1 and not chosen and _best(4)[i : i + 1] == [True]:
                p.named(box, "pushed out", role="key", at="below")
            if active is BY_PREFIX:
                p.named(box, "", f"{BUDGETS[i]} place{'s' * (BUDGETS[i] > 1)}", at="below")
            queries.append(box)
        lines.append(((story, rule), p.row(*queries, gap=8)))
    p.done(p.titled(*lines, gap=18))


@drawing(
    f"""Six tokens, one channel of each: {said(CHANNEL, 0)}. A convolution of three neighbours and
    an ELU give {said(BENT, 2)}. Windows of three, two apart, keep their largest number, so three
    tokens are left: {said(HALF, 0)}. The first window has no token on its left.""",
    numbers=lambda: [CHANNEL, BENT, HALF],
)
def halving_by_hand(s: Sketch) -> None:
    w, x = (50.0, 26.0) if s.narrow else (60.0, 150.0)
    tokens = s.cells(x, 26, CHANNEL, "state", w=w, h=28)
    above = s.cells(x, 92, BENT, "step", w=w, h=28)
    s.text(above.cx, 12, "6 tokens", kind="small")
    s.text(above.cell(0, 4).cx, 73, "convolution, ELU", kind="small")
    for j in range(3):
        s.arrow((tokens.cell(0, j).cx, tokens.bottom), (above.cell(0, 1).cx, above.y), tip=j == 1)
    for i, largest in enumerate(HALF.tolist()):
        box = s.cells(x + 2 * i * w, 174, [[int(largest)]], "value", w=w, h=28, thick=True)
        for j in (2 * i - 1, 2 * i, 2 * i + 1):
            if j >= 0:
                at, end = above.cell(0, j), box.cx + (j - 2 * i) * 8
                s.arrow((at.cx + (2 * i - j) * 6, at.bottom), (end, box.y), tip=j == 2 * i)
    s.text(above.cx, 220, "3 tokens: the largest of three, every second place", kind="small")


@drawing(
    """The Informer. Its encoder reads 96 hours of 7 variables, adds positions and calendar,
    attends with few queries, halves the sequence and attends again: a memory of 48 tokens. Its
    decoder gets the last 48 known hours and 24 zeros with the same codes. It attends with few
    queries and without the future, asks the memory by cross-attention, and a linear layer makes
    all 24 hours at once."""
)
def informer_whole(s: Sketch) -> None:
    p = Page(s)

    def strip(n: int, role: str) -> Part:
        """A sequence, a cell for eight hours."""
        return p.cells([[None] * n], role, w=10, h=22, thick=role == "value")

    def attention(second: str) -> Part:
        return p.layer("ProbSparse", second)

    x = p.named(strip(12, "state"), "96 hours", "(96, 7)")
    given = p.row(strip(6, "state"), p.cells([[0]], "mask", w=30, h=22), gap=0)
    p.named(given, "48 known, 24 zeros", "(72, 7)")
    embed, again = (p.layer("embed, add", "both codes") for _ in range(2))
    first, half, second = attention("attention"), p.step("halve"), attention("attention")
    memory = p.named(strip(6, "state"), "memory", "(48, *D*)", at="above left", free=True)
    masked, cross = attention("without future"), p.layer("cross-", "attention")
    linear, out = p.layer("linear"), strip(3, "value")
    p.named(out, "24 hours", "(24, 7)", role="value", at="above left", free=True)
    p.link(x, embed, first, half, second, memory)
    p.link(given, again, masked, cross, linear, out)
    p.link(memory, cross, bend=p.of("yy", "xx"))
    p.done(
        p.grid(
            (x, embed, first, half, second, memory, None),
            (given, again, masked, None, cross, linear, out),
            gap=(p.of(9, 30), 24),
        )
    )


@drawing(
    f"""The same table three times, a row for each variable and a column for each hour. The Informer
    takes a column as a token: {HOURS} tokens of {VARIABLES} numbers. PatchTST takes a stretch of
    one row: {PATCHES} tokens of {STRETCH} numbers for each variable, and the variables never meet.
    iTransformer takes a whole row: {VARIABLES} tokens of {HOURS} numbers."""
)
def what_is_a_token(s: Sketch) -> None:
    p = Page(s)
    ways = (
        ("Informer", "one hour of all variables", f"{HOURS} tokens", (0, 3), (4, 1)),
        (
            "PatchTST",
            f"{STRETCH} hours of one variable",
            f"{PATCHES} tokens for each variable",
            (1, 2),
            (1, 3),
        ),
        ("iTransformer", "all hours of one variable", f"{VARIABLES} tokens", (2, 0), (1, 8)),
    )
    tables, panels = [], []
    for name, token, count, _, _ in ways:
        table = p.cells([[None] * 8] * 4, "state", w=18, h=20)
        p.named(table, "", "hours")
        told = p.column(p.text(token, role="query"), p.texts(count), gap=0)
        tables.append(table)
        panels.append((name, p.column(table, told)))
    p.done(p.panels(*panels))
    for table, (*_, place, (high, wide)) in zip(tables, ways, strict=True):
        at = table.box.cell(*place)
        s.text(table.box.x - 14, table.box.cy, "variables", kind="small quiet", turn=True)
        s.cells(at.x, at.y, [[None] * wide] * high, "query", w=at.w, h=at.h, thick=True)


@drawing(
    f"""Rows of a series: some for training, then some for validation, and rows {FIRST} to {LAST}
    for the test. The mean and the deviation come from the training rows alone. Below are
    {len(WINDOWS)} windows, one row apart. The first reads rows {WINDOWS[0][0]} to
    {WINDOWS[0][READ - 1]}, which belong to the validation, and forecasts rows {WINDOWS[0][READ]}
    to {WINDOWS[0][-1]}. The last forecasts rows {WINDOWS[-1][READ]} to {WINDOWS[-1][-1]}. Each row
    of the test is forecast by at least one window."""
)
def windows_of_a_series(s: Sketch) -> None:
    w, left = (20.0, 12.0) if s.narrow else (33.0, 70.0)

    def rows(numbers: list[int], y: float, role: str) -> Box:
        at = left + (numbers[0] - BEGINS) * w
        return s.cells(at, y, [numbers], role, w=w, h=24, thick=role == "value")

    splits = {
        "training": (BEGINS, BEGINS + 4, "state"),
        "validation": (BEGINS + 4, FIRST, "state"),
        "test": (FIRST, LAST + 1, "value"),
    }
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
