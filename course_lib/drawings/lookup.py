"""A decoder that looks back: one lookup with every number, three scores, and four alignments."""

from itertools import pairwise

import torch

from course_lib.alignment import ideal_weights
from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import Rows, said
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
    """One step of a decoder: it asks all states, and what it gets helps to choose the word."""
    xs = (52.0, 124.0, 196.0) if s.narrow else (88.0, 176.0, 264.0)
    dx = 300.0 if s.narrow else 584.0
    left, right = xs[0] - 32, xs[2] + 32
    y_sum, y_weight, y_score, y_state, y_cell, y_word = 100.0, 154.0, 206.0, 268.0, 326.0, 386.0
    s.panel(14, 230, right - (6 if s.narrow else -4), 202)
    s.panel(248 if s.narrow else 388, 230, 96 if s.narrow else 280, 202)
    s.text(26, 418, "encoder", kind="strong quiet", at="start")
    s.text(dx + (34 if s.narrow else 72), 418, "decoder", kind="strong quiet", at="end")

    def unit(x: float, letter: str, word: str, role: str) -> tuple[Box, Box]:
        cell = s.layer(x, y_cell, 46, 34, "RNN")
        state = s.cells(x - 20, y_state - 8, [[None] * 4], role, w=10, h=16)
        s.flow(cell, state)
        said = s.word(x, y_word, word)
        s.flow(said, cell)
        s.text(x + 30, y_state - 17, letter, role=role)
        return cell, state

    # One line behind the states carries all of them to the sum.
    for a, b in pairwise(reversed(xs)):
        s.arrow((a - 20, y_state), (b + 20, y_state), tip=False)
    s.arrow((xs[0] - 20, y_state), (6, y_state), (6, y_sum), (left, y_sum))
    score = s.step((left + right) / 2, y_score, right - left, 26, "score, then softmax")
    mixed = s.step((left + right) / 2, y_sum, right - left, 26, "weighted sum of the states")
    before: Box | None = None
    for i, (x, word) in enumerate(zip(xs, WORDS, strict=True)):
        cell, state = unit(x, f"*h*_{{{i + 1}}}", word, "key")
        if before:
            s.flow(before, cell)
        before = cell
        share = s.cells(
            x - 26, y_weight - 12, [[WEIGHTS[0, 0, i].item()]], "weight", w=52, h=24, bars=True
        )
        s.flow(state, score, share, mixed)
    assert before is not None
    now, asks = unit(dx, "*s*_{2}", "good", "query")
    if s.narrow:
        s.flow(before, now)
        s.text(234, y_cell - 12, "*s*_{1}", role="query")
    else:
        first, _ = unit(450, "*s*_{1}", "<bos>", "query")
        s.flow(before, first, now)
    turn = dx - 38 if s.narrow else 366.0
    way = [(asks.x, y_state), (turn, y_state), (turn, y_score), (score.right, y_score)]
    if not s.narrow:
        way = [(dx, asks.y), (dx, y_score), (score.right, y_score)]
    s.arrow(*way)
    asked = 274 if s.narrow else 430
    s.text(asked, y_score - 11, "query", role="query")
    context = s.cells(
        244 if s.narrow else 380, y_sum - 24, [[None]] * 4, "value", w=14, h=12, thick=True
    )
    s.text(context.cx - (6 if s.narrow else 0), context.y - 13, "context *c*_{2}", role="value")
    join = s.layer(dx, y_sum, 46, 28, "*W*_{c}")
    line = s.layer(dx, 46, 46, 26, "linear")
    written = s.word(dx, 8, "evening")
    s.flow(mixed, context, join)
    s.flow(asks, join, line, written)


@drawing(
    f"""A soft lookup with every number. The query 1, 2 meets the keys of guten, abend and the full
    stop, number over number. The dot products are the scores {said(SCORES[0, 0], 0)}. The softmax,
    in which the three rows meet, makes them the weights {said(WEIGHTS[0, 0])}. Each weight
    multiplies the value of its word. The sum of the three rows is the context:
    {said(CONTEXT[0, 0])}.""",
    numbers=lambda: [SCORES, WEIGHTS, CONTEXT],
)
def soft_lookup_by_hand(s: Sketch) -> None:
    """One query, three keys, three values."""
    h, gap = 26, 34
    ys = [116 + h / 2 + i * gap for i in range(3)]

    rows = Rows(s, ys, h, WORDS)

    x = 64.0
    keys = rows.column(x, KEYS[0], "key", 30)
    q = s.cells(x, keys[0].y - 76, STATE[0, 0], "query", w=30, h=h)
    s.name(q, "query *q*", "(2)", role="query")
    s.name(keys[0], "keys *k*", "(3, 2)", role="key")
    rows.words(x)
    x = keys[0].right + 66
    scores = rows.column(x, SCORES[0, 0], "step", 40)
    rows.across(keys, scores)
    join = keys[0].right + 28
    s.arrow((q.right, q.cy), (join, q.cy), (join, ys[2]), tip=False)
    for y in ys:
        s.sign(join, y, "·", r=8)
    s.text(join + 9, q.cy + 14, "*q* · *k*", kind="small quiet", at="start")
    s.name(scores[0], "scores *e*", "(3)")
    # The softmax is the one step in which the three rows meet.
    if s.narrow:
        pill = s.step(scores[0].right + 38, ys[1], 26, 3 * gap + 2, "softmax")
        for box in scores:
            s.flow(box, pill)
        x, turn = 64.0, ys[2] + 44
        ys = [ys[2] + 122 + i * gap for i in range(3)]
        rows.ys = ys
        s.arrow(
            (pill.right, pill.cy), (pill.right + 28, pill.cy), (pill.right + 28, turn),
            (x + 25, turn), (x + 25, ys[0] - h / 2 - 33),
        )  # fmt: skip
        rows.words(x)
    else:
        pill = s.step(scores[0].right + 40, ys[1], 26, 3 * gap + 2, "softmax")
        x = pill.right + 26
        for box in scores:
            s.flow(box, pill)
            s.arrow((pill.right, box.cy), (x, box.cy))
    gap = 26 if s.narrow else 40
    names = "values *v*", "context *c*"
    rows.weighted_sum(x, WEIGHTS[0, 0], VALUES[0], w=30, gap=gap, names=names)


@drawing(
    f"""Three ways to compare the same decoder state s, (1, 2), with the same encoder state h,
    (0, 1). The dot score multiplies them number by number and adds: {KINDS["dot"]:.0f}. The general
    score first sends s through a learned matrix, which makes (2, 1) of it, and the dot product with
    h is {KINDS["general"]:.0f}. The additive score sends both through learned matrices, adds them,
    applies tanh, and takes the dot product with a learned vector v: {KINDS["additive"]:.2f}.""",
    numbers=lambda: KINDS.values(),
)
def three_scores(s: Sketch) -> None:
    """Dot, general and additive, for one pair of states."""
    high = {"dot": 176.0, "general": 252.0, "additive": 404.0}
    top = 0.0
    for place, (kind, score) in enumerate(KINDS.items()):
        left = 0.0 if s.narrow else 228.0 * place
        wide = 344.0 if s.narrow else 212.0
        tall = high[kind] if s.narrow else max(high.values())
        s.panel(left, top, wide, tall, kind)
        a, b = left + wide / 2 - 52, left + wide / 2 + 52
        mid = (a + b) / 2
        state = s.cells(a - 26, top + 54, STATE[0, 0], "query", w=26)
        key = s.cells(b - 26, top + 54, ONE[0, 0], "key", w=26)
        s.name(state, "*s*", role="query")
        s.name(key, "*h*", role="key")
        ends = [state, key]
        for i, (matrix, role) in enumerate(((W_S, "query"), (W_H, "key"))):
            if kind == "dot" or (kind == "general" and i):
                continue
            said = "*W*_{a}" if kind == "general" else ("*W*_{s}", "*W*_{h}")[i]
            layer = s.layer((a, b)[i], top + 108, 40, 26, said)
            s.flow(ends[i], layer)
            found = STATE[0, 0] @ W_A if kind == "general" else (STATE, ONE)[i][0, 0] @ matrix.T
            ends[i] = s.cells((a, b)[i] - 26, top + 140, found, role, w=26)
            s.flow(layer, ends[i])
        meet = s.sign(mid, ends[0].bottom + 24, "+" if kind == "additive" else "·")
        s.arrow((a, ends[0].bottom), (a, meet.cy), (meet.x, meet.cy))
        s.arrow((b, ends[1].bottom), (b, meet.cy), (meet.right, meet.cy))
        last = meet
        if kind == "additive":
            added = s.cells(mid - 26, meet.bottom + 16, HIDDEN, "state", w=26)
            tanh = s.step(mid, added.bottom + 28, 54, 24, "tanh")
            bent = s.cells(mid - 40, tanh.bottom + 14, HIDDEN.tanh(), "state", w=40)
            last = s.sign(mid, bent.bottom + 22, "·")
            v = s.layer(mid + 62, last.cy, 34, 24, "*v*")
            s.flow(meet, added, tanh, bent, last)
            s.flow(v, last)
        shown: object = score if kind == "additive" else int(score)
        end = s.cells(mid - 24, last.bottom + 18, [[shown]], "step", w=48, thick=True)
        s.flow(last, end)
        s.name(end, "score *e*", side="left")
        if s.narrow:
            top += tall + 12


@drawing(
    """Four kinds of alignment as tables of weights; a row is a word that is written, a column a
    word that is read. Monotonic: guten abend and good evening, the weights lie on the diagonal.
    Scattered: the Korean verb stands last and the English verb first, so the weights leave the
    diagonal. One to many: im becomes on the, and its column adds up to 2. Many to one: habe and
    gelesen become read, which gives half of its attention to each."""
)
def alignment_patterns(s: Sketch) -> None:
    """Every row adds up to 1, a column to anything."""
    top = 0.0
    for place, (name, (source, target, links)) in enumerate(PATTERNS.items()):
        left = 0.0 if s.narrow else 340.0 * (place % 2)
        tall = 66.0 + 28 * (3 if not s.narrow and place > 1 else len(target))
        s.panel(left, top, 344 if s.narrow else 328, tall, name)
        w = 66 if len(source) == 3 else 102
        ideal = ideal_weights(links, len(source), len(target)).tolist()
        rows = [[weight or None for weight in row] for row in ideal]
        box = s.cells(left + 86, top + 54, rows, "weight", w=w, h=28, digits=1, bars=True)
        s.name_columns(box, source, role="key", kind="")
        s.name_rows(box, target, role="query", kind="")
        if s.narrow or place % 2:
            top += tall + 12
