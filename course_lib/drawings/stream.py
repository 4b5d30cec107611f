"""One token on its way through a stack, with its numbers, in both orders of norm and sub-layer."""

import torch

from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.layers import layer_norm

# A token and the outputs of two sub-layers that are at right angles, each of mean 0 and variance 1.
START = torch.tensor([1.0, 1.0, -1.0, -1.0])
OUTPUTS = torch.tensor([[1.0, -1.0, 1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])
SUMS = (START + OUTPUTS.cumsum(0)).unbind()
_first = layer_norm(START + OUTPUTS[0], eps=0.0)
NORMED_SUMS = (_first, layer_norm(_first + OUTPUTS[1], eps=0.0))


@drawing(
    f"""One token, {said(START, 0)}, goes through two sub-layers, in two orders. In both, the first
    adds {said(OUTPUTS[0], 0)} and the second {said(OUTPUTS[1], 0)}. In pre-norm the token becomes
    {said(SUMS[0], 0)} with variance 2 and then {said(SUMS[1], 0)} with variance 3. In post-norm a
    norm on the thick line divides after each plus sign. The token becomes {said(NORMED_SUMS[0])}
    and then {said(NORMED_SUMS[1])}, and its variance stays 1.""",
    numbers=lambda: [SUMS[0], SUMS[1], NORMED_SUMS[1]],
)
def stream_by_hand(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for order, tokens in (("pre-norm", SUMS), ("post-norm", NORMED_SUMS)):

        def shown(token: torch.Tensor, *, last: bool = False) -> Part:
            said = f"variance {token.var(correction=0):.0f}"
            box = p.cells(token, "state", thick=last)
            return p.named(box, "", said, at="below right", free=s.narrow)

        before = shown(START)
        rows: list[tuple[Part, Part | None]] = [(before, None)]
        for i, token in enumerate(tokens):
            plus, norm = p.sign("+", 10), p.layer("norm", role="state")
            output = p.named(
                p.cells(OUTPUTS[i], "state"), "", f"sub-layer {i + 1}", at="right below"
            )
            after = shown(token, last=i == len(tokens) - 1)
            rows += [(plus, p.loose(output)), (norm, None), (after, None)]
            if order == "pre-norm":
                rows.remove((norm, None))
            p.link(output, plus)
            p.link(before, after, stream=True)
            before = after
        panels.append(
            (order, p.grid(*zip(*rows, strict=True), gap=(26 if order == "pre-norm" else 12, 16)))
        )
    p.done(p.panels(*panels, below=True))
