"""How a picture becomes a sequence of tokens, and how a vision transformer reads them."""

import torch

from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import listed, painted, pixels
from course_lib.vit import patchify

# A boat at sea under the sun, a letter for each pixel.
_BOAT = """
    bbbbbyyb
    bbbwbyyb
    bbwwbbbb
    bwwwbbbb
    bbbdbbbb
    rrrrrrrb
    srrrrrss
    ssssssss
"""
BOAT = painted(_BOAT)
SIDE = 4
CUT = patchify(BOAT.permute(2, 0, 1)[None], SIDE)[0].view(-1, 3, SIDE, SIDE)
N = len(CUT)
CHANNELS = 3
LONG = CHANNELS * SIDE**2
# One channel, whole numbers: what a pencil can follow.
PICTURE = torch.tensor([[1, 1, 0, 6], [1, 1, 0, 6], [0, 0, 9, 0], [5, 5, 0, 0]])
PROJECTION = torch.tensor([[1, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]])
FLAT = patchify(PICTURE[None, None].float(), 2)[0]
TOKENS = FLAT @ PROJECTION.float()
CHOSEN = 1
CLASSES = ("ship", "bird", "cat")

Colours = list[list[list[float]]]


def whole(numbers: torch.Tensor) -> list[list[int]]:
    """Rows of numbers that are written without a point."""
    return [[int(number) for number in row] for row in numbers]


def _line(patch: torch.Tensor) -> Colours:
    row: Colours = [patch.flatten(1).T.tolist()]
    return row


@drawing(
    f"""A picture of {BOAT.shape[0]} by {BOAT.shape[1]} pixels with a boat, in {CHANNELS} colours,
    is cut into {N} patches of {SIDE} by {SIDE} pixels. The pixels of each patch are laid in one
    line of {LONG} numbers. One learned matrix E, the same for all patches, turns each line into a
    token of width D. A learned class token is put in front, which makes {N + 1} rows. A row of the
    table of positions is added to each. The result, {N + 1} by D, enters the first block."""
)
def patches_to_tokens(s: Sketch) -> None:
    """A boat is cut, flattened, projected, and told where its parts are."""
    side, dot, h, w = 9.0, 7.0, 26.0, 14.0
    x, y = (34.0, 66.0) if s.narrow else (4.0, 74.0)
    boat = s.pixels(x, y, BOAT.tolist(), side)
    s.name(boat, "picture", f"({CHANNELS}, {BOAT.shape[0]}, {BOAT.shape[1]})")
    x = boat.right + (90 if s.narrow else 26)
    for n, patch in enumerate(CUT):
        left, top = x + 44 * (n % 2), boat.y - 4 + 44 * (n // 2)
        s.pixels(left, top, pixels(patch), side)
    around = Box(x, boat.y - 4, 80, 80)
    s.flow(boat, around, label="cut" if s.narrow else "")
    s.name(around, f"{N} patches", f"({N}, {CHANNELS}, {SIDE}, {SIDE})")
    # The rows of all tables from here on: the class token, then the patches.
    top = around.bottom + 84 if s.narrow else around.cy - 3 * h
    x = 4.0 if s.narrow else around.right + 26
    ys = [top + h * (i + 0.5) for i in range(N + 1)]
    lines = [
        s.pixels(x, y - dot / 2, _line(patch), dot) for patch, y in zip(CUT, ys[1:], strict=True)
    ]
    flat = Box(x, lines[0].y - 10, lines[0].w, lines[-1].bottom - lines[0].y + 20)
    if s.narrow:
        s.arrow((around.cx, around.bottom), (around.cx, around.bottom + 20),
                (flat.cx, around.bottom + 20), (flat.cx, flat.y - 36))  # fmt: skip
    else:
        s.flow(around, flat)
    s.name(flat, "lines", f"({N}, {LONG})")
    e = s.layer(flat.right + (26 if s.narrow else 30), flat.cy, 28, flat.h, "*E*")
    x = e.right + (24 if s.narrow else 26)
    tokens = s.cells(x, top + h, [[None] * 4] * N, "state", w=w, h=h)
    first = s.cells(tokens.x, top, [[None] * 4], "layer", w=w, h=h)
    for line, y in zip(lines, ys[1:], strict=True):
        s.flow(line, e)
        s.arrow((e.right, y), (tokens.x, y))
    s.text(first.x - 8, first.cy, "class token", at="end")
    s.text(e.cx, e.bottom + 12, f"({LONG}, *D*)", kind="small quiet")
    s.name(first, "tokens", f"({N + 1}, *D*)")
    plus = s.sign(first.right + (16 if s.narrow else 18), ys[2], "+", r=8)
    at = plus.right + (7 if s.narrow else 9)
    table = s.cells(at, top, [[None] * 4] * (N + 1), "position", w=w, h=h)
    s.name(table, "positions", f"({N + 1}, *D*)", role="position")
    if s.narrow:
        z = s.cells(plus.cx - 2 * w, table.bottom + 46, [[None] * 4] * (N + 1), "state", w=w, h=22,
                    thick=True)  # fmt: skip
        s.flow(plus, z)
        s.name(z, "input *z*_{0}", f"({N + 1}, *D*)", side="left")
    else:
        z = s.cells(table.right + 30, top, [[None] * 4] * (N + 1), "state", w=w, h=h, thick=True)
        s.flow(table, z)
        s.name(z, "input *z*_{0}", f"({N + 1}, *D*)")


def _role(n: int) -> str:
    return "value" if n == CHOSEN else "state"


@drawing(
    f"""A picture of 4 by 4 whole numbers is cut into four patches of 2 by 2. Each patch becomes a
    line of four numbers, row after row: {"; ".join(listed(row) for row in FLAT)}. The lines are the
    rows of a matrix. Multiplied by a matrix of 4 by 3 whose numbers are 1 and minus 1, they become
    four tokens of width 3: {"; ".join(listed(row) for row in TOKENS)}. The row of patch {CHOSEN} is
    marked all the way.""",
    numbers=lambda: [FLAT, TOKENS],
)
def patches_by_hand(s: Sketch) -> None:
    """Sixteen numbers become four tokens."""
    c, h = 24.0, 24.0
    x, y = (24.0, 40.0) if s.narrow else (4.0, 60.0)
    for n, row in enumerate(FLAT):
        place = x + n % 2 * 2 * c, y + n // 2 * 2 * h
        s.cells(*place, row.view(2, 2), "state", w=c, h=h, thick=True)
    picture = Box(x, y, 4 * c, 4 * h)
    s.name(picture, "picture", "(4, 4)")
    x = picture.right + (68 if s.narrow else 40)
    patches = []
    for n, row in enumerate(FLAT):
        left, top = x + (n % 2) * (2 * c + 14), picture.y - 8 + (n // 2) * (2 * h + 16)
        patch = s.cells(left, top, row.view(2, 2), _role(n), w=c, h=h, thick=n == CHOSEN)
        patches.append(patch)
    around = Box(x, patches[0].y, 4 * c + 14, 4 * h + 16)
    s.arrow((picture.right + 2, picture.cy), (around.x, picture.cy))
    s.name(around, "4 patches", "(4, 2, 2)")
    pitch = 34.0
    x = 62.0 if s.narrow else around.right + 64
    first = around.bottom + 88 if s.narrow else around.cy - 2 * pitch + (pitch - h) / 2
    lines, tokens = [], []
    for n, row in enumerate(FLAT):
        line = s.cells(x, first + n * pitch, row[None], _role(n), w=c, h=h, thick=n == CHOSEN)
        s.text(line.x - 7, line.cy, f"patch {n}", kind="small quiet", at="end")
        lines.append(line)
    s.name(lines[0], "lines", "(4, 4)")
    middle = (lines[0].y + lines[-1].bottom) / 2
    if s.narrow:
        turn = around.bottom + 22
        s.arrow((around.cx, around.bottom), (around.cx, turn), (lines[0].cx, turn),
                (lines[0].cx, lines[0].y - 36))  # fmt: skip
        matrix = s.cells(lines[0].x, lines[-1].bottom + 62, PROJECTION, "layer", w=c, h=h)
        s.name(matrix, "matrix *E*", "(4, 3)", side="left")
        x = lines[0].right + 66
    else:
        s.arrow((around.right, middle), (lines[0].x - 52, middle))
        matrix = s.cells(lines[0].right + 46, middle - 2 * h, PROJECTION, "layer", w=c, h=h)
        s.name(matrix, "matrix *E*", "(4, 3)")
        x = matrix.right + 32
    times = s.sign(lines[0].right + 24, middle, "×")
    for line in lines:
        s.arrow((line.right, line.cy), (times.cx, line.cy), tip=False)
    s.arrow((times.cx, lines[0].cy), (times.cx, times.y), tip=False)
    s.arrow((times.cx, lines[-1].cy), (times.cx, times.bottom), tip=False)
    for n, row in enumerate(TOKENS):
        at = s.cells(x, lines[n].y, row[None], _role(n), w=32, h=h, thick=n == CHOSEN)
        tokens.append(at)
    s.name(tokens[0], "tokens", "(4, 3)")
    if s.narrow:
        s.arrow((matrix.right, matrix.y + h), (times.cx, matrix.y + h), (times.cx, times.bottom))
        s.arrow((times.right, times.cy), (tokens[0].x, times.cy))
    else:
        s.flow(times, matrix, tip=False)
        s.arrow((matrix.right, times.cy), (tokens[0].x, times.cy))


@drawing(
    f"""A vision transformer. A picture is cut into {N} patches, which the matrix E projects. A
    class token is put in front and positions are added, which gives {N + 1} rows of width D. They
    pass L blocks, one after the other. In a block the rows go along the residual stream. A norm and
    attention read them and add to them, then a norm and a feed-forward part do the same. After the
    last block and a last norm only the row of the class token is read: the head turns it into one
    logit for each class."""
)
def vision_transformer(s: Sketch) -> None:
    """From pixels to logits, with the block of chapter 6 in the middle."""
    rows: list[list[object]] = [[None] * 4] * (N + 1)
    narrow = s.narrow
    dot, w, h = 5.0, 9.0, 11.0
    xs = (40, 142, 204, 268) if narrow else (2, 94, 148, 172)
    boat = s.pixels(xs[0], 40, BOAT.tolist(), dot)
    e = s.layer(xs[1], boat.cy, 62, 44, "patches,", "*E*")
    plus = s.sign(xs[2], boat.cy, "+")
    z = s.cells(xs[3], boat.cy - 2.5 * h, rows, "state", w=w, h=h)
    s.flow(boat, e, plus, z)
    s.name(z, "*z*_{0}", f"({N + 1}, *D*)")
    added = s.text(plus.cx, plus.bottom + 34, "class token,", kind="small", role="position")
    s.text(plus.cx, added.cy + 15, "positions", kind="small", role="position")
    s.arrow((plus.cx, added.y - 3), (plus.cx, plus.bottom))
    if narrow:
        block = s.panel(0, z.bottom + 66, 344, 190)
        s.text(332, block.y + 15, "block, *L* times", kind="strong quiet", at="end")
        x, y = 48.0, block.y + 50
        s.arrow((z.cx, z.bottom), (z.cx, block.y - 20), (x, block.y - 20), (x, block.bottom + 40),
                stream=True)  # fmt: skip
        for i, part in enumerate(("attention", "feed forward")):
            at = y + 74 * i
            norm = s.layer(134, at, 52, 28, "norm")
            work = s.layer(238, at, 104, 28, part)
            add = s.sign(x, at + 40, "+")
            s.arrow((x, at), (norm.x, at))
            s.flow(norm, work)
            s.arrow((work.cx, work.bottom), (work.cx, add.cy), (add.right, add.cy))
        last = s.layer(x, block.bottom + 54, 52, 28, "norm")
        out = s.cells(112, last.cy - 2.5 * h, rows[1:], "state", w=w, h=h)
    else:
        block = s.panel(222, 0, 232, 172, "block, *L* times")
        s.arrow((z.right, z.cy), (464, z.cy), stream=True)
        for i, said in enumerate((("attention",), ("feed", "forward"))):
            x = 240.0 + 106 * i
            norm = s.layer(x + 36, 100, 66, 24, "norm")
            work = s.layer(x + 36, 142, 70, 38, *said)
            add = s.sign(x + 88, z.cy, "+")
            s.arrow((x - 6, z.cy), (x - 6, 100), (norm.x, 100))
            s.flow(norm, work)
            s.arrow((work.right, work.cy), (add.cx, work.cy), (add.cx, add.bottom))
        last = s.layer(489, z.cy, 48, 28, "norm")
        out = s.cells(530, z.cy - 1.5 * h, rows[1:], "state", w=w, h=h)
    first = s.cells(out.x, out.y - h, rows[:1], "value", w=w, h=h, thick=True)
    s.flow(last, out)
    s.name(first, "class token", role="value")
    head = s.layer(first.right + (50 if narrow else 48), first.cy, 46, 28, "head")
    s.flow(first, head)
    words = [[name] for name in CLASSES]
    logits = s.cells(
        head.right + (36 if narrow else -47), head.cy - 12 if narrow else head.bottom + 34,
        words, "value", w=48, h=22,
    )  # fmt: skip
    s.flow(head, logits)
    s.name(logits, "logits", side="below")
