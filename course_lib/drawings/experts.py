"""A mixture of experts: which sub-layers a token uses."""

import torch

from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import said

# Scores of a router for one token, and what the experts make of the token.
SCORES = torch.tensor([2.0, 0.0, 1.0, -1.0])
OUTPUTS = torch.tensor([[4.0, 0.0], [3.0, 3.0], [0.0, 8.0], [1.0, 1.0]])
BEST, CHOSEN = SCORES.topk(2)
WEIGHTS = BEST.softmax(-1)
MIXED = WEIGHTS @ OUTPUTS[CHOSEN]


@drawing(
    f"""A token goes to a router, which gives four experts the scores {said(SCORES, 0)}. The two
    experts with the largest scores, 1 and 3, are used, with the weights {said(WEIGHTS, 2)}. They
    return {said(OUTPUTS[0], 0)}, and {said(OUTPUTS[2], 0)}. The sum of these outputs, weighted, is
    {said(MIXED, 2)}. Experts 2 and 4 are not used: they compute nothing for this token.""",
    numbers=lambda: [SCORES, WEIGHTS, MIXED],
)
def route_to_experts(s: Sketch) -> None:
    p = Page(s)
    token, router = p.cells([["token *x*"]], "state", w=64), p.layer("router")
    add = p.sign("+")
    out = p.cells([MIXED.tolist()], "state", w=44)
    p.link(token, router)
    columns = []
    for expert, score in enumerate(SCORES.tolist()):
        shown = p.cells([[f"score {score:.0f}".replace("-", "−")]], "weight", w=66)
        layer = p.layer(f"expert {expert + 1}")
        p.link(router, shown, bend="yy")
        used = (CHOSEN == expert).nonzero().flatten().tolist()
        share = (
            p.step(f"× {WEIGHTS[used[0]]:.2f}") if used else p.text("not used", kind="small quiet")
        )
        if used:
            p.link(shown, layer, share)
            p.link(share, add, bend="yy")
        columns.append([shown, layer, share])
    p.link(add, out)
    experts = p.grid(*zip(*columns, strict=True), gap=(12, 22), turn=False)
    p.done(p.column(token, router, experts, add, out, gap=24))
