"""Words and pictures: two towers, the loss both ways, one softmax or two, layouts, one sequence."""

from collections.abc import Callable

import torch

from course_lib.drawings import Box, Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.multimodal import interleaved_mask, interleaved_positions, pair_similarities

THINGS = (("red", "circle"), ("red", "square"), ("blue", "square"))
PICTURES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
CAPTIONS = torch.tensor([[4.0, 3.0], [3.0, 4.0], [-3.0, 4.0]]) / 5
TAU = 0.2
COSINES = pair_similarities(PICTURES, CAPTIONS)
SCORES = (COSINES / TAU).round()
ASKED = {"row": SCORES.softmax(1), "column": SCORES.softmax(0)}
LOST = {way: -weights.diagonal().log() for way, weights in ASKED.items()}

# One word looks at two words and two patches; every value is one number.
WORDS, PATCHES = ("the", "ball"), ("patch 1", "patch 2")
LOOKS = torch.tensor([1.0, 0.0, 2.0, 0.0])
VALUES = torch.tensor([1.0, 3.0, 5.0, 1.0])
JOINED = LOOKS.softmax(0)
APART = torch.cat([part.softmax(0) for part in LOOKS.split(2)])
OUT = (JOINED @ VALUES).item()
FOUND = [(w @ v).item() for w, v in zip(APART.split(2), VALUES.split(2), strict=True)]
SHARE = JOINED[2:].sum().item()

SEGMENTS = (2, (2, 3), 2)
SEES = interleaved_mask(SEGMENTS)
PLACES = {
    "in tokens": interleaved_positions(SEGMENTS, scheme="line")[0],
    **dict(zip(("time", "row", "column"), interleaved_positions(SEGMENTS), strict=True)),
}
TEXT = ("look", "here", *(["patch"] * 6), "a", "square")

_COLOURS = {"red": (0.80, 0.20, 0.18), "blue": (0.20, 0.40, 0.80)}
_INSIDE: dict[str, Callable[[int, int], bool]] = {
    "circle": lambda i, j: (2 * i - 7) ** 2 + (2 * j - 7) ** 2 < 45,
    "square": lambda i, j: {i, j} <= set(range(1, 7)),
}


def _picture(colour: str, shape: str) -> list[list[tuple[float, float, float]]]:
    """A shape of 8 by 8 pixels on grey."""
    inside, paint, grey = _INSIDE[shape], _COLOURS[colour], (0.62, 0.62, 0.62)
    return [[paint if inside(i, j) else grey for j in range(8)] for i in range(8)]


@drawing(
    f"""Three pictures, a red circle, a red square and a blue square, pass an image tower, and each
    comes out as a vector of two numbers. Their three captions pass a text tower and come out as
    vectors of two numbers, too. A table holds the cosine of each picture with each caption, row
    after row: {said(COSINES[0], 1)}; {said(COSINES[1], 1)}; {said(COSINES[2], 1)}. The cosines of
    the three pairs stand on its diagonal.""",
    numbers=lambda: [COSINES],
)
def two_towers(s: Sketch) -> None:
    """Pictures come from the left, captions from above; they meet in a table of cosines."""
    narrow = s.narrow
    side, pitch = (5.0, 54.0) if narrow else (6.0, 58.0)
    first, step, w = (192.0, 58.0, 52.0) if narrow else (374.0, 104.0, 88.0)
    top = 158.0 if narrow else 166.0
    ys = [top + pitch * i for i in range(3)]
    xs = [first + step * j for j in range(3)]
    u, high = (24.0, 22.0) if narrow else (38.0, 24.0)
    tower = s.layer(72 if narrow else 112, ys[1], 48 if narrow else 72, 2 * pitch + 44,
                    "image", "tower")  # fmt: skip
    for i, (thing, y) in enumerate(zip(THINGS, ys, strict=True)):
        seen = s.pixels(0, y - 4 * side, _picture(*thing), side)
        x = tower.right + (12 if narrow else 28)
        vector = s.cells(x, y - high / 2, PICTURES[i], "query", w=u, h=high)
        s.flow(seen, tower, vector)
        s.text(vector.cx, y - high / 2 - 10, f"*u*_{{{i + 1}}}", role="query")
        s.arrow((vector.right, y), (xs[0] - w / 2, y))
    reader = s.layer(xs[1], 48, 2 * step + w, 30, "text tower")
    for j, ((colour, shape), x) in enumerate(zip(THINGS, xs, strict=True)):
        if narrow:
            s.text(x, 0, f"a {colour}", kind="strong")
            low = s.text(x, 15, shape, kind="strong")
        else:
            low = s.text(x, 8, f"a {colour} {shape}", kind="strong")
        s.arrow((x, low.bottom + 2), (x, reader.y))
        numbers = [[n] for n in CAPTIONS[j].tolist()]
        vector = s.cells(x - 18, 78, numbers, "key", w=36, h=20, digits=1)
        s.flow(reader, vector)
        s.text(vector.x - 5, vector.cy, f"*v*_{{{j + 1}}}", role="key", at="end")
        s.arrow((x, vector.bottom), (x, ys[0] - 17))
        for i, y in enumerate(ys):
            s.cells(x - w / 2, y - 17, [[COSINES[i, j].item()]], "step", w=w, h=34, digits=1,
                    thick=i == j)  # fmt: skip
    s.text(xs[1], ys[2] + 32, "cosines; pairs have a strong edge", kind="small quiet")


def _table(
    s: Sketch, x: float, y: float, way: str, numbers: torch.Tensor, role: str, w: float
) -> Box:
    """Numbers of all pairs, with gaps between those that share no softmax."""
    across, down = (0, 6) if way == "row" else (6, 0)
    # A pair's strong edge is drawn over its neighbours' edges.
    for i, j in sorted(torch.cartesian_prod(*[torch.arange(3)] * 2).tolist(), key=_is_pair):
        number = numbers[i, j].item()
        left, top = x + j * (w + across), y + i * (28 + down)
        shown = number if role == "weight" else int(number)
        s.cells(left, top, [[shown]], role, w=w, h=28, bars=role == "weight", thick=i == j)
        if i == j:
            s.text(left + w / 2, y - 11, f"*v*_{{{j + 1}}}", role="key")
        if i == j and role == "step":
            s.text(x - 5, top + 14, f"*u*_{{{i + 1}}}", role="query", at="end")
    return Box(x, y, 3 * w + 2 * across, 3 * 28 + 2 * down)


def _is_pair(place: list[int]) -> bool:
    return place[0] == place[1]


@drawing(
    f"""The cosines of the three pairs, divided by the temperature, are three rows of scores. If the
    pictures are asked, each row passes a softmax, and the weights of the three pairs are
    {said(ASKED["row"].diagonal())}. If the captions are asked, each column passes a softmax, and
    the weights of the pairs are {said(ASKED["column"].diagonal())}. The mean loss is
    {LOST["row"].mean():.2f} by rows and {LOST["column"].mean():.2f} by columns.""",
    numbers=lambda: (
        [x for a in ASKED.values() for x in a.flatten().tolist()]
        + [loss.mean().item() for loss in LOST.values()]
    ),
)
def asked_both_ways(s: Sketch) -> None:
    """One table of scores, a softmax for each row, and a softmax for each column."""
    names = ("pictures asked: softmax by row", "captions asked: softmax by column")
    for panel, way in zip(s.panels(names, 196, below=12), ("row", "column"), strict=True):
        left, y = panel.x, panel.y
        scores = _table(s, left + 28, y + 62, way, SCORES, "step", 30)
        pill = s.step(scores.right + 22, y + 110, 24, 84, "softmax")
        weights = _table(s, pill.right + 18, y + 62, way, ASKED[way], "weight", 42)
        s.arrow((scores.right, 110 + y), (pill.x, 110 + y))
        s.flow(pill, weights)
        terms = ", ".join(f"{x:.2f}" for x in LOST[way].abs())
        s.text(panel.cx, y + 180, f"−ln of the pairs: {terms}; mean {LOST[way].mean():.2f}")


@drawing(
    f"""A word looks at two words and two patches with the scores {said(LOOKS, 0)}. Side by side,
    one softmax gives them the weights {said(JOINED)}, and the output is {OUT:.2f}. With
    cross-attention the words share a softmax and the patches share another: the words get
    {said(APART[:2])} and give {FOUND[0]:.2f}, the patches get {said(APART[2:])} and give
    {FOUND[1]:.2f}.""",
    numbers=lambda: [JOINED, APART, OUT, *FOUND],
)
def one_softmax_or_two(s: Sketch) -> None:
    """The same four scores: all in one softmax, or words and patches each in their own."""
    h, gap = 26, 30
    for place, name in enumerate(("side by side: one softmax", "across: a softmax for each")):
        left, top = (6.0, 206.0 * place) if s.narrow else (340.0 * place, 0.0)
        s.panel(left, top, 328, 194, name)
        extra = 12 * place
        ys = [top + 78 - 6 * place + gap * i + extra * (i > 1) for i in range(4)]
        x = left + 62
        columns = zip(("score", "weight", "value"), (x + 14, x + 101, x + 166), strict=True)
        for head, at in columns:
            s.text(at, top + 43, head, kind="small quiet")
        for word, y in zip(WORDS + PATCHES, ys, strict=True):
            s.text(x - 8, y, word, kind="small strong", at="end",
                   role="key" if word in WORDS else "query")  # fmt: skip
        groups = [(0, 4)] if not place else [(0, 2), (2, 4)]
        for start, end in groups:
            middle, n = (ys[start] + ys[end - 1]) / 2, end - start
            pill = s.step(x + 54, middle, 24, gap * n - 2, "softmax")
            sums = s.sign(x + 204, middle, "+")
            for i in range(start, end):
                y, w = ys[i], (APART if place else JOINED)[i].item()
                role = "key" if i < 2 else "query"
                score = s.cells(x, y - h / 2, [[int(LOOKS[i])]], "step", w=28, h=h)
                weight = s.cells(x + 80, y - h / 2, [[w]], "weight", w=42, h=h, bars=True)
                value = s.cells(x + 152, y - h / 2, [[int(VALUES[i])]], role, w=28, h=h)
                s.flow(score, pill, weight)
                s.sign(x + 137, y, "×", r=7)
                s.arrow((value.right, y), (sums.cx, y), (sums.cx, sums.y if y < middle
                        else sums.bottom), tip=False)  # fmt: skip
            out = s.cells(x + 218, middle - h / 2, [[FOUND[start // 2] if place else OUT]], "value",
                          w=42, h=h, thick=True)  # fmt: skip
            s.flow(sums, out, tip=False)


@drawing(
    """Four ways to bring words and patches together. Two towers: patches and words pass encoders of
    their own, and one vector of each meets the other in a dot product. One encoder: patches and
    words stand in one sequence, and every token sees every other from layer 1 on. Looking across:
    patches pass an encoder, and words look at them by cross-attention in each of their blocks.
    Slots: two learned queries look at the patches, and their two answers join the words in one
    encoder."""
)
def four_layouts(s: Sketch) -> None:
    """Where a word first meets a patch."""
    p = Page(s)
    panels = []
    for name in ("two towers", "one encoder", "looking across", "slots"):
        patches = p.named(
            p.cells([[None] * 4], "query", w=22, h=22), "patches", role="query", at="below"
        )
        words = p.named(
            p.cells([["a", "red", "square"]], "key", w=46, h=22), "words", role="key", at="below"
        )
        score = p.text("score", kind="strong")
        rows: list[tuple[Part | None, ...]] = [(patches, None, words)]
        if name == "one encoder":
            both = p.layer("encoder: attention over all tokens", w=300)
            p.link(both, score)
            p.link(patches, both)
            p.link(words, both)
            panels.append((name, p.column(score, both, p.row(patches, words, gap=60), gap=24)))
            continue
        image = p.layer("image tower" if name == "two towers" else "encoder", w=92)
        p.link(patches, image)
        if name == "two towers":
            text, dot = p.layer("text tower", w=138), p.sign("·")
            p.link(words, text)
            p.link(image, dot, bend="y", label="one vector")
            p.link(text, dot, bend="y", label="one vector", side="left")
            rows = [(None, dot, None), (image, None, text), *rows]
        elif name == "looking across":
            own, cross = p.layer("self-attention", w=138), p.layer("cross-attention", w=138)
            p.link(words, own, cross, score)
            p.link(image, cross, bend="y")
            rows = [(None, None, score), (None, None, cross), (image, None, own), *rows]
        else:
            slots, joint = (
                p.cells([[None] * 2], "layer", w=22, h=22, thick=True),
                p.layer("encoder", w=138),
            )
            p.named(slots, "slots", at="above")
            p.link(words, joint, score)
            p.link(image, slots, joint)
            rows = [(None, None, score), (slots, None, joint), (image, None, None), *rows]
        panels.append((name, p.grid(*rows, gap=(14, p.of(20, 18)), turn=False)))
    p.done(p.column(p.panels(*panels[:2]), p.panels(*panels[2:]), gap=10))


@drawing(
    f"""Two words, a picture of 2 by 3 patches and two words stand in one sequence of ten tokens. In
    the mask a word sees what stands before it and itself, a patch sees the words before it and its
    whole picture, and the last words see all of it. Below, the positions: counted in tokens the
    first word after the picture has position {PLACES["in tokens"][8]}. With a number for time, row
    and column the picture takes as many places as its longer side, and that word has
    {PLACES["time"][8]} on all three.""",
    numbers=lambda: [int(n) for row in PLACES.values() for n in row],
)
def picture_in_a_sentence(s: Sketch) -> None:
    """Who sees whom, and where each token stands."""
    c, h = (26.0, 24.0) if s.narrow else (30.0, 25.0)
    x = 72.0 if s.narrow else 80.0
    hidden = [(i, j) for i, j in (~SEES).nonzero().tolist()]
    mask = s.cells(x, 22, [[None] * 10] * 10, "mask", w=c, h=h, hatched=hidden)
    for i, word in enumerate(TEXT):
        role = "query" if word == "patch" else "key"
        s.text(x - 7, mask.cell(i).cy, word, kind="small strong", at="end", role=role)
    s.text(mask.cx, 10, "keys, in the same order", kind="small quiet")
    y = mask.bottom + (36.0 if s.narrow else 34.0)
    for name, row in PLACES.items():
        told = s.cells(x, y, row, "position", w=c, h=h)
        s.text(x - 7, told.cy, name, kind="small", at="end", role="position")
        y += 42 if name == "in tokens" else h + 4
    s.text(mask.cx, mask.bottom + 20, "positions", kind="small quiet")
    if s.narrow:
        return
    notes = ((0, 2, "a word sees what is before it"), (2, 8, "a patch sees the words before it"),
             (8, 10, "a word sees the whole picture"))  # fmt: skip
    for start, end, note in notes:
        middle = (mask.cell(start).y + mask.cell(end - 1).bottom) / 2
        s.text(mask.right + 16, middle, note, at="start")
        if start == 2:
            s.text(mask.right + 16, middle + 18, "and its whole picture", at="start")
