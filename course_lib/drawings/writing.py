"""From a text to tokens, and back: merges, three temperatures, a beam, a cache and shared keys."""

import torch

from course_lib.byte_pairs import learn_byte_pairs
from course_lib.decoding import beam_search, keep_top_p
from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import said

WORDS = ("good", "nice", "fine")
LOGITS = torch.tensor([2.0, 1.0, 0.0])
HEAT = {"½": 0.5, "1": 1.0, "2": 2.0}
P = 0.7
SHARES = {name: (LOGITS / tau).softmax(-1) for name, tau in HEAT.items()}
KEPT = {name: keep_top_p(LOGITS / tau, P).isfinite().tolist() for name, tau in HEAT.items()}

# Of the words good, nice, evening and eos: what follows each, and what comes first.
NEXT = ("good", "nice", "evening", "<eos>")
FOLLOWS = (
    torch.tensor([[0, 1, 6, 3], [0, 0, 8, 2], [2, 2, 0, 6], [0, 0, 0, 10], [5, 3, 0, 2]]) / 10.0
)
START, END = 4, 3


def found(beam_size: int, length_penalty: float = 0.0) -> tuple[list[str], float]:
    """Output of a beam, and its probability."""
    out = beam_search(
        lambda tokens, state: (FOLLOWS.log()[tokens], state),
        torch.tensor([START]),
        None,
        reorder=lambda state, _: state,
        beam_size=beam_size,
        max_len=3,
        end=END,
        length_penalty=length_penalty,
    )
    return [NEXT[i] for i in out.tokens[0, 0].tolist()], out.log_probs[0, 0].exp().item()


def _chance(*tokens: int) -> float:
    """The probability of a beginning."""
    pairs = zip((START, *tokens), tokens, strict=False)
    return torch.stack([FOLLOWS[pair] for pair in pairs]).prod().item()


TWO, THREE = found(2)[1], found(3)[1]


@drawing(
    f"""The logits of good, nice and fine are {said(LOGITS, 0)}. At the temperature one half the
    softmax makes them {said(SHARES["½"])}, at 1 {said(SHARES["1"])}, at 2 {said(SHARES["2"])}. The
    higher the temperature, the more alike they are. What top-p {P:g} leaves out is hatched: two
    words at one half, one word at the temperatures 1 and 2.""",
    numbers=lambda: [x for shares in SHARES.values() for x in shares.tolist()],
)
def three_temperatures(s: Sketch) -> None:
    p = Page(s)
    logits = p.cells(LOGITS[:, None], "step", h=28, words=WORDS, name="logits", shape="")
    shares = [
        p.cells(
            share[:, None],
            "weight",
            w=p.of(84, 58),
            h=28,
            bars=True,
            name=f"*τ* = {name}",
            shape="",
            hatched=[(i, 0) for i, kept in enumerate(KEPT[name]) if not kept],
        )
        for name, share in SHARES.items()
    ]
    p.link(logits, shares[0])
    notes = (
        "in each column: divide the logits by *τ*, then softmax",
        f"hatched: left out by top-p {P:g}",
    )
    told = p.texts(*notes)
    p.done(p.column(p.row(logits, *shares, gap=p.of(64, 18)), told))


@drawing(
    f"""A tree of beginnings with their probabilities. The first word is good with
    {_chance(0):.2f}, nice with {_chance(1):.2f}, or the end at once with {_chance(3):.2f}. Good
    evening has {_chance(0, 2):.2f} and nice evening {_chance(1, 2):.2f}. With the end, good evening
    has {TWO:.2f} and nice evening {_chance(1, 2, 3):.2f}. A beam of 2 never keeps the end at once
    and finds good evening. A beam of 3 keeps it, and the empty sentence wins with {THREE:.2f}.""",
    numbers=lambda: [TWO, THREE],
)
def beam_by_hand(s: Sketch) -> None:
    p = Page(s)

    def node(*tokens: int, role: str = "state") -> Part:
        def draw(x: float, y: float) -> None:
            box = s.cells(x, y, [[None]], role, w=w, h=40, thick=role != "state")
            s.text(box.cx, box.cy - 8, NEXT[tokens[-1]], kind="strong", role=role)
            s.text(box.cx, box.cy + 9, f"{_chance(*tokens):.2f}", kind="small", role=role)

        w = p.of(92, 60)
        return p.own(w, 40, draw)

    root, last = p.text("<bos>", kind="strong"), node(END, role="key")
    rows: list[list[Part | None]] = []
    for first in (0, 1):
        way = [node(first), node(first, 2), node(first, 2, END, role="state" if first else "value")]
        p.link(*way)
        p.link(root, way[0], bend="xx")
        rows.append([root if first else None, *way])
    rows.append([None, last, None, None])
    p.link(root, last, bend="xx")
    p.done(p.grid(*rows, gap=(p.of(70, 22), 24), turn=False))
    x, y = last.box.right + 10, last.box.cy
    for down, note in ((-8, "a beam of 2 drops this beginning,"), (9, "a beam of 3 keeps it")):
        s.text(x, y + down, note, kind="small quiet", at="start")


PROMPT = ("the", "cat", "sat", "on")
NEW = "the"


@drawing(
    f"""Three calls of a layer. Prefill: the four words of the prompt, {" ".join(PROMPT)}, are read
    at once; queries, keys and values of four words are computed, and 4 by 4 scores, those of later
    words masked. Next word, with the cache: query, key and value of the one new word are computed,
    the keys and values of the other four are kept, and there are 1 by 5 scores. Next word, without
    a cache: the rows of all five words are computed again, and 5 by 5 scores, of which one row is
    used."""
)
def prefill_and_cache(s: Sketch) -> None:
    p = Page(s)
    calls = {
        "prefill": ("the prompt, all words at once", 4, 0),
        "next word, with a cache": ("one row is new, four are kept", 1, 4),
        "next word, without": ("all five rows again", 5, 0),
    }
    panels = []
    r = 16

    def rows(n: int, role: str) -> Part:
        return p.cells([[None] * 3] * n, role, w=11, h=r, thick=role != "mask")

    for name, (note, asks, kept) in calls.items():
        n = asks + kept
        words = [
            p.text(word, kind="strong small" if i >= kept else "small quiet", at="end")
            for i, word in enumerate((*PROMPT, NEW)[:n])
        ]
        given = [p.column(*words, gap=0)]
        for role in ("query", "key", "value"):
            old = p.place(h=r * kept) if role == "query" or not kept else rows(kept, "mask")
            given.append(p.named(p.column(old, rows(asks, role), gap=0), f"*{role[0]}*", role=role))
        future = [(i, j) for i in range(asks) for j in range(n) if j > i + kept]
        scores = p.cells([[None] * n] * asks, "weight", w=r, h=r, hatched=future)
        p.named(scores, "", f"scores ({asks}, {n})")
        shown = p.stack(p.row(*given, gap=p.of(18, 12)), scores, gap=p.of(22, 26))
        panels.append((name, p.column(p.texts(note), shown)))
    legend = []
    for role, told, hidden in (
        ("query", "computed now", ()),
        ("mask", "kept", ()),
        ("mask", "masked: later words", [(0, 0)]),
    ):
        sample = p.cells([[None]], role, thick=role == "query", hatched=hidden)
        legend.append(p.row(sample, p.texts(told, at="start"), gap=6))
    p.done(p.column(p.panels(*panels), p.row(*legend)))


HEADS = 4


def _kept(groups: int) -> int:
    """Vectors of a head's width that one layer keeps for a token: keys and values."""
    return 2 * groups


@drawing(
    f"""Four query heads in three layers. In multi-head attention each has a key head and a value
    head of its own, and {_kept(HEADS)} vectors are kept for each token. In grouped-query
    attention two query heads share a key head and a value head, and {_kept(2)} vectors
    are kept. In multi-query attention all four share one, and {_kept(1)} vectors are
    kept.""",
    numbers=lambda: [float(_kept(groups)) for groups in (4, 2, 1)],
)
def shared_keys(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, groups in (("multi-head", 4), ("grouped-query", 2), ("multi-query", 1)):
        each, made = HEADS // groups, []
        for g in range(groups):
            kept = p.row(
                *(p.cells([[f"*{kind[0]}*"]], kind, w=20) for kind in ("key", "value")), gap=0
            )
            asks = [
                p.cells([[f"*q*_{{{i + 1}}}"]], "query", w=36)
                for i in range(g * each, (g + 1) * each)
            ]
            for ask in asks:
                p.link(ask, kept, bend="yy")
            made.append(p.column(p.row(*asks, gap=12), kept, gap=32))
        note = p.texts(f"kept per token: {_kept(groups)} vectors")
        panels.append((name, p.column(p.row(*made, gap=12), note)))
    p.done(p.panels(*panels))


@drawing(
    """A token x is multiplied by a matrix, W down, and becomes a short latent c, which is all that
    is kept of it. Two heads have queries of their own. Each query is multiplied by the transposed
    matrix U of its head, and the result by the latent: that is the head's score for the token. No
    key is ever made."""
)
def latent_for_all(s: Sketch) -> None:
    p = Page(s)
    latent = p.cells([["latent *c*"]], "key", w=80, thick=True)
    token, down = p.cells([["*x*"]], "state", w=36), p.layer("*W* down")
    p.link(token, down, latent)
    rows = []
    for head in (1, 2):
        query = p.cells([[f"*q*_{{{head}}}"]], "query", w=36)
        turned, dot = p.layer(f"*U*_{{{head}}} transposed"), p.sign("·")
        score = p.cells([[f"score {head}"]], "weight", w=66)
        p.link(query, turned, dot, score)
        p.link(latent, dot)
        rows.append([query, turned, dot, score])
    kept = p.text("kept", kind="small quiet")
    p.done(p.grid(rows[0], [token, down, latent, kept], rows[1], gap=(18, 26), turn=False))


TARGETS = ("Hi", "<end>", "<assistant>", "Hello", "<end>")
TRAINED = ("continue", "answer", "be rewarded")
COUNTED = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 0, 1, 1], [0, 0, 0, 0.75, 0.75]])


@drawing(
    f"""The five targets of a short conversation, {", ".join(TARGETS)}, and how much the loss of
    each counts when a model learns three things. To continue texts, all count 1. To answer,
    Hello and the end after it count 1 and all others 0. To be rewarded, these two count
    {COUNTED[2, 3]:.2f}, by which the reward of this answer is above the mean, and all others 0.""",
    numbers=lambda: [1, 0, COUNTED[2, 3]],
)
def one_loss_three_weights(s: Sketch) -> None:
    p = Page(s)
    rows, columns = (TARGETS, TRAINED) if s.narrow else (TRAINED, TARGETS)
    shown = [[f"{count:g}" for count in row] for row in p.of(COUNTED, COUNTED.T).tolist()]
    zeros = [(i, j) for i, row in enumerate(shown) for j, count in enumerate(row) if count == "0"]
    w = p.of(92, 74)
    p.done(p.cells(shown, "weight", w=w, h=28, words=rows, over=columns, hatched=zeros))


TEXT = "the cat sat on the mat with the hat"


@drawing(
    """The words the, cat and with, first cut into letters. The first merge makes one token of a and
    t, which are neighbours four times in the text. The second makes one of t and h, four times
    also. The third joins this new token with e, three times, and now the word the is one token."""
)
def merges_by_hand(s: Sketch) -> None:
    p = Page(s)
    rows, w = [], p.of(32, 24)
    for n in range(4):
        known = learn_byte_pairs(TEXT, n)
        new = "".join(known.merges[-1]) if n else None
        count = [known.tokens[i] for i in known.encode(TEXT)].count(f"{new}")
        words = [
            p.row(
                *(
                    p.cells([[token]], "value", w=w * len(token), thick=True)
                    if token == new
                    else p.cells([[token]], "state", w=w * len(token))
                    for token in (known.tokens[i] for i in known.encode(word))
                ),
                gap=0,
            )
            for word in ("the", "cat", "with")
        ]
        told = (f"{n}. {' + '.join(known.merges[-1])}", f"{count} times") if n else ("letters",)
        rows.append((told, p.row(*words, gap=16)))
    p.done(p.titled(*rows))
