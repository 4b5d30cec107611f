"""A decoder that looks back: one lookup with every number, three scores, and four alignments."""

from itertools import pairwise

import torch

from course_lib.alignment import ideal_weights
from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.seq2seq import attend, bahdanau, luong_dot, luong_general

WORDS = ("guten", "abend", ".")
ASKED = 1  # abend

# The state that asks, and the states of the words; values of their own keep the roles apart.
STATE = torch.tensor([[[1.0, 2.0]]])
KEYS = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [-2.0, 1.0]]])
VALUES = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
SCORES = luong_dot(STATE, KEYS)
CONTEXT, WEIGHTS = attend(SCORES, VALUES)

W_A = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
W_S = torch.eye(2)
W_H = torch.tensor([[1.0, 0.0], [-2.0, -1.0]])
V = torch.ones(2)
ONE = KEYS[:, ASKED : ASKED + 1]
HIDDEN = STATE[0, 0] @ W_S.T + ONE[0, 0] @ W_H.T
KINDS = {
    "dot": luong_dot(STATE, ONE).item(),
    "general": luong_general(STATE, ONE, W_A).item(),
    "additive": bahdanau(STATE, ONE, W_S, W_H, V).item(),
}

# Source words, target words, links (source, target).
PATTERNS = {
    "monotonic": (("guten", "abend"), ("good", "evening"), ((0, 0), (1, 1))),
    "scattered": (("chaegeul", "ilgeossseubnida"), ("read", "books"), ((0, 1), (1, 0))),
    "one to many": (("im", "Zug"), ("on", "the", "train"), ((0, 0), (0, 1), (1, 2))),
    "many to one": (("ich", "habe", "gelesen"), ("I", "read"), ((0, 0), (1, 1), (2, 1))),
}


@drawing(
    f"""An encoder reads guten abend and keeps one state for each word. The decoder has written good
    and is now in the state that must write the next word. This state is compared with all three
    states of the encoder. A softmax makes the weights {said(WEIGHTS[0, 0])}, most for abend. The
    weighted sum of the encoder's states is the context. Context and decoder state together give the
    word evening."""
)
def decoder_looks_back(s: Sketch) -> None:
    p = Page(s)

    def unit(said: str, role: str) -> tuple[Part, Part, Part]:
        state, cell = p.cells([[None] * 4], role, w=10, h=16), p.layer("RNN")
        word = p.text(said, kind="strong")
        p.link(word, cell, state)
        return state, cell, word

    def wide(said: str) -> Part:
        """A step on all three states."""
        w = p.of(252, 168)
        return p.loose(p.own(w, 26, lambda x, y: s.step(x + w / 2, y + 13, w, 26, said)), both=True)

    words = [unit(word, "key") for word in WORDS]
    asked = [unit(word, "query") for word in ("<bos>", "good")]
    now = asked[-1]
    score, mixed = wide("score, then softmax"), wide("weighted sum of the states")
    shares = [p.cells([[w]], "weight", bars=True) for w in WEIGHTS[0, 0].tolist()]
    for (state, _, _), share in zip(words, shares, strict=True):
        p.link(state, score, share, mixed)
    context = p.cells([[None]] * 4, "value", w=14, h=12, thick=True)
    p.named(context, "context *c*_{2}", role="value", free=True)
    join, linear = p.layer("*W*_{c}"), p.layer("linear")
    written = p.text("evening", kind="strong")
    p.link(mixed, context, join, linear, written)
    p.link(now[0], join)
    p.link(*(cell for _, cell, _ in words))
    p.link(words[-1][1], *(cell for _, cell, _ in asked))
    none = [None] * 3
    lines: list[tuple[Part | None, ...]] = [
        (*none, None, None, written),
        (*none, None, None, linear),
        (None, mixed, None, None, context, join),
        (*shares, None, None, None),
        (None, score, None, None, None, None),
    ]
    for three, others in zip(zip(*words, strict=True), zip(*asked, strict=True), strict=True):
        lines.append((*three, None, *others))
    p.done(p.grid(*lines, gap=(p.of(34, 16), 24), turn=False))
    # One line behind the states carries all of them to the sum.
    states, left = [state.box for state, _, _ in words], mixed.box.x - 9
    for a, b in pairwise(reversed(states)):
        s.arrow((a.x, a.cy), (b.right, b.cy), tip=False)
    s.arrow(
        (states[0].x, states[0].cy),
        (left, states[0].cy),
        (left, mixed.box.cy),
        (mixed.box.x, mixed.box.cy),
    )
    asks, end = now[0].box, score.box
    s.arrow((asks.cx, asks.y), (asks.cx, end.cy), (end.right, end.cy))
    s.text(asks.cx - 28, end.cy - 11, "query", role="query")
    seen = [*states, *(state.box for state, _, _ in asked)]
    letters = [f"*h*_{{{i}}}" for i in range(1, 4)] + ["*s*_{1}", "*s*_{2}"]
    for at, letter in zip(seen, letters, strict=True):
        s.text(at.right + 8, at.y - 9, letter, role="key" if at in states else "query")
    for boxes, half in ((states, "encoder"), (seen[3:], "decoder")):
        x, y = boxes[0].x - 8, boxes[0].y - 20
        low = words[0][2].box.bottom + 30
        s.panel(x, y, boxes[-1].right + 22 - x, low - y)
        s.text(x + 12, low - 14, half, kind="strong quiet", at="start")


@drawing(
    f"""A soft lookup with every number. The query 1, 2 meets the keys of guten, abend and the full
    stop, number over number. The dot products are the scores {said(SCORES[0, 0], 0)}. The softmax,
    in which the three rows meet, makes them the weights {said(WEIGHTS[0, 0])}. Each weight
    multiplies the value of its word. The sum of the three rows is the context:
    {said(CONTEXT[0, 0])}.""",
    numbers=lambda: [SCORES, WEIGHTS, CONTEXT],
)
def soft_lookup_by_hand(s: Sketch) -> None:
    p = Page(s)
    q = p.cells(STATE[0, 0], "query", name="query *q*", shape="(2)")
    keys = p.rows(KEYS[0], "key", words=WORDS, name="keys *k*")
    dots, scores = p.signs("·", keys), p.rows(SCORES[0, 0], "step", name="scores *e*")
    # The softmax is the one step in which the three rows meet.
    pill = p.step("softmax", beside=keys)
    sums = p.weighted(WEIGHTS[0, 0], VALUES[0], WORDS, ("values *v*", "context *c*"))
    p.link(q, dots.each[0], tip=False, bend="x", label="*q* · *k*", share=0.2)
    p.link(*dots.each, tip=False)
    p.each(keys, dots, scores)
    p.each(scores, pill, bend="late")
    p.each(pill, sums.each[0].each[0], bend="early")
    p.done(p.row(p.column(q, keys, axle=1), dots, scores, gap=30), pill, sums)


@drawing(
    f"""Three ways to compare the same decoder state s, (1, 2), with the same encoder state h,
    (0, 1). The dot score multiplies them number by number and adds: {KINDS["dot"]:.0f}. The general
    score first sends s through a learned matrix, which makes (2, 1) of it, and the dot product with
    h is {KINDS["general"]:.0f}. The additive score sends both through learned matrices, adds them,
    applies tanh, and takes the dot product with a learned vector v: {KINDS["additive"]:.2f}.""",
    numbers=lambda: KINDS.values(),
)
def three_scores(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for kind, score in KINDS.items():
        ends = [
            p.cells(STATE[0, 0], "query", name="*s*", shape=""),
            p.cells(ONE[0, 0], "key", name="*h*", shape=""),
        ]
        rows: list[list[Part | None]] = [[ends[0], None, ends[1]]]
        made = [] if kind == "dot" else [(0, "*W*_{a}", STATE[0, 0] @ W_A, "query")]
        if kind == "additive":
            made = [
                (0, "*W*_{s}", STATE[0, 0] @ W_S.T, "query"),
                (1, "*W*_{h}", ONE[0, 0] @ W_H.T, "key"),
            ]
        layers: list[Part | None] = [None] * 3
        found: list[Part | None] = [None] * 3
        for i, letter, numbers, role in made:
            layer, after = p.layer(letter), p.cells(numbers, role)
            p.link(ends[i], layer, after)
            layers[2 * i], found[2 * i], ends[i] = layer, after, after
        meet = p.sign("+" if kind == "additive" else "·")
        rows += [layers, found] * bool(made) + [[None, meet, None]]
        for end in ends:
            p.link(end, meet, bend="y")
        shown: object = score if kind == "additive" else int(score)
        last = p.cells([[shown]], "step", thick=True, w=48)
        p.named(last, "score *e*", at="left", free=True)
        way = [meet, last]
        if kind == "additive":
            dot, v = p.sign("·"), p.layer("*v*")
            added, bent = p.cells(HIDDEN, "state"), p.cells(HIDDEN.tanh(), "state")
            way = [meet, added, p.step("tanh"), bent, dot, last]
            p.link(v, dot)
            rows += [[None, p.loose(part, both=True), None] for part in way[1:4]]
            rows += [[None, dot, v]]
        p.link(*way)
        rows += [[None, last, None]]
        panels.append((kind, p.grid(*rows, gap=(4, 16), turn=False)))
    p.done(p.panels(*panels))


@drawing(
    """Four kinds of alignment as tables of weights; a row is a word that is written, a column a
    word that is read. Monotonic: guten abend and good evening, the weights lie on the diagonal.
    Scattered: the Korean verb is last and the English verb first, so the weights leave the
    diagonal. One to many: im becomes on the, and its column adds up to 2. Many to one: habe and
    gelesen become read, which gives half of its attention to each."""
)
def alignment_patterns(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, (source, target, links) in PATTERNS.items():
        ideal = ideal_weights(links, len(source), len(target)).tolist()
        rows = [[weight or None for weight in row] for row in ideal]
        panels.append(
            (
                name,
                p.cells(
                    rows,
                    "weight",
                    w=66 if len(source) == 3 else 96,
                    h=28,
                    digits=1,
                    bars=True,
                    words=target,
                    over=source,
                    asks=("query", "key"),
                ),
            )
        )
    p.done(p.column(p.panels(*panels[:2]), p.panels(*panels[2:]), gap=10))
