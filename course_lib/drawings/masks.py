"""Masks: on a sentence, a batch, packed documents and a text, five ways to say it, a hidden row."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from course_lib.drawings import Page, Part, Sketch, drawing
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
# Two documents in one row; in its own document each token sees itself and what comes before it.
PACKED = ("the", "cat", "sat", "dogs", "run")
DOCUMENT = torch.tensor([0, 0, 0, 1, 1])
TOGETHER = causal_mask(5)
APART = TOGETHER & (DOCUMENT[:, None] == DOCUMENT)
PLACE = APART.sum(-1) - 1
READ, ASKED = ("the", "cats", "near", "the"), ("cats", "near", "the", "tree")
CORNERS = {
    "top left: one key, then two": torch.ones(2, 5, dtype=torch.bool).tril(),
    "bottom right: four keys, then five": causal_mask(2, 5),
}


def hidden(mask: Tensor) -> list[tuple[int, int]]:
    """The cells of a mask that are not to be seen."""
    return [(i, j) for i, j in (~mask).nonzero().tolist()]


def laid(
    p: Page, mask: Tensor, words: Iterable[object] = (), over: Iterable[object] = (), **how: Any
) -> Part:
    """A mask with its queries on the left and its keys above; what is hidden is hatched."""
    usual: dict[str, Any] = {"role": "mask", "w": 31, "h": 26, "asks": ("query", "key")}
    blank = [[None] * mask.shape[1]] * mask.shape[0]
    return p.cells(blank, words=words, over=over, hatched=hidden(mask), **usual | how)


@drawing(
    f"""A mask laid on the sentence the cat sat. Each row is a word that looks, each column a word
    that is looked at. The mask is True on and below the diagonal: the may see itself, cat may see
    the and cat, sat may see all three. Where it is False, the score becomes minus infinity. The
    softmax of each row then gives hidden words the weight 0, and the visible ones share a weight of
    1: for cat these are {said(WEIGHTS[CAT])}.""",
    numbers=lambda: [SCORES, WEIGHTS],
)
def mask_by_hand(s: Sketch) -> None:
    filled = [_signs(row) for row in SCORES.masked_fill(~SEES, -math.inf)]
    # A hidden key has no weight at all: a 0 without decimals.
    shares = [[w or 0 for w in row] for row in WEIGHTS.tolist()]
    p = Page(s)
    how: dict[str, Any] = {"words": WORDS, "over": WORDS, "asks": ("query", "key"), "shape": ""}
    scores = p.cells([whole(row) for row in SCORES], "step", w=36, name="scores", **how)
    how |= {"w": 36, "hatched": hidden(SEES)}
    mask = p.cells(SEES.tolist(), "mask", name="mask", **how)
    both = p.stack(scores, mask)
    fill, soft = p.step("where False: −∞", beside=both), p.step("softmax", beside=scores)
    ready = p.cells(filled, "step", name="scores, masked", **how)
    weights = p.cells(shares, "weight", name="weights", bars=True, thick=True, **how)
    p.link(scores, fill, bend="late")
    p.link(mask, fill, bend="late")
    p.link(fill, ready, soft, weights)
    p.done(both, fill, ready, soft, weights)


@drawing(
    """A batch of two sentences of four places: the cat sat up, and dogs run with two pads. The
    padding mask has one row for each sentence and hides the pads as keys from every query. The
    causal mask hides what comes later and is the same for both. What both allow may be seen. In the
    first sentence that is the whole triangle, in the second only the two columns of dogs and run,
    and no row is empty.""",
    numbers=lambda: [int(n) for n in to_lengths(REAL)],
)
def padding_in_a_batch(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for i, (real, words) in enumerate(zip(REAL, BATCH, strict=True), 1):
        both = combine_masks(causal_mask(4), real[None])
        assert both is not None
        pads, causal = laid(p, real[0], (), words), laid(p, causal_mask(4), words)
        seen = laid(p, both[0, 0], (), words, thick=True)
        told = p.texts("padding (1, 4)", "& causal (4, 4)")
        p.link(causal, seen)
        asked = p.column(pads, p.sign("&", 11), causal, axle=2, gap=8)
        got = p.row(asked, p.column(told, seen, axle=1, gap=20), gap=26)
        panels.append((f"sentence {i}: {real.sum()} words", got))
    p.done(p.panels(*panels))


@drawing(
    """One sentence, dogs run and a pad, and six functions that are told the same: see dogs and
    run, hide the pad. This course and scaled_dot_product_attention of PyTorch read True, True,
    False. The layer MultiheadAttention of PyTorch reads False, False, True, because there True
    means blocked. An additive mask holds 0, 0 and minus infinity, a tokenizer hands out 1, 1, 0,
    and a valid length is the number 2.""",
    numbers=lambda: [to_integers(KEPT), int(to_lengths(KEPT))],
)
def meanings_of_true(s: Sketch) -> None:
    p = Page(s)
    keep = KEPT[0, 0]
    ways: list[tuple[str, str, list[list[object]]]] = [
        ("this course", "True = may attend", keep.tolist()),
        ("F.scaled_dot_product_attention", "True = may attend", keep.tolist()),
        ("nn.MultiheadAttention", "True = blocked", to_blocked(keep).tolist()),
        ("added to the scores", "0 = may attend", [_signs(to_additive(keep)[0])]),
        ("tokenizers", "1 = may attend", to_integers(keep).tolist()),
        ("valid lengths", "one number", [[int(to_lengths(KEPT))]]),
    ]
    made: list[tuple[list[str], Part]] = []
    for name, sense, row in ways:
        dark = hidden(keep) if len(row[0]) > 1 else []
        over = () if made else ("dogs", "run", "pad")
        box = p.cells(row, "mask", w=62, h=28, hatched=dark, over=over, asks=("", "key"))
        blocked = "blocked" in sense
        made.append(([name], p.named(box, sense * blocked, sense * (not blocked), at="right")))
    p.done(p.titled(*made))


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
    p = Page(s)
    sees = p.named(laid(p, LEFT_SEES, LEFT, LEFT, w=36), "causal & padding")
    none, empty = torch.full((4,), -math.inf), torch.zeros(4, dtype=torch.bool)
    powers = p.named(p.cells(none.exp(), "step", w=36), "exponentials of the first row")
    p.named(powers, "sum 0, so each share is 0 ÷ 0", at="below")
    small = torch.full((4,), -1e9).softmax(-1)
    ours = p.cells([whole(masked_softmax(torch.zeros(4), empty))], "weight", w=36, thick=True)
    answers = p.column(
        p.named(p.cells([none.softmax(-1).tolist()], "mask"), "fill −∞, softmax"),
        p.named(p.cells(small, "weight", bars=True), "fill −10^{9}, softmax"),
        p.named(ours, "this course"),
    )
    p.link(sees, powers)
    for answer in answers.each if not s.narrow else [answers.each[0]]:
        p.link(powers, answer)
    p.done(sees, powers, answers)


@drawing(
    """Two new words, on and it, ask five keys: the, cat, sat, on, it. With the triangle in the top
    left corner, on sees only the, and it sees the and cat: neither sees itself. With the triangle
    in the bottom right corner, on sees the, cat, sat and itself, and it sees all five."""
)
def two_corners(s: Sketch) -> None:
    p = Page(s)
    panels = [
        (name, laid(p, mask, CACHED[3:], CACHED, w=50, thick=i == 1))
        for i, (name, mask) in enumerate(CORNERS.items())
    ]
    p.done(p.panels(*panels))


@drawing(
    """Two documents, the cat sat and dogs run, in one row of five places. Their document numbers
    are 0, 0, 0, 1, 1, and their positions 0, 1, 2, 0, 1: they begin again with the second document.
    Under the causal mask alone dogs and run also see the, cat and sat. If the document has to be
    the same, too, the mask is a triangle of three for the first document and a triangle of two for
    the second, and dogs and run see nothing of the first.""",
    numbers=lambda: [DOCUMENT, PLACE],
)
def packed_documents(s: Sketch) -> None:
    p = Page(s)
    numbers = [PACKED, DOCUMENT.tolist(), PLACE.tolist()]
    words, roles = ("token", "document", "position"), ("state", "mask", "position")
    causal, apart = (laid(p, mask, PACKED, PACKED, w=36) for mask in (TOGETHER, APART))
    panels = p.panels(("causal alone", causal), ("causal & same document", apart))
    p.done(p.column(p.rows(numbers, roles, w=36, words=words), panels))


@drawing(
    """The text the cats near the tree under a causal mask. The first row has read the and is asked
    for cats. The next have read the cats, the cats near, and the cats near the, and are asked for
    near, the and tree. So one pass over a text of five words answers four questions."""
)
def one_text_many_questions(s: Sketch) -> None:
    p = Page(s)
    read = laid(p, causal_mask(len(READ)), READ, READ, w=38)
    rows = [[word] for word in ASKED]
    asked = p.rows(rows, "value", gap=0, h=26, name="asked for", shape="")
    p.each(read, asked)
    p.done(p.row(read, asked, gap=40))
