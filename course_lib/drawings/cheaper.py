"""Cheaper attention: which pairs are left out, a softmax in two tiles, a state that grows."""

import torch

from course_lib.drawings import Box, Sketch, drawing
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
    c, h = (26.0, 22.0) if s.narrow else (28.0, 24.0)
    names = (f"{name}: {mask.sum()} of {mask.numel()}" for name, (mask, _) in PATTERNS.items())
    panels = s.panels(names, 226, phone=192, gap=10)
    for panel, (mask, rule) in zip(panels, PATTERNS.values(), strict=True):
        x, y = panel.x + (104 if s.narrow else 34), panel.y + 46
        gone = [(i, j) for i, j in (~mask).nonzero().tolist()]
        box = s.cells(x, y, [[None] * 6] * 6, "weight", w=c, h=h, hatched=gone)
        for i in range(6):
            s.text(x - 10, box.cell(i).cy, str(i), kind="small", role="query")
            s.text(box.cell(0, i).cx, y - 9, str(i), kind="small", role="key")
        if not s.narrow:
            s.text(panel.cx, box.bottom + 17, rule, kind="small quiet")


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
        SCORES, VALUES, RESCALE, OUT,
        FIRST.total.item(), FIRST.out.item(), BOTH.total.item(), BOTH.out.item(),
    ],
)  # fmt: skip
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
                before.cx, (before.bottom + state.y - 18) / 2, 156, 28,
                f"× exp({int(FIRST.largest)} − {int(BOTH.largest)}) = {RESCALE:.2f}",
            )  # fmt: skip
            s.flow(before, factor)
            s.arrow((factor.cx, factor.bottom), (factor.cx, state.y - 20))
        before = state
    assert before is not None
    y = before.bottom + (50 if s.narrow else 52)
    divide = s.step(before.cx, y, 74, 28, "*o* ÷ *z*")
    x = 60.0 if s.narrow else 90.0
    out = s.cells(x, y - 14, [[OUT]], "value", w=48, h=28, thick=True)
    s.text(out.cx if s.narrow else out.x - 8, out.y - 11 if s.narrow else out.cy, "output",
           role="value", at="middle" if s.narrow else "end")  # fmt: skip
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
    c, h = (34.0, 28.0) if s.narrow else (38.0, 28.0)
    boxes = []
    for n in range(2):
        top = 30.0 + (100 if s.narrow else 106) * n
        x = 4.0 if s.narrow else 10.0
        key = s.cells(x, top + 14, LINEAR_K[n, :, None], "key", w=c, h=h)
        value = s.cells(key.right + 26, top + 28, LINEAR_V[n], "value", w=c, h=h)
        s.sign(key.right + 13, key.cy, "×", r=8)
        s.text(key.cx, key.y - 11, f"key {n + 1}", role="key")
        s.text(value.cx, value.y - 11, f"value {n + 1}", role="value")
        part = s.cells(
            value.right + (36 if s.narrow else 46), top + 14, PARTS[n], "state", w=c, h=h
        )
        s.flow(value, part)
        boxes.append(part)
    first, second = boxes
    middle = (first.cy + second.cy) / 2
    plus = s.sign(first.right + 34, middle, "+")
    for box in boxes:
        end = plus.y if box is first else plus.bottom
        s.arrow((box.right, box.cy), (plus.cx, box.cy), (plus.cx, end))
    if s.narrow:
        state = s.cells(first.x, 262, STATE, "state", w=c, h=h, thick=True)
        lane = plus.right + 20
        s.arrow((plus.right, middle), (lane, middle), (lane, state.cy), (state.right, state.cy))
        s.text(state.cx, state.y - 11, "state *S*", role="state")
        query = s.cells(x, 276, LINEAR_Q, "query", w=c, h=h)
        dot = s.sign((query.right + state.x) / 2, state.cy, "·")
        s.flow(query, dot, state, tip=False)
        read = s.cells(query.x, 370, READ, "value", w=c, h=h)
        s.arrow((dot.cx, dot.bottom), (dot.cx, 346), (read.cx, 346), (read.cx, read.y))
    else:
        state = s.cells(plus.right + 40, middle - h, STATE, "state", w=c, h=h, thick=True)
        s.flow(plus, state)
        s.text(state.cx, state.y - 11, "state *S*", role="state")
        query = s.cells(state.x, state.bottom + 42, LINEAR_Q, "query", w=c, h=h)
        read = s.cells(state.right + 40, state.cy - 14, READ, "value", w=c, h=h)
        dot = s.sign(state.right + 20, state.cy, "·", r=8)
        s.arrow((query.right, query.cy), (dot.cx, query.cy), (dot.cx, dot.bottom))
        s.flow(dot, read, tip=False)
    s.text(query.cx, query.y - 11, "query", role="query")
    s.text(read.cx, read.y - 11 if not s.narrow else read.bottom + 12, "*q S*", role="value")
    if s.narrow:
        divide = s.step(read.right + 62, read.cy, 56, 26, f"÷ {SUM:.0f}")
        out = s.cells(divide.right + 30, read.y, READ / SUM, "value", w=c, h=h, thick=True)
        s.flow(read, divide, out)
        s.text(out.cx, out.bottom + 12, "output", role="value")
    else:
        divide = s.step(read.cx, read.bottom + 38, 56, 26, f"÷ {SUM:.0f}")
        out = s.cells(read.x, divide.bottom + 24, READ / SUM, "value", w=c, h=h, thick=True)
        s.flow(read, divide, out)
        s.text(out.cx, out.bottom + 12, "output", role="value")
