"""Factorised attention: one window for all, three groups, and a wrong axis."""

from functools import partial

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Box, Page, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.favit import CrossWindow, group_survey, unfold_windows
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


@drawing(
    f"""A map of 4 by 4 tokens is cut into four windows of 2 by 2. What is at the same place in
    all windows is averaged, so one window of four keys is left: {said(FUSED.flatten(), 0)}. The
    place at the bottom right is marked: its tokens 1, 1, 2 and 8 become the key 3. The query of a
    token 1 meets these four keys and no others. Its scores are {said(SCORES, 0)}, its weights
    {said(WEIGHTS.flatten())}, and the weighted sum of the keys is {OUT.item():.2f}. Every other
    query of the map meets the same four keys.""",
    numbers=lambda: [MAP, FUSED, WEIGHTS, OUT.item()],
)
def one_window_for_all(s: Sketch) -> None:
    p = Page(s)
    four = MAP.view(2, 2, 2, 2).transpose(1, 2)
    windows = [
        [
            p.cells(window, lambda i, j: "key" if i * j else "state", w=30, h=30, thick=[(1, 1)])
            for window in row
        ]
        for row in four
    ]
    grid = p.named(p.grid(*windows, gap=(8, 8), turn=False), "four windows", "(4, 4)")
    one = p.cells(FUSED.view(2, 2), lambda i, j: "key", w=30, h=30, thick=[(1, 1)])
    p.named(one, "one window", "(2, 2)", role="key")
    keys = p.cells(
        FUSED.flatten()[:, None], "key", w=34, h=28, words=PLACES, asks=("key", ""), name="keys *k*"
    )
    query = p.cells(QUERY.long(), "query", w=30, name="query *q*", shape="", at="below")
    dot = p.sign("·")
    scores = p.cells(SCORES[:, None], "step", w=34, h=28, name="scores", shape="")
    soft = p.step("softmax", beside=keys, upright=True)
    weights = p.cells(
        WEIGHTS.flatten()[:, None], "weight", h=28, bars=True, name="weights", shape=""
    )
    out = p.cells([[OUT.item()]], "value", h=28, thick=True, name="output", shape="")
    p.link(grid, one, label="mean of each place" if s.narrow else "mean of each")
    p.link(one, keys, at=0.8)
    p.link(query, dot)
    p.link(keys, dot, scores, soft, weights, out)
    asked = p.column(dot, p.place(h=36), query, axle=0)
    met = p.row(keys, asked, scores, soft, weights, out, gap=p.of(14, 10))
    p.done(p.row(grid, one, gap=p.of(86, 120)), met)


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
    f"""Three groups of heads on one map of {SIDE} by {SIDE} tokens. The local group has 7 of 16
    channels: {AREAS[1][1]} windows of {M} by {M}, side by side, are fused into one. The dilated
    group has 7 of 16 channels: {AREAS[DILATION][1]} areas of {AREAS[DILATION][0]} by
    {AREAS[DILATION][0]}, and {M} by {M} samples of each, every second token along both axes, are
    fused into one window. The global group has 2 of 16 channels: a convolution turns each square of
    {STRIDE} by {STRIDE} tokens into one, and {SIDE // STRIDE} by {SIDE // STRIDE} tokens are left
    as keys. So each group has {M * M} keys, and a query is compared with those of all three.""",
    numbers=lambda: [AREAS[1][1], AREAS[DILATION][1], M * M],
)
def three_groups(s: Sketch) -> None:
    p = Page(s)
    told = {
        "local": ("7 of 16", f"{AREAS[1][1]} windows become one"),
        "dilated": ("7 of 16", f"{AREAS[DILATION][1]} windows become one"),
        "global": ("2 of 16", f"{STRIDE} × {STRIDE} tokens become one"),
    }
    panels = []
    for group, (share, rule) in told.items():
        grid = p.own(130, 130, partial(_areas, s, c=8.0, group=group))
        keys = p.cells([[None] * M] * M, "key", w=13, h=13, thick=True)
        p.named(keys, f"{M * M} keys", role="key", at="below", free=True)
        p.link(grid, keys)
        both = p.column(p.row(grid, keys, gap=14), p.text(rule, kind="small"), gap=6)
        panels.append((f"{group}: {share} channels", both))
    p.done(p.panels(*panels))


@drawing(
    f"""One place in three windows, each with four channels, holds the numbers 0 to 11, a row for
    each window. The mean over windows averages down each column and gives {said(MEAN, 0)}. The
    means of three neighbours in the row of all twelve numbers, 0, 1 and 2 first, are
    {said(RELEASED, 0)}: these are means over channels, mostly of one window. Both
    results have four channels.""",
    numbers=lambda: [MEAN, RELEASED],
)
def a_wrong_axis(s: Sketch) -> None:
    p = Page(s)
    table = WINDOWS.flatten(0, 3).view(3, 4)
    words = [f"window {i + 1}" for i in range(3)]
    box = p.cells(table, "state", words=words, name="one place", shape="4 channels")
    again, mean = p.cells(table, "state"), p.cells(MEAN, "key", thick=True, w=24)
    threes = []
    for n, number in enumerate(RELEASED.tolist()):
        three = p.cells([[3 * n, 3 * n + 1, 3 * n + 2]], "state", w=p.of(20, 22))
        got = p.cells([[int(number)]], "key", thick=True)
        p.link(three, got)
        threes.append(p.column(three, got, gap=56))
    right = p.panel(p.column(again, mean, gap=34), "correct: over windows")
    wrong = p.panel(p.row(*threes, gap=6), "wrong: over channels", h=right.room[1] * 2)
    p.link(box, right)
    p.done(box, right, wrong)
    for j in range(4):
        s.flow(again.box.cell(2, j), mean.box.cell(0, j))
