"""Cheaper attention: which pairs are left out, a softmax in two tiles, a state that grows."""

import torch

from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.masks import laid
from course_lib.drawings.rows import said
from course_lib.efficient import Running, online_step, strided_mask
from course_lib.masks import longformer_mask, sliding_window_mask

# Four scores and values of width 1, in two tiles.
SCORES = torch.tensor([[0.0, 3.0, 1.0, 4.0]])
VALUES = torch.tensor([[6.0], [1.0], [8.0], [2.0]])
FIRST = online_step(SCORES[:, :2], VALUES[:2], Running.start(torch.zeros(1, 1), d_value=1))
BOTH = online_step(SCORES[:, 2:], VALUES[2:], FIRST)
RESCALE = (FIRST.largest - BOTH.largest).exp().item()
OUT = (BOTH.out / BOTH.total).item()

PATTERNS = {
    "window": (sliding_window_mask(6, 1), "one neighbour on each side"),
    "one global word": (longformer_mask(6, 1, [0]), "word 0 sees all, all see it"),
    "strided": (strided_mask(6, 2), "1 back, and every 2nd back"),
}

# Five queries and keys of width 1, and the keys one place before, at, and after each query.
BAND_Q, BAND_K = [1, 2, 0, 1, 3], [2, 1, 3, 0, 1]
SHIFTED: dict[str, list[int | None]] = {
    "the key before": [None, *BAND_K[:-1]],
    "the key itself": [*BAND_K],
    "the key after": [*BAND_K[1:], None],
}
BAND = [
    [None if key is None else query * key for query, key in zip(BAND_Q, keys, strict=True)]
    for keys in SHIFTED.values()
]

# Two keys after the feature map, two values of width 2, and a query.
LINEAR_K = torch.tensor([[1.0, 0.0], [1.0, 2.0]])
LINEAR_V = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
LINEAR_Q = torch.tensor([1.0, 1.0])
PARTS = LINEAR_K[:, :, None] * LINEAR_V[:, None]
STATE = PARTS.sum(0)
READ = LINEAR_Q @ STATE
SUM = (LINEAR_Q @ LINEAR_K.sum(0)).item()

# Two pairs of keys and values, the mean of each pair, and what a query makes of the means alone.
PAIRS_K = torch.tensor([[[2.0, 0.0], [0.0, 0.0]], [[0.0, 1.0], [0.0, 3.0]]])
PAIRS_V = torch.tensor([[[1.0], [3.0]], [[5.0], [7.0]]])
MEAN_Q, MEAN_V = torch.tensor([1.0, 0.0]), PAIRS_V.mean(1, keepdim=True)
SCORE = PAIRS_K.mean(1, keepdim=True) @ MEAN_Q
SHARE = SCORE.softmax(0)
MIXED = (SHARE * MEAN_V[:, 0]).sum().item()


@drawing(
    """Three tables of six queries and six keys; a hatched cell is a pair that is left out. Window:
    the diagonal and one cell on each side of it. One global word: the same band with a full first
    row and a full first column. Strided: nothing above the diagonal; each query sees itself, the
    word before it, and the words that are two or four places back."""
)
def cheap_patterns(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, (mask, rule) in PATTERNS.items():
        box = laid(p, mask, range(6), range(6), role="weight", w=26, h=24)
        both = p.column(box, p.texts(rule), gap=8)
        panels.append((f"{name}: {mask.sum()} of {mask.numel()}", both))
    p.done(p.panels(*panels))


@drawing(
    f"""Five queries with the numbers {said(torch.tensor(BAND_Q), 0)}, and five keys with the
    numbers {said(torch.tensor(BAND_K), 0)}. The keys are written three times: moved one place to
    the right, where they are, and moved one place to the left. Each of these rows is multiplied
    with the queries, place by place. That makes three rows of scores, of which the first lacks its
    first score and the last its last: 13 scores instead of 25."""
)
def band_by_shifts(s: Sketch) -> None:
    p = Page(s)
    query = p.cells([BAND_Q], "query", w=26, h=26, name="queries", shape="")
    rows = []
    for (name, keys), scores in zip(SHIFTED.items(), BAND, strict=True):
        moved = p.cells([keys], "key", w=26, h=26, name=name, shape="")
        times = p.sign("×")
        band = p.cells([scores], "weight", w=26, h=26, name="scores", shape="")
        p.link(moved, times, band)
        rows.append([moved, times, band])
    p.done(p.grid([query, None, None], *rows, gap=(20, 18), turn=False))


@drawing(
    f"""Two memories. The large, slow one holds the keys and values of four words in two tiles, with
    the values {said(VALUES[:2, 0], 0)}, and {said(VALUES[2:, 0], 0)}. The small, fast one holds the
    query, one tile, and three running numbers. Tile 1 has the scores {said(SCORES[0, :2], 0)}: the
    running maximum is {FIRST.largest.item():.0f}, the sum {FIRST.total.item():.2f} and the output
    so far {FIRST.out.item():.2f}. Tile 2 has the scores {said(SCORES[0, 2:], 0)}. The maximum rises
    to {BOTH.largest.item():.0f}, so the sum and the output are multiplied by {RESCALE:.2f} before
    the new ones are added: {BOTH.total.item():.2f} and {BOTH.out.item():.2f}. One division gives
    the result {OUT:.2f}, the only number that is written back.""",
    numbers=lambda: [
        SCORES,
        VALUES,
        RESCALE,
        OUT,
        FIRST.total.item(),
        FIRST.out.item(),
        BOTH.total.item(),
        BOTH.out.item(),
    ],
)
def softmax_in_tiles(s: Sketch) -> None:
    p = Page(s)
    query = p.cells([[None] * 3], "query", name="query *q*", shape="", at="left")
    divide = p.step("*o* ÷ *z*")
    out = p.cells([[OUT]], "value", thick=True, name="output", shape="")
    factor = p.step(f"× exp({int(FIRST.largest)} − {int(BOTH.largest)}) = {RESCALE:.2f}")
    tiles, work = [], []
    for n, seen in enumerate((FIRST, BOTH)):
        some = slice(2 * n, 2 * n + 2)
        keys = p.cells([[None] * 3] * 2, "key", h=24, name="keys", shape="")
        values = p.cells(VALUES[some], "value", name="values", shape="", h=24)
        tiles.append(p.named(p.row(keys, values, gap=10), f"tile {n + 1}"))
        scores = SCORES[0, some, None]
        share = (scores - seen.largest[0]).exp()
        row = [int(seen.largest), seen.total.item(), seen.out.item()]
        work.append(
            (
                p.rows(scores, "step", gap=0, name="*q* · *k*", shape=""),
                p.rows(
                    share, "weight", gap=0, name=f"exp(*q* · *k* − {int(seen.largest)})", shape=""
                ),
                p.cells([row], "state", h=28, over=("max *m*", "sum *z*", "out *o*"), thick=n == 1),
            )
        )
        p.each(*work[n][:2])
        p.link(*work[n][1:])
    p.link(work[0][-1], factor, work[1][-1], divide, out)
    slow, fast = (f"{kind} memory" for kind in ("large, slow", "small, fast"))
    if s.narrow:
        rails = p.point(), p.point()
        empty = [None] * 3
        rows = [*empty, query], [rails[0], *work[0]], [*empty, factor], [rails[1], *work[1]]
        working = p.grid(*rows, [None, out, None, divide], turn=False)
        for tile, rail, parts in zip(tiles, rails, work, strict=True):
            p.link(tile, rail, parts[0], bend="yy", at=0.1)
        kept = p.panel(p.row(*tiles), slow, w=s.width)
        p.done(kept, p.panel(working, fast, w=s.width, axle=True))
        return
    names = [p.text(name, kind="strong quiet") for name in (slow, fast)]
    for tile, parts in zip(tiles, work, strict=True):
        p.link(tile, parts[0])
    p.behind(names[0], *tiles, out)
    p.behind(names[1], work[0][0], work[1][-1], divide)
    blank = [None] * 2
    p.done(
        p.grid(
            [names[0], *blank, names[1]],
            [None, *blank, query],
            [tiles[0], *work[0]],
            [None, *blank, factor],
            [tiles[1], *work[1]],
            [out, *blank, divide],
            gap=(44, 20),
        )
    )


@drawing(
    f"""Two pairs of key and value become two matrices: each number of the key times each number of
    the value. Their sum is the state S, two by two, with the rows {said(STATE[0], 0)}, and
    {said(STATE[1], 0)}. The query {said(LINEAR_Q, 0)} times S is {said(READ, 0)}. Divided by the
    sum of the weights, {SUM:.0f}, the output is {said(READ / SUM, 0)}.""",
    numbers=lambda: [STATE, READ, SUM, READ / SUM],
)
def linear_state(s: Sketch) -> None:
    p = Page(s)
    plus, dot, rows = p.sign("+"), p.sign("·"), []
    for n in range(2):
        key = p.cells(LINEAR_K[n, :, None], "key", name=f"key {n + 1}", shape="")
        value = p.cells(LINEAR_V[n], "value", name=f"value {n + 1}", shape="")
        part = p.cells(PARTS[n], "state")
        rows.append((key, p.sign("×", 8), value, part))
        p.link(value, part)
        p.link(part, plus, bend="x")
    state = p.cells(STATE, "state", thick=True, name="state *S*", shape="", at="above left")
    query = p.cells(LINEAR_Q, "query", name="query", shape="", at="below")
    read = p.cells(READ, "value", name="*q S*", shape="", at="above left")
    out = p.cells(READ / SUM, "value", thick=True, name="output", shape="", at="below left")
    divide = p.step(f"÷ {SUM:.0f}")
    p.link(plus, state, bend="y")
    p.link(state, dot, tip=False)
    p.link(query, dot)
    p.link(dot, read, divide, out)
    made = p.grid(*rows, gap=(22, 14), turn=False)
    asked = p.stack(dot, query, axle=0, gap=20)
    p.done(p.row(made, plus), state, asked, p.column(read, divide, out, axle=0, gap=20))


@drawing(
    f"""Each of two pairs of keys and values becomes its mean. The query is compared with the mixed
    keys alone. The mixed values {said(MEAN_V.flatten(), 0)} get the weights
    {said(SHARE.flatten())}, and the output is {MIXED:.2f}.""",
    numbers=lambda: [PAIRS_K, PAIRS_V, MEAN_V, SCORE, SHARE, MIXED],
)
def mixed_keys(s: Sketch) -> None:
    p = Page(s)
    query = p.cells(MEAN_Q, "query", name="query", shape="", at="below right")
    out = p.cells([[MIXED]], "value", thick=True, name="output", shape="", at="above right")
    names = "keys", "values", "mixed key", "score", "weight", "mixed value"
    roles = "key", "value", "key", "step", "weight", "value"
    numbers = PAIRS_K, PAIRS_V, PAIRS_K.mean(1, keepdim=True), SCORE[..., None], SHARE, MEAN_V
    plus, rows = p.sign("+"), []
    for n in range(2):
        keys, values, few, score, share, value = (
            p.cells(both[n], role, bars=both is SHARE, name="" if n else name, shape="")
            for name, role, both in zip(names, roles, numbers, strict=True)
        )
        many, mean, dot = p.row(keys, values, gap=8), p.step("mean"), p.sign("·")
        p.link(many, mean, few, dot, score, share)
        p.link(value, plus)
        rows.append((many, mean, few, dot, score, share, p.sign("×", 7), value))
    p.link(query, rows[1][3], rows[0][3], tip=False)
    p.link(plus, out)
    p.done(p.grid(*rows, [*3 * [None], query, *4 * [None]], gap=(16, 26)), plus, out)
