"""The cut into heads, and what a reshape without a transpose does."""

from collections.abc import Callable

import torch
from torch import Tensor

from course_lib.attention import merge_heads, scaled_dot_product_attention, split_heads
from course_lib.drawings import Sketch, drawing
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
    c, h = (26, 22) if s.narrow else (30, 24)

    def named(numbers: Tensor) -> list[list[object]]:
        return [[f"{LETTERS[i // 4]}{i % 4 + 1}" for i in row] for row in numbers.tolist()]

    x = s.cells(36 if s.narrow else 32, 62 if s.narrow else 84, named(CHANNELS), "state", w=c, h=h)
    s.name(x, "four tokens", "(4, 4)")
    s.name_rows(x, LETTERS)
    panels = (
        ("right: reshape, transpose", CUT, "query"),
        ("wrong: reshape alone", RESHAPED, "mask"),
    )
    for place, (title, cut, role) in enumerate(panels):
        left, top = (0.0, 172.0 + 172 * place) if s.narrow else (182.0 + 248 * place, 48.0)
        wide = 344.0 if s.narrow else 238.0
        s.panel(left, top, wide, 160, title)
        for head in (0, 1):
            middle = left + wide * (0.28 + 0.48 * head)
            box = s.cells(middle - c, top + 52, named(cut[head]), role, w=c, h=h)
            s.text(box.cx, box.y - 11, f"head {head + 1}", kind="small quiet")
            for i, row in enumerate(cut[head].tolist()):
                letter = LETTERS[row[0] // 4]
                s.text(box.x - 8, box.cell(i).cy, letter, kind="strong", at="end")
    if s.narrow:
        s.arrow((x.cx, x.bottom), (x.cx, 172))
    else:
        s.arrow((x.right, x.cy), (182, x.cy))


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
    c = 15 if s.narrow else 19
    for place, (title, table) in enumerate(SEEN.items()):
        left = place * s.width / 3 + (22 if s.narrow else 56)
        hidden = [
            (i, j) for i, row in enumerate(table.tolist()) for j, on in enumerate(row) if not on
        ]
        box = s.cells(left, 54, [[None] * SIX] * SIX, "query", w=c, h=c, hatched=hidden)
        s.text(box.cx, 12, title, kind="strong")
        for i in range(SIX):
            s.text(box.cell(0, i).cx, box.y - 10, str(i + 1), kind="small quiet")
            s.text(box.x - 6, box.cell(i).cy, str(i + 1), kind="small quiet", at="end")
        s.text(box.cx, box.y - 24, "words", kind="small quiet")
        if place == 0 and not s.narrow:
            s.text(box.x - 28, box.cy, "outputs", kind="small quiet", turn=True)
