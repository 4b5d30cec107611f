"""The cut into heads, and what a reshape without a transpose does."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.masks import laid
from course_lib.masks import causal_mask

# Four tokens of four channels, numbered.
LETTERS = "ABCD"
CHANNELS = torch.arange(16).view(4, 4)
CUT = split_heads(CHANNELS[None], 2)[0]
RESHAPED = CHANNELS.reshape(2, 4, 2)
SIX = 6


@drawing(
    """Four tokens A, B, C and D have four channels each. A reshape and a transpose give head 1 the
    first two channels of every token, one token in each row, and head 2 the last two. A reshape
    alone fills the same shape in reading order: head 1 gets all channels of A and B, two rows for
    each token, head 2 all channels of C and D. A and D never meet in one head."""
)
def cut_or_reshaped(s: Sketch) -> None:
    """The same shape, filled with two orders."""
    p = Page(s)

    def named(numbers: Tensor) -> list[list[object]]:
        return [[f"{LETTERS[i // 4]}{i % 4 + 1}" for i in row] for row in numbers.tolist()]

    x = p.cells(named(CHANNELS), "state", words=LETTERS, name="four tokens")
    grounds = []
    for title, cut, role in (
        ("right: reshape, transpose", CUT, "query"),
        ("wrong: reshape alone", RESHAPED, "mask"),
    ):
        heads = [
            p.named(
                p.cells(named(part), role, words=[LETTERS[row[0] // 4] for row in part.tolist()]),
                "",
                f"head {head}",
            )
            for head, part in enumerate(cut, 1)
        ]
        grounds.append(p.panel(p.row(*heads, gap=20), title))
    p.link(x, grounds[0])
    p.done(x, *grounds)


def _seen(cut: Callable[[Tensor], Tensor], join: Callable[[Tensor], Tensor]) -> Tensor:
    """Which words each output depends on, in six words with two heads and a causal mask."""
    words = torch.randn(1, SIX, 4, generator=torch.Generator().manual_seed(0)).requires_grad_()
    parts = cut(words)
    out = join(scaled_dot_product_attention(parts, parts, parts, causal_mask(SIX))[0])
    back = [torch.autograd.grad(o.sum(), words, retain_graph=True)[0] for o in out[0]]
    return torch.cat(back).abs().sum(-1) > 0


SEEN = {
    "correct": _seen(lambda x: split_heads(x, 2), merge_heads),
    "wrong, undone": _seen(lambda x: x.reshape(1, 2, SIX, 2), lambda x: x.reshape(1, SIX, 4)),
    "wrong, joined": _seen(lambda x: x.reshape(1, 2, SIX, 2), merge_heads),
}


@drawing(
    """Which of six words each of six outputs depends on, with two heads and a mask that hides later
    words. In a correct layer it is a triangle: each output depends on its own word and those
    before. Reshaped without a transpose, and back in the same way, there are two triangles: the
    second half of the sentence never sees the first half. Reshaped and then joined correctly, early
    outputs depend on words that come later."""
)
def who_sees_whom(s: Sketch) -> None:
    """Three tables of outputs and words."""
    p = Page(s)
    at, side = range(1, SIX + 1), p.of(20, 15)
    how = {"role": "query", "w": side, "h": side, "asks": ("mask", "mask")}
    tables = [p.named(laid(p, seen, at, at, **how), name, "words") for name, seen in SEEN.items()]
    p.done(p.row(*tables, gap=p.of(70, 8)))
    if not s.narrow:
        first = tables[0].box
        s.text(first.x - 30, first.cy, "outputs", kind="small quiet", turn=True)
