"""From logits to a text: three temperatures, a beam, what a cache keeps and how keys are shared."""

import torch

from course_lib.decoding import beam_search, keep_top_p
from course_lib.drawings import Box, Sketch, drawing
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
        lambda tokens, state: (FOLLOWS.log()[tokens], state), torch.tensor([START]), None,
        reorder=lambda state, _: state, beam_size=beam_size, max_len=3, end=END,
        length_penalty=length_penalty,
    )  # fmt: skip
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
    h, w = 28, 58 if s.narrow else 84
    left = 46 if s.narrow else 62
    logits = s.cells(left + 2, 60, LOGITS[:, None], "step", w=30, h=h)
    s.name(logits, "logits")
    for i, word in enumerate(WORDS):
        s.text(left - 4, logits.cell(i).cy, word, kind="strong", at="end")
    for j, (name, shares) in enumerate(SHARES.items()):
        x = left + (76 if s.narrow else 130) + j * (w + (20 if s.narrow else 72))
        hatched = [(i, 0) for i, kept in enumerate(KEPT[name]) if not kept]
        box = s.cells(x, 60, shares[:, None], "weight", w=w, h=h, bars=True, hatched=hatched)
        s.name(box, f"*τ* = {name}", role="weight")
    first = left + (76 if s.narrow else 130)
    s.arrow((logits.right, logits.cy), (first, logits.cy))
    y = logits.bottom + 18
    s.text(left, y, "in each column: divide the logits by *τ*, then softmax", kind="small quiet",
           at="start")  # fmt: skip
    s.text(left, y + 18, f"hatched: left out by top-p {P:g}", kind="small quiet", at="start")


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
    step = 84 if s.narrow else 166
    x0 = 34 if s.narrow else 60
    w, h = (60, 40) if s.narrow else (92, 40)
    ys = (34.0, 98.0, 162.0)

    def node(depth: int, y: float, *tokens: int, role: str = "state", thick: bool = False) -> Box:
        x = x0 + step * depth
        box = s.cells(x - w / 2, y - h / 2, [[None]], role, w=w, h=h, thick=thick)
        s.text(x, y - 8, NEXT[tokens[-1]], kind="strong", role=role)
        s.text(x, y + 9, f"{_chance(*tokens):.2f}", kind="small", role=role)
        return box

    root = s.word(x0 - (10 if s.narrow else 2), ys[1], "<bos>")
    for y, first in zip(ys, (0, 1, 3), strict=True):
        ends = first == END
        box = node(1, y, first, role="key" if ends else "state", thick=ends)
        if y == ys[1]:
            s.arrow((root.right + 4, y), (box.x, y))
        else:
            bend = (root.right + box.x) / 2 + 3
            s.arrow((root.right + 4, ys[1]), (bend, ys[1]), (bend, y), (box.x, y))
        if ends:
            continue
        two = node(2, y, first, 2)
        three = node(3, y, first, 2, END, role="value" if first == 0 else "state", thick=first == 0)
        s.flow(box, two, three)
    x = x0 + step + w / 2 + 10
    s.text(x, ys[2] - 8, "a beam of 2 drops this beginning,", kind="small quiet", at="start")
    s.text(x, ys[2] + 9, "a beam of 3 keeps it", kind="small quiet", at="start")


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
        s.text(left - 7, top + r * (i + 0.5), word, kind="strong small" if new else "small quiet",
               at="end")  # fmt: skip
    side = 15 if s.narrow else 16
    at, high = (x + 246, top) if s.narrow else (x + 82, top + 5 * r + 28)
    future = [(i, j) for i in range(asks) for j in range(n) if j > i + kept]
    scores = s.cells(at, high + (r * kept if s.narrow else 0), [[None] * n] * asks, "weight",
                     w=side, h=r, hatched=future)  # fmt: skip
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
    w, h = (34, 24) if s.narrow else (36, 26)
    panels = s.panels(("multi-head", "grouped-query", "multi-query"), 166, phone=146, gap=10)
    for panel, groups in zip(panels, (4, 2, 1), strict=True):
        first, gap = panel.cx - 1.5 * 48, 48
        top = panel.y + 52
        spots = [first + gap * i for i in range(HEADS)]
        asks = [s.cells(at - w / 2, top - h / 2, [[f"*q*_{{{i + 1}}}"]], "query", w=w, h=h)
                for i, at in enumerate(spots)]  # fmt: skip
        each = HEADS // groups
        low = top + 58
        for g in range(groups):
            mine = spots[g * each : (g + 1) * each]
            middle = sum(mine) / each
            k = s.cells(middle - 20, low - h / 2, [["*k*"]], "key", w=20, h=h)
            s.cells(middle, low - h / 2, [["*v*"]], "value", w=20, h=h)
            for at, box in zip(mine, asks[g * each :], strict=False):
                if at == middle:
                    s.arrow((at, box.bottom), (at, k.y))
                else:
                    bend = (box.bottom + k.y) / 2
                    s.arrow((at, box.bottom), (at, bend), (middle, bend), (middle, k.y))
        s.text(
            panel.cx,
            low + (25 if s.narrow else 30),
            f"kept per token: {_kept(groups)} vectors",
            kind="small quiet",
        )
