"""Reading word by word: one card for a sentence, a step with every number, what gates change."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from course_lib.data.translation import korean_english
from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.recurrence import gru_step, rnn_step, unroll

# Korean, its letters in Latin script, and what it means.
SOURCE = (("좋은", "joheun", "good"), ("저녁입니다", "jeonyeogibnida", "evening"), (".", "", ""))
WRITTEN = ("good", "evening", ".", "<eos>")

# A step of width 2, twice.
W = torch.tensor([[1.0, -1.0], [0.0, 1.0]])
U = torch.tensor([[0.5, 0.0], [0.5, 0.5]])
WORDS = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
NONE = torch.zeros(2)
STATES = unroll(rnn_step, WORDS, NONE[None], W, U, NONE, NONE)[0][0]

# A cell of width 1 and weight 1, whose three last states are these.
CHAIN = torch.tensor([0.0, 0.6, 0.8, 0.6])
SLOPES = (1 - CHAIN[1:] ** 2).tolist()
KEEP = 0.9

OLD, NEW = 0.8, -0.5

PAIR = korean_english(3, seed=1, min_length=7, max_length=7)[1]


def _said(numbers: torch.Tensor) -> str:
    """A vector as a sentence says it; without points where there is nothing behind them."""
    parts = (f"{x:.0f}" if x == round(x) else f"{x:.2f}" for x in (numbers + 0.0).tolist())
    return f"({', '.join(parts).replace('-', '−')})"


def _back(factors: list[float]) -> list[float]:
    """Remainder of a gradient of 1 after each factor on its way back."""
    left = [1.0]
    for factor in reversed(factors):
        left.append(left[-1] * factor)
    return left[::-1]


def _kept(gate: float) -> float:
    """One unit of a GRU whose keep gate and candidate are given."""
    zero, bias = torch.zeros(3, 1), torch.tensor([0.0, gate, NEW])
    bias = torch.stack([bias[0], bias[1].logit(), bias[2].atanh()])
    return gru_step(zero[:1], torch.tensor([[OLD]]), zero, zero, bias, torch.zeros(3)).item()


@drawing(
    """An encoder of three steps reads the Korean words 좋은, good, and 저녁입니다, evening,
    and a full stop, one word after the other. Its last state is the context vector, the only thing
    that passes from the encoder to the decoder. The decoder starts from it and from the sign bos
    and writes good. Each word that it has written goes in at its next step: good, evening and the
    full stop. After the full stop it writes eos, the end."""
)
def translate_good_evening(s: Sketch) -> None:
    p = Page(s)

    def steps(words: Sequence[Part]) -> tuple[list[Part], list[list[Part]]]:
        cells = [p.layer("RNN") for _ in words]
        vectors = [p.cells([[None] * 4], "state", w=10, h=13) for _ in words]
        for parts in zip(words, vectors, cells, strict=True):
            p.link(*parts)
        return cells, [cells, vectors, [p.loose(word, both=True) for word in words]]

    first, entry = p.text("0", kind="quiet"), p.point()
    read = [
        p.column(p.text(word, kind="strong"), p.texts(letters, gloss), gap=0)
        for word, letters, gloss in SOURCE
    ]
    given = [p.text(word, kind="strong") for word in ("<bos>", *WRITTEN[:-1])]
    written = [p.text(word, kind="strong") for word in WRITTEN]
    linear = [p.layer("linear") for _ in WRITTEN]
    (readers, rows), (writers, more) = steps(read), steps(given)
    for parts in zip(writers, linear, written, strict=True):
        p.link(*parts)
    context = p.cells([[None]] * 4, "value", w=22, thick=True)
    p.named(context, "context", "vector *c*", role="value", at="above below")
    for letter, cells in (("h", readers), ("s", writers)):
        for t, (one, then) in enumerate(pairwise(cells), 1):
            p.link(one, then, label=f"*{letter}*_{{{t}}}", share=0.28 if letter == "s" else 0.5)
    p.link(readers[-1], context, label="*h*_{3}")
    p.link(first, readers[0])
    p.link(p.of(context, entry), writers[0])
    if s.narrow:
        p.link(context, entry, bend="yy", at=0.3, tip=False)
    gap = (p.of(24, 36), 20)
    begun = [[start, *row] for start, row in zip((first, None, None), rows, strict=True)]
    reading = p.grid(*begun, gap=gap, axle=0, turn=False)
    whole = p.grid(written, linear, *more, gap=gap, axle=2, turn=False)
    legend = p.row(p.place(36), p.texts("each generated word goes in next", at="start"))
    whole = p.row(entry, whole, gap=p.of(0, 30), axle=1)
    writing = p.column(whole, legend, axle=0)
    left, right = p.panel(reading, "encoder", axle=True), p.panel(writing, "decoder", axle=True)
    if s.narrow:
        p.done(p.row(p.row(left, context, gap=20)), right)
    else:
        p.done(p.row(left, context, right, gap=24, axle=0))
    sample = legend.each[0].box
    s.arrow((sample.x, sample.cy), (sample.right, sample.cy), dashed=True)
    for out, then, cell in zip(written, given[1:], writers, strict=False):
        start, end = out.box, then.box
        between = (start.cx + end.cx) / 2 + 5
        s.arrow(
            (start.right, start.cy),
            (between, start.cy),
            (between, end.cy),
            (end.x, end.cy),
            dashed=True,
            hop=cell.box.cy,
        )


@drawing(
    """A decoder at four places, twice, and both times its second word is morning, an error. In
    training the true words bos, good, evening and a full stop go in, so the third place reads
    evening in spite of the error. When it translates, each word that comes out goes in at the next
    place, so the third place reads morning."""
)
def teacher_forcing(s: Sketch) -> None:
    """The true words go in, or those that have come out."""
    p = Page(s)
    out, panels = ("good", "morning", ".", "<eos>"), []
    for said, read in (("training", WRITTEN), ("translating", out)):
        given = [p.text(word, kind="strong") for word in ("<bos>", *read[:-1])]
        cells = [p.layer("RNN") for _ in given]
        written = [p.text(word, kind="strong" * (word != "morning")) for word in out]
        for parts in zip(given, cells, written, strict=True):
            p.link(*parts)
        p.link(*cells)
        panels.append((said, p.grid(written, cells, given, gap=(p.of(22, 24), 20), turn=False)))
    p.done(p.panels(*panels))
    for word, then, cell in zip(written, given[1:], cells, strict=False):
        start, end, x = word.box, then.box, cell.box.right + 10
        way = [(start.right, start.cy), (x, start.cy), (x, end.cy), (end.x, end.cy)]
        s.arrow(*way, dashed=True, hop=cell.box.cy)


@drawing(
    f"""Two steps of a recurrent network of width 2. The first word is (1, 0). The matrix W makes
    {_said(W @ WORDS[0, 0])} of it, the state before it is (0, 0) and adds nothing, and tanh gives
    the state {_said(STATES[0])}. The second word is (0, 1). W makes {_said(W @ WORDS[0, 1])} of it,
    U makes {_said(U @ STATES[0])} of the state, their sum is
    {_said(W @ WORDS[0, 1] + U @ STATES[0])}, and tanh gives the last state {_said(STATES[1])}.""",
    numbers=lambda: [STATES],
)
def recurrent_by_hand(s: Sketch) -> None:
    p = Page(s)
    shown = [[int(x) for x in NONE], *([round(x, 2) + 0.0 for x in row] for row in STATES.tolist())]
    before = p.cells([shown[0]], "state", name="*h*_{0}", shape="")
    grids = []
    for t, word in enumerate(WORDS[0]):
        state = STATES[t - 1] if t else NONE
        mixed = p.named(p.layer("*U*"), "", _said(U @ state))
        plus = p.named(p.sign("+"), "", _said(W @ word + U @ state))
        layer = p.named(p.layer("*W*"), "", _said(W @ word), at="right", free=True)
        vector = p.cells([[int(v) for v in word]], "state")
        p.named(vector, f"*x*_{{{t + 1}}}: {SOURCE[t][1]}", at="below")
        tanh = p.step("tanh")
        after = p.cells([shown[t + 1]], "state", thick=t == 1, name=f"*h*_{{{t + 1}}}", shape="")
        p.link(before, mixed, bend=p.of("x", "yy"), at=0.8)
        p.link(mixed, plus, tanh, after)
        p.link(vector, layer, plus)
        start = [[before, None, None]] * (t == 0)
        columns = [
            *start,
            [mixed, None, None],
            [plus, layer, vector],
            [tanh, None, None],
            [after, None, None],
        ]
        grids.append(p.grid(*zip(*columns, strict=True), gap=(8, 16), axle=0, turn=False))
        before = after
    p.done(*grids, gap=p.of(8, 30))


@drawing(
    f"""A gradient goes back from the fourth state of a chain to the first. In a plain cell the
    states are {_said(CHAIN)}, and the three factors on the way are
    {_said(torch.tensor(SLOPES))}. The gradient is 1 at the last state and {_back(SLOPES)[0]:.2f} at
    the first. In a cell whose gate keeps {KEEP:.2f} each factor is {KEEP:.2f}, and
    {_back([KEEP] * 3)[0]:.2f} is left at the first state.""",
    numbers=lambda: [*_back(SLOPES), *_back([KEEP] * 3)],
)
def gradient_by_hand(s: Sketch) -> None:
    p = Page(s)
    gap = p.of(30, 12)
    states = [
        p.cells([[float(v)]], "state", w=p.of(58, 46), name=f"*h*_{{{i + 1}}}", shape="")
        for i, v in enumerate(CHAIN.tolist())
    ]
    rows = [
        [
            states[0],
            *(part for state in states[1:] for part in (p.place(p.size(f"{KEEP:.2f}")), state)),
        ]
    ]
    p.link(*states)
    for factors, role in ((SLOPES, ""), ([KEEP] * 3, "weight")):
        cells = [
            p.cells([[part]], "state", w=p.of(58, 46), bars=True, thick=i == 0)
            for i, part in enumerate(_back(factors))
        ]
        row = [cells[0]]
        for factor, cell in zip(factors, cells[1:], strict=True):
            times = p.named(p.sign("×", 8), f"{factor:.2f}", role=role)
            p.link(cell, times, row[-1])
            row += [p.column(times, axle=0), cell]
        rows.append(row)
    plain, gated = p.panels(
        ("gradient, plain cell", p.row(*rows[1], gap=gap)),
        ("gradient, gate that keeps", p.row(*rows[2], gap=gap)),
        below=True,
    ).each
    p.done(p.column(p.row(*rows[0], gap=gap), plain, gated))


def _valve(s: Sketch, x: float, y: float) -> None:
    """The sign of a valve on a pipe."""
    for side in (-1, 1):
        s.curve([(x, y), (x + 11 * side, y - 8), (x + 11 * side, y + 8)], "weight", closed=True)


@drawing(
    f"""One unit of a gated cell, twice. The old state {OLD:.2f} and the new content {NEW:.2f} each
    pass a valve, and the next state is their sum. With the keep gate at {KEEP:.2f} the valve of the
    old state is nearly open and that of the new content nearly closed: the next state is
    {_kept(KEEP):.2f}. With the keep gate at {1 - KEEP:.2f} it is the other way round, and the next
    state is {_kept(1 - KEEP):.2f}.""",
    numbers=lambda: [_kept(KEEP), _kept(1 - KEEP)],
)
def gate_as_valve(s: Sketch) -> None:
    panels = s.panels(("keep", "replace"), 216, gap=20, below=16)
    for panel, gate in zip(panels, (KEEP, 1 - KEEP), strict=True):
        left = panel.x
        ys = panel.y + 78, panel.y + 172
        plus = s.sign(panel.right - 92, (ys[0] + ys[1]) / 2, "+")
        parts = (("old state *h*", OLD, "*z*", gate), ("new *n*", NEW, "1 − *z*", 1 - gate))
        for y, (said, value, letter, share) in zip(ys, parts, strict=True):
            box = s.cells(left + 20, y - 13, [[value]], "state", w=54, h=26)
            s.text(box.cx + 4, box.y - 10, said)
            x = left + 142
            _valve(s, x, y)
            amount = s.cells(x - 25, y - 44, [[share]], "weight", w=50, h=24, bars=True)
            s.arrow((x, amount.bottom), (x, y - 3), tip=False)
            s.text(amount.right + 7, amount.cy, letter, role="weight", at="start")
            s.arrow((box.right, y), (x - 11, y))
            edge = plus.y if y < plus.cy else plus.bottom
            s.arrow((x + 11, y), (plus.cx, y), (plus.cx, edge))
            s.text(x + 46, y + 11, f"{value * share:.2f}".replace("-", "−"), kind="small quiet")
        end = s.cells(
            plus.right + 18, plus.cy - 13, [[_kept(gate)]], "state", w=54, h=26, thick=True
        )
        s.flow(plus, end)
        s.name(end, "next *h′*")


@drawing(
    f"""A Korean sentence in Latin letters, {" ".join(PAIR.source)}, and its translation,
    {" ".join(PAIR.target)}. Lines join the words that translate each other. The first Korean word
    is joined to the last English words before the full stop, and the verb, the last Korean word,
    to the fourth English one. Many lines cross."""
)
def two_orders(s: Sketch) -> None:
    p = Page(s)
    axis, lines = int(s.narrow), []
    for words, side in ((PAIR.source, "end"), (PAIR.target, "start")):
        texts = [p.text(word, kind="strong", at=p.of("middle", side)) for word in words]
        free = p.of(628, 236) - sum(text.room[axis] + text.room[axis + 2] for text in texts)
        lines.append(p.line(*texts, gap=free / (len(words) - 1)))
    p.done(p.stack(*lines, gap=p.of(108, 82)))
    told = {0, len(PAIR.source) - 2}  # the time, and the verb
    above, below, pad = p.of(("below", "above", 0), ("right", "left", 7))
    for a, b in sorted(PAIR.alignment, key=lambda link: link[0] in told):
        (x, y), (end, low) = lines[0].each[a].end(above), lines[1].each[b].end(below)
        s.curve([(x + pad, y), (end - pad, low)], "key" if a in told else "mask")
