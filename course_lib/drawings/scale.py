"""Effect of the width of random vectors on the weights, and of the square root."""

import math

import torch
from torch import Tensor

from course_lib.drawings import Sketch, drawing
from course_lib.drawings.rows import said

NARROW, WIDE = 4, 64


def _random_scores() -> list[Tensor]:
    """A query and three keys of random signs, narrow and wide: mean 0 and variance 1."""
    source = torch.Generator().manual_seed(15)
    found = []
    for width in (NARROW, WIDE):
        query = torch.randint(2, (width,), generator=source) * 2.0 - 1
        keys = torch.randint(2, (3, width), generator=source) * 2.0 - 1
        found.append(keys @ query)
    return found


FEW, MANY = _random_scores()
SCALED = MANY / math.sqrt(WIDE)


@drawing(
    f"""A random query meets three random keys, and all their numbers are 1 or minus 1. With vectors
    of {NARROW} numbers the scores are {said(FEW, 0)}, and the softmax makes them the weights
    {said(FEW.softmax(-1))}. With vectors of {WIDE} numbers the scores are {said(MANY, 0)}, and one
    key gets nearly everything: {said(MANY.softmax(-1))}. Divided by the root of {WIDE} these scores
    are {said(SCALED)}, and the weights are {said(SCALED.softmax(-1))}.""",
    numbers=lambda: [x for e in (FEW, MANY, SCALED) for x in e.softmax(-1).tolist()],
)
def width_and_weights(s: Sketch) -> None:
    c, n, h = (30, 38, 26) if s.narrow else (42, 50, 26)
    middle, right = (174.0, 222.0) if s.narrow else (456.0, 510.0)
    cases = (
        (f"{NARROW} numbers wide", FEW, None),
        (f"{WIDE} numbers wide", MANY, None),
        (f"{WIDE} numbers wide, divided", MANY, SCALED),
    )
    top = 0.0
    for name, scores, scaled in cases:
        below = 84.0 if s.narrow and scaled is not None else 0.0
        s.panel(0, top, s.width, 88 + below, name)
        box = s.cells(14, top + 50, scores, "step", w=c, h=h)
        s.text(box.cx, box.y - 11, "scores", kind="small quiet")
        if scaled is not None:
            root = f"÷ √{WIDE}"
            if s.narrow:
                pill = s.step(box.cx, box.bottom + 26, 70, 24, root)
                s.flow(box, pill)
                start = (pill.cx, pill.bottom)
                box = s.cells(8, top + 50 + below, scaled, "step", w=38, h=h)
                s.arrow(start, (pill.cx, box.y))
            else:
                pill = s.step(box.right + 56, box.cy, 64, 26, root)
                s.flow(box, pill)
                box = s.cells(pill.right + 24, box.y, scaled, "step", w=n, h=h)
                s.flow(pill, box)
        soft = s.step(middle, box.cy, 66, 26, "softmax")
        weights = ((scores if scaled is None else scaled).softmax(-1)).tolist()
        out = s.cells(right, box.y, [weights], "weight", w=n, h=h, bars=True, thick=True)
        s.text(out.cx, out.y - 11, "weights", role="weight", kind="small")
        s.flow(box, soft, out)
        top += 88 + below + 10
