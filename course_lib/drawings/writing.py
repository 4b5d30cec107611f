"""From logits to a text: three temperatures, a beam, what a cache keeps and how keys are shared."""

import torch

from course_lib.decoding import beam_search, keep_top_p
from course_lib.drawings import Box, Page, Part, Sketch, drawing
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
    """What a beam writes, and its probability."""
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
    """The same logits, divided by three temperatures, and what top-p leaves of each."""
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
    """Three beginnings; the one that a beam of 3 keeps and a beam of 2 drops wins in the end."""
    p = Page(s)

    def node(*tokens: int, role: str = "state") -> Part:
        def draw(x: float, y: float) -> Box:
            box = s.cells(x, y, [[None]], role, w=w, h=40, thick=role != "state")
            s.text(box.cx, box.cy - 8, NEXT[tokens[-1]], kind="strong", role=role)
            s.text(box.cx, box.cy + 9, f"{_chance(*tokens):.2f}", kind="small", role=role)
            return box

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


def _reads(
    s: Sketch, x: float, y: float, name: str, note: str, asks: int, kept: int
) -> tuple[Box, Box]:
    """A panel: which rows are computed, which are kept, and the scores that are needed."""
    n, c, r = asks + kept, 11 if s.narrow else 10, 16
    wide = 344.0 if s.narrow else 216.0
    s.panel(x, y, wide, 150 if s.narrow else 262, name)
    s.text(x + 12, y + 32, note, kind="small quiet", at="start")
    words = (*PROMPT, NEW)[:n]
    left, top = x + 42, y + 62
    boxes = []
    for j, (letter, role) in enumerate((("q", "query"), ("k", "key"), ("v", "value"))):
        at = left + j * (3 * c + (18 if s.narrow else 22))
        s.text(at + 1.5 * c, top - 11, f"*{letter}*", role=role)
        old = 0 if letter == "q" else kept
        if old:
            s.cells(at, top, [[None] * 3] * old, "mask", w=c, h=r)
        low = top + r * (n - asks)
        boxes.append(s.cells(at, low, [[None] * 3] * asks, role, w=c, h=r, thick=True))
    for i, word in enumerate(words):
        new = i >= n - asks
        s.text(
            left - 7,
            top + r * (i + 0.5),
            word,
            kind="strong small" if new else "small quiet",
            at="end",
        )
    side = 15 if s.narrow else 16
    at, high = (x + 246, top) if s.narrow else (x + 82, top + 5 * r + 28)
    future = [(i, j) for i in range(asks) for j in range(n) if j > i + kept]
    scores = s.cells(
        at,
        high + (r * kept if s.narrow else 0),
        [[None] * n] * asks,
        "weight",
        w=side,
        h=r,
        hatched=future,
    )
    s.text(at - 8, scores.cy, f"scores ({asks}, {n})", kind="small quiet", at="end") if (
        not s.narrow
    ) else s.text(at + 2.5 * side, top - 11, f"scores ({asks}, {n})", kind="small quiet")
    return boxes[0], scores


@drawing(
    f"""Three calls of a layer. Prefill: the four words of the prompt, {" ".join(PROMPT)}, are read
    at once; queries, keys and values of four words are computed, and 4 by 4 scores, those of later
    words masked. Next word, with the cache: query, key and value of the one new word are computed,
    the keys and values of the other four are kept, and there are 1 by 5 scores. Next word, without
    a cache: the rows of all five words are computed again, and 5 by 5 scores, of which one row is
    used."""
)
def prefill_and_cache(s: Sketch) -> None:
    """Coloured rows are computed in this call, grey ones are kept."""
    calls = (
        ("prefill", "the prompt, all words at once", 4, 0),
        ("next word, with a cache", "one row is new, four are kept", 1, 4),
        ("next word, without", "all five rows again", 5, 0),
    )
    for i, (name, note, asks, kept) in enumerate(calls):
        x, y = (0.0, 160.0 * i) if s.narrow else (226.0 * i, 0.0)
        _reads(s, x, y, name, note, asks, kept)
    y = 492.0 if s.narrow else 278.0
    box = s.cells(4, y - 7, [[None]], "query", w=16, h=14, thick=True)
    s.text(box.right + 6, y, "computed now", kind="small quiet", at="start")
    box = s.cells(118, y - 7, [[None]], "mask", w=16, h=14)
    s.text(box.right + 6, y, "kept", kind="small quiet", at="start")
    box = s.cells(186, y - 7, [[None]], "mask", w=16, h=14, hatched=[(0, 0)])
    s.text(box.right + 6, y, "masked: later words", kind="small quiet", at="start")


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
    """Query heads above, the keys and values that they share below."""
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
        note = p.text(f"kept per token: {_kept(groups)} vectors", kind="small quiet")
        panels.append((name, p.column(p.row(*made, gap=12), note)))
    p.done(p.panels(*panels))
