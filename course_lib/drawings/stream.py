"""One token on its way through a stack, with its numbers, in both orders of norm and part."""

from collections.abc import Sequence

import torch

from course_lib.drawings import Sketch, drawing
from course_lib.drawings.block import vector
from course_lib.drawings.rows import said
from course_lib.layers import layer_norm

# A token and the outputs of two parts that are at right angles, each of mean 0 and variance 1.
START = torch.tensor([1.0, 1.0, -1.0, -1.0])
OUTPUTS = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
SUMS = (START + OUTPUTS.cumsum(0)).unbind()
_first = layer_norm(START + OUTPUTS[0], eps=0.0)
NORMED_SUMS = (_first, layer_norm(_first + OUTPUTS[1], eps=0.0))


@drawing(
    f"""One token, {said(START, 0)}, goes through two parts, in two orders. In both, the first part
    adds {said(OUTPUTS[0], 0)} and the second {said(OUTPUTS[1], 0)}. In pre-norm the token becomes
    {said(SUMS[0], 0)} with variance 2 and then {said(SUMS[1], 0)} with variance 3. In post-norm a
    norm on the thick line divides after each plus sign. The token becomes {said(NORMED_SUMS[0])}
    and then {said(NORMED_SUMS[1])}, and its variance stays 1.""",
    numbers=lambda: [SUMS[0], SUMS[1], NORMED_SUMS[1]],
)
def stream_by_hand(s: Sketch) -> None:
    """The stream grows in pre-norm; in post-norm each norm makes it as small as before."""
    top = 0.0
    for order, tokens in (("pre-norm", SUMS), ("post-norm", NORMED_SUMS)):
        post = order == "post-norm"
        high = (378.0 if post else 290.0) if s.narrow else 142.0
        s.panel(0, top, s.width, high, order)
        (_down if s.narrow else _along)(s, top, tokens, post)
        top += high + 10


def _variance(token: torch.Tensor) -> str:
    return f"variance {token.var(correction=0):.0f}"


def _along(s: Sketch, top: float, tokens: Sequence[torch.Tensor], post: bool) -> None:
    y, low = top + 46, top + 112
    box = vector(s, 10, y, START, 23)
    s.text(box.cx, box.bottom + 14, _variance(START), kind="small quiet")
    for i, token in enumerate(tokens):
        last = i == len(tokens) - 1
        plus = s.sign(box.right + (24 if post else 88), y, "+", r=10)
        output = vector(s, plus.cx - 46, low, OUTPUTS[i], 23)
        s.text(output.right + 8, low, f"part {i + 1}", at="start", kind="small quiet")
        s.flow(output, plus)
        if post:
            norm = s.layer(plus.right + 33, y, 46, 28, "norm", role="state")
            after = vector(s, norm.right + 17, y, token, 42, thick=last)
            s.flow(norm, after, stream=True)
            s.flow(box, norm, tip=False, stream=True)
        else:
            after = vector(s, plus.right + 78, y, token, 23, thick=last)
            s.flow(box, after, stream=True)
        s.text(after.cx, after.bottom + 14, _variance(token), kind="small quiet")
        box = after


def _down(s: Sketch, top: float, tokens: Sequence[torch.Tensor], post: bool) -> None:
    box = vector(s, 12, top + 46, START, 24)
    sx = box.cx
    s.text(196, box.cy, _variance(START), at="start", kind="small quiet")
    for i, token in enumerate(tokens):
        last = i == len(tokens) - 1
        plus = s.sign(sx, box.bottom + 42, "+", r=10)
        output = vector(s, 196, plus.cy, OUTPUTS[i], 24)
        s.text(output.right + 8, plus.cy, f"part {i + 1}", at="start", kind="small quiet")
        s.flow(output, plus)
        down = plus.bottom + (72 if post else 32)
        after = vector(s, 12, down + 13, token, 40 if post else 24, thick=last)
        if post:
            norm = s.layer(sx, plus.bottom + 32, 60, 26, "norm", role="state")
            s.flow(norm, after, stream=True)
            s.flow(box, norm, tip=False, stream=True)
        else:
            s.flow(box, after, stream=True)
        s.text(196, after.cy, _variance(token), at="start", kind="small quiet")
        box = after
