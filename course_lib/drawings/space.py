"""Places in an image: a grid in a line, two numbers, scores by axis, finer and shuffled patches."""

from itertools import pairwise
from typing import Any

import torch

from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import painted, pixels, said
from course_lib.positions import axial_angles, rotate, sinusoidal_encoding
from course_lib.positions.learned import stretch_places
from course_lib.vit import patchify

# A lighthouse and a sail, a letter for each pixel.
_LIGHTHOUSE = """
    bbbbbbbbbbbbbbbb
    bbbbbddbbbbbbbbb
    bbbbdyydbbbbbbbb
    bbbbbwwbbbbbbbbb
    bbbbbrrbbbbbbbbb
    bbbbbwwbbbbbbwbb
    bbbbbrrbbbbbwwbb
    bbbbwwwwbbbwwwbb
    bbbbrrrrbbbddddd
    sgggwwwwggssddds
    ggggggggggggssss
    ssgggggggsssssss
"""
PICTURE = painted(_LIGHTHOUSE)
SIDE, ROWS, COLUMNS = 4, 3, 4
PATCHES = patchify(PICTURE.permute(2, 0, 1)[None], SIDE)[0].view(-1, 3, SIDE, SIDE)
TOWER = (1, 5, 9)

# One hand for the row and one for the column.
CODES = sinusoidal_encoding(torch.arange(3), 2)
PLACES = ((0, 2), (2, 0))
ADDED = CODES[PLACES[0][0]] + CODES[PLACES[0][1]]
BESIDE = [torch.cat([CODES[r], CODES[c]]) for r, c in PLACES]

# A head of two pairs, which turn by one radian a step.
Q, K = torch.tensor([1.0, 1.0, 1.0, -1.0]), torch.tensor([1.0, 0.0, 1.0, 0.0])
STEPS = (-1, 0, 1)
ANGLES = axial_angles(3, 3, 4)
TURNED = rotate(K.expand(9, 4), ANGLES - ANGLES[4])
DOWN = (TURNED[:, :2] @ Q[:2]).view(3, 3)[:, 0]
RIGHT = (TURNED[:, 2:] @ Q[2:]).view(3, 3)[0]
SCORES = (TURNED @ Q).view(3, 3)
FALLING, RISING = ((0, 0), (2, 2)), ((0, 2), (2, 0))

OLD, NEW = 4, 6
STRETCHED = stretch_places(OLD, NEW)


@drawing(
    f"""An image of a lighthouse is cut into {ROWS} rows of {COLUMNS} patches, numbered from 0 at
    the top left to {ROWS * COLUMNS - 1} at the bottom right. The tower is in patches
    {", ".join(map(str, TOWER))}, one below the other. Laid in a line, these are
    {COLUMNS} places apart, with the patches of both sides between them. Patches {COLUMNS - 1} and
    {COLUMNS}, at the right and at the left edge of the image, are neighbours in the line."""
)
def grid_in_a_line(s: Sketch) -> None:
    p = Page(s)
    picture, line = ([p.pixels(pixels(patch), p.of(8, 6)) for patch in PATCHES] for _ in range(2))
    rows = [picture[i : i + COLUMNS] for i in range(0, len(picture), COLUMNS)]
    grid = p.named(p.grid(*rows, gap=(4, 4), turn=False), "image")
    for n, part in enumerate(line):
        p.named(part, f"{n}" * (n in TOWER), f"{n}" * (n not in TOWER), at="below")
    p.done(grid, p.row(*line, gap=4), gap=p.of(56, 92))
    tiles = [part.box for part in line]
    top, at = tiles[0].y, grid.box
    if s.narrow:
        s.arrow((at.cx, at.bottom + 8), (at.cx, at.bottom + 32), label="row after row")
    else:
        s.arrow((at.right + 8, at.cy), (tiles[0].x - 10, at.cy))
    for a, b in pairwise(TOWER):
        height = top - 16
        s.arrow(
            (tiles[a].cx + 3, top - 5),
            (tiles[a].cx + 3, height),
            (tiles[b].cx - 3, height),
            (tiles[b].cx - 3, top - 3),
        )
        s.text((tiles[a].cx + tiles[b].cx) / 2, height - 10, f"{b - a} places", kind="small")
    end, start = tiles[COLUMNS - 1], tiles[COLUMNS]
    low = end.bottom + 40
    s.arrow((end.cx, low - 16), (end.cx, low), (start.cx, low), (start.cx, low - 18))
    s.text((end.cx + start.cx) / 2, low + 11, "left and right edge: 1 place", kind="small")


@drawing(
    f"""The codes of two places with one hand for each number: the place in row {PLACES[0][0]} and
    column {PLACES[0][1]}, and the place in row {PLACES[1][0]} and column {PLACES[1][1]}. The code
    of the number 0 is {said(CODES[0])}, that of 2 is {said(CODES[2])}. Added, both places get
    {said(ADDED)}. Side by side, one gets {said(BESIDE[0])}, the other {said(BESIDE[1])}.""",
    numbers=lambda: [ADDED, BESIDE[0], BESIDE[1]],
)
def codes_of_two_places(s: Sketch) -> None:
    p = Page(s)
    added, beside = [], []
    for i, ((r, c), both) in enumerate(zip(PLACES, BESIDE, strict=True)):
        wide: dict[str, Any] = {"w": 36, "digits": 2}
        row = p.cells(CODES[r], "position", words=[f"({r}, {c})"], **wide)
        column = p.cells(CODES[c], "position", **wide)
        whole = p.cells(both, "position", cut=2, thick=True, words=[f"({r}, {c})"])
        total = p.cells(ADDED, "position", thick=True, **wide)
        if not i:
            p.named(row, "row", role="position")
            p.named(column, "column", role="position")
            p.named(whole, "row, column", role="position")
        added.append((row, p.sign("+", 7), column, p.text("=", kind="big"), total))
        beside.append(whole)
    p.done(
        p.panels(
            ("added", p.grid(*added, gap=(5, 12), turn=False)), ("side by side", p.column(*beside))
        )
    )


@drawing(
    f"""A head of four channels. The first pair of channels of the key turns by how far the key is
    below the query, and its dot product with the first pair of the query is the part A. The second
    pair turns by how far it is to the right, and gives the part B. For the steps -1, 0 and 1 the
    part A is {said(DOWN)} and the part B is {said(RIGHT)}. A table of three by three scores around
    the query has in each cell the sum of its row's A and its column's B: {said(SCORES[0])} above,
    {said(SCORES[1])} in the query's row, {said(SCORES[2])} below. The two corners of one diagonal
    add up to {float(SCORES[0, 0] + SCORES[2, 2]):.2f}, and so do those of the other.""",
    numbers=lambda: [DOWN, RIGHT, SCORES],
)
def scores_by_axis(s: Sketch) -> None:
    p = Page(s)
    key = p.cells(K, "key", w=30, h=26, cut=2, name="*k*", shape="", at="left")
    query = p.cells(Q, "query", w=30, h=26, cut=2, name="*q*", shape="", at="right")
    rows: list[tuple[Part, Part]] = []
    for part, way, axis in (("A", "down", "r"), ("B", "right", "c")):
        turn, dot = p.step(f"turn by Δ*{axis}*"), p.sign("·")
        p.link(key, turn, label="pair 1" if axis == "r" else "pair 2", side="left")
        p.link(turn, dot)
        p.link(query, dot)
        p.named(dot, "", f"*{part}*, for steps {way}", at="below" if rows else "above")
        rows.append((turn, dot))
    head = p.grid(rows[0], (key, query), rows[1], gap=(p.of(30, 24), 26), turn=False)
    w, h = 46, 28
    falling, rising = (
        sorted((float(SCORES[at]) for at in ends), reverse=True) for ends in (FALLING, RISING)
    )
    a = p.cells(
        DOWN[:, None],
        "position",
        w=w,
        h=h,
        words=("1 up", "same row", "1 down"),
        name="*A*",
        shape="",
    )
    b = p.cells(
        RIGHT,
        "position",
        w=w,
        h=h,
        over=("1 left", "same", "1 right"),
        name="*B*",
        shape="",
        at="right",
    )
    table = p.cells(
        SCORES, lambda i, j: "query" if i == j == 1 else "state", w=w, h=h, thick=RISING
    )
    sums = [
        f"{one:.2f} {'−' if other < 0 else '+'} {abs(other):.2f} = {one + other:.2f}"
        for one, other in (falling, rising)
    ]
    below = p.column(p.text(sums[0]), p.text(sums[1], kind="strong"), gap=0)
    p.done(head, p.grid((None, b), (a, table), (None, below), turn=False))


@drawing(
    f"""Three strips over each other. Old: {OLD} patches fill the side of an image; their middles
    are 0 to {OLD - 1} and the middle of the image is at {(OLD - 1) / 2}. Stretched: {NEW} smaller
    patches fill the same side; counted in old patches, their middles are {said(STRETCHED)}, and the
    middle of the image is still at {float(STRETCHED.mean()):.1f}. Counting on: the
    {NEW} patches get the numbers 0 to {NEW - 1}, as if the image went on to the right, and its
    middle is at {(NEW - 1) / 2}.""",
    numbers=lambda: [STRETCHED],
)
def stretched_places(s: Sketch) -> None:
    p = Page(s)
    side = p.of(432, 220)
    strips: list[tuple[str, list[Any], float, tuple[str, ...]]] = [
        ("trained on", [*range(OLD)], side, ("", f"{OLD} patches")),
        ("finer, stretched", STRETCHED.tolist(), side, (f"{NEW} patches,", "the same side")),
        ("finer, counting on", [*range(NEW)], side * NEW / OLD, ()),
    ]
    made = []
    for name, numbers, wide, note in strips:
        strip = p.cells([numbers], "position", w=wide / len(numbers), h=28, thick=bool(note))
        middle = p.text(f"middle: {sum(numbers) / len(numbers):g}", kind="small", role="value")
        p.link(middle, strip)
        whole = p.flush(p.column(strip, middle, gap=16))
        if note:
            p.named(strip, *note, at="right")
        made.append(p.column(p.text(name, kind="strong", at="start"), whole, gap=4))
    p.done(p.row(p.column(*made, gap=6)))


ORDER = (2, 0, 1)
HERE = (0, 1, 2)
WAYS = {"nothing moves": (HERE, HERE), "both move": (ORDER, ORDER), "patches move": (ORDER, HERE)}


def placed(way: str) -> dict[int, int]:
    """Patch at each place; what the model can know of the image."""
    return dict(sorted(zip(WAYS[way][1], WAYS[way][0], strict=True)))


@drawing(
    """Three patches of a lighthouse, its top, middle and foot, as a sequence of tokens. Each token
    is a patch plus the position of a place. If nothing moves, top, middle and foot have the
    places 0, 1 and 2, and the tokens describe the lighthouse. If patches and positions move alike,
    the tokens come in another order, but each patch keeps its place, so they describe the same
    lighthouse. If the patches move and the positions stay, the foot gets the place of the top, and
    the tokens describe another image."""
)
def shuffled_tokens(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, (patches, places) in WAYS.items():
        tokens = p.row(
            *(
                p.column(
                    p.pixels(pixels(PATCHES[TOWER[patch]]), 7),
                    p.text("+"),
                    p.cells([[place]], "position", w=28, h=22),
                    gap=1,
                )
                for patch, place in zip(patches, places, strict=True)
            ),
            gap=10,
        )
        picture = p.column(
            *(p.pixels(pixels(PATCHES[TOWER[patch]]), 7) for patch in placed(name).values()), gap=0
        )
        p.named(tokens, "", "tokens", at="below")
        p.named(picture, "", "image", at="below")
        p.link(tokens, picture)
        panels.append((name, p.row(tokens, picture, gap=p.of(26, 60))))
    p.done(p.panels(*panels))
