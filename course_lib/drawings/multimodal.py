"""Words and images: two towers, the loss both ways, one softmax or two, layouts, one sequence."""

from collections.abc import Callable

import torch

from course_lib.drawings import Page, Part, Sketch, drawing
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
    f"""Three images, a red circle, a red square and a blue square, pass an image tower, and each
    comes out as a vector of two numbers. Their three captions pass a text tower and come out as
    vectors of two numbers, too. A table holds the cosine of each image with each caption, row
    after row: {said(COSINES[0], 1)}; {said(COSINES[1], 1)}; {said(COSINES[2], 1)}. The cosines of
    the three pairs are on its diagonal.""",
    numbers=lambda: [COSINES],
)
def two_towers(s: Sketch) -> None:
    p = Page(s)
    towers = [p.place(p.of(72, 44), 34) for _ in THINGS]
    readers = [p.place(p.of(88, 52), 30) for _ in THINGS]
    p.over(towers, "image", "tower")
    p.over(readers, "text tower")
    captions, vectors, rows = [], [], []
    for i, (colour, shape) in enumerate(THINGS):
        captions.append(
            p.texts(*p.of([f"a {colour} {shape}"], [f"a {colour}", shape]), kind="strong")
        )
        numbers = CAPTIONS[i, :, None]
        vectors.append(p.cells(numbers, "key", h=20, digits=1))
        p.named(vectors[i], f"*v*_{{{i + 1}}}", role="key", at="left", free=True)
        seen = p.pixels(_picture(colour, shape), p.of(6, 5))
        picture = p.cells(PICTURES[i], "query", name=f"*u*_{{{i + 1}}}", shape="")
        cosines = [
            p.cells([[cosine]], "step", w=p.of(88, 52), h=34, digits=1, thick=i == j)
            for j, cosine in enumerate(COSINES[i].tolist())
        ]
        p.link(seen, towers[i], picture, cosines[0])
        rows.append([seen, towers[i], picture, *cosines])
    for parts in zip(captions, readers, vectors, rows[0][3:], strict=True):
        p.link(*parts)
    above = [[None] * 3 + parts for parts in (captions, readers, vectors)]
    note = p.texts("cosines; pairs have a strong edge")
    below = [None] * 4 + [p.loose(note, both=True), None]
    p.done(p.grid(*above, *rows, below, gap=(p.of(16, 8), 14), turn=False))


def _table(p: Page, way: str, numbers: torch.Tensor, role: str) -> Part:
    """Numbers of all pairs, with gaps between those that share no softmax."""
    bars = role == "weight"
    values = numbers.tolist() if bars else numbers.long().tolist()
    names = [f"*v*_{{{j + 1}}}" for j in range(3)]
    words = [""] * 3 if bars else [f"*u*_{{{i + 1}}}" for i in range(3)]
    tables = []
    for i in range(3):
        row, first = way == "row", i == 0
        some = [values[i]] if row else [[line[i]] for line in values]
        tables.append(
            p.cells(
                some,
                lambda i, j: role,
                h=28,
                bars=bars,
                thick=[(0, i) if row else (i, 0)],
                words=words[i : i + 1] if row else words * first,
                over=names * first if row else names[i : i + 1],
                asks=("query", "key"),
            )
        )
    return p.column(*tables, gap=6) if way == "row" else p.row(*tables, gap=6)


@drawing(
    f"""The cosines of the three pairs, divided by the temperature, are three rows of scores. If
    each image chooses a caption, each row passes a softmax, and the weights of the three pairs are
    {said(ASKED["row"].diagonal())}. If each caption chooses, each column passes a softmax, and
    the weights of the pairs are {said(ASKED["column"].diagonal())}. The mean loss is
    {LOST["row"].mean():.2f} by rows and {LOST["column"].mean():.2f} by columns.""",
    numbers=lambda: (
        [x for a in ASKED.values() for x in a.flatten().tolist()]
        + [loss.mean().item() for loss in LOST.values()]
    ),
)
def asked_both_ways(s: Sketch) -> None:
    p = Page(s)
    panels = []
    names = ("each image chooses: softmax by row", "each caption chooses: softmax by column")
    for name, way in zip(names, ("row", "column"), strict=True):
        scores = _table(p, way, SCORES, "step")
        pill = p.step("softmax", beside=scores, upright=True)
        weights = _table(p, way, ASKED[way], "weight")
        p.link(scores, pill, weights)
        terms = ", ".join(f"{x:.2f}" for x in LOST[way].abs())
        loss = p.text(f"−ln of the pairs: {terms}; mean {LOST[way].mean():.2f}")
        panels.append((name, p.column(p.row(scores, pill, weights, gap=p.of(16, 8)), loss)))
    p.done(p.panels(*panels))


@drawing(
    f"""A word looks at two words and two patches with the scores {said(LOOKS, 0)}. Side by side,
    one softmax gives them the weights {said(JOINED)}, and the output is {OUT:.2f}. With
    cross-attention the words share a softmax and the patches share another: the words get
    {said(APART[:2])} and give {FOUND[0]:.2f}, the patches get {said(APART[2:])} and give
    {FOUND[1]:.2f}.""",
    numbers=lambda: [JOINED, APART, OUT, *FOUND],
)
def one_softmax_or_two(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, groups in (
        ("side by side: one softmax", [(0, 4)]),
        ("across: a softmax for each", [(0, 2), (2, 4)]),
    ):
        rows = []
        for first, end in groups:
            both, some = end - first == len(LOOKS), slice(first, end)
            share, got = (JOINED, OUT) if both else (APART, FOUND[first // 2])
            roles = (["key"] * 2 + ["query"] * 2)[some]
            score = p.rows(
                LOOKS[some],
                "step",
                w=28,
                words=(WORDS + PATCHES)[some],
                asks=[(role, "") for role in roles],
            )
            pill = p.step("softmax", beside=score, upright=True)
            weight = p.rows(share[some], "weight", bars=True)
            value, plus = p.rows(VALUES[some], roles, w=28), p.sign("+")
            out = p.cells([[got]], "value", thick=True)
            p.each(score, pill, weight)
            for part in value.each:
                p.link(part, plus, bend="x", tip=False)
            p.link(plus, out, tip=False)
            if first == 0:
                for part, head in ((score, "score"), (weight, "weight"), (value, "value")):
                    p.named(part, "", head)
            rows.append(
                p.row(score, pill, weight, p.signs("×", weight, 7), value, plus, out, gap=8)
            )
        panels.append((name, p.column(*rows)))
    p.done(p.panels(*panels))


@drawing(
    """Four ways to bring words and patches together. Two towers: patches and words pass encoders of
    their own, and the dot product of one vector of each is the score. One encoder: patches and
    words form one sequence, and every token attends to every other from layer 1 on. Looking across:
    patches pass an encoder, and words attend to them by cross-attention in each of their blocks.
    Slots: two learned queries attend to the patches, and their two outputs join the words in one
    encoder."""
)
def four_layouts(s: Sketch) -> None:
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
    f"""Two words, an image of 2 by 3 patches and two words form one sequence of ten tokens. In the
    mask a word attends to itself and to what is before it, a patch to the words before it and to
    its whole image, and the last words to all of it. Below, the positions: counted in tokens the
    first word after the image has position {PLACES["in tokens"][8]}. With a number for time, row
    and column the image takes as many places as its longer side, and that word has
    {PLACES["time"][8]} on all three.""",
    numbers=lambda: [int(n) for row in PLACES.values() for n in row],
)
def picture_in_a_sentence(s: Sketch) -> None:
    p = Page(s)
    w, h = p.of(30, 26), 25
    asks = [("query" if word == "patch" else "key", "") for word in TEXT]
    hidden = [(i, j) for i, j in (~SEES).nonzero().tolist()]
    blank: list[list[object]] = [[None] * len(TEXT)] * len(TEXT)
    mask = p.rows(blank, "mask", w=w, h=h, gap=0, words=TEXT, asks=asks, hatched=hidden)
    p.named(mask, "", "keys, in the same order")
    if not s.narrow:
        notes = (
            ["a word sees what is before it"],
            ["a patch sees the words before it", "and its whole image"],
            ["a word sees the whole image"],
        )
        columns = [p.texts(*lines, kind="", at="start") for lines in notes]
        mask = p.row(mask, p.column(*columns, gap=4 * h - 24), axle=0)
    first, *rest = (
        p.cells(row, "position", w=w, h=h, words=[name], asks=("position", ""))
        for name, row in PLACES.items()
    )
    p.done(p.column(mask, p.texts("positions"), first, p.column(*rest, gap=4), gap=8))
