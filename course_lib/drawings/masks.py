"""Masks: one laid on a sentence, a batch with padding, five ways to say it, and a hidden row."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import said, whole
from course_lib.masks import (
    causal_mask,
    combine_masks,
    masked_softmax,
    padding_mask,
    to_additive,
    to_blocked,
    to_integers,
    to_lengths,
)

WORDS = ("the", "cat", "sat")
CAT = 1
SCORES = torch.tensor([[1.0, 3.0, 0.0], [2.0, 1.0, 4.0], [1.0, 2.0, 0.0]])
SEES = causal_mask(3)
WEIGHTS = masked_softmax(SCORES, SEES)

BATCH = (("the", "cat", "sat", "up"), ("dogs", "run", "pad", "pad"))
REAL = padding_mask(torch.tensor([4, 2]), 4)
# The same two words, padded on the left.
LEFT = ("pad", "pad", "dogs", "run")
LEFT_SEES = causal_mask(4) & torch.tensor([word != "pad" for word in LEFT])
KEPT = padding_mask(torch.tensor([2]), 3)
CACHED = ("the", "cat", "sat", "on", "it")
CORNERS = {
    "top left: one key, then two": torch.ones(2, 5, dtype=torch.bool).tril(),
    "bottom right: four keys, then five": causal_mask(2, 5),
}


def hidden(mask: Tensor) -> list[tuple[int, int]]:
    """The cells of a mask that are not to be seen."""
    return [(i, j) for i, j in (~mask).nonzero().tolist()]


def blank(mask: Tensor) -> list[list[object]]:
    """As many cells, without numbers."""
    return [[None] * mask.shape[1]] * mask.shape[0]


def _words(s: Sketch, box: Box, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
    """Write the queries beside a table and the keys above it."""
    s.name_rows(box, rows, gap=7, role="query", kind="small strong")
    s.name_columns(box, columns, role="key", kind="small strong")


@drawing(
    f"""A mask laid on the sentence the cat sat. Each row is a word that looks, each column a word
    that is looked at. The mask is True on and below the diagonal: the may see itself, cat may see
    the and cat, sat may see all three. Where it is False, the score becomes minus infinity. The
    softmax of each row then gives hidden words the weight 0, and the visible ones share a weight of
    1: for cat these are {said(WEIGHTS[CAT])}.""",
    numbers=lambda: [SCORES, WEIGHTS],
)
def mask_by_hand(s: Sketch) -> None:
    """Scores and a mask, then scores with minus infinity, then weights."""
    h, c = 26.0, 34 if s.narrow else 40
    filled = [
        [int(e) if seen else -math.inf for e, seen in zip(row, sees, strict=True)]
        for row, sees in zip(SCORES.tolist(), SEES.tolist(), strict=True)
    ]
    # A hidden key has no weight at all: a 0 without decimals.
    shares = [
        [w if seen else 0 for w, seen in zip(row, sees, strict=True)]
        for row, sees in zip(WEIGHTS.tolist(), SEES.tolist(), strict=True)
    ]
    gone = hidden(SEES)

    def grid(
        x: float, y: float, rows: Sequence[Sequence[object]], role: str, name: str, **how: bool
    ) -> Box:
        dark = gone if role in ("mask", "weight") or name.endswith("masked") else []
        box = s.cells(x, y, rows, role, w=c, h=h, hatched=dark, **how)
        s.text(box.cx, y - 29, name, role=role if role != "step" else "")
        _words(s, box, WORDS, WORDS)
        return box

    low = (40.0, 44.0) if s.narrow else (44.0, 174.0)
    scores = grid(40 if s.narrow else 44, 44, [whole(row) for row in SCORES], "step", "scores")
    if s.narrow:
        c = 38
        mask = grid(220, 44, SEES.tolist(), "mask", "mask")
        fill = s.step(172, 160, 130, 28, "False → −∞")
        for box, side in ((scores, fill.x), (mask, fill.right)):
            s.arrow((box.cx, box.bottom), (box.cx, fill.cy), (side, fill.cy))
        ready = grid(115, 232, filled, "step", "scores, masked")
        s.arrow((172, fill.bottom), (172, 193))
        soft = s.step(172, 342, 110, 28, "softmax")
        s.flow(ready, soft)
        c = 42
        weights = grid(109, 414, shares, "weight", "weights", bars=True, thick=True)
        s.arrow((172, soft.bottom), (172, 375))
        return
    mask = grid(*low, SEES.tolist(), "mask", "mask")
    middle = (scores.cy + mask.cy) / 2
    fill = s.step(204, middle, 28, 178, "where False: −∞")
    for box in (scores, mask):
        s.flow(box, fill)
    ready = grid(294, middle - 39, filled, "step", "scores, masked")
    s.arrow((fill.right, middle), (ready.x - 36, middle))
    soft = s.step(446, middle, 28, 100, "softmax")
    s.flow(ready, soft)
    c = 46
    weights = grid(524, middle - 39, shares, "weight", "weights", bars=True, thick=True)
    s.arrow((soft.right, middle), (weights.x - 36, middle))


@drawing(
    """A batch of two sentences of four places: the cat sat up, and dogs run with two pads. The
    padding mask has one row for each sentence and hides the pads as keys from every query. The
    causal mask hides what comes later and is the same for both. What both allow may be seen. In the
    first sentence that is the whole triangle, in the second only the two columns of dogs and run,
    and no row is empty.""",
    numbers=lambda: [int(n) for n in to_lengths(REAL)],
)
def padding_in_a_batch(s: Sketch) -> None:
    """Two sentences of different length, each with its mask."""
    c, h = 31.0, 26.0
    names = (f"sentence {i}: {real.sum()} words" for i, real in enumerate(REAL, 1))
    for place, panel in enumerate(s.panels(names, 232, below=12)):
        real, words = REAL[place, 0], BATCH[place]
        x, top = panel.x + 46, panel.y
        pads = s.cells(x, top + 56, blank(real), "mask", w=c, h=h, hatched=hidden(real))
        _words(s, pads, (), words)
        causal = s.cells(
            x, top + 116, blank(causal_mask(4)), "mask", w=c, h=h, hatched=hidden(causal_mask(4))
        )
        _words(s, causal, words)
        s.sign(x + 2 * c, (pads.bottom + causal.y) / 2, "&", r=11)
        both = combine_masks(causal_mask(4), REAL[place : place + 1])
        assert both is not None
        seen = s.cells(
            causal.right + 28, causal.y, blank(both[0, 0]), "mask", w=c, h=h,
            hatched=hidden(both[0, 0]), thick=True,
        )  # fmt: skip
        s.flow(causal, seen)
        s.text(seen.cx, pads.cy - 7, "padding (1, 4)", kind="small quiet")
        s.text(seen.cx, pads.cy + 9, "& causal (4, 4)", kind="small quiet")
        _words(s, seen, (), words)


@drawing(
    """One sentence, dogs run and a pad, and six functions that are told the same: see dogs and
    run, hide the pad. This course and scaled_dot_product_attention of PyTorch read True, True,
    False. The layer MultiheadAttention of PyTorch reads False, False, True, because there True
    means blocked. An additive mask holds 0, 0 and minus infinity, a tokenizer hands out 1, 1, 0,
    and a valid length is the number 2.""",
    numbers=lambda: [to_integers(KEPT), int(to_lengths(KEPT))],
)
def meanings_of_true(s: Sketch) -> None:
    """The same mask, as six readers want it."""
    keep = KEPT[0, 0]
    ways: list[tuple[str, str, list[list[object]]]] = [
        ("this course", "True = may attend", keep.tolist()),
        ("F.scaled_dot_product_attention", "True = may attend", keep.tolist()),
        ("nn.MultiheadAttention", "True = blocked", to_blocked(keep).tolist()),
        ("added to the scores", "0 = may attend", [_signs(to_additive(keep)[0])]),
        ("tokenizers", "1 = may attend", to_integers(keep).tolist()),
        ("valid lengths", "one number", [[int(to_lengths(KEPT))]]),
    ]
    c, h = (62.0, 28.0)
    for place, (name, sense, row) in enumerate(ways):
        y = 40.0 + place * (62 if s.narrow else 40)
        x = 10.0 if s.narrow else 262.0
        dark = hidden(keep) if len(row[0]) > 1 else []
        if s.narrow:
            s.text(x, y - 12, name, kind="strong", at="start")
        else:
            s.text(x - 14, y + h / 2, name, kind="strong", at="end")
        box = s.cells(x, y, row, "mask", w=c, h=h, hatched=dark)
        s.text(x + 3 * c + 14, box.cy, sense, at="start", kind="strong" * ("blocked" in sense))
        if not place:
            for j, word in enumerate(("dogs", "run", "pad")):
                up = 32 if s.narrow else 12
                s.text(x + (j + 0.5) * c, y - up, word, kind="small strong", role="key")


def _signs(numbers: Tensor) -> list[object]:
    """Zeros without a point, and minus infinity."""
    return [int(n) if math.isfinite(n) else n for n in numbers.tolist()]


@drawing(
    """The mask of pad, pad, dogs, run with padding on the left. The first two rows are hidden
    throughout: these queries come before every word. All exponentials of such a row are 0, so is
    their sum, and a share would be 0 divided by 0. Filling with minus infinity and a plain softmax
    gives four times NaN, filling with minus a billion gives a quarter to each hidden key, and this
    course gives four times 0.""",
    numbers=lambda: [masked_softmax(torch.zeros(4), LEFT_SEES[0]), 1 / 4],
)
def hidden_row(s: Sketch) -> None:
    """A row without a visible key, and three answers to 0 divided by 0."""
    c, h = 38.0, 26.0
    sees = s.cells(
        96 if s.narrow else 46, 44, blank(LEFT_SEES), "mask", w=c, h=h, hatched=hidden(LEFT_SEES)
    )
    s.text(sees.cx, 14, "causal & padding")
    _words(s, sees, LEFT, LEFT)
    x, y = (96.0, sees.bottom + 54) if s.narrow else (sees.right + 62, sees.y + 21)
    none = torch.full((4,), -math.inf).exp()
    powers = s.cells(x, y, none, "step", w=c, h=h)
    s.text(powers.cx, y - 13, "exponentials of the first row")
    first = sees.cell(0, 3)
    if s.narrow:
        s.arrow((sees.right, first.cy), (sees.right + 54, first.cy), (sees.right + 54, powers.cy),
                (powers.right, powers.cy))  # fmt: skip
    else:
        s.arrow((sees.right, first.cy), (x - 26, first.cy), (x - 26, powers.cy), (x, powers.cy))
    s.text(powers.cx, powers.bottom + 16, "sum 0, so each share is 0 ÷ 0")
    empty = torch.zeros(4, dtype=torch.bool)
    answers = (
        ("fill −∞, softmax", torch.full((4,), -math.inf).softmax(-1).tolist(), "mask"),
        ("fill −10^{9}, softmax", torch.full((4,), -1e9).softmax(-1).tolist(), "weight"),
        ("this course", whole(masked_softmax(torch.zeros(4), empty)), "weight"),
    )
    top = powers.bottom + 54 if s.narrow else 16.0
    left = 130.0 if s.narrow else 494.0
    for place, (name, row, role) in enumerate(answers):
        at = top + place * (44 if s.narrow else 52)
        if s.narrow:
            s.text(left - 10, at + h / 2, name, at="end", kind="small strong")
        else:
            s.text(left + 2 * c, at + 8, name, kind="small strong")
        at += 0 if s.narrow else 18
        box = s.cells(left, at, [row], role, w=c, h=h, bars=role == "weight", thick=place == 2)
        if not s.narrow:
            bus = powers.right + 52
            s.arrow((powers.right, powers.cy), (bus, powers.cy), (bus, box.cy), (box.x, box.cy))
    if s.narrow:
        s.arrow((powers.cx, powers.bottom + 26), (powers.cx, top))


@drawing(
    """Two new words, on and it, ask five keys: the, cat, sat, on, it. With the triangle in the top
    left corner, on sees only the, and it sees the and cat: neither sees itself. With the triangle
    in the bottom right corner, on sees the, cat, sat and itself, and it sees all five.""",
)
def two_corners(s: Sketch) -> None:
    """The same triangle, laid into two corners."""
    c, h = (52.0, 28.0) if s.narrow else (50.0, 28.0)
    panels = s.panels(CORNERS, 126, below=12)
    for place, (panel, mask) in enumerate(zip(panels, CORNERS.values(), strict=True)):
        box = s.cells(
            panel.x + 46,
            panel.y + 54,
            blank(mask),
            "mask",
            w=c,
            h=h,
            hatched=hidden(mask),
            thick=place == 1,
        )
        _words(s, box, CACHED[3:], CACHED)
