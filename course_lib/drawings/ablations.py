"""Ablations: pairs of runs, what an interval decides, what else an arm changes, and increments."""

import math
from statistics import NormalDist
from typing import Any

import torch

from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import said, whole
from course_lib.drawings.shapes import Point
from course_lib.experiments import verdict
from course_lib.experiments.informer_ablations import ARMS
from course_lib.positions.delta import steps

# Errors of two arms with the same four seeds: they scatter, their differences hardly do.
BEFORE = torch.tensor([0.62, 0.70, 0.66, 0.58])
AFTER = torch.tensor([0.60, 0.66, 0.64, 0.54])
GAPS = AFTER - BEFORE
SPREADS = {
    "error of a run": BEFORE.std().item(),
    "difference, different seeds": (BEFORE.var() + AFTER.var()).sqrt().item(),
    "difference, the same seed": GAPS.std().item(),
}
# Per cent of the means of so many pairs that are beyond 1.96 of their spread, at a difference of 1.
FINDS = {n: round(100 * NormalDist().cdf(math.sqrt(n) - 1.96)) for n in (1, 5, 20)}
BELL = 44.0

MARGIN = 1.0
ENDS = ((0.3, 1.7), (-1.6, -0.4), (-0.5, 0.7), (-0.6, 1.5), (0.2, 0.8))
"""Intervals in units of the margin."""

# Of each arm: attention, whether layers add positions, whether the input has them, terms of scores.
WAY = ("vanilla", "full-attention", "input-and-layers", "every-layer", "cross")
SETTINGS = ("attention", "in layers", "at input", "terms")

# An invented row of the results: points of accuracy lost in five pairs, and by the document.
LOST = [0.5, 1.0, 1.5, 2.0, 2.5]
READ = verdict(LOST, claimed_sign=1, margin=1.0)
PRINTED, OURS = (93.0, 90.0), 44.5
ROW = (
    ("row", ["no positions"], ["what was", "changed"]),
    (
        "document",
        [f"{PRINTED[1]:.1f} %", f"{PRINTED[1] - PRINTED[0]:+.1f}"],
        ["its number, and", "its difference", "from its base"],
    ),
    (
        "ours",
        [f"{OURS:.1f} %, n = {READ.n}", f"{-READ.mean:+.1f} ({-READ.high:.1f} to {-READ.low:.1f})"],
        ["mean of our runs;", "difference of pairs", "with one seed each"],
    ),
    ("setting", ["small"], ["whose model,", "data and", "training"]),
    ("verdict", ["as claimed"], ["what our pairs", "say of it"]),
)

VALUES = torch.tensor([2.0, 5.0, 4.0, 8.0])
STEPS = steps(VALUES[:, None])[:, 0]


def _line(s: Sketch, low: float, high: float, y: float, role: str) -> None:
    """An interval with its two ends."""
    s.curve([(low, y), (high, y)], role)
    for x in (low, high):
        s.curve([(x, y - 5), (x, y + 5)], role)


def _bell(s: Sketch, axis: Point, y: float, of: Point, role: str, beyond: float = 9.0) -> None:
    """A bell curve of a mean and a spread, on an axis with its 0 and unit, hatched beyond x."""

    def at(x: float) -> Point:
        return axis[0] + axis[1] * x, y - BELL * math.exp(-(((x - of[0]) / of[1]) ** 2) / 2)

    places = torch.linspace(of[0] - 2.6 * of[1], of[0] + 2.6 * of[1], 99).tolist()
    s.curve([*map(at, places)], role, closed=True)
    while beyond < places[-1]:
        s.curve([(at(beyond)[0], y), at(beyond)], role)
        beyond += 4 / axis[1]


def _told(s: Sketch, y: float, said: str, more: str, zero: float = 0) -> None:
    """What a bell shows, left of it or, on a phone, above it, and where its 0 is."""
    top = y - BELL - 26 if s.narrow else y - BELL / 2
    s.text(4, top, said, kind="strong", at="start")
    x, at = (s.width - 4, "end") if s.narrow else (4.0, "start")
    s.text(x, top + 16 * (not s.narrow), more, at=at)
    if zero:
        s.curve([(zero, y - BELL - 6), (zero, y + 6)], "mask", dashed=True)
        s.text(zero, y + 16, "0", kind="small")


@drawing(
    f"""Bell curves on one scale. The errors of one run with a change and without it overlap almost
    wholly, so the difference of two runs lies on both sides of 0 if their seeds differ. With the
    same seed it is narrow, around {GAPS.mean():.2f}, and nearly all left of 0.""",
    numbers=lambda: SPREADS.values(),
)
def runs_and_pairs(s: Sketch) -> None:
    axis, pitch = ((198.0, 860.0), BELL + 76) if s.narrow else ((456.0, 1200.0), BELL + 40)
    for n, (name, spread) in enumerate(SPREADS.items()):
        base = pitch * (n + 1) - 22 + 46 * (n > 0)
        if n:
            _bell(s, axis, base, (GAPS.mean().item(), spread), "value")
        _told(s, base, name, f"spread {spread:.2f}", axis[0] if n else 0)
    base, dots = pitch - 22, []
    for n, (role, errors) in enumerate((("value", AFTER), ("state", BEFORE))):
        shifted = errors - BEFORE.mean()
        _bell(s, axis, base, (shifted.mean().item(), errors.std().item()), role)
        x = axis[0] + axis[1] * (shifted.mean().item() + 0.08 * (2 * n - 1))
        s.text(x, base - BELL, ("with", "without")[n], role=role)
        dots.append([(axis[0] + axis[1] * x, base + 14 + 26 * n) for x in shifted.tolist()])
        for x, y in dots[n]:
            s.sign(x, y, "", r=4, role=role)
    for ends in zip(*dots, strict=True):
        s.arrow(*ends, tip=False)
    s.text(4, base + 27, "four seeds, joined", kind="small quiet", at="start")


@drawing(
    f"""Three bell curves around one true difference, as large as the spread of one pair. Beyond a
    threshold lie {FINDS[1]} % of the curve of one pair, {FINDS[5]} % of that of the mean of five,
    which is narrower, and {FINDS[20]} % of that of the mean of 20, the narrowest.""",
    numbers=lambda: FINDS.values(),
)
def power_of_a_plan(s: Sketch) -> None:
    axis, pitch = ((106.0, 62.0), BELL + 70) if s.narrow else ((290.0, 96.0), BELL + 34)
    for n, (pairs, share) in enumerate(FINDS.items()):
        spread, base = 1 / math.sqrt(pairs), pitch * (n + 1)
        _bell(s, axis, base, (1.0, spread), "value", beyond=1.96 * spread)
        _told(s, base, f"mean of {pairs} pairs" if n else "one pair", f"found: {share} %", axis[0])
    s.text(axis[0] + 1.96 * axis[1], pitch + 16, "threshold", kind="small quiet")


def _answer(low: float, high: float) -> str:
    """Verdict of the rule on five differences with this interval."""
    spread = torch.linspace(-2, 2, 5)
    unit = verdict(spread.tolist(), claimed_sign=1).half_width
    gaps = (low + high) / 2 + spread * (high - low) / 2 / unit
    found = verdict(gaps.tolist(), claimed_sign=1, margin=MARGIN)
    assert abs(found.low - low) < 1e-3 and abs(found.high - high) < 1e-3
    return found.outcome + ", within margin" * bool(found.remarks)


@drawing(
    f"""A line with 0 in the middle and a shaded margin on both sides of it; the claim says that
    differences lie on the right. Five intervals. One lies right of 0: {_answer(*ENDS[0])}. One lies
    left of 0: {_answer(*ENDS[1])}. One holds 0 and lies within the margin: {_answer(*ENDS[2])}. One
    holds 0 and leaves the margin: {_answer(*ENDS[3])}. One lies right of 0 and within the margin:
    {_answer(*ENDS[4])}."""
)
def answers_of_an_interval(s: Sketch) -> None:
    middle, unit = (172.0, 76.0) if s.narrow else (430.0, 100.0)
    pitch, top = s.narrow * 18.0 + 34, 34.0
    bottom = top + pitch * len(ENDS) + 8
    s.panel(middle - unit * MARGIN, top, 2 * unit * MARGIN, bottom - top)
    s.curve([(middle, top - 6), (middle, bottom)], "mask", dashed=True)
    s.text(middle, top - 18, "0")
    for sign, name in ((-1, "− margin"), (1, "margin")):
        s.text(middle + sign * unit * MARGIN, top - 18, name, kind="small quiet")
    for n, (low, high) in enumerate(ENDS):
        y = top + pitch * (n + 0.5) + 4
        role = "mask" if low < 0 and high > MARGIN else "value"
        _line(s, middle + unit * low, middle + unit * high, y, role)
        s.sign(middle + unit * (low + high) / 2, y, "", r=5, role=role)
        s.text(4, y - 20 * s.narrow, _answer(low, high), kind="strong", at="start")
    s.arrow((middle + 20, bottom + 14), (middle + 2 * unit - 20, bottom + 14))
    s.text(middle + unit, bottom + 28, "as claimed", kind="small quiet")


@drawing(
    f"""A row of a results table with five cells. The first names what was changed: no positions.
    The second has the document's number, {PRINTED[1]:.1f} %, and its difference from the unchanged
    model, {PRINTED[1] - PRINTED[0]:+.1f} points. The third has ours, {OURS:.1f} % over {READ.n}
    runs, and the mean difference of the pairs, {-READ.mean:+.1f}, with its interval from
    {-READ.high:.1f} to {-READ.low:.1f}. The fourth says that our model was small, and the fifth
    that the claim was seen as claimed. Below, the same difference lies on a line, in units of the
    margin: the interval as a thick line right of 0, a longer thin line where one more pair would
    lie, and a bar at the document's {PRINTED[0] - PRINTED[1]:.1f}, inside of the thin line."""
)
def row_of_results(s: Sketch) -> None:
    p = Page(s)
    heads = [p.text(name, kind="strong") for name, _, _ in ROW]
    parts = [
        p.cells(
            [[line.replace("-", "−")] for line in cell], "state", w=7 * len(cell[-1]) + 16, h=26
        )
        for _, cell, _ in ROW
    ]
    texts = [p.column(*(p.text(t, kind="small quiet") for t in why), gap=-2) for _, _, why in ROW]
    columns = zip(heads, parts, texts, strict=True)
    grid = columns if s.narrow else zip(*columns, strict=True)
    p.done(p.grid(*grid, gap=p.of((14, 10), (6, 14)), turn=False))
    low, high = READ.prediction_interval
    top = max(part.box.bottom for part in (*parts, *texts)) + 36
    middle, unit = s.width / 2 - p.of(60, 40), p.of(66.0, 44.0)

    def at(value: float) -> float:
        return middle + unit * value

    s.panel(at(-MARGIN), top, 2 * unit, 52)
    s.curve([(at(0), top - 6), (at(0), top + 58)], "mask", dashed=True)
    s.text(at(0), top - 16, "0")
    s.text(at(0), top + 70, "margin", kind="small quiet")
    _line(s, at(low), at(high), top + 26, "mask")
    _line(s, at(READ.low), at(READ.high), top + 26, "value")
    s.sign(at(READ.mean), top + 26, "", r=6, role="value")
    bar = at(PRINTED[0] - PRINTED[1])
    s.curve([(bar, top + 8), (bar, top + 44)], "weight")
    s.text(bar, top - 4, "the document", kind="small")
    s.text(at(READ.mean), top + 70, "our mean", kind="small")
    s.text(at(high), top + 54, "one more pair", kind="small quiet")


def _setting(arm: dict[str, Any], sparse: str) -> list[str]:
    """Description of a setting, in words."""
    places = arm.get("positions_at", "input")
    return [
        {"prob": sparse, "full": "full"}[arm["attention"]],
        "no" if places == "input" else "yes",
        "no" if places == "layers" else "yes",
        str(len(arm.get("terms", range(4)))),
    ]


@drawing(
    """Five arms in columns and four settings in rows, with one change from each column to the next:
    attention from ProbSparse to full, positions into each layer too, positions out of the input,
    and terms of the score from four to two. The report goes from the first column to the last in
    one step, so all four settings change at once."""
)
def one_change_a_step(s: Sketch) -> None:
    p = Page(s)
    settings = [_setting(ARMS[name], p.of("ProbSparse", "sparse")) for name in WAY]
    columns = []
    for n, (name, column) in enumerate(zip(WAY, settings, strict=True)):
        new = [n > 0 and told != settings[n - 1][i] for i, told in enumerate(column)]
        cells = p.column(
            *(
                p.cells(
                    [[told]],
                    "value" if fresh else "state",
                    w=p.of(88, 48),
                    h=29,
                    thick=fresh,
                    words=[SETTINGS[i]] if n == 0 else (),
                )
                for i, (told, fresh) in enumerate(zip(column, new, strict=True))
            ),
            gap=4,
        )
        name = "baseline" if n == 0 else name
        words = p.of([name.replace("-", " ")], name.split("-"))
        head = p.column(*(p.text(word, kind="strong") for word in words), gap=-1)
        columns.append((head, cells))
    if not s.narrow:
        p.link(*(cells for _, cells in columns))
    p.done(p.grid(*zip(*columns, strict=True), gap=(p.of(22, 4), 4), turn=False))
    first, last = columns[0][1].box, columns[-1][1].box
    under = first.bottom + 26
    s.arrow((first.cx, first.bottom), (first.cx, under), (last.cx, under), (last.cx, last.bottom))
    s.text((first.cx + last.cx) / 2, under + 14, "the report's comparison: all at once")


@drawing(
    f"""Four values, {said(VALUES, 0)}, and below each its increment from the value before:
    {said(STEPS, 0)}. Averaged with equal weights of a quarter, the values give
    {VALUES.mean().item():.2f}. The increments give {STEPS.mean().item():.2f}, which is the last
    value less the first, divided by four; the values between have dropped out.""",
    numbers=lambda: [VALUES, STEPS, VALUES.mean().item(), STEPS.mean().item()],
)
def steps_for_values(s: Sketch) -> None:
    p = Page(s)
    box: dict[str, Any] = {"w": 44, "h": 28}
    values, moves = (
        [
            p.cells([[n]], role, thick=role == "state", words=() if i else [name], **box)
            for i, n in enumerate(whole(numbers))
        ]
        for name, role, numbers in (("values", "value", VALUES), ("increments", "state", STEPS))
    )
    minus = [p.sign("−", 8) for _ in values[1:]]
    for n, value in enumerate(values):
        p.named(value, f"*v*_{{{n + 1}}}", role="value")
    for before, value, sign, move in zip(values, values[1:], minus, moves[1:], strict=False):
        p.link(value, sign, move)
        p.link(before, sign, bend="xx", at=0.3)
    ends = []
    for name, numbers, row in (("values", VALUES, values), ("increments", STEPS, moves)):
        mean = p.cells([[numbers.mean().item()]], "value", h=28, thick=True)
        ends.append([p.step("¼ of each", role="weight"), p.named(mean, f"mean of the {name}")])
        p.link(*p.of([row[-1], *ends[-1]], []))
    p.named(ends[1][1], "", "= (last − first) ÷ 4", at="below")
    if s.narrow:
        table = p.grid(values, [None, *minus], moves, gap=(12, 22), turn=False)
        p.done(table, p.row(*(mean for _, mean in ends), gap=60))
    else:
        rows = [*values, *ends[0]], [None, *minus, None, None], [*moves, *ends[1]]
        p.done(p.grid(*rows, gap=(28, 22), turn=False))
