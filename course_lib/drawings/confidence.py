"""The answer, the confidence and the loss that are read from one row of probabilities."""

import torch

from course_lib.drawings import Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.drawings.vit import BOAT, CLASSES

SHOWN = 0  # the picture is a ship
TIMES = 3
LOGITS = torch.tensor([1.0, 2.0, 0.0])
BOTH = (LOGITS, TIMES * LOGITS)
SHARES = [logits.softmax(-1) for logits in BOTH]
LOSSES = [-shares[SHOWN].log().item() for shares in SHARES]
BEST = LOGITS.argmax().item()
ANSWER = CLASSES[int(BEST)]


@drawing(
    f"""A picture of a {CLASSES[SHOWN]} goes through a model, whose logits for {CLASSES[0]},
    {CLASSES[1]} and {CLASSES[2]} are {said(LOGITS, 0)}. The softmax makes them {said(SHARES[0])}.
    The answer is {ANSWER}, which is wrong, with the confidence {SHARES[0].max():.2f} and the loss
    {LOSSES[0]:.2f}. If all logits are multiplied by {TIMES}, the probabilities are
    {said(SHARES[1])}. The answer is {ANSWER} again, the confidence rises to
    {SHARES[1].max():.2f}, and the loss to {LOSSES[1]:.2f}.""",
    numbers=lambda: [x for shares in SHARES for x in shares.tolist()] + LOSSES,
)
def sure_and_wrong(s: Sketch) -> None:
    """The same wrong answer twice: a little sure, and very sure."""
    narrow, h = s.narrow, 28.0
    w, v = (44.0, 44.0) if narrow else (38.0, 46.0)
    boat = s.pixels(10 if narrow else 2, 20, BOAT.tolist(), 8)
    s.name(boat, f"a {CLASSES[SHOWN]}")
    model = s.layer(boat.right + (66 if narrow else 54), boat.cy, 56, 30, "model")
    s.flow(boat, model)
    places = [(6.0, 156.0), (206.0, 156.0)] if narrow else [(176.0, boat.cy - 14), (176.0, 154.0)]
    boxes = []
    for (x, y), logits, shares, loss in zip(places, BOTH, SHARES, LOSSES, strict=True):
        box = s.cells(x, y, logits, "step", w=w, h=h)
        boxes.append(box)
        if narrow:
            out = s.cells(x, y + 96, shares, "weight", w=v, h=h, bars=True)
            soft = s.step(box.cx, y + 60, 70, 24, "softmax")
            s.flow(box, soft, out)
        else:
            soft = s.step(box.right + 50, box.cy, 70, 24, "softmax")
            out = s.cells(soft.right + 18, y, shares, "weight", w=v, h=h, bars=True)
            s.flow(box, soft, out)
        for at in (box,) if narrow else (box, out):
            for i, name in enumerate(CLASSES):
                strong = "small strong" if i == SHOWN else "small quiet"
                s.text(at.cell(0, i).cx, at.y - 10, name, kind=strong)
        left, top = (x, out.bottom + 20) if narrow else (out.right + 16, out.cy - 20)
        for i, words in enumerate((
            f"answer: {ANSWER}", f"confidence {shares.max():.2f}", f"loss {loss:.2f}",
        )):  # fmt: skip
            s.text(left, top + 20 * i, words, kind="strong" if i == 2 else "", at="start")
        if len(boxes) == 1 and not narrow:
            s.text(box.cx, box.y - 27, "logits")
            s.text(out.cx, out.y - 27, "probabilities", role="weight")
    first, second = boxes
    down = first.cell(0, 2).x
    if narrow:
        s.arrow((model.right, model.cy), (down + 55, model.cy), (down + 55, 120), (down, 120),
                (down, first.y))  # fmt: skip
        s.flow(first, second, label=f"× {TIMES}")
    else:
        s.flow(model, first)
        s.arrow((down, first.bottom), (down, second.y), label=f"× {TIMES}")
