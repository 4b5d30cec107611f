"""Drawings of a query that finds values: one word with every number, a sentence with shapes."""

import math
from itertools import pairwise

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import said
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
# Scores of three places that learn to look at the mirrored one: gradient steps at a rate of 1.
MIRROR = torch.eye(3).flip(0)
LEARNED = [torch.zeros(3, 3)]
for _ in range(2):
    LEARNED.append(LEARNED[-1] - (LEARNED[-1].softmax(-1) - MIRROR))
MOMENTS = ("before", "after one step", "after two steps")
MAPS = {when: scores.softmax(-1) for when, scores in zip(MOMENTS, LEARNED, strict=True)}


@drawing(
    f"""The query of the word love meets the keys of I, love and you, number over number. The dot
    products are the scores {said(SCORES[LOVE], 0)}. Divided by the root of the width 4 they are
    {said(SCALED[LOVE], 0)}, and the softmax, in which the three rows meet, makes them the weights
    {said(WEIGHTS[LOVE])}. Each weight multiplies the value of its word. The sum of the three rows
    is the output of love: {said(OUT[LOVE])}.""",
    numbers=lambda: [WEIGHTS[LOVE], OUT[LOVE]],
)
def attention_by_hand(s: Sketch) -> None:
    p = Page(s)
    q = p.cells(Q[LOVE], "query", words=["love"], name="query *q*")
    keys = p.rows(K, "key", words=WORDS, name="keys *K*")
    dots = p.signs("·", keys)
    scores = p.rows(SCORES[LOVE], "step", name="scores *e*")
    scaled = p.rows(SCALED[LOVE], "step", name="scaled")
    # The softmax is the one step in which the three rows meet.
    pill = p.step("softmax", beside=keys)
    sums = p.weighted(WEIGHTS[LOVE], V, WORDS, ("values *V*", "output *o* of love"))
    p.link(q, dots.each[0], tip=False, bend="x", label="*q* · *k*", share=0.2)
    p.link(*dots.each, tip=False)
    p.each(keys, dots, scores)
    p.each(scores, scaled, label="÷ √4")
    p.each(scaled, pill, bend="late")
    p.each(pill, sums.each[0].each[0], bend="early")
    asked = p.column(q, keys, axle=1)
    p.done(p.row(asked, dots, scores, scaled, gap=22), pill, sums)


@drawing(
    f"""Three words are three rows of tokens. Three projections, 4 by 4, 4 by 4 and 4 by 2, make
    their queries, keys and values, 3 by 4, 3 by 4 and 3 by 2. Every query is compared with every
    key, which gives a table of 3 by 3 scores. Divided by the root of 4, each of its rows passes a
    softmax of its own and becomes a row of weights: {said(WEIGHTS[0])} for I, {said(WEIGHTS[1])}
    for love, {said(WEIGHTS[2])} for you. The weights mix the values into one output for each word,
    3 by 2.""",
    numbers=lambda: [WEIGHTS, OUT],
)
def self_attention(s: Sketch) -> None:
    p = Page(s)
    x = p.cells([[None] * 4] * 3, "state", words=WORDS, name="tokens *x*", at="above right")
    ways = []
    for name, role, numbers in (
        ("queries *Q*", "query", Q),
        ("keys *K*", "key", K),
        ("values *V*", "value", V),
    ):
        w = p.layer(f"*W*_{{{name[-2]}}}", f"4 × {numbers.shape[1]}")
        ways.append((w, p.cells(numbers, role, name=name, at="above below")))
        p.link(x, *ways[-1])
    (_, q), (_, k), (_, v) = ways
    dot, times, pill = p.sign("·"), p.sign("×"), p.step("÷ √4, softmax", beside=k)
    e = p.cells(SCORES, "step", name="scores *e*", at="above left")
    a = p.cells(WEIGHTS, "weight", bars=True, name="weights *α*", at="above left")
    o = p.cells(OUT, "value", thick=True, name="output *o*", at="above left")
    p.link(q, dot)
    p.link(k, dot, e, pill, a, times, o)
    p.link(v, times)
    p.done(x, p.grid(*ways, axle=1), dot, e, pill, a, times, o)


def _steps(kind: Kind) -> int:
    """Measure how far the last position is from the first one."""
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


@drawing(
    f"""A map of three places that hold the digits 3, 1 and 4, at three moments. Each place has to
    answer with the digit at the mirrored place, whose cell has a strong edge. Before training, all
    weights are {MAPS["before"][0, 0]:.2f}. After one step the cells with a strong edge have
    {MAPS["after one step"][0, 2]:.2f} and the others {MAPS["after one step"][0, 0]:.2f}, after two
    steps {MAPS["after two steps"][0, 2]:.2f} and {MAPS["after two steps"][0, 0]:.2f}.""",
    numbers=lambda: MAPS.values(),
)
def map_that_learns(s: Sketch) -> None:
    p = Page(s)
    panels = [
        (
            when,
            p.cells(
                weights,
                lambda i, j: "weight",
                bars=True,
                thick=[(0, 2), (1, 1), (2, 0)],
                words=("place 1", "place 2", "place 3"),
                over=("3", "1", "4"),
                asks=("query", "key"),
            ),
        )
        for when, weights in MAPS.items()
    ]
    p.done(p.panels(*panels))
