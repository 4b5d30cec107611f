"""Cheaper attention: which pairs are left out, a softmax in two tiles, a state that grows."""

import torch

from course_lib.drawings import Box, Page, Sketch, drawing
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

# Two keys after the feature map, two values of width 2, and a query.
LINEAR_K = torch.tensor([[1.0, 0.0], [1.0, 2.0]])
LINEAR_V = torch.tensor([[4.0, 0.0], [0.0, 8.0]])
LINEAR_Q = torch.tensor([1.0, 1.0])
PARTS = LINEAR_K[:, :, None] * LINEAR_V[:, None]
STATE = PARTS.sum(0)
READ = LINEAR_Q @ STATE
SUM = (LINEAR_Q @ LINEAR_K.sum(0)).item()


@drawing(
    """Three tables of six queries and six keys; a hatched cell is a pair that is left out. Window:
    the diagonal and one cell on each side of it. One global word: the same band with a full first
    row and a full first column. Strided: nothing above the diagonal; each query sees itself, the
    word before it, and the words that are two or four places back."""
)
def cheap_patterns(s: Sketch) -> None:
    """Which of 36 scores are computed at all."""
    p = Page(s)
    panels = []
    for name, (mask, rule) in PATTERNS.items():
        box = laid(p, mask, range(6), range(6), role="weight", w=26, h=24)
        both = p.column(box, p.text(rule, kind="small quiet"), gap=8)
        panels.append((f"{name}: {mask.sum()} of {mask.numel()}", both))
    p.done(p.panels(*panels))


def _state(s: Sketch, x: float, y: float, seen: Running, *, thick: bool = False) -> Box:
    """The three numbers that stay in the fast memory."""
    row: list[object] = [int(seen.largest.item()), seen.total.item(), seen.out.item()]
    box = s.cells(x, y, [row], "state", w=46, h=28, thick=thick)
    s.name_columns(box, ("max *m*", "sum *z*", "out *o*"))
    return box


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
    """Four keys, two at a time, and three numbers that are carried on."""
    h = 26.0
    tiles = ((SCORES[0, :2], VALUES[:2], FIRST), (SCORES[0, 2:], VALUES[2:], BOTH))
    if s.narrow:
        s.panel(0, 0, 344, 132, "large, slow memory")
        s.panel(0, 164, 344, 352, "small, fast memory")
    else:
        s.panel(0, 0, 168, 322, "large, slow memory")
        s.panel(214, 0, 454, 322, "small, fast memory")
    q = s.cells(*((270, 178) if s.narrow else (590, 14)), [[None] * 3], "query", w=18, h=22)
    s.text(q.x - 8, q.cy, "query *q*", role="query", at="end")
    before: Box | None = None
    for n, (scores, values, seen) in enumerate(tiles):
        # The tile where it is kept.
        x, y = (28.0 + 168 * n, 66.0) if s.narrow else (24.0, 82.0 + 126 * n)
        keys = s.cells(x, y, [[None] * 3] * 2, "key", w=18, h=h)
        kept = s.cells(x + 66, y, values, "value", w=34, h=h)
        s.text(x + 50, y - 29, f"tile {n + 1}", kind="strong")
        s.text(keys.cx, y - 11, "keys", role="key", kind="small")
        s.text(kept.cx, y - 11, "values", role="value", kind="small")
        # The same tile at work.
        left, top = (30.0, 232.0 + 140 * n) if s.narrow else (252.0, y)
        found = s.cells(left, top, scores[:, None], "step", w=34, h=h)
        s.text(found.cx, top - 11, "*q* · *k*", kind="small")
        powers = (scores - seen.largest[0]).exp()
        share = s.cells(left + 82, top, powers[:, None], "weight", w=46, h=h)
        s.text(share.cx, top - 11, f"exp(*q* · *k* − {int(seen.largest)})", kind="small")
        for i in range(2):
            s.arrow((found.right, found.cell(i).cy), (share.x, share.cell(i).cy))
        at = (left + 154, top + 12) if s.narrow else (left + 246, top + 12)
        state = _state(s, *at, seen, thick=n == 1)
        s.flow(share, state)
        if s.narrow:
            s.arrow(
                (x + 50, kept.bottom), (x + 50, 148), (6, 148), (6, found.cy), (found.x, found.cy)
            )
        else:
            s.flow(kept, found)
        if before:
            factor = s.step(
                before.cx,
                (before.bottom + state.y - 18) / 2,
                156,
                28,
                f"× exp({int(FIRST.largest)} − {int(BOTH.largest)}) = {RESCALE:.2f}",
            )
            s.flow(before, factor)
            s.arrow((factor.cx, factor.bottom), (factor.cx, state.y - 20))
        before = state
    assert before is not None
    y = before.bottom + (50 if s.narrow else 52)
    divide = s.step(before.cx, y, 74, 28, "*o* ÷ *z*")
    x = 60.0 if s.narrow else 90.0
    out = s.cells(x, y - 14, [[OUT]], "value", w=48, h=28, thick=True)
    s.text(
        out.cx if s.narrow else out.x - 8,
        out.y - 11 if s.narrow else out.cy,
        "output",
        role="value",
        at="middle" if s.narrow else "end",
    )
    s.flow(before, divide, out)


@drawing(
    f"""Two pairs of key and value become two matrices: each number of the key times each number of
    the value. Their sum is the state S, two by two, with the rows {said(STATE[0], 0)}, and
    {said(STATE[1], 0)}. The query {said(LINEAR_Q, 0)} times S is {said(READ, 0)}. Divided by the
    sum of the weights, {SUM:.0f}, the output is {said(READ / SUM, 0)}.""",
    numbers=lambda: [STATE, READ, SUM, READ / SUM],
)
def linear_state(s: Sketch) -> None:
    """A key and a value are written into a matrix, and a query reads it."""
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
