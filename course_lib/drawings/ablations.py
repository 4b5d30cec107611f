"""Ablations: pairs of runs, what an interval decides, what else an arm changes, and increments."""

from typing import Any

import torch

from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import said, whole
from course_lib.experiments import verdict
from course_lib.experiments.informer_ablations import ARMS
from course_lib.positions.delta import steps

# Errors of two arms with the same four seeds: they scatter, their differences hardly do.
BEFORE = torch.tensor([0.62, 0.70, 0.66, 0.58])
AFTER = torch.tensor([0.60, 0.66, 0.64, 0.54])
GAPS = AFTER - BEFORE
JUDGED = verdict(GAPS.tolist(), claimed_sign=-1)

MARGIN = 1.0
ENDS = ((0.3, 1.7), (-1.6, -0.4), (-0.5, 0.7), (-0.6, 1.5), (0.2, 0.8))
"""Intervals in units of the margin."""

# Of each arm: attention, where positions are added, whether values hold them, terms of the score.
WAY = ("vanilla", "full-attention", "every-layer", "cross")
SETTINGS = ("attention", "positions", "in values", "terms")

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


@drawing(
    f"""Two models with one difference in their settings are trained with the same four seeds. Each
    seed is a row: the error with the change, {said(AFTER)}, less the error without it,
    {said(BEFORE)}, is one difference, {said(GAPS)}. On a line beside the rows all four dots lie
    left of 0. Below them is the mean {JUDGED.mean:.2f} with an interval from {JUDGED.low:.3f}
    to {JUDGED.high:.3f}, which does not hold 0.""",
    numbers=lambda: [AFTER, BEFORE, GAPS, JUDGED.mean, JUDGED.low, JUDGED.high],
)
def pairs_of_runs(s: Sketch) -> None:
    h, w = 28.0, 50.0
    xs = (52.0, 130.0, 214.0) if s.narrow else (62.0, 146.0, 236.0)
    top = 92.0
    heads = (("with the", "change"), ("without", "it"))
    columns = []
    for x, lines, numbers in zip(xs, heads, (AFTER, BEFORE), strict=False):
        model = s.layer(x + w / 2, 30, 72, 42, *lines)
        column = s.cells(x, top, numbers[:, None], "state", w=w, h=h)
        s.arrow((model.cx, model.bottom), (model.cx, top))
        columns.append(column)
    first, second = columns
    s.text(first.right - 14, 76, "errors", kind="small", at="start")
    s.text(xs[2] + 30, top - 12, "difference", role="value")
    gaps = s.cells(xs[2], top, GAPS[:, None], "value", w=60, h=h, thick=True)
    for n in range(4):
        s.text(first.x - 8, first.cell(n).cy, f"seed {n}", kind="small", at="end")
        s.text((first.right + second.x) / 2, first.cell(n).cy, "−")
        s.text((second.right + gaps.x) / 2, first.cell(n).cy, "=")
    left, right = (24.0, 320.0) if s.narrow else (350.0, 650.0)
    lowest, highest = -0.06, 0.01

    def at(value: float) -> float:
        return left + (value - lowest) / (highest - lowest) * (right - left)

    ys = [gaps.cell(n).cy for n in range(4)]
    if s.narrow:
        ys = [gaps.bottom + 46 + 22 * n for n in range(4)]
    bottom = ys[-1] + 44
    s.curve([(at(0.0), ys[0] - 16), (at(0.0), bottom + 8)], "mask", dashed=True)
    s.text(at(0.0), ys[0] - 26, "0")
    s.text(at(0.0) - 70, ys[0] - 26, "← smaller error", kind="small quiet")
    for gap, y, n in zip(GAPS.tolist(), ys, range(4), strict=True):
        s.sign(at(gap), y, "", r=5, role="value")
        if s.narrow:
            s.text(at(gap) + 12, y, f"seed {n}", kind="small quiet", at="start")
        else:
            s.arrow((gaps.right, y), (at(gap) - 5, y))
    _line(s, at(JUDGED.low), at(JUDGED.high), bottom, "value")
    s.sign(at(JUDGED.mean), bottom, "", r=6, role="value")
    ends = f"{JUDGED.low:.3f} to {JUDGED.high:.3f}".replace("-", "−")
    mean = f"mean {JUDGED.mean:.2f}".replace("-", "−")
    s.text(at(JUDGED.mean), bottom + 22, f"{mean}, interval {ends}")


def _answer(low: float, high: float) -> str:
    """Verdict of the rule on five differences with this interval."""
    spread = torch.tensor([-2.0, -1.0, 0.0, 1.0, 2.0])
    unit = verdict(spread.tolist(), claimed_sign=1).half_width
    gaps = (low + high) / 2 + spread * (high - low) / 2 / unit
    found = verdict(gaps.tolist(), claimed_sign=1, margin=MARGIN)
    assert abs(found.low - low) < 1e-3 and abs(found.high - high) < 1e-3
    said = {
        "holds": "the claim holds",
        "fails": "the claim fails",
        "no difference": "no difference larger than the margin",
        "undecided": "undecided",
    }[found.outcome]
    return said + ", and is smaller than the margin" if found.remarks else said


@drawing(
    f"""A line with 0 in the middle and a shaded margin on both sides of it; the claim says that
    differences lie on the right. Five intervals. One lies right of 0: {_answer(*ENDS[0])}. One lies
    left of 0: {_answer(*ENDS[1])}. One holds 0 and lies within the margin: {_answer(*ENDS[2])}. One
    holds 0 and leaves the margin: {_answer(*ENDS[3])}. One lies right of 0 and within the margin:
    {_answer(*ENDS[4])}."""
)
def answers_of_an_interval(s: Sketch) -> None:
    middle, unit = (172.0, 76.0) if s.narrow else (490.0, 84.0)
    pitch = 56.0 if s.narrow else 36.0
    top = 34.0
    bottom = top + pitch * len(ENDS) + (2 if s.narrow else 8)
    s.panel(middle - unit * MARGIN, top, 2 * unit * MARGIN, bottom - top)
    if not s.narrow:
        s.curve([(middle, top - 6), (middle, bottom)], "mask", dashed=True)
    s.text(middle, top - 18, "0")
    for sign, name in ((-1, "− margin"), (1, "margin")):
        s.text(middle + sign * unit * MARGIN, top - 18, name, kind="small quiet")
    for n, (low, high) in enumerate(ENDS):
        y = top + pitch * (n + 0.5) + (12 if s.narrow else 4)
        role = "mask" if low < 0 < high and high > MARGIN else "value"
        _line(s, middle + unit * low, middle + unit * high, y, role)
        s.sign(middle + unit * (low + high) / 2, y, "", r=5, role=role)
        words = _answer(low, high)
        if s.narrow:
            s.curve([(middle, y - 10), (middle, y + 12)], "mask", dashed=True)
            s.text(4, y - 20, words, kind="strong", at="start")
        else:
            s.text(4, y, words, kind="strong", at="start")
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
    layers = arm.get("positions_at") == "layers"
    return [
        {"prob": sparse, "full": "full"}[arm["attention"]],
        "each layer" if layers else "input",
        "no" if layers else "yes",
        str(len(arm.get("terms", range(4)))),
    ]


@drawing(
    """Four arms in columns and four settings in rows. From the baseline to full attention only the
    attention changes, from ProbSparse to full. From there to every layer the positions move from
    the input into each layer, and so out of the values. From there to the cross terms only the
    terms of the score change, from four to two. The report goes from the first column to the last
    in one step, so all four settings change at once."""
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
                    w=p.of(100, 62),
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
    p.done(p.grid(*zip(*columns, strict=True), gap=(p.of(32, 4), 4), turn=False))
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
