"""How a query finds values: one word with every number, a sentence with every shape, a way."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Box, Sketch, drawing

WORDS = ("I", "love", "you")
Q = torch.tensor([[1.0, 1.0, 0.0, 2.0]])
K = torch.tensor([[2.0, 0.0, 1.0, 1.0], [0.0, 2.0, 1.0, 0.0], [1.0, -1.0, 0.0, 0.0]])
V = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
SCORES = (Q @ K.T)[0]
SCALED = SCORES / math.sqrt(Q.shape[-1])
OUT, WEIGHTS = (found[0] for found in scaled_dot_product_attention(Q, K, V))


def whole(numbers: torch.Tensor) -> list[object]:
    """Numbers that are written without a point."""
    return [int(number) for number in numbers]


def said(numbers: torch.Tensor, digits: int = 2) -> str:
    """Numbers as a sentence says them."""
    *most, last = (f"{number:.{digits}f}" for number in numbers.tolist())
    return f"{', '.join(most)} and {last}"


@drawing(
    f"""The query of the word love meets the keys of I, love and you, number over number. The dot
    products are the scores {said(SCORES, 0)}. Divided by the root of the width 4 they are
    {said(SCALED, 0)}, and the softmax, in which the three rows meet, makes them the weights
    {said(WEIGHTS)}. Each weight multiplies the value of its word. The sum of the three rows is the
    output of love: {said(OUT)}.""",
    numbers=lambda: [*WEIGHTS.tolist(), *OUT.tolist()],
)
def attention_by_hand(s: Sketch) -> None:
    """The word *love* asks, and three words answer."""
    c, h, gap = 27, 26, 32 if s.narrow else 34
    ys = [116 + h / 2 + i * gap for i in range(3)]

    def column(
        x: float, rows: Sequence[Sequence[object]], role: str, w: float, bars: bool = False
    ) -> list[Box]:
        return [
            s.cells(x, y - h / 2, [row], role, w=w, h=h, bars=bars)
            for row, y in zip(rows, ys, strict=True)
        ]

    def answers(x: float) -> None:
        for word, y in zip(WORDS, ys, strict=True):
            s.text(x - 8, y, word, kind="strong", at="end")

    def across(left: list[Box], right: list[Box]) -> None:
        for a, b in zip(left, right, strict=True):
            s.arrow((a.right, a.cy), (b.x, b.cy))

    # The query stands above the keys, number over number, and comes down to all three.
    x = 40.0 if s.narrow else 52.0
    keys = column(x, [whole(k) for k in K], "key", c)
    q = s.cells(x, keys[0].y - 76, [whole(Q[0])], "query", w=c, h=h)
    s.text(x - 8, q.cy, "love", kind="strong", at="end")
    s.name(q, "query *q*", "(4)", role="query")
    s.name(keys[0], "keys *K*", "(3, 4)", role="key")
    answers(x)
    x = keys[0].right + 52
    scores = column(x, [[e] for e in whole(SCORES)], "step", 34)
    across(keys, scores)
    join = keys[0].right + 23
    s.arrow((q.right, q.cy), (join, q.cy), (join, ys[2]), tip=False)
    for y in ys:
        s.sign(join, y, "·", r=8)
    s.text(join + 9, q.cy + 14, "*q* · *k*", kind="small quiet", at="start")
    s.name(scores[0], "scores *e*", "(3)")
    x = scores[0].right + 50
    scaled = column(x, [[e] for e in whole(SCALED)], "step", 34)
    across(scores, scaled)
    s.text((scores[0].right + x) / 2 - 3, ys[0] - 9, "÷ √4", kind="small quiet")
    s.name(scaled[0], "scaled", "(3)")
    # The softmax is the one step in which the three rows meet.
    if s.narrow:
        pill = s.step(172, ys[2] + 52, 108, 28, "softmax")
        s.arrow((x + 17, scaled[2].bottom), (x + 17, pill.cy), (pill.right, pill.cy))
        x, ys = 40.0, [pill.cy + 102 + i * gap for i in range(3)]
        s.arrow((pill.x, pill.cy), (x + 26, pill.cy), (x + 26, ys[0] - h / 2 - 33))
        answers(x)
    else:
        pill = s.step(scaled[0].right + 34, ys[1], 26, 3 * gap + 2, "softmax")
        x = pill.right + 22
        for box in scaled:
            s.arrow((box.right, box.cy), (pill.x, box.cy))
            s.arrow((pill.right, box.cy), (x, box.cy))
    weights = column(x, [[w] for w in WEIGHTS.tolist()], "weight", 50, bars=True)
    s.name(weights[0], "weights *α*", "(3)", role="weight")
    times = [s.sign(weights[0].right + 17, y, "×") for y in ys]
    values = column(times[0].right + 8, [whole(v) for v in V], "value", c)
    s.name(values[0], "values *V*", "(3, 2)", role="value")
    parts = (WEIGHTS[:, None] * V).tolist()
    shares = column(values[0].right + (38 if s.narrow else 30), parts, "value", 40)
    across(values, shares)
    s.name(shares[0], "*α* · *v*", "(3, 2)", role="value")
    total = s.sign(shares[2].cx, shares[2].bottom + 18, "+")
    s.arrow((total.cx, shares[2].bottom), (total.cx, total.y), tip=False)
    out = s.cells(shares[0].x, total.bottom + 18, [OUT.tolist()], "value", w=40, h=h, thick=True)
    s.arrow((total.cx, total.bottom), (total.cx, out.y))
    s.name(out, "output *o* of love", "(2)", role="value", side="left")
