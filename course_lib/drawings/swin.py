"""Windows on a grid of patches: moved, rolled and masked, their offsets, and patches merged."""

import torch
from torch import Tensor

from course_lib.attention_maps import reachability
from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.masks import laid
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
# Patches that depend on patch 0 after one layer, two and three.
HEARD = [reachability(MASKS, layer)[:, 0].view(SIDE, SIDE) for layer in (1, 2, 3)]

# The last token that depends on token 0 after each layer, in a row of windows.
TOKENS, LONG, HALF = 16, 4, 2
ROW = [grid_connections(window_layout(1, TOKENS, LONG, shift)) for shift in (0, HALF)]
FAR = [int(reachability(ROW, n)[:, 0].nonzero().max()) for n in range(1, 2 * TOKENS // LONG)]

GRID = torch.arange(SIDE**2).view(SIDE, SIDE)
ROLLED = cyclic_shift(GRID[None, ..., None], (SHIFT, SHIFT))[0, ..., 0]
CUT = window_partition(ROLLED[None, ..., None], (WINDOW, WINDOW))[..., 0]
SEES = window_mask(LAYOUTS[1])
# The second window, and those of its patches that wrapped around.
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
    f"""An image of {SIDE} by {SIDE} patches, numbered from 0, in three layers. In layer 1 it is
    cut into four windows of {WINDOW} by {WINDOW}, and patch 0 reaches the patches of its
    window, {listed(GRID[HEARD[0]])}. In layer 2 the windows are moved by {SHIFT} down and to the
    right: patch 5 shares one with 6, 9 and 10, and windows at the edge are smaller. The information
    has now reached {int(HEARD[1].sum())} patches. In layer 3 the windows are back, and all
    {int(HEARD[2].sum())} patches have it, patch 15 in the opposite corner among them."""
)
def news_through_windows(s: Sketch) -> None:
    p = Page(s)
    titles = ("layer 1: windows", "layer 2: moved by 1", "layer 3: windows again")
    shown, columns = [], []
    for n, (title, heard) in enumerate(zip(titles, HEARD, strict=True)):
        plan = _plan(SHIFT if n == 1 else 0)
        windows = [
            [_window(p, GRID[down][:, right], heard[down][:, right]) for right in plan]
            for down in plan
        ]
        shown.append(p.grid(*windows, gap=(10, 10), turn=False))
        told = p.text(f"{int(heard.sum())} depend on patch 0")
        both = p.column(p.text(title, kind="strong"), shown[-1], told, axle=1)
        columns.append(both if not s.narrow else p.column(both))
    p.link(*(shown if not s.narrow else columns))
    p.done(*columns)


def _window(p: Page, numbers: Tensor, told: Tensor) -> Part:
    """A window: patches that depend on patch 0 in green, the others grey."""
    first = [(0, 0)] * (int(numbers[0, 0]) == 0)
    return p.cells(
        numbers, lambda i, j: "value" if told[i, j] else "state", w=30, h=30, thick=first
    )


@drawing(
    f"""The {SIDE} by {SIDE} patches are rolled by one up and to the left: the top row comes in
    below, the left column on the right. The rows are now {"; ".join(map(listed, ROLLED))}. Now
    they are cut into four windows of {WINDOW} by {WINDOW}. Window B holds
    {listed(CUT[CHOSEN])}; of these {ROUND[0]} and {ROUND[1]} have wrapped around from the left
    edge of the image. Its mask lets 7 and 11 see each other, and 4 and 8 see each other, and hides
    the other pairs. In window D each of {listed(CUT[3])} sees itself alone.""",
    numbers=lambda: [GRID, ROLLED],
)
def shift_by_hand(s: Sketch) -> None:
    p = Page(s)

    def part(numbers: Tensor) -> Part:
        return p.cells(numbers, lambda i, j: _edge(int(numbers[i, j])), h=26, w=26)

    picture = p.named(part(GRID), "picture", "(4, 4)")
    p.named(picture, "dashed: wraps around", role="position", at="below")
    a, b, c, d = (
        p.named(part(CUT[n].view(WINDOW, WINDOW)), letter, at="right" if n % 2 else "left")
        for n, letter in enumerate("ABCD")
    )
    rolled = p.named(
        p.grid((a, b), (c, d), gap=(10, 10), turn=False), "rolled, 4 windows", "(4, 4)"
    )
    p.link(picture, rolled, label="roll")
    masks = []
    for n in (CHOSEN, 3):
        mask = laid(p, SEES[n], CUT[n].tolist(), CUT[n].tolist(), w=26)
        masks.append(p.named(mask, f"mask of window {'ABCD'[n]}", role="mask"))
    p.done(p.row(picture, rolled, gap=26), p.row(*masks, gap=p.of(20, 40)))


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
    p = Page(s)
    rows = []
    for n, far in enumerate(FAR):
        windows = [
            p.cells(
                [[place if place in (0, far) else None for place in window]],
                "value" if window[-1] <= far else "state",
                w=p.of(27, 20),
                h=p.of(27, 20),
            )
            for window in _plan(HALF * (n % 2), TOKENS, LONG)
        ]
        row, which = p.row(*windows, gap=5), f"layer {n + 1}" + ", moved" * (n % 2)
        if s.narrow:
            p.named(row, f"{which}: to token {far}")
        else:
            p.named(p.named(row, which, at="left"), f"to token {far}", at="right")
        rows.append(row)
    p.done(p.column(*rows, gap=10))


@drawing(
    f"""A window of 2 by 2 patches: a and b above, c and d below. From key to query there are nine
    offsets, each part minus 1, 0 or 1. They are numbered row after row from 0 to
    {int(INDEX.max())}, so the table of biases has {int(INDEX.max()) + 1} rows. The pairs of the
    window get their numbers, query by key: {"; ".join(map(listed, INDEX))}. Marked is query c with
    key b: one down, one to the left, number {int(INDEX[QUERY, KEY])}.""",
    numbers=lambda: [INDEX],
)
def offsets_by_hand(s: Sketch) -> None:
    p = Page(s)
    roles, chosen = {QUERY: "query", KEY: "key"}, int(INDEX[QUERY, KEY])
    window = p.cells(
        [NAMES[:2], NAMES[2:]],
        lambda i, j: roles.get(2 * i + j, "state"),
        w=30,
        h=30,
        thick=[divmod(place, 2) for place in roles],
        name="window",
        shape="(2, 2)",
    )
    numbers = torch.arange(9).view(3, 3)
    table = p.cells(
        numbers,
        lambda i, j: "position",
        w=30,
        h=30,
        thick=[divmod(chosen, 3)],
        words=[f"{step}".replace("-", "−") for step in STEPS],
        over=[f"{step}".replace("-", "−") for step in STEPS],
    )
    p.named(table, "nine offsets", "to the right", role="position")
    p.named(table, "", "down", at="left")
    pairs = p.cells(
        INDEX,
        lambda i, j: "position",
        w=30,
        h=30,
        thick=[(QUERY, KEY)],
        words=NAMES,
        over=NAMES,
        asks=("query", "key"),
        name="query by key",
        shape="(4, 4)",
    )
    p.link(window, table, pairs)
    p.done(window, table, pairs)


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
    p = Page(s)
    names = [[NAMES[2 * i + j] if i < 2 > j else None for j in range(4)] for i in range(4)]
    grid = p.cells(
        names,
        lambda i, j: "value" if names[i][j] else "state",
        w=24,
        h=24,
        name="tokens",
        shape="(4, 4, *D*)",
        at="above left",
    )
    long = p.cells(
        [[name for name in "acbd" for _ in range(2)]],
        "value",
        w=20,
        h=26,
        name="side by side",
        shape="(2, 2, 4*D*)",
        at="above left",
    )
    norm = p.layer("norm")
    matrix = p.named(p.layer("*W*"), "", "(4*D*, 2*D*)", at="below right")
    new = [p.cells([[None]], "state" if n else "value", w=30, h=30, thick=not n) for n in range(4)]
    merged = p.grid(new[:2], new[2:], gap=(8, 8), turn=False)
    p.named(merged, "tokens", "(2, 2, 2*D*)", at="above left")
    p.link(grid, long, norm, matrix, merged)
    stages = [
        p.named(p.step(f"{side} × {side}"), "", f"width {width}", at="below")
        for side, width in zip(CONFIG.maps, CONFIG.widths, strict=True)
    ]
    p.link(*stages)
    chain = p.line(grid, long, norm, matrix, merged, gap=p.of(24, 20))
    p.done(p.column(chain, p.row(*stages, gap=p.of(56, 12)), gap=34))
