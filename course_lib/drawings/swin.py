"""Windows on a grid of patches: moved, rolled and masked, their offsets, and patches merged."""

import torch
from torch import Tensor

from course_lib.attention_maps import reachability
from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.masks import blank, hidden
from course_lib.drawings.rows import listed
from course_lib.positions.window import window_index
from course_lib.swin import (
    SwinConfig,
    cyclic_shift,
    grid_connections,
    window_layout,
    window_mask,
    window_partition,
)

SIDE, WINDOW, SHIFT = 4, 2, 1
LAYOUTS = [window_layout(SIDE, SIDE, WINDOW, shift) for shift in (0, SHIFT)]
MASKS = [grid_connections(layout) for layout in LAYOUTS]
# Which patches depend on patch 0 after one layer, two and three.
HEARD = [reachability(MASKS, layer)[:, 0].view(SIDE, SIDE) for layer in (1, 2, 3)]

# The last token that depends on token 0 after each layer, in a row of windows.
TOKENS, LONG, HALF = 16, 4, 2
ROW = [grid_connections(window_layout(1, TOKENS, LONG, shift)) for shift in (0, HALF)]
FAR = [int(reachability(ROW, n)[:, 0].nonzero().max()) for n in range(1, 2 * TOKENS // LONG)]

GRID = torch.arange(SIDE**2).view(SIDE, SIDE)
ROLLED = cyclic_shift(GRID[None, ..., None], (SHIFT, SHIFT))[0, ..., 0]
CUT = window_partition(ROLLED[None, ..., None], (WINDOW, WINDOW))[..., 0]
SEES = window_mask(LAYOUTS[1])
# The second window, and those of its patches that came round.
CHOSEN = 1
ROUND = 4, 8

INDEX = window_index(2, 2)
QUERY, KEY = 2, 1
NAMES = "abcd"
STEPS = (-1, 0, 1)

CONFIG = SwinConfig()


def _plan(shift: int, side: int = SIDE, window: int = WINDOW) -> list[list[int]]:
    """The rows, or columns, of each window along one axis."""
    places: dict[int, list[int]] = {}
    for place in range(side):
        places.setdefault((place - shift) // window, []).append(place)
    return list(places.values())


@drawing(
    f"""A picture of {SIDE} by {SIDE} patches, numbered from 0, in three layers. In layer 1 it is
    cut into four windows of {WINDOW} by {WINDOW}, and patch 0 reaches the patches of its
    window, {listed(GRID[HEARD[0]])}. In layer 2 the windows are moved by {SHIFT} down and to the
    right: patch 5 shares one with 6, 9 and 10, and windows at the edge are smaller. The news has
    now reached {int(HEARD[1].sum())} patches. In layer 3 the windows are back, and all
    {int(HEARD[2].sum())} patches have it, patch 15 in the opposite corner among them."""
)
def news_through_windows(s: Sketch) -> None:
    """Three layers of windows, and how far the news of the first patch has come."""
    titles = ("layer 1: windows", "layer 2: moved by 1", "layer 3: windows again")
    c, gap = (28.0, 8.0) if s.narrow else (36.0, 10.0)
    for n, heard in enumerate(HEARD):
        left = 172.0 + 2 * gap if s.narrow else 4.0 + 232 * n
        top = 0.0 + n * (4 * c + 52) if s.narrow else 44.0
        rows = _plan(SHIFT if n == 1 else 0)
        width = 4 * c + gap * (len(rows) - 1)
        left += (4 * c + 2 * gap - width) / 2
        top_ = top + (4 * c + 2 * gap - width) / 2
        for i, down in enumerate(rows):
            for j, right in enumerate(rows):
                numbers = GRID[down][:, right]
                told = heard[down][:, right]
                x, y = left + right[0] * c + j * gap, top_ + down[0] * c + i * gap
                _window(s, x, y, numbers, told, c)
        around = Box(left, top_, width, width)
        if s.narrow:
            s.text(0, around.cy - 9, titles[n], kind="strong", at="start")
            s.text(0, around.cy + 9, f"{int(heard.sum())} patches know", kind="small", at="start")
        else:
            s.text(around.cx, 12, titles[n], kind="strong")
            s.text(around.cx, 240, f"{int(heard.sum())} patches know")
        if n < 2:
            if s.narrow:
                end = around.cx, top + 4 * c + (46 if n else 42)
                s.arrow((around.cx, around.bottom + 8), end)
            else:
                s.arrow((around.right + 8, around.cy), (4 + 232 * (n + 1) - 4, around.cy))


def _window(s: Sketch, x: float, y: float, numbers: Tensor, told: Tensor, c: float) -> None:
    """A window: patches that know in green, the others grey."""
    for i, row in enumerate(numbers.tolist()):
        for j, number in enumerate(row):
            role = "value" if told[i, j] else "state"
            s.cells(x + j * c, y + i * c, [[number]], role, w=c, h=c, thick=number == 0)


@drawing(
    f"""The {SIDE} by {SIDE} patches are rolled by one up and to the left: the top row comes in
    below, the left column on the right. The rows are now {"; ".join(map(listed, ROLLED))}. Now
    they are cut into four windows of {WINDOW} by {WINDOW}. Window B holds
    {listed(CUT[CHOSEN])}; of these {ROUND[0]} and {ROUND[1]} have come round from the left edge of
    the picture. Its mask lets 7 and 11 see each other, and 4 and 8 see each other, and hides the
    other pairs. In window D each of {listed(CUT[3])} sees itself alone.""",
    numbers=lambda: [GRID, ROLLED],
)
def shift_by_hand(s: Sketch) -> None:
    """Sixteen numbers are rolled and cut, and two windows get their masks."""
    c, gap = 28.0, 10.0
    x, y = (4.0, 44.0) if s.narrow else (4.0, 60.0)
    for number in GRID.flatten().tolist():
        i, j = divmod(number, SIDE)
        s.cells(x + j * c, y + i * c, [[number]], _edge(number), w=c, h=c)
    whole = Box(x, y, 4 * c, 4 * c)
    s.name(whole, "picture", "(4, 4)")
    s.text(x, whole.bottom + 15, "dashed: comes round", kind="small", role="position", at="start")
    x = whole.right + 78
    s.arrow((whole.right + 4, whole.cy), (x - 24, whole.cy), label="roll")
    for n, letter in enumerate("ABCD"):
        left, top = x + n % 2 * (2 * c + gap), y - 5 + n // 2 * (2 * c + gap)
        for place, number in enumerate(CUT[n].tolist()):
            i, j = divmod(place, WINDOW)
            s.cells(left + j * c, top + i * c, [[number]], _edge(number), w=c, h=c)
        aside = left + 2 * c + 11 if n % 2 else left - 11
        s.text(aside, top + c, letter, kind="strong")
    rolled = Box(x, y - 5, 4 * c + gap, 4 * c + gap)
    s.name(rolled, "rolled, 4 windows", "(4, 4)")
    for place, n in enumerate((CHOSEN, 3)):
        left, top = rolled.right + 58 + 170 * place, y
        if s.narrow:
            left, top = 36.0 + 174 * place, rolled.bottom + 70
        mask = s.cells(left, top, blank(SEES[n]), "mask", w=c, h=c, hatched=hidden(SEES[n]))
        s.text(mask.cx, mask.y - 30, f"mask of window {'ABCD'[n]}", role="mask")
        for i, number in enumerate(CUT[n].tolist()):
            s.text(mask.x - 7, mask.cell(i).cy, str(number), kind="small strong", at="end",
                   role="query")  # fmt: skip
            s.text(mask.cell(0, i).cx, mask.y - 10, str(number), kind="small strong", role="key")


def _edge(number: int) -> str:
    """The colour of the patches that a roll brings round: those of the first row and column."""
    return "position" if number // SIDE < SHIFT or number % SIDE < SHIFT else "state"


@drawing(
    f"""A row of {TOKENS} tokens in {len(FAR)} layers. In the odd layers four windows of {LONG}
    tokens stand still; in the even ones they are moved by {HALF}, so that a window joins two halves
    of still windows. Tokens that depend on token 0 are green, window by window: after layer 1 they
    go up to token {FAR[0]}, and then up to {listed(torch.tensor(FAR[1:]))}. The last of the four
    windows is reached in layer {len(FAR)}.""",
    numbers=lambda: [0, *FAR],
)
def end_to_end(s: Sketch) -> None:
    """How far the news of the first token of a row has come after each layer."""
    c, gap = (20.0, 5.0) if s.narrow else (28.0, 8.0)
    left, top = (2.0, 20.0) if s.narrow else (94.0, 2.0)
    for n, far in enumerate(FAR):
        windows = _plan(HALF * (n % 2), TOKENS, LONG)
        x = left + gap * (5 - len(windows)) / 2
        y = top + n * (c + (22 if s.narrow else 10))
        for j, window in enumerate(windows):
            numbers = [place if place in (0, far) else None for place in window]
            role = "value" if window[-1] <= far else "state"
            s.cells(x + window[0] * c + j * gap, y, [numbers], role, w=c, h=c)
        which = f"layer {n + 1}" + ", moved" * (n % 2)
        if s.narrow:
            s.text(left, y - 9, f"{which}: to token {far}", kind="small", at="start")
        else:
            s.text(left - 10, y + c / 2, which, kind="small", at="end")
            s.text(left + 488, y + c / 2, f"to token {far}", kind="small", at="start")


@drawing(
    f"""A window of 2 by 2 patches: a and b above, c and d below. From key to query there are nine
    offsets, each part minus 1, 0 or 1. They are numbered row after row from 0 to
    {int(INDEX.max())}, so the table of biases has {int(INDEX.max()) + 1} rows. The pairs of the
    window get their numbers, query by key: {"; ".join(map(listed, INDEX))}. Marked is query c with
    key b: one down, one to the left, number {int(INDEX[QUERY, KEY])}.""",
    numbers=lambda: [INDEX],
)
def offsets_by_hand(s: Sketch) -> None:
    """The nine offsets of a small window, and the number of every pair."""
    c = 30.0
    x, y = (4.0, 60.0) if s.narrow else (24.0, 82.0)
    for n, letter in enumerate(NAMES):
        role = {QUERY: "query", KEY: "key"}.get(n, "state")
        s.cells(x + n % 2 * c, y + n // 2 * c, [[letter]], role, w=c, h=c, thick=role != "state")
    window = Box(x, y, 2 * c, 2 * c)
    s.name(window, "window", "(2, 2)")
    x = window.right + (106 if s.narrow else 142)
    y = window.cy - 1.5 * c
    chosen = int(INDEX[QUERY, KEY])
    for number in range(9):
        i, j = divmod(number, 3)
        s.cells(x + j * c, y + i * c, [[number]], "position", w=c, h=c, thick=number == chosen)
    table = Box(x, y, 3 * c, 3 * c, 3, 3)
    for i, step in enumerate(STEPS):
        sign = str(step).replace("-", "−")
        s.text(table.x - 8, table.cell(i).cy, sign, kind="small", at="end")
        s.text(table.cell(0, i).cx, table.y - 10, sign, kind="small")
    s.text(table.x - 26, table.cy, "down", kind="small quiet", at="end")
    s.text(table.cx, table.y - 25, "to the right", kind="small quiet")
    s.text(table.cx, table.y - 44, "nine offsets", role="position")
    s.arrow((window.right + 4, window.cy), (table.x - (60 if s.narrow else 66), window.cy))
    if s.narrow:
        x, y = 112.0, table.bottom + 84
        s.arrow((table.cx, table.bottom + 4), (table.cx, y - 56))
    else:
        x, y = table.right + 110, window.cy - 2 * c
        s.arrow((table.right + 4, table.cy), (x - 26, table.cy))
    for i, row in enumerate(INDEX.tolist()):
        for j, number in enumerate(row):
            s.cells(x + j * c, y + i * c, [[number]], "position", w=c, h=c,
                    thick=(i, j) == (QUERY, KEY))  # fmt: skip
    pairs = Box(x, y, 4 * c, 4 * c, 4, 4)
    for i, letter in enumerate(NAMES):
        s.text(x - 8, pairs.cell(i).cy, letter, kind="strong", at="end", role="query")
        s.text(pairs.cell(0, i).cx, y - 11, letter, kind="strong", role="key")
    s.text(pairs.cx, y - 32, "query by key (4, 4)")


@drawing(
    f"""Patch merging. The four tokens of a square, a and b above, c and d below, each of width D,
    are put side by side in the order a, c, b, d: first down, then across. The row of width 4 D is
    normed and multiplied by a matrix of 4 D by 2 D. Out of four tokens of width D comes one of
    width 2 D. Three merges lead from the {CONFIG.maps[0]} by {CONFIG.maps[0]} tokens of width
    {CONFIG.widths[0]} of the smallest Swin to {CONFIG.maps[-1]} by {CONFIG.maps[-1]} tokens of
    width {CONFIG.widths[-1]}.""",
    numbers=lambda: [*CONFIG.maps, *CONFIG.widths],
)
def merging_four_patches(s: Sketch) -> None:
    """Four tokens become one, and four stages of a model."""
    c, w, h = 24.0, 19.0, 26.0
    x, y = (20.0, 44.0) if s.narrow else (4.0, 50.0)
    for i in range(4):
        for j in range(4):
            name = NAMES[2 * i + j] if i < 2 and j < 2 else None
            s.cells(x + j * c, y + i * c, [[name]], "value" if name else "state", w=c, h=c)
    grid = Box(x, y, 4 * c, 4 * c)
    s.name(grid, "tokens", "(4, 4, *D*)")
    middle = grid.cy
    x = grid.right + (42 if s.narrow else 34)
    long = s.cells(
        x, middle - h / 2, [[name for name in "acbd" for _ in range(2)]], "value", w=w, h=h
    )
    s.name(long, "side by side", "(2, 2, 4*D*)")
    s.arrow((grid.right + 3, middle), (long.x, middle))
    if s.narrow:
        middle = grid.bottom + 70
        norm = s.layer(52, middle, 52, 34, "norm")
        turn = grid.bottom + 20
        s.arrow((long.cx, long.bottom), (long.cx, turn), (norm.cx, turn), (norm.cx, norm.y))
    else:
        norm = s.layer(long.right + 48, middle, 50, 34, "norm")
        s.flow(long, norm)
    matrix = s.layer(norm.right + 50, middle, 46, 46, "*W*")
    s.flow(norm, matrix)
    s.text(matrix.cx, matrix.bottom + 12, "(4*D*, 2*D*)", kind="small quiet")
    new = Box(matrix.right + 36, middle - 34, 68, 68)
    for n in range(4):
        s.cells(new.x + n % 2 * 38, new.y + n // 2 * 38, [[None]], "state" if n else "value", w=30,
                h=30, thick=not n)  # fmt: skip
    s.arrow((matrix.right, middle), (new.x - 4, middle))
    if s.narrow:
        s.name(new, "tokens", "(2, 2, 2*D*)", side="right")
    else:
        s.name(new, "tokens", "(2, 2, 2*D*)")
    top = new.bottom + 44
    gap = s.width / 4
    blocks: list[Box] = []
    for n, (side, width) in enumerate(zip(CONFIG.maps, CONFIG.widths, strict=True)):
        box = s.step(gap * (n + 0.5), top, gap - (18 if s.narrow else 60), 28, f"{side} × {side}")
        s.text(box.cx, box.bottom + 13, f"width {width}", kind="small")
        if blocks:
            s.flow(blocks[-1], box)
        blocks.append(box)
