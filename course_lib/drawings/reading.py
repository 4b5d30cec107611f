"""Drawings of reading and changing a model: a row by hand, a patch, induction in two heads."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.masks import causal_mask

SENTENCE = ("gives", "life", "to", "thee")
LAST = 3

# One row of weights, and the values that it brings.
LOOKS = ("see", ",↵", "So")
WEIGHTS = torch.tensor([0.7, 0.2, 0.1])
VALUES = torch.tensor([[1.0, 0.0], [6.0, 8.0], [0.0, 2.0]])
BROUGHT = WEIGHTS[:, None] * VALUES
LENGTHS = BROUGHT.norm(dim=-1)
SHARES = LENGTHS / LENGTHS.sum()

SOURCE = ("ich", "liebe", "dich")
READS, WRITES = ("<bos>", "I", "love"), ("I", "love", "you")
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


def _run(p: Page, words: Sequence[str], marked: tuple[int, int], gap: float = 18) -> list[Part]:
    """Vectors of the words, two blocks that read them, and one of the vectors that stands out."""
    asks = [("query" if word == words[-1] else "", "") for word in words]
    blank: list[list[object]] = [[None] * 4] * len(words)
    rows = []
    for n in range(3):
        roles = ["value" if (n, i) == marked else "state" for i in range(len(words))]
        thick = marked[1] if marked[0] == n else False
        names = () if n else words
        rows.append(
            p.rows(blank, roles, w=p.of(12, 7), h=16, gap=gap, thick=thick, words=names, asks=asks)
        )
    first, second = (
        p.layer(*p.of((f"block {n}",), ("block", f"{n}")), w=p.of(84, 42), beside=rows[0])
        for n in (1, 2)
    )
    chain = [rows[0], first, rows[1], second, rows[2]]
    p.each(*chain)
    return chain


@drawing(
    """A model reads four words, gives life to thee, and predicts the next token. The words become
    vectors, which pass two blocks, until the vector of the last word gives a line end or the word
    and. Three tools read: a map shows where a block looks, a probe shows what is in a vector, the
    logit lens shows what a vector of a middle layer would predict. Three tools change something:
    hide a word, silence a head, patch a vector."""
)
def read_and_change(s: Sketch) -> None:
    p = Page(s)
    chain = _run(p, SENTENCE, (2, LAST))
    p.done(p.row(*chain, p.place(p.of(112, 36)), gap=p.of(20, 12)))
    first, second = (part.box for part in chain[1::2])
    columns = [part.box for part in chain[::2]]
    x, y = columns[2].right, columns[2].y + LAST * 34 + 8
    answer = s.cells(x + p.of(74, 18), y - 24, [["↵"], ["and"]], "value", w=p.of(44, 34))
    if s.narrow:
        s.arrow((x, y), (answer.x, y))
    else:
        head = s.layer(x + 36, y, 44, 24, "head")
        s.arrow((x, y), (head.x, y))
        s.flow(head, answer)
    top, low = first.y - 28, first.bottom + 36
    for at, word, gloss in (
        (first, "map", "where it looks"),
        (columns[1], "probe", "what is in it"),
        (columns[2], "logit lens", "what it would say"),
    ):
        s.text(at.cx, top - p.of(15, 0), word, kind="strong", role="weight")
        if not s.narrow:
            s.text(at.cx, top, gloss, kind="small quiet")
        s.arrow((at.cx, at.y), (at.cx, top + 10))
    for at, word, gloss in (
        (columns[0], "hide", "a word"),
        (columns[1], "patch", "a vector"),
        (second, "silence", "a head"),
    ):
        s.text(at.cx, low, word, kind="strong", role="key")
        s.text(at.cx, low + 15, gloss, kind="small quiet")
        s.arrow((at.cx, low - 9), (at.cx, at.bottom))
    s.text(2, top, "read", kind="strong quiet", at="start")
    s.text(2, low + p.of(0, 34), "change", kind="strong quiet", at="start")


@drawing(
    f"""One row of attention. The word So gives the weights {said(WEIGHTS, 1)} to the word see, to
    the line end before it and to itself. Their values are 1, 0, then 6, 8, then 0, 2. Weight times
    value has the lengths {said(LENGTHS, 1)}, which are the shares {said(SHARES)}. So the word see
    has most of the weight, and the line end brings most of the output.""",
    numbers=lambda: [WEIGHTS, BROUGHT, SHARES],
)
def row_by_hand(s: Sketch) -> None:
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


# The probability of an answer while two words are deleted, in either order.
FALLS = {"kings": torch.tensor([0.9, 0.6, 0.5]), "hungry": torch.tensor([0.9, 0.9, 0.5])}
HEIGHTS = [fall.mean().item() for fall in FALLS.values()]


@drawing(
    f"""Two panels of three bars, the probability of an answer. If kings is deleted first, they are
    {said(FALLS["kings"], 1)}, in the mean {HEIGHTS[0]:.2f}. If hungry is deleted first, they are
    {said(FALLS["hungry"], 1)}, in the mean {HEIGHTS[1]:.2f}.""",
    numbers=lambda: [*FALLS.values(), *HEIGHTS],
)
def deletion_by_hand(s: Sketch) -> None:
    grounds = s.panels([f"delete {name} first" for name in FALLS], 178)
    for box, left, fall, mean in zip(
        grounds, reversed(FALLS), FALLS.values(), HEIGHTS, strict=True
    ):
        wide, base, words = (box.w - 24) / 3, box.bottom - 30, ("kings hungry", left, "neither")
        for n, share in enumerate(fall.tolist()):
            x, high = box.x + 16 + n * wide, 120 * share
            bar = s.cells(x, base - high, [[None]], "value", w=wide - 8, h=high)
            s.text(bar.cx, bar.y + 12, f"{share:.1f}", role="value", kind="strong")
            s.text(bar.cx, base + 14, words[n], kind="small")
        s.curve([(x, base - 120 * mean) for x in (box.x + 8, box.right - 8)], "weight")
        s.text(box.right - 12, box.y + 15, f"mean height {mean:.2f}", role="weight", at="end")


@drawing(
    f"""A decoder's weights on the source ich liebe dich, one row for each step. The first row
    reads the start sign and predicts I, with {ALIGNED[0, 0]:.2f} on ich. The second reads I and
    predicts love, with {ALIGNED[1, 1]:.2f} on liebe. The third reads love and predicts you, with
    {ALIGNED[2, 2]:.2f} on dich. So the word love owns the row that predicts it, not the row that
    reads it.""",
    numbers=lambda: [ALIGNED],
)
def whose_row(s: Sketch) -> None:
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


BRINGS = torch.tensor([[2.0, 2.0], [0.0, 2.0], [2.0, 0.0], [0.0, 0.0]])
MARGIN = BRINGS.sum(1)
LOSS = -F.logsigmoid(MARGIN)


@drawing(
    f"""Heads a and b each add 2 to the margin of the line end, and the loss is {LOSS[0]:.2f}. With
    one of them silenced it is {LOSS[1]:.2f}, with both silenced {LOSS[3]:.2f}: losing both costs
    far more than twice the loss of one.""",
    numbers=lambda: [*MARGIN.tolist(), *LOSS.tolist()],
)
def two_carriers(s: Sketch) -> None:
    p = Page(s)
    how = {"w": p.of(72, 52), "h": 28}
    gone, rows = (BRINGS == 0).nonzero().tolist(), ("none silenced", "a", "b", "a and b")
    heads = p.cells(BRINGS, "value", words=rows, over=("a", "b"), hatched=map(tuple, gone), **how)
    margin = p.cells(MARGIN[:, None], "step", over=("margin",), **how)
    loss = p.cells(LOSS[:, None], "weight", over=("loss",), **how)
    p.link(heads, margin, loss)
    p.done(p.row(heads, margin, loss, gap=p.of(64, 14)))


@drawing(
    """Activation patching with two runs of one model. The clean run reads the kings question mark
    and answers are. The other run reads the king question mark and answers is. After block 1 the
    vector at the place of the noun is taken from the clean run and put into the other one. If the
    other run now answers are, the number of the subject was in that vector."""
)
def patching(s: Sketch) -> None:
    p = Page(s)
    panels, vectors = [], []
    for noun, verb in (("kings", "are"), ("king", p.of("is or are", "is/are"))):
        chain = _run(p, ("the", noun, "?"), (1, 1), gap=14)
        answer = p.cells([[verb]], "value", thick=True)
        p.link(chain[-1].each[-1], answer, bend="x")
        vectors.append(chain[2].each)
        panels.append(
            (f"{'other' if vectors[1:] else 'clean'} run", p.row(*chain, answer, gap=p.of(26, 10)))
        )
    # The patch stops at the vectors that it passes, and is seen between them.
    (_, taken, last), (first, given, _) = vectors
    p.link(taken, last, tip=False)
    p.link(last, first, tip=False, label="patch")
    p.link(first, given)
    p.done(p.panels(*panels, below=True, gap=40))


@drawing(
    f"""Induction in two heads, on Anna Bell met Anna. Head 1 hands each word to the next place, so
    that the places hold nothing, Anna, Bell and met. In head 2 the last word, Anna, compares itself
    with what head 1 has brought. The scores are {said(SCORES[-1], 0)}, the weights
    {said(FOUND[-1])}. The largest weight is on the place after the first Anna, whose own word is
    Bell. So the model predicts Bell, with {NEXT[-1, 1]:.2f}.""",
    numbers=lambda: [SCORES[-1], FOUND[-1], NEXT[-1]],
)
def induction_by_hand(s: Sketch) -> None:
    p = Page(s)
    words = [[word] for word in MET]
    own = p.rows(words, "state", name="word", shape="")
    before = p.rows([[""], *words[:-1]], "key", name="word before", shape="")
    asks = p.cells(words[-1:], "query", name="asks", shape="", at="below")
    dots = p.signs("·", before, 7)
    scores = p.rows(SCORES[-1], "step", name="scores", shape="")
    pill = p.step("softmax", beside=before, upright=True)
    weights = p.rows(FOUND[-1], "weight", bars=True, name="weights", shape="")
    sums = [[name, share] for name, share in zip(NAMES, NEXT[-1].tolist(), strict=True)]
    out = p.cells(sums, "value", thick=True, h=26)
    for one, then in zip(own.each, before.each[1:], strict=False):
        p.link(one, then, bend="xx")
    p.link(own.each[-1], asks, bend="y")
    p.link(asks, dots.each[-1], bend="x", tip=False)
    p.link(*reversed(dots.each), tip=False)
    values = p.rows(words, "value", name="word", shape="")
    for value in values.each:
        p.link(value, out, bend="xx")
    p.each(before, dots, scores, pill, *p.of([weights], []))
    asked = p.column(before, asks, axle=0, gap=20)
    head = p.row(own, asked, dots, scores, pill, gap=p.of(20, 12))
    mixed = p.row(weights, p.signs("×", weights, 7), values, gap=12)
    p.named(out, "next word", role="value")
    if s.narrow:
        p.link(pill, weights, bend="yy", at=0.75)
        p.done(head, p.row(mixed, out, gap=24))
    else:
        p.done(p.row(head, mixed, gap=12), out)
    y = own.box.y - 44
    for a, b, name in ((own, before, "head 1"), (scores, pill, "head 2")):
        s.text((a.box.right + b.box.x) / 2, y, name, kind="small quiet")
