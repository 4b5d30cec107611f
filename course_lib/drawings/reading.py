"""How a trained model is read and changed: a row by hand, a patch, and induction in two heads."""

import torch
import torch.nn.functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Box, Page, Sketch, drawing
from course_lib.drawings.rows import Rows, said
from course_lib.masks import causal_mask

SENTENCE = ("the", "kings", "?", "cold")
HIDDEN = 2

# One row of weights, and the values that it brings.
LOOKS = ("start", "kings", "?")
WEIGHTS = torch.tensor([0.7, 0.2, 0.1])
VALUES = torch.tensor([[1.0, 0.0], [6.0, 8.0], [0.0, 2.0]])
BROUGHT = WEIGHTS[:, None] * VALUES
LENGTHS = BROUGHT.norm(dim=-1)
SHARES = LENGTHS / LENGTHS.sum()

SOURCE = ("ich", "liebe", "dich")
READS, WRITES = ("⟨sos⟩", "I", "love"), ("I", "love", "you")
ALIGNED = (3 * torch.eye(3)).softmax(-1)

# Whoever has met Anna Bell expects Bell after Anna.
MET = ("Anna", "Bell", "met", "Anna")
NAMES = ("Anna", "Bell", "met")
X = F.one_hot(torch.tensor([NAMES.index(word) for word in MET])).float()
BEFORE = torch.cat([torch.zeros(1, len(NAMES)), X[:-1]])
STRENGTH = 3
SCORES = STRENGTH * X @ BEFORE.T
NEXT, FOUND = scaled_dot_product_attention(
    X, STRENGTH * len(NAMES) ** 0.5 * BEFORE, X, causal_mask(len(MET))
)


def _words(s: Sketch, x: float, ys: list[float], texts: tuple[str, ...]) -> None:
    for i, (word, y) in enumerate(zip(texts, ys, strict=True)):
        s.text(x, y, word, kind="strong", at="end", role="query" if i == HIDDEN else "")


@drawing(
    """A model reads four words, the kings question mark cold, and says which verb is hidden. The
    words become vectors, which pass two blocks, until the vector of the hidden word gives are or
    is. Three tools read: a map shows where a block looks, a probe shows what is in a vector, the
    logit lens shows what a vector of a middle layer would answer. Three tools change something:
    hide a word, silence a head, patch a vector."""
)
def read_and_change(s: Sketch) -> None:
    """Where a trained model can be looked at, and where it can be cut."""
    c, wide, gap = (7.0, 42.0, 12.0) if s.narrow else (12.0, 84.0, 20.0)
    ys = [104.0 + 34 * i for i in range(4)]
    x = 40.0 if s.narrow else 50.0
    _words(s, x, ys, SENTENCE)
    columns, blocks = [], []
    x += 8 if s.narrow else 14
    high = ys[-1] - ys[0] + 28
    for n in range(3):
        column = [
            s.cells(x, y - 8, [[None] * 4], "value" if i == HIDDEN and n == 2 else "state", w=c,
                    h=16, thick=i == HIDDEN and n == 2)
            for i, y in enumerate(ys)
        ]  # fmt: skip
        columns.append(Box(x, column[0].y, column[0].w, column[-1].bottom - column[0].y))
        if n < 2:
            name = ("block", str(n + 1)) if s.narrow else (f"block {n + 1}",)
            middle = x + 4 * c + gap + wide / 2
            block = s.layer(middle, (ys[0] + ys[-1]) / 2, wide, high, *name)
            for y in ys:
                s.arrow((x + 4 * c, y), (block.x, y))
                s.arrow((block.right, y), (block.right + gap, y))
            blocks.append(block)
            x = block.right + gap
    end = columns[2].right
    answer = s.cells(end + (18 if s.narrow else 74), ys[HIDDEN] - 24, [["are"], ["is"]], "value",
                     w=34 if s.narrow else 44)  # fmt: skip
    if s.narrow:
        s.arrow((end, ys[HIDDEN]), (answer.x, ys[HIDDEN]))
    else:
        head = s.layer(end + 36, ys[HIDDEN], 44, 24, "head")
        s.arrow((end, ys[HIDDEN]), (head.x, ys[HIDDEN]))
        s.flow(head, answer)
    low = blocks[0].bottom
    for at, word, gloss in (
        (blocks[0], "map", "where it looks"),
        (columns[1], "probe", "what is in it"),
        (columns[2], "logit lens", "what it would say"),
    ):
        top = blocks[0].y - 28
        s.text(at.cx, top - 15 * (not s.narrow), word, kind="strong", role="weight")
        if not s.narrow:
            s.text(at.cx, top, gloss, kind="small quiet")
        s.arrow((at.cx, at.y), (at.cx, top + 10))
    for at, word, gloss in (
        (columns[0], "hide", "a word"),
        (columns[1], "patch", "a vector"),
        (blocks[1], "silence", "a head"),
    ):
        s.text(at.cx, low + 36, word, kind="strong", role="key")
        s.text(at.cx, low + 51, gloss, kind="small quiet")
        s.arrow((at.cx, low + 27), (at.cx, at.bottom))
    s.text(2, blocks[0].y - 28, "read", kind="strong quiet", at="start")
    s.text(2, low + (70 if s.narrow else 36), "change", kind="strong quiet", at="start")


@drawing(
    f"""One row of attention. The hidden word gives the weights {said(WEIGHTS, 1)} to the start
    sign, to kings and to itself. Their values are 1, 0, then 6, 8, then 0, 2. Weight times value
    has the lengths {said(LENGTHS, 1)}, which are the shares {said(SHARES)}. So the start sign has
    most of the weight, and kings brings most of the output.""",
    numbers=lambda: [WEIGHTS, BROUGHT, SHARES],
)
def row_by_hand(s: Sketch) -> None:
    """What a row of weights says, and what it brings."""
    p = Page(s)
    place = p.rows([[i] for i in range(3)], "position", words=LOOKS, name="place", shape="")
    weights = p.rows(WEIGHTS, "weight", bars=True, name="weights *α*", shape="")
    values = p.rows(VALUES, "value", name="values *v*", shape="")
    brought = p.rows(BROUGHT, "value", name="*α* · *v*", shape="")
    words = LOOKS if s.narrow else ()
    lengths = p.rows(LENGTHS, "value", words=words, name="length", shape="")
    shares = p.rows(SHARES, "weight", bars=True, name="share", shape="")
    p.each(values, brought)
    p.each(brought, lengths, bend="yy")
    p.each(lengths, shares)
    asked = p.row(place, weights, p.signs("×", weights), values, brought, gap=p.of(22, 12))
    p.done(asked, p.row(lengths, shares, gap=30))


@drawing(
    f"""A decoder's weights on the source ich liebe dich, one row for each step. The first row
    reads the start sign and predicts I, with {ALIGNED[0, 0]:.2f} on ich. The second reads I and
    predicts love, with {ALIGNED[1, 1]:.2f} on liebe. The third reads love and predicts you, with
    {ALIGNED[2, 2]:.2f} on dich. So the word love owns the row that predicts it, not the row that
    reads it.""",
    numbers=lambda: [ALIGNED],
)
def whose_row(s: Sketch) -> None:
    """Each row of cross-attention has two words: one that is read, one that is predicted."""
    p = Page(s)
    table = p.cells(
        ALIGNED, "weight", w=p.of(64, 44), h=27, bars=True, over=SOURCE, asks=("", "key")
    )
    sides = []
    for words, role, head in ((READS, "query", "reads"), (WRITES, "value", "predicts")):
        texts = p.column(*(p.text(word, kind="strong", role=role) for word in words), gap=11)
        sides.append(p.named(texts, "", head))
    p.each(sides[0], table, sides[1])
    p.done(p.row(sides[0], table, sides[1], gap=p.of(36, 22)))


def _run(s: Sketch, top: float, noun: str, said: str, verb: str, role: str) -> Box:
    """A run of the model, and the vector of the noun between its blocks."""
    c, wide, gap = (6.0, 54.0, 10.0) if s.narrow else (13.0, 96.0, 26.0)
    s.panel(0, top, s.width, 136, said)
    ys = [top + 44 + 32 * i for i in range(3)]
    x = 48.0 if s.narrow else 74.0
    for y, word in zip(ys, ("the", noun, "?"), strict=True):
        s.text(x, y, word, kind="strong", at="end", role="query" if word == "?" else "")
    x += 8.0
    marked = Box(0, 0, 0, 0)
    for n in range(3):
        for i, y in enumerate(ys):
            special = (n, i) == (1, 1)
            box = s.cells(x, y - 8, [[None] * 4], role if special else "state", w=c, h=16,
                          thick=special)  # fmt: skip
            marked = box if special else marked
            if n < 2:
                s.arrow((box.right, y), (box.right + gap, y))
                s.arrow((box.right + gap + wide, y), (box.right + 2 * gap + wide, y))
        if n < 2:
            s.layer(x + 4 * c + gap + wide / 2, ys[1], wide, 88, f"block {n + 1}")
            x += 4 * c + 2 * gap + wide
    end = x + 4 * c
    answer = s.cells(end + (14 if s.narrow else 40), ys[2] - 12, [[verb]], "value",
                     w=32 if s.narrow else 46, thick=True)  # fmt: skip
    s.arrow((end, ys[2]), (answer.x, ys[2]))
    return marked


@drawing(
    """Activation patching with two runs of one model. The clean run reads the kings question mark
    and answers are. The other run reads the king question mark and answers is. After block 1 the
    vector at the place of the noun is taken from the clean run and put into the other one. If the
    other run now answers are, the number of the subject was in that vector."""
)
def patching(s: Sketch) -> None:
    """One vector goes from one run into another."""
    first = _run(s, 0, "kings", "clean run", "are", "value")
    second = _run(s, 176, "king", "other run", "is → ?" if not s.narrow else "is?", "value")
    # The patch stops at the vectors that it passes, and is seen between them.
    down = first.bottom + first.h, second.y - second.h
    s.arrow((first.cx, first.bottom), (first.cx, down[0]), tip=False)
    s.arrow((first.cx, down[0] + first.h), (first.cx, down[1] - first.h), tip=False, label="patch")
    s.arrow((first.cx, down[1]), (first.cx, second.y))


@drawing(
    f"""Induction in two heads, on Anna Bell met Anna. Head 1 hands each word to the next place, so
    that the places hold nothing, Anna, Bell and met. In head 2 the last word, Anna, compares itself
    with what head 1 has brought. The scores are {said(SCORES[-1], 0)}, the weights
    {said(FOUND[-1])}. The largest weight is on the place after the first Anna, whose own word is
    Bell. So the model predicts Bell, with {NEXT[-1, 1]:.2f}.""",
    numbers=lambda: [SCORES[-1], FOUND[-1], NEXT[-1]],
)
def induction_by_hand(s: Sketch) -> None:
    """The word before is copied; the last word finds its earlier self and takes what followed."""
    w, h, gap = (46.0, 24.0, 32.0) if s.narrow else (54.0, 26.0, 36.0)
    ys = [56 + i * gap for i in range(4)]
    rows = Rows(s, ys, h, MET)
    own = rows.column(2, [[word] for word in MET], "state", w)
    s.name(own[0], "word")
    came = [[""]] + [[word] for word in MET[:-1]]
    before = rows.column(own[0].right + (44 if s.narrow else 64), came, "key", w)
    s.name(before[0], "word before", role="key")
    for i in range(3):
        middle = own[0].right + (26 if s.narrow else 36)
        s.arrow(
            (own[i].right, ys[i]), (middle, ys[i]), (middle, ys[i + 1]), (before[0].x, ys[i + 1])
        )
    s.text(own[0].right + (21 if s.narrow else 31), ys[0] - 44, "head 1", kind="small quiet")
    low = ys[-1] + 50
    asks = s.cells(before[0].x, low - h / 2, [["Anna"]], "query", w=w, h=h)
    s.name(asks, "asks", role="query", side="below")
    s.arrow((own[-1].cx, own[-1].bottom), (own[-1].cx, low), (asks.x, low))
    scores = rows.column(before[0].right + 48, SCORES[-1], "step", 30)
    rows.across(before, scores)
    join = before[0].right + 21
    s.arrow((asks.right, low), (join, low), (join, ys[0]), tip=False)
    for y in ys:
        s.sign(join, y, "·", r=7)
    s.name(scores[0], "scores")
    found = [[a] for a in FOUND[-1].tolist()]
    pill = s.step(scores[0].right + 30, (ys[0] + ys[-1]) / 2, 24, 3 * gap + h, "softmax")
    for box in scores:
        s.flow(box, pill)
    weights = rows.column(pill.right + 16, found, "weight", 46 if s.narrow else 54, bars=True)
    for box in weights:
        s.flow(pill, box)
    s.name(weights[0], "weights", role="weight")
    s.text((scores[0].x + weights[0].right) / 2, ys[0] - 44, "head 2", kind="small quiet")
    sums = [[name, share] for name, share in zip(NAMES, NEXT[-1].tolist(), strict=True)]
    if s.narrow:
        out = s.cells(weights[0].right - 2 * w, low + 14, sums, "value", w=w, h=h, thick=True)
        s.flow(weights[-1], out)
        s.name(out, "next word", role="value", side="left")
        return
    values = rows.column(weights[0].right + 32, [[word] for word in MET], "value", w)
    for y in ys:
        s.sign(weights[0].right + 16, y, "×", r=7)
    s.name(values[0], "word", role="value")
    out = s.cells(values[0].right + 34, (ys[0] + ys[-1] - 3 * h) / 2, sums, "value", w=48, h=h,
                  thick=True)  # fmt: skip
    for box in values:
        s.arrow((box.right, box.cy), (box.right + 14, box.cy), (box.right + 14, out.cy),
                (out.x, out.cy))  # fmt: skip
    s.name(out, "next word", role="value")
