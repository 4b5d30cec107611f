"""Factorised attention: one window for all, three groups, a wrong axis, and keys by vote."""

import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Box, Sketch, drawing
from course_lib.drawings.rows import said, whole
from course_lib.favit import CrossWindow, group_survey, informative_keys, unfold_windows
from course_lib.favit.sampling import sampled

# A map of 4 x 4 tokens of width 1, in windows of 2 x 2.
MAP = torch.tensor([[0.0, 4, 0, 0], [0, 1, 0, 1], [0, 4, 4, 0], [0, 2, 0, 8]])
PLACES = "abcd"
FUSED = CrossWindow("mean")(unfold_windows(MAP[None, None], 2, 1).permute(0, 2, 3, 1)[:, None])[0]
QUERY = torch.ones(1, 1)
OUT, WEIGHTS = scaled_dot_product_attention(QUERY[None], FUSED, FUSED)
SCORES = (QUERY @ FUSED[0].T)[0]

# Side of a map, samples along a side of a window, and the distances of the two sampled groups.
SIDE, M = 15, 3
STRIDE, DILATION = 5, 2
AREAS = {dilation: group_survey(SIDE, SIDE, M, dilation) for dilation in (1, DILATION)}

# One place in three windows of four channels.
WINDOWS = torch.arange(12.0).view(1, 1, 1, 3, 4)
MEAN = CrossWindow("mean")(WINDOWS).flatten()
RELEASED = CrossWindow("mean", pool_channels=True)(WINDOWS).flatten()

# Three queries that score four keys: the keys are unit vectors, and the queries scaled.
VOTES = torch.tensor([[0.0, 0, 0, 0], [2, 0, 0, 2], [1, 0, 3, 0]])
SHARES = VOTES.softmax(-1)
DECIDED = math.log(4) + (SHARES * SHARES.log()).sum(-1)
VOTERS = DECIDED.topk(math.ceil(math.log(3))).indices.sort().values
POOLED = VOTES[VOTERS].mean(0)
KEPT = informative_keys(2 * VOTES[None, None], torch.eye(4)[None, None], 2).flatten().tolist()


@drawing(
    f"""A map of 4 by 4 tokens is cut into four windows of 2 by 2. What stands at the same place in
    all windows is averaged, so one window of four keys is left: {said(FUSED.flatten(), 0)}. The
    place at the bottom right is marked: its tokens 1, 1, 2 and 8 become the key 3. The query of a
    token 1 meets these four keys and no others. Its scores are {said(SCORES, 0)}, its weights
    {said(WEIGHTS.flatten())}, and the weighted sum of the keys is {OUT.item():.2f}. Every other
    query of the map meets the same four keys.""",
    numbers=lambda: [MAP, FUSED, WEIGHTS, OUT.item()],
)
def one_window_for_all(s: Sketch) -> None:
    """A map becomes four keys, and a query meets them."""
    c, gap = 30.0, 8.0
    x, y = (4.0, 44.0)
    for i, row in enumerate(MAP.tolist()):
        for j, number in enumerate(row):
            marked = i % 2 == 1 and j % 2 == 1
            s.cells(x + j * c + j // 2 * gap, y + i * c + i // 2 * gap, [[int(number)]],
                    "key" if marked else "state", w=c, h=c, thick=marked)  # fmt: skip
    grid = Box(x, y, 4 * c + gap, 4 * c + gap)
    s.name(grid, "four windows", "(4, 4)")
    left = grid.right + (96 if s.narrow else 88)
    for n, number in enumerate(whole(FUSED.flatten())):
        s.cells(left + n % 2 * c, grid.cy - c + n // 2 * c, [[number]], "key", w=c, h=c,
                thick=n == 3)  # fmt: skip
    one = Box(left, grid.cy - c, 2 * c, 2 * c)
    s.name(one, "one window", "(2, 2)", role="key")
    s.arrow((grid.right + 4, grid.cy), (one.x - 2, grid.cy))
    s.text((grid.right + one.x) / 2, grid.cy - 22, "mean of", kind="small quiet")
    s.text((grid.right + one.x) / 2, grid.cy - 9, "each place", kind="small quiet")
    h = 28.0
    if s.narrow:
        x, middle = 22.0, grid.bottom + 140
        s.arrow((one.cx, one.bottom + 3), (one.cx, grid.bottom + 20), (x + 17, grid.bottom + 20),
                (x + 17, middle - 2 * h - 36))  # fmt: skip
    else:
        x, middle = one.right + 46, grid.cy
        s.arrow((one.right + 3, middle), (x - 17, middle))
    keys = s.cells(x, middle - 2 * h, FUSED.flatten()[:, None], "key", w=34, h=h)
    s.name(keys, "keys *k*", "(4, 1)", role="key")
    s.name_rows(keys, PLACES, role="key", kind="small strong")
    dot = s.sign(keys.right + 24, middle, "·")
    query = s.cells(dot.cx - 15, keys.bottom + 12, [[int(QUERY)]], "query", w=30, h=h)
    s.name(query, "query *q*", side="right", role="query")
    s.flow(query, dot)
    scores = s.cells(dot.right + 16, keys.y, SCORES[:, None], "step", w=34, h=h)
    s.name(scores, "scores")
    soft = s.step(scores.right + 30, middle, 26, 4 * h, "softmax")
    weights = s.cells(
        soft.right + 18, keys.y, WEIGHTS.flatten()[:, None], "weight", w=46, h=h, bars=True
    )
    s.name(weights, "weights", role="weight")
    out = s.cells(weights.right + 32, middle - h / 2, [[OUT.item()]], "value", w=48, h=h,
                  thick=True)  # fmt: skip
    s.name(out, "output", role="value")
    s.flow(keys, dot, scores, soft, weights, out)


def _areas(s: Sketch, x: float, y: float, c: float, group: str) -> Box:
    """A map cut into areas: tokens that are read in the colour of keys, others grey."""
    size = {"global": STRIDE, "local": M, "dilated": AREAS[DILATION][0]}[group]
    line = sampled(SIDE, M, DILATION).tolist() if group == "dilated" else range(SIDE)
    gap = 3.0
    for i in range(0, SIDE, size):
        for j in range(0, SIDE, size):
            left, top = x + j * c + j // size * gap, y + i * c + i // size * gap
            if group != "dilated":
                s.cells(left, top, [[None] * size] * size, "key", w=c, h=c)
                continue
            s.cells(left, top, [[None] * size] * size, "state", w=c, h=c)
            for row in range(size):
                for column in range(size):
                    if i + row in line and j + column in line:
                        s.cells(left + column * c, top + row * c, [[None]], "key", w=c, h=c)
    side = SIDE * c + (SIDE // size - 1) * gap
    return Box(x, y, side, side)


@drawing(
    f"""Three groups of heads on one map of {SIDE} by {SIDE} tokens. The global group has 2 of 16
    channels: a convolution turns each square of {STRIDE} by {STRIDE} tokens into one, and
    {SIDE // STRIDE} by {SIDE // STRIDE} tokens are left as keys. The local group has 7 of 16
    channels: {AREAS[1][1]} windows of {M} by {M}, side by side, are fused into one. The dilated
    group has 7 of 16 channels: {AREAS[DILATION][1]} areas of {AREAS[DILATION][0]} by
    {AREAS[DILATION][0]}, and {M} by {M} samples of each, every second token along both axes, are
    fused into one window. So each group has {M * M} keys, and a query asks in all three.""",
    numbers=lambda: [AREAS[1][1], AREAS[DILATION][1], M * M],
)
def three_groups(s: Sketch) -> None:
    """Where the keys of each group come from."""
    told = {
        "global": ("2 of 16", (f"{STRIDE} × {STRIDE} tokens", "become one")),
        "local": ("7 of 16", (f"{AREAS[1][1]} windows", "become one")),
        "dilated": ("7 of 16", (f"{AREAS[DILATION][1]} windows", "become one")),
    }
    c = 8.0
    names = (f"{group}: {share} channels" for group, (share, _) in told.items())
    panels = s.panels(names, 198, phone=180, gap=10)
    for panel, (group, (_, rule)) in zip(panels, told.items(), strict=True):
        left = panel.x
        grid = _areas(s, left + (14 if s.narrow else 12), panel.y + 34, c, group)
        d = 13.0
        at = (left + 236, grid.cy - 1.5 * d) if s.narrow else (panel.right - 12 - 3 * d, 0.0)
        keys = s.cells(at[0], grid.cy - 1.5 * d, [[None] * M] * M, "key", w=d, h=d, thick=True)
        s.arrow((grid.right + 3, grid.cy), (keys.x, grid.cy))
        if s.narrow:
            s.text(keys.cx, keys.y - 34, rule[0], kind="small")
            s.text(keys.cx, keys.y - 20, rule[1], kind="small")
            s.text(keys.cx, keys.bottom + 13, f"{M * M} keys", role="key", kind="small")
        else:
            s.text(keys.cx, keys.bottom + 13, f"{M * M} keys", role="key", kind="small")
            s.text(left + 12, panel.h - 18, " ".join(rule), kind="small", at="start")


@drawing(
    f"""One place in three windows, each with four channels, holds the numbers 0 to 11, a row for
    each window. The mean over windows averages down each column and gives {said(MEAN, 0)}. The
    official release puts all twelve numbers in one row and averages three at a time, 0, 1 and 2
    first, and gets {said(RELEASED, 0)}: these are means over channels, mostly of one window. Both
    results have four channels.""",
    numbers=lambda: [MEAN, RELEASED],
)
def a_wrong_axis(s: Sketch) -> None:
    """Two ways to leave four of twelve numbers."""
    c, h = 28.0, 24.0
    table = WINDOWS.flatten(0, 3).view(3, 4)
    x, y = (70.0, 48.0) if s.narrow else (66.0, 62.0)
    box = s.cells(x, y, table, "state", w=c, h=h)
    s.name(box, "one place", "4 channels")
    s.name_rows(box, (f"window {i + 1}" for i in range(3)), kind="small")
    # Right: down each column.
    left, top = (0.0, 150.0) if s.narrow else (218.0, 0.0)
    s.panel(left, top, 344 if s.narrow else 176, 186, "right: over windows")
    x = left + (116 if s.narrow else 32)
    again = s.cells(x, top + 40, table, "state", w=c, h=h)
    mean = s.cells(x, top + 146, MEAN, "key", w=c, h=h, thick=True)
    for j in range(4):
        s.arrow((again.cell(0, j).cx, again.bottom), (mean.cell(0, j).cx, mean.y))
    # As released: three in a row.
    left, top = (0.0, 348.0) if s.narrow else (404.0, 0.0)
    s.panel(left, top, 344 if s.narrow else 264, 186, "as released: over channels")
    w, gap = (24.0, 8.0) if s.narrow else (19.0, 6.0)
    row = left + ((344 if s.narrow else 264) - 12 * w - 3 * gap) / 2
    for n, number in enumerate(RELEASED.tolist()):
        at = row + n * (3 * w + gap)
        three = s.cells(at, top + 64, [[3 * n, 3 * n + 1, 3 * n + 2]], "state", w=w, h=h)
        got = s.cells(three.cx - c / 2, top + 146, [[int(number)]], "key", w=c, h=h, thick=True)
        s.flow(three, got)
    if s.narrow:
        s.arrow((box.cx, box.bottom), (box.cx, 150))
    else:
        s.arrow((box.right, box.cy), (218, box.cy))


@drawing(
    f"""Three queries and four keys. The first query has the scores {said(VOTES[0], 0)}, the second
    {said(VOTES[1], 0)}, the third {said(VOTES[2], 0)}. After the softmax the first has weights of
    {said(SHARES[0])}, the second {said(SHARES[1])}, the third {said(SHARES[2])}. Their distances
    from uniform weights are {said(DECIDED)}. The two queries furthest from uniform, the second and
    the third, vote. The mean of their scores is {said(POOLED, 1)}, and the two keys with the
    highest mean, keys 1 and 3, stay.""",
    numbers=lambda: [VOTES, SHARES, DECIDED, POOLED],
)
def keys_by_vote(s: Sketch) -> None:
    """Which queries vote, and which keys they keep."""
    h = 28.0
    x, y = (44.0, 58.0)
    w = 30.0 if not s.narrow else 28.0
    scores = s.cells(x, y, VOTES, "step", w=w, h=h)
    s.name(scores, "scores", "(3, 4)")
    voters = VOTERS.tolist()
    for i in range(3):
        kind = "small strong" if i in voters else "small"
        s.text(x - 8, scores.cell(i).cy, f"*q*_{{{i + 1}}}", kind=kind, at="end", role="query")
    if s.narrow:
        soft = s.step(scores.cx, scores.bottom + 26, 110, 26, "softmax")
        weights = s.cells(x, soft.bottom + 22, SHARES, "weight", w=42, h=h, bars=True)
        s.flow(scores, soft, weights)
    else:
        soft = s.step(scores.right + 28, scores.cy, 26, 3 * h, "softmax")
        weights = s.cells(soft.right + 16, y, SHARES, "weight", w=46, h=h, bars=True)
        s.name(weights, "weights", "(3, 4)", role="weight")
        s.flow(scores, soft, weights)
    far = s.cells(weights.right + 34, weights.y, DECIDED[:, None], "state", w=46, h=h)
    s.flow(weights, far)
    if s.narrow:
        s.text(far.cx, far.y - 24, "from", kind="small")
        s.text(far.cx, far.y - 10, "uniform", kind="small")
    else:
        s.name(far, "from uniform", "(3, 1)")
    for i in range(3):
        votes = i in voters
        s.text(far.right + 8, far.cell(i).cy, "votes" if votes else "no vote", at="start",
               kind="small strong" if votes else "small quiet")  # fmt: skip
    y = weights.bottom + 56
    pooled = s.cells(x, y, POOLED, "step", w=30.0 if s.narrow else 34.0, h=h, digits=1)
    s.text(pooled.x, pooled.y - 14, "mean score of the voters", at="start", kind="small")
    w, left = (28.0, pooled.right + 58) if s.narrow else (34.0, pooled.right + 90)
    for j in range(4):
        kept = j in KEPT
        s.cells(left + j * w, y, [[f"*k*_{{{j + 1}}}"]], "key" if kept else "mask", w=w, h=h,
                thick=kept, hatched=[] if kept else [(0, 0)])  # fmt: skip
    s.arrow((pooled.right, pooled.cy), (left, pooled.cy), label="2 highest")
