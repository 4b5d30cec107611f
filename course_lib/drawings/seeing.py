"""Drawings of judging components, of reach, of distances, and of teachers."""

import torch

from course_lib.attention_maps import grid_distances, reachability
from course_lib.drawings import Box, Page, Part, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.drawings.vit import BOAT, CLASSES
from course_lib.experiments.verdict import verdict
from course_lib.masks import sliding_window_mask

# Accuracies in per cent of two arms, seed by seed.
WITH, WITHOUT = [52, 58, 64], [50, 57, 62]
GAINS = [a - b for a, b in zip(WITH, WITHOUT, strict=True)]
FOUND = verdict(GAINS, claimed_sign=1)

# Weights of patch 0 of a 2 x 2 grid on the class token and the four patches.
ROW = torch.tensor([0.5, 0.1, 0.2, 0.1, 0.1], dtype=torch.float64)
PATCH = 8
ALONE = ROW[1:] / ROW[1:].sum()
FAR = PATCH * grid_distances(2, 2, dtype=torch.float64)[0]
DISTANCE = float((ALONE * FAR).sum())

# Number of nine inputs that reach the middle one after each layer.
WIDTH, MIDDLE = 9, 4
WINDOW = sliding_window_mask(WIDTH, radius=1)
REACHED = [reachability(WINDOW, layer)[MIDDLE] for layer in range(4)]

# A teacher that is sure of its answer, though not wholly.
TEACHER = torch.tensor([6.0, 3.5, -1.0])
SOFT = (TEACHER / 3).softmax(-1)

PARTS = (
    "nothing is added: no positions",
    "one head in place of all",
    "no residual connections",
    "no norms",
    "no feed-forward sub-layers",
)


def _badge(s: Sketch, x: float, y: float, number: int) -> Box:
    return s.sign(x, y, str(number), r=9, role="weight")


@drawing(
    """A vision transformer with numbers at five of its components. Tokens get positions, component
    1, and go along the residual stream through a block, several times. In the block a norm,
    component 4, and attention with four heads, component 2, read the stream and their output is
    added to it. A norm, component 4 again, and a feed-forward sub-layer, component 5, do the same.
    The stream that goes past them is component 3, the residual connections. For each number a model
    is trained without that component."""
)
def parts_taken_out(s: Sketch) -> None:
    p = Page(s)
    rows: list[list[object]] = [[None] * 4] * 5
    tokens = p.named(p.cells(rows, "state", w=9, h=11), "tokens", at="above left")
    places = p.cells(rows, "position", w=9, h=11)
    p.named(places, "positions", role="position", at="below")
    plus, head, end = p.sign("+"), p.layer("head"), p.text("class")
    parts = [
        (p.point(), p.layer("norm"), p.layer(*said), p.sign("+"))
        for said in (("attention",), ("feed", "forward"))
    ]
    block: list[list[Part | None]] = [[], [], []]
    for fork, norm, work, add in parts:
        p.link(fork, norm, work, add)
        for line, both in zip(block, ((fork, add), (norm, None), (work, None)), strict=True):
            line.extend(both)
    grid = p.grid(*block, axle=0, gap=p.of((44, 24), (30, 22)))
    p.link(tokens, plus)
    p.link(places, plus)
    p.link(plus, head, stream=True)
    p.link(head, end)
    told = [
        (p.sign(f"{n}", role="weight"), p.text(said, at="start")) for n, said in enumerate(PARTS, 1)
    ]
    added = p.stack(plus, places, axle=0, gap=p.of(22, 60))
    chain = p.line(
        tokens, added, p.panel(grid, "block, several times", axle=True), head, end, gap=p.of(24, 24)
    )
    left, right = (p.grid(*some, gap=(12, 6), turn=False) for some in (told[:3], told[3:]))
    legend = p.row(p.line(p.flush(left), p.flush(right), gap=p.of(60, 6)))
    p.done(p.column(chain, legend, gap=26))
    _badge(s, plus.box.x - 8, plus.box.y - 12, 1)
    for n, (fork, norm, work, add) in enumerate(parts):
        if s.narrow:
            _badge(s, fork.box.cx - 18, add.box.cy - 20, 3)
        else:
            _badge(s, (norm.box.right + add.box.cx) / 2, fork.box.cy + 17, 3)
        _badge(s, norm.box.x - 3, norm.box.bottom + 9, 4)
        _badge(s, work.box.x - 3, work.box.bottom + 9, (2, 5)[n])


@drawing(
    f"""Three pairs of accuracies, joined by lines. With a component the three seeds reach
    {", ".join(map(str, WITH))} per cent, without it {", ".join(map(str, WITHOUT))}. The two groups
    overlap, but every line falls from left to right. The differences are
    {", ".join(map(str, GAINS))} points. On a scale of differences they lie together; their mean is
    {FOUND.mean:.2f}, and the 95 % interval of the mean reaches from {FOUND.low:.2f} to
    {FOUND.high:.2f}, so that it leaves out 0.""",
    numbers=lambda: [*GAINS, FOUND.mean, FOUND.low, FOUND.high],
)
def pairs_by_hand(s: Sketch) -> None:
    scale, floor = (7.0, 196.0) if s.narrow else (8.0, 200.0)
    xa, xb = (78.0, 178.0) if s.narrow else (72.0, 172.0)
    for x, told in ((xa, "with"), (xb, "without")):
        s.text(x, floor - scale * 18.4, told, kind="strong")
    column = xb + 92
    s.text(column, floor - scale * 18.4, "difference", role="value", kind="strong")
    for seed, (a, b, gain) in enumerate(zip(WITH, WITHOUT, GAINS, strict=True)):
        ya, yb = floor - scale * (a - 49), floor - scale * (b - 49)
        s.arrow((xa, ya), (xb, yb), tip=False)
        s.sign(xa, ya, "", r=5, role="state")
        s.sign(xb, yb, "", r=5, role="state")
        s.text(xa - 12, ya, str(a), at="end")
        s.text(xb + 12, yb, str(b), at="start")
        s.text(xa - 34, ya, f"seed {seed}", kind="small quiet", at="end")
        s.cells(column - 17, (ya + yb) / 2 - 12, [[gain]], "value", w=34, h=24)
    # The scale of differences.
    zero, unit, y = (60.0, 66.0, floor + 92) if s.narrow else (382.0, 76.0, 138.0)
    s.arrow((zero - 24, y), (zero + 3.5 * unit, y), tip=False)
    s.arrow((zero, y - 54), (zero, y + 12), tip=False, dashed=True)
    for i, gain in enumerate(GAINS):
        s.sign(zero + unit * gain, y - 10 - 13 * GAINS[:i].count(gain), "", r=5, role="value")
    low, high = zero + unit * FOUND.low, zero + unit * FOUND.high
    bar = s.cells(low, y - 52, [[None]], "weight", w=high - low, h=10)
    mean = zero + unit * FOUND.mean
    s.arrow((mean, bar.y - 5), (mean, bar.bottom + 5), tip=False)
    for x, told in ((low, f"{FOUND.low:.2f}"), (high, f"{FOUND.high:.2f}")):
        s.text(x, bar.y - 12, told, role="weight")
    s.text(mean, bar.y - 16, f"mean {FOUND.mean:.2f}", role="weight", kind="strong")
    for tick in range(4):
        s.text(zero + unit * tick, y + 21, str(tick), kind="small quiet")
    s.text(zero + 1.7 * unit, y + 40, "difference in points", kind="small quiet")


@drawing(
    f"""The distance at which patch 0 looks, in a grid of 2 by 2 patches of {PATCH} pixels. It gives
    {ROW[0]:.1f} to the class token and {said(ROW[1:], 1)} to the four patches. The class token is
    left out, and the rest is divided by its sum: {said(ALONE, 1)}. The patches lie
    {said(FAR, 1)} pixels away. The products sum to {DISTANCE:.2f} pixels.""",
    numbers=lambda: [ROW, ALONE, FAR, ALONE * FAR, DISTANCE],
)
def distance_by_hand(s: Sketch) -> None:
    p = Page(s)
    patches = [p.cells([[n]], "state" if n else "query", w=38, h=38) for n in range(4)]
    first, right, under, across = patches
    p.link(first, right, label=f"{FAR[1]:.0f}")
    p.link(first, under, label=f"{FAR[2]:.0f}", side="left")
    gap = p.of(42, 34)
    looks = p.named(
        p.grid(patches[:2], patches[2:], gap=(gap, gap), turn=False), "patch 0 looks", at="below"
    )
    told = {
        "weights of its row": ("weight", ROW),
        "patches alone": ("weight", ALONE),
        "× distance in pixels": ("position", FAR),
        "= product": ("value", ALONE * FAR),
    }
    rows = []
    for name, (role, numbers) in told.items():
        over = ("class", *map(str, range(4))) if numbers is ROW else ()
        digits, bars = 2 if role == "value" else 1, role == "weight"
        row = p.cells(numbers, role, w=p.of(58, 46), h=28, digits=digits, bars=bars, over=over)
        rows.append(p.named(p.flush(row, "right"), name, at="left above"))
    out = p.cells(
        [[DISTANCE]], "value", thick=True, h=28, name="sum, in pixels", shape="", at="left"
    )
    p.link(rows[-1], out, bend="y")
    p.done(looks, p.row(p.column(*rows, p.flush(out, "right"), gap=p.of(22, 10))))
    s.arrow((first.box.right, first.box.bottom), (across.box.x, across.box.y))


@drawing(
    f"""Left three layers of convolutions of width 3 over {WIDTH} inputs. The middle output of the
    third layer hears of {REACHED[1].sum()} places of the layer below, {REACHED[2].sum()} of the one
    below that and {REACHED[3].sum()} of the inputs. Right one layer of attention: the same output
    is joined to all {WIDTH} inputs at once.""",
    numbers=lambda: [float(mask.sum()) for mask in REACHED] + [float(WIDTH)],
)
def convolution_and_attention(s: Sketch) -> None:
    w, h, gap = 24.0, 18.0, 46.0
    x, y = (44.0, 44.0) if s.narrow else (6.0, 44.0)
    s.text(x + WIDTH * w / 2, y - 22, "three convolutions of width 3", kind="strong")
    boxes = []
    for depth in range(4):
        mask = REACHED[depth]
        top = y + depth * gap
        for place in range(WIDTH):
            role = "value" if mask[place] else "state"
            boxes.append(s.cells(x + place * w, top, [[None]], role, w=w - 4, h=h))
        s.text(x + WIDTH * w + 8, top + h / 2, str(int(mask.sum())), role="value", at="start")
    for depth in range(3):
        for place in torch.where(REACHED[depth])[0].tolist():
            upper = boxes[depth * WIDTH + place]
            for other in (place - 1, place, place + 1):
                lower = boxes[(depth + 1) * WIDTH + other]
                s.arrow((lower.cx, lower.y), (upper.cx, upper.bottom), tip=False)
    s.text(x + WIDTH * w / 2, y + 3 * gap + h + 14, "inputs", kind="small quiet")
    if s.narrow:
        y += 3 * gap + h + 70
    else:
        x, y = 404.0, y + gap
    s.text(x + WIDTH * w / 2, y - 22, "one layer of attention", kind="strong")
    bottom = y + 2 * gap
    for place in range(WIDTH):
        chosen = place == MIDDLE
        s.cells(x + place * w, y, [[None]], "value" if chosen else "state", w=w - 4, h=h)
        low = s.cells(x + place * w, bottom, [[None]], "value", w=w - 4, h=h)
        s.arrow((low.cx, low.y), (x + MIDDLE * w + w / 2 - 2, y + h), tip=False)
    s.text(x + WIDTH * w + 8, y + h / 2, "1", role="value", at="start")
    s.text(x + WIDTH * w + 8, bottom + h / 2, str(WIDTH), role="value", at="start")
    s.text(x + WIDTH * w / 2, bottom + h + 14, "inputs", kind="small quiet")


@drawing(
    f"""An image of a boat goes to a trained convolutional network, the teacher, and to a vision
    transformer, the student. The student has two learned tokens besides its patches. From the class
    token it answers for the label, {CLASSES[0]}, and from the distillation token for the teacher.
    The teacher's soft answer is {said(SOFT)} for {", ".join(CLASSES)}; its hard answer is
    {CLASSES[0]}. Each answer has its own loss, and the two are added.""",
    numbers=lambda: [SOFT],
)
def teacher_and_student(s: Sketch) -> None:
    p = Page(s)
    boat = p.pixels(BOAT.tolist(), p.of(7, 6))
    teacher, student = p.layer("teacher,", "convolutional"), p.layer("student,", "transformer")
    rows = [[word, float(share)] for word, share in zip(CLASSES, SOFT, strict=True)]
    answer = p.named(p.cells(rows, "state"), "soft answer", at="below", free=not s.narrow)
    by_teacher = p.step("loss with", "the teacher", role="weight")
    by_label = p.step("loss with", "the label", role="weight")
    label = p.named(p.text(CLASSES[0], kind="strong"), "", "label", at="below")
    for network in (teacher, student):
        p.link(boat, network, bend="xx")
    p.link(teacher, answer)
    p.link(answer, by_teacher, bend="x")
    side, more = p.of("below", "left"), p.of(" answers", "")
    p.link(
        student,
        by_teacher,
        bend="xx",
        at=p.of(0.1, 0.5),
        label="distillation token" + more,
        side=side,
        share=p.of(0.5, 0.85),
    )
    p.link(
        student, by_label, bend="xx", label="class token" + more, side=side, share=p.of(0.5, 0.85)
    )
    p.link(label, by_label)
    if s.narrow:
        grid = p.grid(
            (teacher, answer),
            (None, by_teacher),
            (student, None),
            (None, by_label),
            (None, label),
            gap=(24, 18),
            turn=False,
        )
        p.done(p.row(boat, grid, gap=22))
    else:
        rest = [None] * 2
        p.done(
            boat,
            p.grid(
                (teacher, answer, None),
                (*rest, by_teacher),
                (student, None, by_label),
                (*rest, label),
                gap=(70, 16),
            ),
        )
