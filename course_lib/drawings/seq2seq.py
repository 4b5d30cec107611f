"""Reading word by word: one card for a sentence, a step with every number, what gates change."""

from itertools import pairwise

import torch

from course_lib.data.translation import korean_english
from course_lib.drawings import Box, Page, Sketch, drawing
from course_lib.drawings.parts import nothing
from course_lib.recurrence import gru_step, rnn_step, unroll

# Korean, its letters in Latin script, and what it means.
SOURCE = (("좋은", "joheun", "good"), ("저녁입니다", "jeonyeogibnida", "evening is"), (".", "", ""))
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
    """What is left of a gradient of 1 after each factor on its way back."""
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
    """An encoder of three steps reads the Korean words 좋은, good, and 저녁입니다, evening is,
    and a full stop, one word after the other. Its last state is the context vector, the only thing
    that passes from the encoder to the decoder. The decoder starts from it and from the sign bos
    and writes good. Each word that it has written goes in at its next step: good, evening and the
    full stop. After the full stop it writes eos, the end."""
)
def translate_good_evening(s: Sketch) -> None:
    """A sentence goes through one vector."""
    w, h = (46, 36) if s.narrow else (48, 40)
    if s.narrow:
        y, dy = 52.0, 376.0
        xs, dx = (60.0, 146.0, 232.0), (46.0, 130.0, 214.0, 298.0)
        s.panel(0, 0, 266, 198, "encoder")
        s.panel(0, 232, 344, 280)
        s.text(30, 248, "decoder", kind="strong quiet", at="start")
        context = s.cells(294, y - 36, [[None]] * 4, "value", w=22, h=18, thick=True)
    else:
        y, dy = 150.0, 150.0
        xs, dx = (66.0, 148.0, 230.0), (384.0, 464.0, 544.0, 624.0)
        s.panel(0, 82, 264, 218, "encoder")
        s.panel(340, 0, 328, 300, "decoder")
        context = s.cells(288, y - 36, [[None]] * 4, "value", w=22, h=18, thick=True)
    low = 52  # from the middle of a cell to its input vector
    s.text(16, y, "0", kind="quiet")
    before = 22.0
    for t, (x, (said, letters, gloss)) in enumerate(zip(xs, SOURCE, strict=True)):
        cell = s.layer(x, y, w, h, "RNN")
        s.arrow((before, y), (cell.x, y))
        if t:
            s.text((before + cell.x) / 2 - 2, y - 12, f"*h*_{{{t}}}")
        vector = s.cells(x - 20, y + low, [[None] * 4], "state", w=10, h=13)
        s.flow(vector, cell)
        s.word(x, y + low + 40, said, letters)
        s.text(x, y + low + 71, gloss, kind="small quiet")
        s.arrow((x, y + low + 31), (x, vector.bottom))
        before = cell.right
    s.text(before + 13, y - 12, "*h*_{3}")
    s.arrow((before, y), (context.x, y))
    # The only way over.
    if s.narrow:
        s.text(context.cx, context.bottom + 16, "context", role="value", kind="strong")
        s.text(context.cx, context.bottom + 31, "vector *c*", role="value", kind="strong")
        start = [(context.cx, context.bottom + 40), (context.cx, 216), (12, 216), (12, dy)]
    else:
        s.text(context.cx, context.y - 32, "context", role="value", kind="strong")
        s.text(context.cx, context.y - 16, "vector *c*", role="value", kind="strong")
        start = [(context.right, y)]
    rows: list[tuple[Box, Box]] = []
    for t, x in enumerate(dx):
        cell = s.layer(x, dy, w, h, "RNN")
        if t:
            s.arrow((dx[t - 1] + w / 2, dy), (cell.x, dy))
            s.text(dx[t - 1] + w / 2 + 10, dy - 12, f"*s*_{{{t}}}")
        else:
            s.arrow(*start, (cell.x, dy))
        vector = s.cells(x - 20, dy + low, [[None] * 4], "state", w=10, h=13)
        s.flow(vector, cell)
        s.arrow((x, dy + low + 31), (x, vector.bottom))
        line = s.layer(x, dy - 60, w, 26, "linear")
        out = s.word(x, dy - 104, WRITTEN[t])
        s.flow(cell, line, out)
        rows.append((out, s.word(x, dy + low + 40, ("<bos>", *WRITTEN)[t])))
    for t, ((out, _), (_, goal)) in enumerate(pairwise(rows)):
        between = (dx[t] + dx[t + 1]) / 2 + 5
        s.arrow(
            (out.right + 4, out.cy),
            (between, out.cy),
            (between, goal.cy),
            (goal.x - 1, goal.cy),
            dashed=True,
            hop=dy,
        )
    x, at = (60, 498) if s.narrow else (430, 284)
    s.arrow((x, at), (x + 36, at), dashed=True)
    s.text(x + 42, at, "a written word goes in next", kind="small quiet", at="start")


@drawing(
    f"""Two steps of a recurrent network of width 2. The first word is (1, 0). The matrix W makes
    {_said(W @ WORDS[0, 0])} of it, the state before it is (0, 0) and adds nothing, and tanh gives
    the state {_said(STATES[0])}. The second word is (0, 1). W makes {_said(W @ WORDS[0, 1])} of it,
    U makes {_said(U @ STATES[0])} of the state, their sum is
    {_said(W @ WORDS[0, 1] + U @ STATES[0])}, and tanh gives the last state {_said(STATES[1])}.""",
    numbers=lambda: [STATES],
)
def recurrent_by_hand(s: Sketch) -> None:
    """Word and state meet in a sum, and tanh makes the next state of it."""
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
    """Three factors for the way back, without a gate and with one."""
    p = Page(s)
    gap = p.of(30, 12)
    states = [
        p.cells([[float(v)]], "state", w=p.of(58, 46), name=f"*h*_{{{i + 1}}}", shape="")
        for i, v in enumerate(CHAIN.tolist())
    ]
    rows = [
        [
            states[0],
            *(
                part
                for state in states[1:]
                for part in (p.own(p.size(f"{KEEP:.2f}"), 16, nothing), state)
            ),
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
    """What is kept and what is let in pass two valves, one open where the other is closed."""
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
    """Words that translate each other stand in different places."""
    source, target = PAIR.source, PAIR.target
    ends: list[list[tuple[float, float]]] = [[], []]
    if s.narrow:
        for side, words in enumerate((source, target)):
            for i, said in enumerate(words):
                y = 12 + 26 * (i * (len(target) - 1) / (len(words) - 1))
                s.text(214 if side else 124, y, said, kind="strong", at="start" if side else "end")
                ends[side].append((206 if side else 132, y))
    else:
        for side, words in enumerate((source, target)):
            sizes = [Sketch().text(0, 0, said, kind="strong").w for said in words]
            free = (s.width - 40 - sum(sizes)) / (len(words) - 1)
            x = 20.0
            for said, size in zip(words, sizes, strict=True):
                s.text(x + size / 2, 148 if side else 12, said, kind="strong")
                ends[side].append((x + size / 2, 134 if side else 26))
                x += size + free
    told = {0, len(source) - 2}  # the time, and the verb
    for a, b in sorted(PAIR.alignment, key=lambda link: link[0] in told):
        s.curve([ends[0][a], ends[1][b]], "key" if a in told else "mask")
