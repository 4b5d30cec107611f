"""How a query finds values: one word with every number, a sentence with every shape, a way."""

import math
from itertools import pairwise

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import Rows, said, whole
from course_lib.mixing import Kind, layer_cost

WORDS = ("I", "love", "you")
Q = torch.tensor([[2.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 2.0], [0.0, 0.0, 2.0, 0.0]])
K = torch.tensor([[2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 0.0], [1.0, -1.0, 0.0, 0.0]])
V = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
LOVE = 1
SCORES = Q @ K.T
SCALED = SCORES / math.sqrt(Q.shape[-1])
OUT, WEIGHTS = scaled_dot_product_attention(Q, K, V)
# Positions, and the width of a convolution, for the ways of a signal.
N, WINDOW = 6, 3
WAYS: tuple[Kind, ...] = ("recurrent", "convolution", "self-attention")


@drawing(
    f"""The query of the word love meets the keys of I, love and you, number over number. The dot
    products are the scores {said(SCORES[LOVE], 0)}. Divided by the root of the width 4 they are
    {said(SCALED[LOVE], 0)}, and the softmax, in which the three rows meet, makes them the weights
    {said(WEIGHTS[LOVE])}. Each weight multiplies the value of its word. The sum of the three rows
    is the output of love: {said(OUT[LOVE])}.""",
    numbers=lambda: [WEIGHTS[LOVE], OUT[LOVE]],
)
def attention_by_hand(s: Sketch) -> None:
    """The word *love* asks, and three words answer."""
    c, h, gap = 27, 26, 32 if s.narrow else 34
    ys = [116 + h / 2 + i * gap for i in range(3)]

    rows = Rows(s, ys, h, WORDS)

    # The query stands above the keys, number over number, and comes down to all three.
    x = 40.0 if s.narrow else 52.0
    keys = rows.column(x, K, "key", c)
    q = s.cells(x, keys[0].y - 76, Q[LOVE], "query", w=c, h=h)
    s.text(x - 8, q.cy, "love", kind="strong", at="end")
    s.name(q, "query *q*", "(4)", role="query")
    s.name(keys[0], "keys *K*", "(3, 4)", role="key")
    rows.words(x)
    x = keys[0].right + 52
    scores = rows.column(x, SCORES[LOVE], "step", 34)
    rows.across(keys, scores)
    join = keys[0].right + 23
    s.arrow((q.right, q.cy), (join, q.cy), (join, ys[2]), tip=False)
    for y in ys:
        s.sign(join, y, "·", r=8)
    s.text(join + 9, q.cy + 14, "*q* · *k*", kind="small quiet", at="start")
    s.name(scores[0], "scores *e*", "(3)")
    x = scores[0].right + 50
    scaled = rows.column(x, SCALED[LOVE], "step", 34)
    rows.across(scores, scaled)
    s.text((scores[0].right + x) / 2 - 3, ys[0] - 9, "÷ √4", kind="small quiet")
    s.name(scaled[0], "scaled", "(3)")
    # The softmax is the one step in which the three rows meet.
    if s.narrow:
        pill = s.step(172, ys[2] + 52, 108, 28, "softmax")
        s.arrow((x + 17, scaled[2].bottom), (x + 17, pill.cy), (pill.right, pill.cy))
        x, ys = 40.0, [pill.cy + 102 + i * gap for i in range(3)]
        rows.ys = ys
        s.arrow((pill.x, pill.cy), (x + 26, pill.cy), (x + 26, ys[0] - h / 2 - 33))
        rows.words(x)
    else:
        pill = s.step(scaled[0].right + 34, ys[1], 26, 3 * gap + 2, "softmax")
        x = pill.right + 22
        for box in scaled:
            s.flow(box, pill)
            s.arrow((pill.right, box.cy), (x, box.cy))
    gap = 38 if s.narrow else 30
    names = "values *V*", "output *o* of love"
    rows.weighted_sum(x, WEIGHTS[LOVE], V, w=c, gap=gap, names=names)


@drawing(
    f"""Three words are three rows of tokens. Three projections make their queries, keys and values,
    of the shapes 3 by 4, 3 by 4 and 3 by 2. Every query meets every key, which gives a table of 3
    by 3 scores. Divided by the root of 4, each of its rows passes a softmax of its own and becomes
    a row of weights: {said(WEIGHTS[0])} for I, {said(WEIGHTS[1])} for love, {said(WEIGHTS[2])} for
    you. The weights mix the values into one output for each word, 3 by 2.""",
    numbers=lambda: [WEIGHTS, OUT],
)
def self_attention(s: Sketch) -> None:
    """A sentence asks itself: every word has a query, a key and a value."""
    blank = [[None] * 4] * 3
    c, h = (18, 22) if s.narrow else (20, 22)
    places = (
        [(16, 150), (122, 150), (272, 150)] if s.narrow else [(186, 34), (186, 150), (186, 266)]
    )
    x = s.cells(140, 34, blank, "state", w=16, h=16) if s.narrow else s.cells(
        44, 159, blank, "state", w=16, h=16
    )  # fmt: skip

    def words(box: Box) -> None:
        s.name_rows(box, WORDS)

    words(x)
    s.name(x, "tokens *x*", "(3, 4)", side="right" if s.narrow else "above")
    boxes = []
    parts = zip("QKV", ("query", "key", "value"), (Q, K, V), places, strict=True)
    for letter, role, numbers, (left, top) in parts:
        box = s.cells(left, top, numbers, role, w=c, h=h)
        if s.narrow:
            w = s.layer(box.cx, 124, 40, 26, f"*W*_{{{letter}}}")
            s.arrow((x.cx, x.bottom), (x.cx, 96), (box.cx, 96), (box.cx, w.y))
            s.flow(w, box)
            s.text(
                box.cx, box.bottom + 12, f"*{letter}*  ({len(numbers)}, {box.columns})", role=role
            )
        else:
            w = s.layer(148, box.cy, 40, 26, f"*W*_{{{letter}}}")
            s.arrow((x.right, x.cy), (118, x.cy), (118, w.cy), (w.x, w.cy))
            s.flow(w, box)
            name = {"Q": "queries", "K": "keys", "V": "values"}[letter]
            s.name(box, f"{name} *{letter}*", f"({len(numbers)}, {box.columns})", role=role)
        boxes.append(box)
    q, k, v = boxes
    scores, weights = [whole(row) for row in SCORES], WEIGHTS.tolist()
    if s.narrow:
        dot = s.sign((q.right + k.x) / 2, 258, "·")
        for box, side in ((q, dot.x), (k, dot.right)):
            s.arrow((box.cx, box.bottom + 22), (box.cx, dot.cy), (side, dot.cy))
        e = s.cells(dot.cx - 39, 286, scores, "step", w=26, h=h)
        pill = s.step(e.cx, e.bottom + 32, 124, 28, "÷ √4, softmax")
        a = s.cells(e.cx - 54, pill.bottom + 44, weights, "weight", w=36, h=h, bars=True)
        s.flow(dot, e, pill)
        s.arrow((e.cx, pill.bottom), (e.cx, a.y - 33))
        times = s.sign(v.cx, a.cy, "×")
        s.arrow((v.cx, v.bottom + 22), (v.cx, times.y))
        o = s.cells(v.cx - 38, a.bottom + 46, OUT, "value", w=38, h=h, thick=True)
        s.flow(times, o)
        words(a)
        s.name(e, "scores *e*", "(3, 3)", side="right")
        s.name(o, "output *o*", "(3, 2)", role="value", side="left")
    else:
        dot = s.sign(292, (q.cy + k.cy) / 2, "·")
        for box, edge in ((q, dot.y), (k, dot.bottom)):
            s.arrow((box.right, box.cy), (dot.cx, box.cy), (dot.cx, edge))
        e = s.cells(318, dot.cy - 33, scores, "step", w=22, h=h)
        pill = s.step(413, dot.cy, 26, 112, "÷ √4, softmax")
        a = s.cells(442, e.y, weights, "weight", w=34, h=h, bars=True)
        s.flow(dot, e, pill, a)
        times = s.sign(a.right + 17, a.cy, "×")
        s.arrow((v.right, v.cy), (times.cx, v.cy), (times.cx, times.bottom))
        o = s.cells(times.right + 8, a.y, OUT, "value", w=36, h=h, thick=True)
        s.name(e, "scores *e*", "(3, 3)")
        s.name(o, "output *o*", "(3, 2)", role="value")
    s.flow(a, times)
    s.name(a, "weights *α*", "(3, 3)", role="weight")


def _steps(kind: Kind) -> int:
    """How far the last position is from the first one."""
    return layer_cost(kind, N, 1, WINDOW).path


@drawing(
    f"""Three ways for a signal from the first of {N} positions to the last. A recurrent layer hands
    it from state to state, {_steps("recurrent")} steps that wait for each other. Convolutions of
    width {WINDOW} reach {WINDOW - 1} positions back, so that {_steps("convolution")} of them must
    be stacked. In self-attention the last position sees the first one at once, in
    {_steps("self-attention")} layer.""",
    numbers=lambda: [_steps(kind) for kind in WAYS],
)
def ways_of_a_signal(s: Sketch) -> None:
    """A chain, a pyramid, a leap."""
    reach, layers = WINDOW - 1, _steps("convolution")
    first, gap = (52, 48) if s.narrow else (26, 32)
    tops = (0, 124, 322) if s.narrow else (0, 0, 0)
    for place, kind in enumerate(WAYS):
        levels = layers if kind == "convolution" else 1
        high = 186 if kind == "convolution" or not s.narrow else 112
        left = 0 if s.narrow else 228 * place
        unit = {"recurrent": "steps", "convolution": "layers"}.get(kind, "layer")
        said = f"{kind}: {_steps(kind)} {unit}"
        s.panel(left, tops[place], 344 if s.narrow else 212, high, said)
        base = tops[place] + high - (24 if s.narrow or levels > 1 else 56)
        nodes = [
            [(left + first + gap * i, base - 42 * level) for i in range(N)]
            for level in range(levels + 1)
        ]
        ends = {N - 1}  # what the last position sees, layer by layer
        for level in reversed(range(levels)) if kind != "recurrent" else ():
            back = reach if kind == "convolution" else N
            links = [(i, j) for i in ends for j in range(max(0, i - back), i + 1)]
            for i, j in links:
                s.curve([nodes[level + 1][i], nodes[level][j]], "mask")
            ends = {j for _, j in links}
        for i in range(N) if kind == "recurrent" else ():
            s.curve([nodes[0][i], nodes[1][i]], "mask")
        way = [nodes[0][0], nodes[1][-1]]
        if kind == "recurrent":
            way = [nodes[0][0], *nodes[1]]
        if kind == "convolution":
            way = [nodes[j][max(0, N - 1 - reach * (layers - j))] for j in range(layers + 1)]
        for node in (node for level in nodes for node in level):
            s.sign(*node, "", r=7, role="value" if node in way else "state")
        for (ax, ay), (bx, by) in pairwise(way):
            part = 7 / math.dist((ax, ay), (bx, by))
            dx, dy = (bx - ax) * part, (by - ay) * part
            s.arrow((ax + dx, ay + dy), (bx - dx, by - dy), gap=1)
