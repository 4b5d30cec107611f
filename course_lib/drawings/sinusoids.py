"""Positions: words without an order, clocks that tell it, a step as a turn, and a wrong axis."""

import math

import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.drawings import Page, Sketch, drawing
from course_lib.drawings.rows import said
from course_lib.positions import shift_matrix, sinusoidal_encoding

WORDS = ("dog", "bites", "man")
X = torch.tensor([[2.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0]])
ORDERS = {"dog bites man": [0, 1, 2], "man bites dog": [2, 1, 0]}
OUT, _ = scaled_dot_product_attention(X, X, X)
# A code of width 4 with a small base, so that its slow hand can be seen to move.
WIDTH, BASE, POSITIONS = 4, 100.0, 4
CODES = sinusoidal_encoding(torch.arange(POSITIONS), WIDTH, base=BASE)
RATES = [BASE ** (-2 * i / WIDTH) for i in range(WIDTH // 2)]
# From position 1 to position 3.
FIRST, SHIFT = 1, 2
TURNS = shift_matrix(SHIFT, WIDTH, base=BASE)


def _tip(x: float, y: float, r: float, angle: float) -> tuple[float, float]:
    """Where a hand ends: its cosine to the right, its sine upwards."""
    return x + r * math.cos(angle), y - r * math.sin(angle)


def _dial(s: Sketch, x: float, y: float, r: float, *angles: float) -> None:
    """A clock, and a hand for each angle."""
    s.curve([_tip(x, y, r, turn * math.tau / 72) for turn in range(72)], "mask", closed=True)
    s.curve([(x - r, y), (x + r, y)], "mask", dashed=True)
    for angle in angles:
        s.arrow((x, y), _tip(x, y, r, angle), gap=0)


@drawing(
    f"""Self-attention on dog bites man and on man bites dog, without positions. Each word is a row
    of four numbers. In both sentences the output of dog is {said(OUT[0])}, the output of bites is
    {said(OUT[1])} and the output of man is {said(OUT[2])}. The rows are in another order, and no
    number is different.""",
    numbers=lambda: [OUT],
)
def same_words_shuffled(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for name, order in ORDERS.items():
        tokens = p.rows(
            X[[*order]],
            "state",
            words=[WORDS[word] for word in order],
            w=p.of(17, 0),
            name="tokens *x*",
            shape="",
        )
        pill = p.step("attention", beside=tokens, upright=True)
        out = p.rows(
            OUT[[*order]],
            "value",
            thick=[*order].index(0),
            w=p.of(34, 0),
            name="outputs *o*",
            shape="",
        )
        p.each(tokens, pill, out)
        panels.append((name, p.row(tokens, pill, out, gap=p.of(8, 14))))
    p.done(p.panels(*panels))


@drawing(
    f"""Two clocks for the positions 0, 1, 2 and 3. The fast hand turns by {RATES[0]:.0f} radian
    from one position to the next, the slow hand by a tenth of that. Of each hand the code keeps how
    high its tip is, the sine, and how far to the right, the cosine. Position 0 has the code
    {said(CODES[0])}, position 1 {said(CODES[1])}, position 2 {said(CODES[2])}, position 3
    {said(CODES[3])}.""",
    numbers=lambda: [CODES],
)
def clocks_of_positions(s: Sketch) -> None:
    r, h = (25.0, 24.0) if s.narrow else (36.0, 26.0)
    names = ("fast hand", "slow hand")
    for p, code in enumerate(CODES.tolist()):
        angles = [p * rate for rate in RATES]
        if s.narrow:
            y, dials = 62 + 66.0 * p, [(56.0, 62 + 66.0 * p), (122.0, 62 + 66.0 * p)]
            row = s.cells(164, y - h / 2, [code], "position", w=44, h=h, cut=2)
            s.text(12, y, str(p), kind="strong", role="position")
            heads = [(x, 14.0) for x, _ in dials]
        else:
            x = 140 + 152.0 * p
            dials = [(x, 62.0), (x, 154.0)]
            row = s.cells(x - 70, 216, [code], "position", w=35, h=h, cut=2)
            s.text(x, 12, f"position {p}", kind="strong", role="position")
            heads = [(38.0, y) for _, y in dials]
        for (x, y), angle in zip(dials, angles, strict=True):
            _dial(s, x, y, r, angle)
            tip = _tip(x, y, r, angle)
            s.curve([(x, y), (tip[0], y), tip], "position")
        if p:
            continue
        for (x, y), name in zip(heads, names, strict=True):
            s.text(x, y, name, kind="small strong")
        if s.narrow:
            s.text(12, 14, "*p*", role="position")
            for part, name in enumerate(names):
                s.text(row.x + 44 + 88 * part, 14, name, kind="small strong")
            s.name_columns(row, ("sin", "cos") * 2, kind="small quiet")
        else:
            s.text(38, row.cy, "code *c*_{p}", role="position")
            for j, name in enumerate(("sin", "cos") * 2):
                s.text(row.cell(0, j).cx, row.bottom + 11, name, kind="small quiet")


def _block(pair: int) -> list[list[float]]:
    """Rotation of one hand."""
    at = slice(2 * pair, 2 * pair + 2)
    block: list[list[float]] = TURNS[at, at].tolist()
    return block


@drawing(
    f"""From position {FIRST} to position {FIRST + SHIFT} the fast hand turns by an angle of
    {SHIFT * RATES[0]:.0f} and the slow one by {SHIFT * RATES[1]:.1f}. A matrix of 2 by 2 turns each
    hand. For the fast hand its rows are {said(TURNS[0, :2])}, then {said(TURNS[1, :2])}. It takes
    {said(CODES[FIRST, :2])} to {said(CODES[FIRST + SHIFT, :2])}. For the slow hand the rows are
    {said(TURNS[2, 2:])}, then {said(TURNS[3, 2:])}, and {said(CODES[FIRST, 2:])} becomes
    {said(CODES[FIRST + SHIFT, 2:])}.""",
    numbers=lambda: [TURNS[:2, :2], TURNS[2:, 2:], CODES[FIRST], CODES[FIRST + SHIFT]],
)
def shift_turns_hands(s: Sketch) -> None:
    r, h, names = 40.0, 26.0, ("fast", "slow")
    angles = [f"{SHIFT * rate:.{pair}f}" for pair, rate in enumerate(RATES)]
    turns = map("the {} hand turns by {}".format, names, angles)
    for pair, (panel, name) in enumerate(zip(s.panels(turns, 142), names, strict=True)):
        rate = RATES[pair]
        x, y = panel.x + 62, panel.y + 84
        start, end = FIRST * rate, (FIRST + SHIFT) * rate
        _dial(s, x, y, r, start, end)
        # The arc ends in a short arrow, so that it has a head.
        part = (end - start) / 24
        arc = [_tip(x, y, 0.6 * r, start + part * step) for step in range(25)]
        s.curve(arc, "position")
        # Slow hands are so close that their numbers must move apart.
        apart = 0.1 if pair else 0.0
        for position, at in ((FIRST, start - apart), (FIRST + SHIFT, end + apart)):
            s.text(*_tip(x, y, r + 10, at), str(position), kind="small strong", role="position")
        matrix = s.cells(panel.x + 124, y - h, _block(pair), "layer", w=42, h=h)
        ends = (CODES[FIRST], CODES[FIRST + SHIFT])
        before, after = ([[c] for c in code[2 * pair : 2 * pair + 2].tolist()] for code in ends)
        one = s.cells(matrix.right + 18, matrix.y, before, "position", w=38, h=h)
        two = s.cells(one.right + 20, matrix.y, after, "position", w=38, h=h, thick=True)
        s.sign((matrix.right + one.x) / 2, y, "×", r=7)
        s.text((one.right + two.x) / 2, y, "=", kind="big")
        s.text(matrix.cx, matrix.y - 11, f"*R*_{{{SHIFT}}}, {name} pair", kind="small")
        for box, position in ((one, FIRST), (two, FIRST + SHIFT)):
            s.text(box.cx, matrix.y - 11, f"*c*_{{{position}}}", role="position")


@drawing(
    """Two sentences of three words, one below the other. On the left each word gets the code of
    its place: code 0, code 1, code 2 in both sentences. On the right the codes run along the batch:
    all words of the first sentence get code 0, all words of the second get code 1, and no two words
    of a sentence can be told apart."""
)
def codes_along_an_axis(s: Sketch) -> None:
    p = Page(s)
    panels = []
    for place, name in enumerate(("along the sentence", "along the batch")):
        rows = [[f"+ *c*_{{{row if place else word}}}" for word in range(3)] for row in range(2)]
        panels.append(
            (
                name,
                p.cells(
                    rows,
                    "position",
                    w=58,
                    h=28,
                    thick=not place,
                    words=[f"sentence {row}" for row in range(2)],
                    over=[f"word {word}" for word in range(3)],
                ),
            )
        )
    p.done(p.panels(*panels))
