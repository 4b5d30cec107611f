"""Several heads: why one average is too few, two heads with every number, and what adds up."""

from collections.abc import Sequence

import torch

from course_lib.attention import scaled_dot_product_attention, split_heads
from course_lib.drawings import Box, Page, Sketch, drawing
from course_lib.drawings.rows import said, whole

# Two words that each hold one thing, and a word between that wants both.
PAIR = {"Anna": torch.tensor([2.0, 0.0]), "Ben": torch.tensor([0.0, 2.0])}
SENTENCES = (("Anna", "Ben"), ("Ben", "Anna"))
# Scores of loves for the word before it, itself, and the word after it.
BOTH, BEFORE, AFTER = torch.tensor([[20.0, 0.0, 20.0], [20.0, 0.0, 0.0], [0.0, 0.0, 20.0]]).softmax(
    -1
)

WORDS = ("Anna", "sings")
SINGS = 1
X = torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
W_Q = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 1, 0], [0, 1, 1, 1]]).float()
W_K = torch.tensor([[1, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0]]).float()
W_V = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]).float()
W_O = torch.tensor([[1, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]).float()
Q, K, V = X @ W_Q, X @ W_K, X @ W_V
Q2, K2, V2 = (split_heads(part[None], 2)[0] for part in (Q, K, V))
HEADS, WEIGHTS = scaled_dot_product_attention(Q2, K2, V2)
JOINED = torch.cat([*HEADS], -1)
ADDED = torch.stack([HEADS[0] @ W_O[:2], HEADS[1] @ W_O[2:]])
OUT = JOINED @ W_O


def rows(numbers: torch.Tensor) -> list[list[object]]:
    """A matrix of numbers that are written without a point."""
    return [whole(row) for row in numbers]


def _gets(weights: torch.Tensor, sentence: Sequence[str]) -> torch.Tensor:
    """What loves gets from a sentence by one row of weights."""
    before, after = (PAIR[word] for word in sentence)
    return weights[0] * before + weights[2] * after


@drawing(
    f"""In Anna loves Ben, the word loves wants to know who loves and whom. With one head it has one
    row of weights, {BOTH[0]:.2f} for Anna and {BOTH[2]:.2f} for Ben, and gets one average of their
    values: {said(_gets(BOTH, SENTENCES[0]), 0)}. In Ben loves Anna it gets the same average. With
    two heads it gets the value of the word before it from one and the value of the word after it
    from the other, side by side, and the two sentences differ.""",
    numbers=lambda: [round(float(w), 2) for w in (BOTH[0], BOTH[2], BEFORE[0], AFTER[2])],
)
def one_average(s: Sketch) -> None:
    """One word wants two things: one head mixes them, two heads keep them apart."""
    p = Page(s)
    grounds, drawn = [], []
    for sentence in SENTENCES:
        pair = []
        for heads, used in (("one head", [BOTH]), ("two heads", [BEFORE, AFTER])):
            values = [p.cells(PAIR[word], "value", h=22) for word in sentence]
            got = torch.cat([_gets(weights, sentence) for weights in used])
            out = p.cells([whole(got)], "value", h=22, cut=2 * (len(used) - 1), thick=True)
            p.named(out, "", "loves gets", at="left below", free=not s.narrow)
            one, two = (
                p.column(p.text(word, kind="strong"), value, gap=2, axle=0)
                for word, value in zip(sentence, values, strict=True)
            )
            rows = (one, p.text("loves", kind="strong", role="query"), two), (None, out, None)
            p.loose(out, both=True)
            pair.append((heads, p.grid(*rows, gap=(p.of(38, 4), 44), turn=False)))
            drawn.append((used, values, out))
        grounds.append(p.panels(*pair, below=False))
    p.done(p.column(*grounds, gap=10))
    for used, values, out in drawn:
        apart = len(used) - 1
        for side, value in enumerate(values):
            at, end, away = value.box, out.box.cell(0, -side % (2 + 2 * apart)), 1 - 2 * side
            goal, join = end.cx + apart * away * end.w / 2, (at.bottom + out.box.y) / 2
            s.arrow((at.cx, at.bottom), (at.cx, join), (goal, join), (goal, out.box.y))
            s.text(
                at.cx + 6 * away,
                join - 8,
                f"{used[side * apart][2 * side]:.2f}",
                role="weight",
                kind="small",
                at="end" if side else "start",
            )


@drawing(
    f"""The queries, keys and values of the words Anna and sings, each a table of 2 by 4, are cut
    after the second column. Head 1 gets the left halves, head 2 the right halves, 2 by 2 each. In
    each head queries and keys make weights of their own. For sings these are
    {said(WEIGHTS[0, SINGS])} in head 1 and {said(WEIGHTS[1, SINGS])} in head 2. The weights mix
    that head's half of the values. The two results, {said(HEADS[0, SINGS])} and
    {said(HEADS[1, SINGS])} for sings, stand side by side again, 2 by 4.""",
    numbers=lambda: [WEIGHTS, HEADS],
)
def heads_cut_and_joined(s: Sketch) -> None:
    """Two words, width 4, two heads of width 2, with every number."""
    c, h = (18, 22) if s.narrow else (26, 24)
    n, wider = (30, 31) if s.narrow else (33, 36)
    lefts = (42.0, 154.0, 266.0) if s.narrow else (92.0, 286.0, 480.0)
    parts = zip("QKV", ("query", "key", "value"), (Q, K, V), lefts, strict=True)
    grids = []
    for letter, role, numbers, left in parts:
        box = s.cells(left, 36, numbers, role, w=c, h=h, cut=2)
        name = {"Q": "queries", "K": "keys", "V": "values"}[letter]
        s.name(box, f"{name} *{letter}*", "(2, 4)", role=role)
        grids.append(box)
    s.name_rows(grids[0], WORDS, gap=7, kind="strong small")
    bus, middle = grids[0].bottom + 18, grids[1].cx
    for box in grids:
        if box is grids[1]:
            s.arrow((middle, box.bottom + 4), (middle, bus), tip=False)
        else:
            s.arrow((box.cx, box.bottom + 4), (box.cx, bus), (middle, bus), tip=False)
    wide, high = (168.0, 194.0) if s.narrow else (328.0, 122.0)
    top = bus + 46
    joined = s.cells(
        s.width / 2 - 2 * wider, top + high + 34, JOINED, "value", w=wider, h=h, cut=2, thick=True
    )
    for head in (0, 1):
        left = head * (s.width - wide)
        into = left + wide / 2
        s.panel(left, top, wide, high, f"head {head + 1}")
        s.arrow((middle, bus), (middle, bus + 18), (into, bus + 18), (into, top))
        s.text(
            into + (9 if head == 0 else -9),
            top - 12,
            ("left halves", "right halves")[head],
            kind="small quiet",
            at="start" if head == 0 else "end",
        )
        out = (_upright if s.narrow else _lying)(s, head, left, top, n)
        goal = joined.cell(0, 2 * head).right
        low = top + high + 16
        s.arrow((out.cx, out.bottom), (out.cx, low), (goal, low), (goal, joined.y))
    s.name_rows(joined, WORDS, kind="strong small")
    s.text(joined.right + 9, joined.cy - 7, "joined", at="start", role="value")
    s.text(joined.right + 9, joined.cy + 8, "(2, 4)", at="start", kind="small quiet")


def _part(
    s: Sketch,
    x: float,
    y: float,
    numbers: Sequence[Sequence[object]],
    said: str,
    role: str,
    w: float,
    *,
    bars: bool = False,
    thick: bool = False,
) -> Box:
    box = s.cells(x, y, numbers, role, w=w, h=22, bars=bars, thick=thick)
    s.text(box.cx, box.y - 11, said, role=role)
    return box


def _lying(s: Sketch, head: int, left: float, top: float, n: float) -> Box:
    y, c, low = top + 50, 16.0, f"_{{{head + 1}}}"
    q = _part(s, left + 8, y, rows(Q2[head]), f"*Q*{low}", "query", c)
    k = _part(s, q.right + 16, y, rows(K2[head]), f"*K*{low}", "key", c)
    s.sign(q.right + 8, q.cy, "·", r=7)
    pill = s.step(k.right + 17, k.cy, 20, 98, "÷ √2, softmax")
    a = _part(s, pill.right + 9, y, WEIGHTS[head].tolist(), f"*α*{low}", "weight", n, bars=True)
    s.flow(k, pill, a)
    v = _part(s, a.right + 16, y, rows(V2[head]), f"*V*{low}", "value", c)
    s.sign(a.right + 8, a.cy, "×", r=7)
    o = _part(s, v.right + 13, y, HEADS[head].tolist(), f"*o*{low}", "value", n, thick=True)
    s.flow(v, o)
    return o


def _upright(s: Sketch, head: int, left: float, top: float, n: float) -> Box:
    y, c, low = top + 48, 17.0, f"_{{{head + 1}}}"
    q = _part(s, left + 8, y, rows(Q2[head]), f"*Q*{low}", "query", c)
    _part(s, q.right + 18, y, rows(K2[head]), f"*K*{low}", "key", c)
    s.sign(q.right + 9, q.cy, "·", r=7)
    v = _part(s, left + 118, y, rows(V2[head]), f"*V*{low}", "value", c)
    mid = left + 38
    pill = s.step(left + 55, q.bottom + 22, 100, 22, "÷ √2, softmax")
    s.arrow((mid, q.bottom), (mid, pill.y))
    a = s.cells(left + 8, pill.bottom + 26, WEIGHTS[head], "weight", w=n, h=22, bars=True)
    s.flow(pill, a)
    times, turn = s.sign(a.right + 14, a.cy, "×", r=7), pill.bottom + 8
    o = s.cells(left + 102, a.y, HEADS[head], "value", w=n, h=22, thick=True)
    s.arrow((v.cx, v.bottom), (v.cx, turn), (times.cx, turn), (times.cx, times.y))
    s.flow(a, times, tip=False)
    s.flow(times, o)
    s.text(mid + 18, a.y - 9, f"*α*{low}", role="weight", at="start")
    s.text(o.cx + 8, o.y - 9, f"*o*{low}", role="value", at="start")
    return o


@drawing(
    f"""The output projection as a sum, for the word sings. Its four rows are cut into two upper and
    two lower rows. What head 1 found, {said(HEADS[0, SINGS])}, meets the upper rows and adds
    {said(ADDED[0, SINGS])}. What head 2 found, {said(HEADS[1, SINGS])}, meets the lower rows and
    adds {said(ADDED[1, SINGS])}. The sum is the output, {said(OUT[SINGS])}.""",
    numbers=lambda: [ADDED[:, SINGS], OUT[SINGS]],
)
def heads_add_up(s: Sketch) -> None:
    """Each head meets rows of its own, and the two results are added."""
    p = Page(s)
    plus, rows = p.sign("+"), []
    for head in (0, 1):
        low = f"_{{{head + 1}}}"
        o = p.cells(HEADS[head, SINGS], "value", name=f"*o*{low}", shape="(2)")
        w = p.cells(W_O[2 * head : 2 * head + 2], "layer", name=f"*W*_{{O}}{low}  (2, 4)", shape="")
        adds = p.cells(ADDED[head, SINGS], "value", name=f"head {head + 1} adds", shape="(4)")
        rows.append((o, p.sign("×", 7), w, adds))
        p.link(w, adds)
        p.link(adds, plus, bend="x")
    out = p.cells(
        OUT[SINGS], "value", thick=True, name="output of sings", shape="(4)", at="above left"
    )
    p.link(plus, out, bend="y")
    p.done(p.row(p.grid(*rows, gap=(p.of(16, 4), 14), turn=False), plus, gap=p.of(16, 4)), out)
