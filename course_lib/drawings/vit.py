"""Drawings of an image that becomes tokens, of the model that reads it, and of its confidence."""

import torch

from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import listed, painted, pixels, said
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
    f"""An image of {BOAT.shape[0]} by {BOAT.shape[1]} pixels with a boat, in {CHANNELS} colours,
    is cut into {N} patches of {SIDE} by {SIDE} pixels. The pixels of each patch are laid in one
    line of {LONG} numbers. One learned matrix E, the same for all patches, turns each line into a
    token of width D. A learned class token is put in front, which makes {N + 1} rows. A row of the
    table of positions is added to each. The result, {N + 1} by D, enters the first block."""
)
def patches_to_tokens(s: Sketch) -> None:
    p = Page(s)
    height, width = BOAT.shape[:2]
    boat = p.named(p.pixels(BOAT.tolist(), 8), "picture", f"({CHANNELS}, {height}, {width})")
    one, two, three, four = (p.pixels(pixels(patch), 8) for patch in CUT)
    patches = p.grid((one, two), (three, four), gap=(8, 8), turn=False)
    p.named(patches, f"{N} patches", f"({N}, {CHANNELS}, {SIDE}, {SIDE})")
    lines = p.column(*(p.pixels(_line(patch), p.of(6.5, 6)) for patch in CUT), gap=18)
    p.named(lines, "lines", f"({N}, {LONG})")
    e = p.named(p.layer("*E*", w=28, beside=lines), "", f"({LONG}, *D*)", at="below", free=True)

    def table(name: str, role: str, first: str = "", *, thick: bool = False) -> Part:
        """The row of the class token and those of the patches, which are beside the lines."""
        parts = (
            p.cells([[None] * 4] * n, part, w=12, h=24, thick=thick)
            for n, part in ((1, first or role), (N, role))
        )
        whole = p.column(*parts, gap=0, axle=1)
        return p.named(whole, name, f"({N + 1}, *D*)", role=role if role == "position" else "")

    tokens, positions = table("tokens", "state", "layer"), table("positions", "position")
    plus, z = p.sign("+", 8), table("input *z*_{0}", "state", thick=True)
    p.link(boat, patches, label=p.of("", "cut"))
    p.link(patches, lines, at=0.4)
    p.each(lines, e, tokens)
    p.link(p.of(positions, plus), z, bend="late")
    added = p.row(tokens, plus, positions, gap=8)
    p.done(p.row(boat, patches, gap=p.of(22, 60)), p.row(lines, e, added, gap=20), z)
    top = tokens.box.y + 12
    s.text(tokens.box.x - 8, top, "class token", at="end")


def _role(n: int) -> str:
    return "value" if n == CHOSEN else "state"


@drawing(
    f"""An image of 4 by 4 whole numbers is cut into four patches of 2 by 2. Each patch becomes a
    line of four numbers, row after row: {"; ".join(listed(row) for row in FLAT)}. The lines are the
    rows of a matrix. Multiplied by a matrix of 4 by 3 whose numbers are 1 and minus 1, they become
    four tokens of width 3: {"; ".join(listed(row) for row in TOKENS)}. The row of patch {CHOSEN} is
    marked all the way.""",
    numbers=lambda: [FLAT, TOKENS],
)
def patches_by_hand(s: Sketch) -> None:
    p = Page(s)

    def cut(*, apart: bool) -> Part:
        one, two, three, four = (
            p.cells(row.view(2, 2), _role(n) if apart else "state", thick=not apart or n == CHOSEN)
            for n, row in enumerate(FLAT)
        )
        return p.grid((one, two), (three, four), gap=(14, 14) if apart else (0, 0), turn=False)

    roles = [_role(n) for n in range(N)]
    picture = p.named(cut(apart=False), "picture", "(4, 4)")
    patches = p.named(cut(apart=True), "4 patches", "(4, 2, 2)")
    names = [f"patch {n}" for n in range(N)]
    lines = p.rows(FLAT, roles, thick=CHOSEN, words=names, name="lines")
    times, matrix = p.sign("×"), p.cells(PROJECTION, "layer", name="matrix *E*")
    tokens = p.rows(TOKENS, roles, thick=CHOSEN, name="tokens")
    p.link(picture, patches, lines)
    p.link(lines, times, matrix, tip=False)
    p.link(matrix, tokens)
    p.done(p.row(picture, patches, gap=p.of(20, 40)), p.row(lines, times, matrix, gap=10), tokens)


@drawing(
    f"""A vision transformer. An image is cut into {N} patches, which the matrix E projects. A
    class token is put in front and positions are added, which gives {N + 1} rows of width D. They
    pass L blocks, one after the other. In a block the rows go along the residual stream. A norm and
    attention read them and add to them, then a norm and a feed-forward sub-layer do the same. After
    the last block and a last norm only the row of the class token is read: the head turns it into
    one logit for each class."""
)
def vision_transformer(s: Sketch) -> None:
    p = Page(s)
    boat, e, plus = p.pixels(BOAT.tolist(), 5), p.layer("patches,", "*E*"), p.sign("+")
    told = p.texts("class token,", "positions", role="position", kind="small")
    rows = [[None] * 4] * (N + 1)
    z = p.cells(rows, "state", w=9, h=11, name="*z*_{0}", shape=f"({N + 1}, *D*)", at="above left")
    stream, norms, parts = [], [], []
    for words in ("attention",), ("feed", "forward"):
        fork, norm, part, add = p.point(), p.layer("norm"), p.layer(*words), p.sign("+")
        p.link(fork, norm, part, add)
        stream += [fork, add]
        norms += [norm, None]
        parts += [part, None]
    grid = p.grid(stream, norms, parts, axle=0, gap=p.of((8, 14), (30, 14)))
    last, head = p.layer("norm"), p.layer("head")
    first = p.cells(rows[:1], "value", w=9, h=11, thick=True)
    p.named(first, "class token", role="value")
    out = p.column(first, p.cells(rows[1:], "state", w=9, h=11), gap=0, axle=0)
    logits = p.cells([[name] for name in CLASSES], "value", h=20)
    p.named(logits, "logits", at="below")
    p.link(told, plus)
    p.link(boat, e, plus, z)
    p.link(z, last, stream=True)
    p.link(last, first)
    p.link(first, head, logits)
    block = p.panel(grid, "block, *L* times", axle=True)
    answer = p.column(head, logits, axle=0, gap=20) if not s.narrow else p.row(head, logits)
    added = p.column(plus, told, axle=0, gap=20) if not s.narrow else p.row(told, plus, axle=1)
    p.done(boat, e, added, z, block, last, p.row(out, answer))


SHOWN = 0  # the image is a ship
TIMES = 3
LOGITS = torch.tensor([1.0, 2.0, 0.0])
BOTH = (LOGITS, TIMES * LOGITS)
SHARES = [logits.softmax(-1) for logits in BOTH]
LOSSES = [-shares[SHOWN].log().item() for shares in SHARES]
BEST = LOGITS.argmax().item()
ANSWER = CLASSES[int(BEST)]


@drawing(
    f"""An image of a {CLASSES[SHOWN]} goes through a model, whose logits for {CLASSES[0]},
    {CLASSES[1]} and {CLASSES[2]} are {said(LOGITS, 0)}. The softmax makes them {said(SHARES[0])}.
    The answer is {ANSWER}, which is wrong, with the confidence {SHARES[0].max():.2f} and the loss
    {LOSSES[0]:.2f}. If all logits are multiplied by {TIMES}, the probabilities are
    {said(SHARES[1])}. The answer is {ANSWER} again, the confidence rises to
    {SHARES[1].max():.2f}, and the loss to {LOSSES[1]:.2f}.""",
    numbers=lambda: [x for shares in SHARES for x in shares.tolist()] + LOSSES,
)
def sure_and_wrong(s: Sketch) -> None:
    p = Page(s)
    boat, model = p.pixels(BOAT.tolist(), 8), p.layer("model")
    p.named(boat, f"a {CLASSES[SHOWN]}")
    rows = []
    for logits, shares, loss in zip(BOTH, SHARES, LOSSES, strict=True):
        box = p.cells(logits, "step", w=p.of(36, 40), over=CLASSES, name="logits", shape="")
        soft = p.step("softmax")
        out = p.cells(shares, "weight", bars=True, over=CLASSES, name="probabilities", shape="")
        words = f"answer: {ANSWER}", f"confidence {shares.max():.2f}"
        told = [*(p.text(word) for word in words), p.text(f"loss {loss:.2f}", kind="strong")]
        p.link(box, soft, out)
        rows.append([box, soft, out, p.column(*told, gap=2)])
    first, second = rows[0][0], rows[1][0]
    p.link(boat, model, first)
    p.link(first, second, label=f"× {TIMES}")
    p.done(p.row(boat, model, gap=p.of(16, 60)), p.grid(*rows, gap=(p.of(14, 50), 24), axle=0))
