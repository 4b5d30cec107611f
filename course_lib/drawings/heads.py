"""Several heads: why one average is too few, how they are cut and joined, and what adds up."""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention, split_heads
from course_lib.drawings import Page, Part, Sketch, drawing
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


def _gets(weights: torch.Tensor, sentence: Sequence[str]) -> torch.Tensor:
    """Output of *loves* in a sentence by one row of weights."""
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


# Values of four neighbours; each place may have a channel of its own.
CARDS = torch.tensor([3.0, 1.0, 2.0, 6.0])
SEATS = ("2 left", "1 left", "1 right", "2 right")
EVEN = torch.full((4,), 0.25)
PLACED = EVEN @ CARDS.diag()


@drawing(
    f"""Four neighbours hold the numbers {said(CARDS, 0)}, and one person asks. One head with
    weights of {EVEN[0]:g}: the result is their mean, {EVEN @ CARDS:g}. Four heads: each fetches one
    number, and the result is {said(CARDS, 0)}. One head whose values have a channel for each place:
    the result is {said(PLACED)}, so that each number can still be read.""",
    numbers=lambda: [CARDS, EVEN @ CARDS, PLACED],
)
def four_neighbours(s: Sketch) -> None:
    p = Page(s)
    grounds = []
    for name, weights, values, result in (
        ("one head", f"{EVEN[0]:g} each", CARDS[:, None], (EVEN @ CARDS)[None]),
        ("four heads", "one per head", CARDS[:, None], CARDS),
        ("one head, with places", f"{EVEN[0]:g} each", CARDS.diag(), PLACED),
    ):
        given = p.cells(values, "value", words=SEATS, h=20)
        got = p.cells(result[None], "value", h=22, thick=True)
        p.link(given, got, label=weights)
        grounds.append((name, p.column(given, got, gap=34)))
    p.done(p.panels(*grounds))


@drawing(
    f"""The queries, keys and values of the words Anna and sings, each a table of 2 by 4, are cut
    after the second column. Head 1 gets the left halves, head 2 the right halves, 2 by 2 each. In
    each head queries and keys make weights of their own. For sings these are
    {said(WEIGHTS[0, SINGS])} in head 1 and {said(WEIGHTS[1, SINGS])} in head 2. The weights mix
    that head's half of the values. The two results, {said(HEADS[0, SINGS])} and
    {said(HEADS[1, SINGS])} for sings, are side by side again, 2 by 4.""",
    numbers=lambda: [WEIGHTS, HEADS],
)
def heads_cut_and_joined(s: Sketch) -> None:
    p = Page(s)
    names = {"query": ("queries *Q*", Q), "key": ("keys *K*", K), "value": ("values *V*", V)}
    fork = p.point()
    given: list[Part] = []
    for role, (name, numbers) in names.items():
        words = () if given else WORDS
        given.append(p.cells(numbers, role, w=p.of(26, 18), cut=2, words=words, name=name))
        p.link(given[-1], fork, bend="y", tip=False)
    heads, outs = [], []
    for head in (0, 1):
        q, k, a, v, out = (
            p.cells(
                numbers[head],
                role,
                w=0 if letter in "αo" else 16,
                name=f"*{letter}*_{{{head + 1}}}",
                shape="",
                bars=letter == "α",
                thick=letter == "o",
            )
            for letter, role, numbers in (
                ("Q", "query", Q2),
                ("K", "key", K2),
                ("α", "weight", WEIGHTS),
                ("V", "value", V2),
                ("o", "value", HEADS),
            )
        )
        soft = p.step("÷ √2, softmax")
        asks, mixes = p.row(q, p.sign("·", 7), k, gap=1), p.row(a, p.sign("×", 7), v, gap=1)
        p.link(asks, soft, mixes, out)
        heads.append((f"head {head + 1}", p.column(asks, soft, mixes, out, gap=16)))
        outs.append(out)
    grounds = p.panels(*heads, below=False)
    halves = [
        p.cells(part, "value", thick=True, words=word)
        for part, word in zip(HEADS, (WORDS, ()), strict=True)
    ]
    for ground, name, out, half in zip(
        grounds.each, ("left halves", "right halves"), outs, halves, strict=True
    ):
        p.link(fork, ground, bend="x", label=name)
        p.link(out, half, bend="yy")
    joined = p.named(p.row(*halves, gap=0), "joined", "(2, 4)", at="right", role="value")
    p.done(p.column(p.row(*given, gap=p.of(60, 24)), fork, grounds, joined, gap=26))


@drawing(
    f"""The output projection as a sum, for the word sings. Its four rows are cut into two upper and
    two lower rows. What head 1 found, {said(HEADS[0, SINGS])}, meets the upper rows and adds
    {said(ADDED[0, SINGS])}. What head 2 found, {said(HEADS[1, SINGS])}, meets the lower rows and
    adds {said(ADDED[1, SINGS])}. The sum is the output, {said(OUT[SINGS])}.""",
    numbers=lambda: [ADDED[:, SINGS], OUT[SINGS]],
)
def heads_add_up(s: Sketch) -> None:
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


# Four tokens of four channels, numbered.
LETTERS = "ABCD"
CHANNELS = torch.arange(16).view(4, 4)
CUT = split_heads(CHANNELS[None], 2)[0]
RESHAPED = CHANNELS.reshape(2, 4, 2)


@drawing(
    """The queries of four tokens A, B, C and D have four channels each. A reshape and a transpose
    give head 1 the first two channels of every query, one in each row, and head 2 the last two. A
    reshape alone fills the same shape in reading order: head 1 gets all channels of A and B, two
    rows for each token, head 2 all channels of C and D. A and D never meet in one head."""
)
def cut_or_reshaped(s: Sketch) -> None:
    p = Page(s)

    def named(numbers: Tensor) -> list[list[object]]:
        return [[f"{LETTERS[i // 4]}{i % 4 + 1}" for i in row] for row in numbers.tolist()]

    x = p.cells(named(CHANNELS), "state", words=LETTERS, name="queries of four tokens")
    grounds = []
    for title, cut, role in (
        ("correct: reshape, transpose", CUT, "query"),
        ("wrong: reshape alone", RESHAPED, "mask"),
    ):
        heads = [
            p.named(
                p.cells(named(part), role, words=[LETTERS[row[0] // 4] for row in part.tolist()]),
                "",
                f"head {head}",
            )
            for head, part in enumerate(cut, 1)
        ]
        grounds.append(p.panel(p.row(*heads, gap=20), title))
    p.link(x, grounds[0])
    p.done(x, *grounds)
