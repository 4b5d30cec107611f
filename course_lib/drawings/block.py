"""A block in both orders, one part with numbers, two norms, and a map for each token alone."""

from collections.abc import Sequence

import torch
from torch.nn import functional as F

from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import said, whole
from course_lib.layers import FeedForward, layer_norm

# A token whose mean, standard deviation and root mean square are all whole numbers.
TOKEN = torch.tensor([9.0, 3.0, 3.0, 1.0])
MEAN = TOKEN.mean()
CENTRED = TOKEN - MEAN
VARIANCE = CENTRED.square().mean()
SQUARES = TOKEN.square().mean()
NORMED = layer_norm(TOKEN, eps=0.0)
SCALED = TOKEN / SQUARES.sqrt()
# The output of some part, whatever it has read.
OUTPUT = torch.tensor([0.0, 0.0, -2.0, 2.0])
ADDED = TOKEN + OUTPUT
AFTER = layer_norm(ADDED, eps=0.0)

PARTS = (("attention", "between tokens"), ("feed-forward", "each token alone"))
WORDS = ("dog", "bites", "man")
BITES = 1
X = torch.tensor([[1.0, 0.0], [2.0, -1.0], [0.0, 2.0]])
W_1 = torch.tensor([[1.0, -1.0, 0.0, 2.0], [0.0, 1.0, 1.0, -1.0]])
W_2 = torch.tensor([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, -1.0]])
HIDDEN = X @ W_1
OPEN = F.relu(HIDDEN)


def _of_library() -> torch.Tensor:
    """What the library's part makes of the three tokens with these matrices."""
    part = FeedForward(2, 4, bias=False).requires_grad_(False)
    part.in_proj.weight.copy_(W_1.T)
    part.out_proj.weight.copy_(W_2.T)
    out: torch.Tensor = part(X)
    return out


OUT = _of_library()


@drawing(
    """One block in two orders, side by side, read from below. In both, a thick line, the residual
    stream, carries the tokens of shape T by D upwards. Two thin branches leave it, one through
    attention, one through the feed-forward part, and come back to it at a plus sign. In post-norm
    a norm stands on the thick line after each plus sign. In pre-norm a norm stands at the beginning
    of each branch, and nothing but plus signs stands on the thick line.""",
)
def block_in_two_orders(s: Sketch) -> None:
    """The same parts, and the norm on the stream or beside it."""
    wide, gap = (168.0, 8.0) if s.narrow else (328.0, 12.0)
    stream, part, across = (30.0, 109.0, 112.0) if s.narrow else (96.0, 226.0, 128.0)
    unit, high = 144.0, 386.0
    for place, order in enumerate(("post-norm", "pre-norm")):
        left = place * (wide + gap)
        s.panel(left, 0, wide, high, order)
        x, px = left + stream, left + part
        bottom = high - 30
        s.arrow((x, bottom - 8), (x, 34), stream=True)
        s.text(x, bottom + 2, "tokens", kind="strong")
        s.text(x, bottom + 17, "(T, D)", kind="small quiet")
        s.text(x + 13, 46, "to the next block", at="start", kind="small quiet")
        for up, name in enumerate(PARTS):
            start = bottom - 26 - up * unit
            pre = order == "pre-norm"
            box = s.layer(px, start - (70 if pre else 44), across, 40, *name)
            plus = s.sign(x, start - (110 if pre else 84), "+", r=10)
            below = (px, start)
            if pre:
                norm = s.layer(px, start - 24, 64, 24, "norm", role="state")
                s.arrow((x, start), below, (px, norm.bottom))
                s.flow(norm, box)
            else:
                s.layer(x, start - 116, 52, 24, "norm", role="state")
                s.arrow((x, start), below, (px, box.bottom))
            s.arrow((px, box.y), (px, plus.cy), (plus.right, plus.cy))


@drawing(
    f"""One token of four numbers, {said(TOKEN, 0)}, normalised in two ways. LayerNorm subtracts the
    mean {MEAN:.0f}, which leaves {said(CENTRED, 0)}, and divides by the root of the variance
    {VARIANCE:.0f}, which is {VARIANCE.sqrt():.0f}. The result is {said(NORMED)}. RMSNorm subtracts
    nothing. It divides by the root of the mean square {SQUARES:.0f}, which is {SQUARES.sqrt():.0f},
    and the result is {said(SCALED)}.""",
    numbers=lambda: [NORMED, SCALED, CENTRED, float(MEAN)],
)
def norms_by_hand(s: Sketch) -> None:
    """The same token through LayerNorm and through RMSNorm, with every number."""
    h = 26.0
    root, mean_square = (f"÷ √{v:.0f} = {v.sqrt():.0f}" for v in (VARIANCE, SQUARES))
    squared = " + ".join(f"{n:.0f}" for n in CENTRED.square())
    all_squared = " + ".join(f"{n:.0f}" for n in TOKEN.square())
    n = TOKEN.numel()
    if s.narrow:
        x = s.cells(116, 24, TOKEN, "state", w=28, h=h)
        s.name(x, "token *x*", role="state")
        notes = (("variance", f"({squared}) ÷ {n} = {VARIANCE:.0f}"),
                 ("mean square", f"({all_squared}) ÷ {n} = {SQUARES:.0f}"))  # fmt: skip
        columns = zip((0.0, 176.0), (root, mean_square), (NORMED, SCALED), notes, strict=True)
        for left, step, result, note in columns:
            mid, bus, down = left + 84, x.bottom + 12, left + 116
            s.panel(left, 74, 168, 240, "LayerNorm" if left == 0 else "RMSNorm")
            pill = s.step(mid, 208, 104, 26, step)
            path = [(x.cx, x.bottom), (x.cx, bus), (down, bus)]
            if left == 0:
                minus = s.step(mid, 122, 104, 26, f"− mean {MEAN:.0f}")
                part = s.cells(mid - 64, 150, CENTRED, "state", w=32, h=h)
                s.arrow(*path, (down, minus.y))
                s.flow(minus, part, pill)
            else:
                s.arrow(*path, (down, pill.y))
            out = s.cells(mid - 80, 240, result, "state", w=40, h=h, thick=True)
            s.flow(pill, out)
            for line, text in enumerate(note):
                s.text(mid, 284 + 15 * line, text, kind="small quiet")
        return
    x = s.cells(4, 82, TOKEN, "state", w=25, h=h)
    s.name(x, "token *x*", "(4)", role="state")
    rows = (60.0, 152.0)
    bus = x.right + 14
    minus = s.step(182, rows[0], 96, 28, f"− mean {MEAN:.0f}")
    part = s.cells(248, rows[0] - h / 2, CENTRED, "state", w=28, h=h)
    s.flow(minus, part)
    s.text(182, rows[0] - 34, "LayerNorm", kind="strong")
    s.text(182, rows[1] - 34, "RMSNorm", kind="strong")
    s.text(part.cx, part.bottom + 16, f"variance ({squared}) ÷ {n} = {VARIANCE:.0f}",
           kind="small quiet")  # fmt: skip
    s.text(part.cx, rows[1] + h / 2 + 16, f"mean square ({all_squared}) ÷ {n} = {SQUARES:.0f}",
           kind="small quiet")  # fmt: skip
    for y, step, result in ((rows[0], root, NORMED), (rows[1], mean_square, SCALED)):
        pill = s.step(434, y, 96, 28, step)
        out = s.cells(502, y - h / 2, result, "state", w=41, h=h, thick=True)
        s.flow(pill, out)
    s.arrow((x.right, x.cy), (bus, x.cy), (bus, rows[0]), (minus.x, rows[0]))
    s.arrow((x.right, x.cy), (bus, x.cy), (bus, rows[1]), (386, rows[1]))
    s.arrow((part.right, rows[0]), (386, rows[0]))


@drawing(
    f"""One part of a block around the token {said(TOKEN, 0)}, in two orders. In pre-norm the token
    goes on along the thick line as it is. A copy of it is normalised to {said(NORMED)}, the part
    reads this, and its output {said(OUTPUT, 0)} is added: {said(ADDED, 0)}. In
    post-norm the part reads the token itself. Its output is added, and the sum {said(ADDED, 0)} is
    normalised on the thick line to {said(AFTER)}.""",
    numbers=lambda: [NORMED, AFTER, ADDED],
)
def part_by_hand(s: Sketch) -> None:
    """One token, one part, two orders, with every number."""
    (_upright if s.narrow else _lying)(s)


def vector(
    s: Sketch, x: float, y: float, numbers: torch.Tensor, w: float, *, thick: bool = False
) -> Box:
    """A token whose left edge and middle are given; whole numbers stand without a point."""
    plain = bool((numbers == numbers.round()).all())
    row: Sequence[object] = whole(numbers) if plain else numbers.tolist()
    return s.cells(x, y - 13, [row], "state", w=w, h=26, thick=thick)


def _lying(s: Sketch) -> None:
    high = 128.0
    for place, order in enumerate(("pre-norm", "post-norm")):
        top = place * (high + 10)
        y, low = top + 44, top + 98
        s.panel(0, top, s.width, high, order)
        x = vector(s, 10, y, TOKEN, 23)
        fork = x.right + 11
        if place == 0:
            norm = s.layer(152, low, 50, 28, "norm", role="state")
            read = vector(s, 190, low, NORMED, 40)
            part = s.layer(386, low, 46, 28, "part")
            output = vector(s, 422, low, OUTPUT, 24)
            plus = s.sign(536, y, "+", r=10)
            out = vector(s, 564, y, ADDED, 24, thick=True)
            s.flow(norm, read, part)
            s.arrow((fork, y), (fork, low), (norm.x, low))
            s.flow(x, out, stream=True)
        else:
            part = s.layer(160, low, 46, 28, "part")
            output = vector(s, 197, low, OUTPUT, 24)
            plus = s.sign(311, y, "+", r=10)
            total = vector(s, 338, y, ADDED, 23)
            norm = s.layer(462, y, 46, 28, "norm", role="state")
            out = vector(s, 502, y, AFTER, 40, thick=True)
            s.arrow((fork, y), (fork, low), (part.x, low))
            s.flow(x, total, out, stream=True)
        s.flow(part, output)
        s.arrow((output.right, low), (plus.cx, low), (plus.cx, plus.bottom))


def _upright(s: Sketch) -> None:
    tops, highs = (0.0, 294.0), (284.0, 258.0)
    for place, order in enumerate(("pre-norm", "post-norm")):
        top = tops[place]
        s.panel(0, top, s.width, highs[place], order)
        x = vector(s, 12, top + 46, TOKEN, 24)
        sx, px = x.cx, 246.0
        fork = x.bottom + 18
        if place == 0:
            norm = s.layer(px, top + 100, 60, 26, "norm", role="state")
            read = vector(s, px - 80, top + 140, NORMED, 40)
            part = s.layer(px, top + 180, 60, 26, "part")
            s.arrow((sx, fork), (px, fork), (px, norm.y))
            s.flow(norm, read, part)
            at = top + 218
        else:
            part = s.layer(px, top + 106, 60, 26, "part")
            s.arrow((sx, fork), (px, fork), (px, part.y))
            at = top + 146
        output = vector(s, px - 52, at, OUTPUT, 26)
        plus = s.sign(sx, at, "+", r=10)
        s.flow(part, output, plus)
        after = vector(s, 12, at + 40, ADDED, 24, thick=place == 0)
        s.flow(x, after, stream=True)
        if place == 1:
            norm = s.layer(sx, after.bottom + 32, 60, 26, "norm", role="state")
            s.flow(after, norm, tip=False, stream=True)
            out = vector(s, 150, norm.cy, AFTER, 40, thick=True)
            s.flow(norm, out, stream=True)


@drawing(
    f"""The feed-forward part on the three tokens dog, bites and man, each a row of two numbers. The
    matrix W1 makes four hidden numbers of each row, ReLU sets the negative ones to 0, and the
    matrix W2 makes two numbers of each row again. The rows never meet. The row of
    bites is {said(X[BITES], 0)}, then {said(HIDDEN[BITES], 0)}, then {said(OPEN[BITES], 0)}, and
    then {said(OUT[BITES], 0)}.""",
    numbers=lambda: [OUT, HIDDEN],
)
def feed_forward_per_token(s: Sketch) -> None:
    """Three rows through the same two matrices, each on its own."""
    h, gap, c, between = 26.0, 36.0, 26.0, 22.0 if s.narrow else 29.0
    ys = [54 + i * gap for i in range(3)]

    def column(x: float, numbers: torch.Tensor, at: Sequence[float], thick: bool) -> list[Box]:
        return [
            s.cells(
                x, y - h / 2, row, "state", w=c, h=h, thick=thick,
                hatched=[(0, j) for j, n in enumerate(row.tolist()) if n == 0] * (numbers is OPEN),
            )
            for row, y in zip(numbers, at, strict=True)
        ]  # fmt: skip

    def across(left: float, right: float, at: Sequence[float]) -> None:
        for y in at:
            s.arrow((left, y), (right, y))

    def words(x: float, at: Sequence[float]) -> None:
        for word, y in zip(WORDS, at, strict=True):
            s.text(x - 8, y, word, kind="strong", at="end")

    left = 46.0
    words(left, ys)
    x = column(left, X, ys, False)
    s.name(x[0], "tokens *x*", "(3, 2)")
    first = s.layer(x[0].right + between + 20, ys[1], 40, 3 * gap, "*W*_{1}", "(2, 4)")
    across(x[0].right, first.x, ys)
    hidden = column(first.right + between, HIDDEN, ys, False)
    across(first.right, hidden[0].x, ys)
    s.name(hidden[0], "hidden", "(3, 4)")
    if s.narrow:
        pill = s.step(172, ys[2] + 46, 100, 28, "ReLU")
        s.arrow((hidden[2].cx, hidden[2].bottom), (hidden[2].cx, pill.cy), (pill.right, pill.cy))
        ys = [pill.cy + 92 + i * gap for i in range(3)]
        words(left, ys)
        kept = column(left, OPEN, ys, False)
        s.arrow((pill.x, pill.cy), (kept[0].cx, pill.cy), (kept[0].cx, kept[0].y - 32))
    else:
        pill = s.step(hidden[0].right + between + 14, ys[1], 28, 3 * gap, "ReLU")
        across(hidden[0].right, pill.x, ys)
        kept = column(pill.right + between, OPEN, ys, False)
        across(pill.right, kept[0].x, ys)
    s.name(kept[0], "after ReLU", "(3, 4)")
    second = s.layer(kept[0].right + between + 20, ys[1], 40, 3 * gap, "*W*_{2}", "(4, 2)")
    across(kept[0].right, second.x, ys)
    out = column(second.right + between, OUT, ys, True)
    across(second.right, out[0].x, ys)
    s.name(out[0], "output", "(3, 2)")
