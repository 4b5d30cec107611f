"""The answer, the confidence and the loss that are read from one row of probabilities."""

import torch

from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.drawings.vit import BOAT, CLASSES

SHOWN = 0  # the image is a ship
TIMES = 3
LOGITS = torch.tensor([1.0, 2.0, 0.0])
BOTH = (LOGITS, TIMES * LOGITS)
SHARES = [logits.softmax(-1) for logits in BOTH]
LOSSES = [-shares[SHOWN].log().item() for shares in SHARES]
BEST = LOGITS.argmax().item()
ANSWER = CLASSES[int(BEST)]


@drawing(
    f"""An image of a {CLASSES[SHOWN]} goes through a model, whose logits for {CLASSES[0]},
    {CLASSES[1]} and {CLASSES[2]} are {said(LOGITS, 0)}. The softmax makes them {said(SHARES[0])}.
    The answer is {ANSWER}, which is wrong, with the confidence {SHARES[0].max():.2f} and the loss
    {LOSSES[0]:.2f}. If all logits are multiplied by {TIMES}, the probabilities are
    {said(SHARES[1])}. The answer is {ANSWER} again, the confidence rises to
    {SHARES[1].max():.2f}, and the loss to {LOSSES[1]:.2f}.""",
    numbers=lambda: [x for shares in SHARES for x in shares.tolist()] + LOSSES,
)
def sure_and_wrong(s: Sketch) -> None:
    p = Page(s)
    boat, model = p.pixels(BOAT.tolist(), 8), p.layer("model")
    p.named(boat, f"a {CLASSES[SHOWN]}")
    rows = []
    for logits, shares, loss in zip(BOTH, SHARES, LOSSES, strict=True):
        box = p.cells(logits, "step", w=p.of(36, 40), over=CLASSES, name="logits", shape="")
        soft = p.step("softmax")
        out = p.cells(shares, "weight", bars=True, over=CLASSES, name="probabilities", shape="")
        words = f"answer: {ANSWER}", f"confidence {shares.max():.2f}"
        told = [*(p.text(word) for word in words), p.text(f"loss {loss:.2f}", kind="strong")]
        p.link(box, soft, out)
        rows.append([box, soft, out, p.column(*told, gap=2)])
    first, second = rows[0][0], rows[1][0]
    p.link(boat, model, first)
    p.link(first, second, label=f"× {TIMES}")
    p.done(p.row(boat, model, gap=p.of(16, 60)), p.grid(*rows, gap=(p.of(14, 50), 24), axle=0))
