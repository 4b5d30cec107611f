"""The cut into heads, and what a reshape without a transpose does."""

import torch
from torch import Tensor

from course_lib.attention import split_heads
from course_lib.drawings import Page, Sketch, drawing

# Four tokens of four channels, numbered.
LETTERS = "ABCD"
CHANNELS = torch.arange(16).view(4, 4)
CUT = split_heads(CHANNELS[None], 2)[0]
RESHAPED = CHANNELS.reshape(2, 4, 2)


@drawing(
    """Four tokens A, B, C and D have four channels each. A reshape and a transpose give head 1 the
    first two channels of every token, one token in each row, and head 2 the last two. A reshape
    alone fills the same shape in reading order: head 1 gets all channels of A and B, two rows for
    each token, head 2 all channels of C and D. A and D never meet in one head."""
)
def cut_or_reshaped(s: Sketch) -> None:
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
