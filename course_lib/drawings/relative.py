"""Relative positions: a bias by distance, two vectors turned alike, distances, squeezed places."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from course_lib.drawings import Page, Part, Sketch, drawing
from course_lib.drawings.rows import said, whole
from course_lib.positions import four_terms, relative_distance, relative_shift, rotate

WORDS = ("the", "cat", "sat", "on", "it")
SAT = 2
SCORES = torch.tensor(
    [
        [0.0, 1.0, 2.0, 0.0, 1.0],
        [1.0, 0.0, 1.0, 2.0, 0.0],
        [2.0, 1.0, 0.0, 1.0, 0.0],
        [0.0, 2.0, 1.0, 0.0, 1.0],
        [1.0, 0.0, 1.0, 2.0, 0.0],
    ]
)
# By distance, key minus query, from four back to four ahead.
BY_DISTANCE = torch.tensor([-1.0, -1.0, -1.0, 2.0, 0.0, -1.0, -1.0, -1.0, -1.0])
BIAS = BY_DISTANCE[relative_distance(5) + 4]

# A turn of thirty degrees from one place to the next.
STEP = math.pi / 6
QUERY, KEY = torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 1.0]])
PLACES = ((0, 0), (5, 1), (7, 3))

TRAINED, LONGER = 4, 8
DISTANCES = torch.arange(-2, 3).float()  # key minus query

TOKENS = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]])
CODES = torch.tensor([[0.0, 1.0]]), torch.tensor([[2.0, -1.0]])
TERMS = {name: int(value) for name, value in four_terms(*TOKENS, *CODES).items()}


def at(x: Tensor, place: int) -> Tensor:
    """A vector of two channels, turned by its place."""
    return rotate(x, torch.tensor([[place * STEP]]))[0]


def score(m: int, n: int) -> float:
    """The product of the query at place m and the key at place n."""
    return float(at(QUERY, m) @ at(KEY, n))


@drawing(
    f"""Three tables of five rows and five columns for the words the, cat, sat, on, it. To the
    scores of contents a bias is added that has one number all along each diagonal: 2 for the word
    just before, 0 for the word itself, minus 1 elsewhere. In the sum, the row of sat is
    {said((SCORES + BIAS)[SAT], 0)}, so its largest score is now that of cat, the word before it.
    """.strip(),
    numbers=lambda: [BIAS, SCORES + BIAS],
)
def bias_by_distance(s: Sketch) -> None:
    p = Page(s)

    def grid(
        numbers: Tensor, role: str, name: str, *, asks: bool = True, thick: bool = False
    ) -> Part:
        return p.cells(
            numbers,
            role,
            words=WORDS if asks else (),
            over=WORDS,
            thick=thick,
            asks=("query", "key"),
            name=name,
            shape="",
        )

    scores, plus = grid(SCORES, "step", "scores *q* · *k*"), p.sign("+")
    bias = grid(BIAS, "position", "bias *b*", asks=False)
    total = grid(SCORES + BIAS, "step", "sum", thick=True)
    p.link(p.of(bias, plus), total)
    p.done(p.row(scores, plus, bias), total)


@drawing(
    f"""Three dials with a query and a key as hands. On the first, neither is turned: the query is
    {said(QUERY[0], 0)}, the key {said(KEY[0], 0)}, and the angle between them is 45 degrees. Each
    place turns a hand by 30 degrees. On the second the query is at place 5 and the key at
    place 1, and the angle between them is 75 degrees. On the third both are two places later.
    Both hands have turned by 60 degrees more, and the angle between them is still 75 degrees: the
    score is {score(5, 1):.2f} on both dials.""",
    numbers=lambda: [v for m, n in PLACES[1:] for v in (score(m, n), *at(QUERY, m), *at(KEY, n))],
)
def same_turn(s: Sketch) -> None:
    names = ("not turned", "query at 5, key at 1", "query at 7, key at 3")
    panels = s.panels(names, 258, phone=160, gap=13)
    for i, (panel, (m, n)) in enumerate(zip(panels, PLACES, strict=True)):
        left, top = panel.x, panel.y
        x, y = (left + 92, top + 90) if s.narrow else (left + 107, top + 100)
        unit = 29.0 if s.narrow else 34.0
        s.curve(_arc(x, y, 2 * unit, 0, 2 * math.pi), "step", closed=True)
        turned = at(QUERY, m), at(KEY, n)
        for hand, role in zip(turned, ("query", "key"), strict=True):
            _hand(s, x, y, unit * float(hand[0]), -unit * float(hand[1]), role)
        first, last = sorted(math.atan2(float(v[1]), float(v[0])) % math.tau for v in turned)
        s.curve(_arc(x, y, 0.55 * unit, first, last), "position")
        between = round(math.degrees(last - first))
        middle = (first + last) / 2
        s.text(
            x + 1.2 * unit * math.cos(middle),
            y - 1.2 * unit * math.sin(middle),
            f"{between}°",
            kind="small strong",
            role="position",
        )
        digits = 2 if i else 0
        lines = (("query", "query", turned[0]), ("key", "key", turned[1]))
        for row, (role, word, hand) in enumerate(lines):
            told = ", ".join(f"{v:.{digits}f}" for v in hand.tolist()).replace("-", "−")
            place = (
                (left + 184, top + 62 + 24 * row) if s.narrow else (left + 24, y + 90 + 22 * row)
            )
            s.text(*place, f"{word} ({told})", at="start", role=role)
        told = f"{score(m, n):.{digits}f}"
        place = (left + 184, top + 110) if s.narrow else (left + 24, y + 136)
        s.text(*place, f"score {told}", at="start", kind="strong")


def _arc(x: float, y: float, r: float, first: float, last: float) -> list[tuple[float, float]]:
    """Points of an arc, from one angle to another."""
    angles = [first + (last - first) * i / 60 for i in range(61)]
    return [(x + r * math.cos(a), y - r * math.sin(a)) for a in angles]


def _hand(s: Sketch, x: float, y: float, dx: float, dy: float, role: str) -> None:
    """A line from the middle of a dial, with two wings at its end."""
    way = math.atan2(dy, dx)
    s.curve([(x, y), (x + dx, y + dy)], role)
    wings = [
        (x + dx - 9 * math.cos(way + turn), y + dy - 9 * math.sin(way + turn))
        for turn in (0.4, -0.4)
    ]
    s.curve([wings[0], (x + dx, y + dy), wings[1]], role)


@drawing(
    """Three queries and the five distances minus 2, minus 1, 0, 1 and 2, key minus query. Each
    query is multiplied with the vectors of all five distances once, which gives three rows of five
    scores. The first query needs distances 0, 1 and 2 for its three keys, the next minus 1, 0 and
    1, the last minus 2, minus 1 and 0. What a row does not need is hatched. Moved to the left, the
    rows become the table of three queries and three keys.""",
    numbers=lambda: [relative_shift(DISTANCES.expand(3, 5))],
)
def each_distance_once(s: Sketch) -> None:
    p = Page(s)
    dark = [(i, j) for i in range(3) for j in range(5) if not 0 <= j - (2 - i) < 3]
    queries = ("query 0", "query 1", "query 2")
    every = p.cells(
        [whole(DISTANCES)] * 3,
        "position",
        w=36,
        h=27,
        hatched=dark,
        words=queries,
        asks=("query", ""),
        name="one score for each distance",
        shape="",
    )
    shifted = [whole(row) for row in relative_shift(DISTANCES.expand(3, 5))]
    table = p.cells(
        shifted,
        "position",
        w=36,
        h=27,
        thick=True,
        words=queries if s.narrow else (),
        over=range(3),
        asks=("query", "key"),
        name="at its own keys",
        shape="",
    )
    p.link(every, table)
    p.done(every, table)


@drawing(
    f"""Three tables of distances under a causal mask; what comes later is hatched. In training
    there are {TRAINED} tokens, at distances 0 to {TRAINED - 1}. In a text of {LONGER} tokens there
    are also the distances {TRAINED} to {LONGER - 1}, which are new and have a strong edge. A window
    of {TRAINED - 1} places hides these, so only distances 0 to {TRAINED - 1} are left.""",
    numbers=lambda: [TRAINED - 1, LONGER - 1],
)
def new_distances(s: Sketch) -> None:
    """Distances of a trained length, of a longer text, and of that text in a window."""
    p = Page(s)
    panels = []
    for title, tokens, window in (
        (f"trained on {TRAINED} tokens", TRAINED, TRAINED),
        (f"{LONGER} tokens", LONGER, LONGER),
        (f"window of radius {TRAINED - 1}", LONGER, TRAINED),
    ):
        back = -relative_distance(tokens)
        seen = (back >= 0) & (back < window)
        shown = [[d if 0 <= d < window else None for d in row] for row in back.tolist()]
        new = [(i, j) for i, j in (seen & (back >= TRAINED)).nonzero().tolist()]
        dark = [(i, j) for i, j in (~seen).nonzero().tolist()]

        def role(i: int, j: int, dark: list[tuple[int, int]] = dark) -> str:
            return "mask" if (i, j) in dark else "position"

        table = p.cells(shown, role, w=24, thick=new, hatched=dark)
        panels.append((title, table))
    p.done(p.panels(*panels))


def squeezed(place: int) -> float:
    """Where position interpolation puts a place."""
    return place * TRAINED / LONGER


@drawing(
    f"""Three lines of places. A model was trained on the places 0 to {TRAINED - 1}, which a ground
    marks. On a text of {LONGER} tokens the places {TRAINED} to {LONGER - 1} lie outside
    of it, at angles that the model has never seen. With position interpolation every place is
    divided by {LONGER // TRAINED}: all {LONGER} tokens lie within the trained length, the last
    one at {squeezed(LONGER - 1):.1f}, but neighbours are only {squeezed(1):.1f} apart.""",
    numbers=lambda: [squeezed(LONGER - 1), squeezed(1)],
)
def squeezed_places(s: Sketch) -> None:
    unit, r = (40.0, 8.0) if s.narrow else (62.0, 12.0)
    x = 20.0 if s.narrow else 190.0
    high = 78.0 if s.narrow else 66.0
    s.panel(x - 1.6 * r, 0, TRAINED * unit + 0.9 * r, 3 * high + 16, "")
    s.text(x - 0.8 * r, 13, f"trained length: {TRAINED}", kind="small quiet", at="start")
    rows: Sequence[tuple[str, list[float]]] = (
        ("in training", [float(p) for p in range(TRAINED)]),
        ("a longer text", [float(p) for p in range(LONGER)]),
        (f"divided by {LONGER // TRAINED}", [squeezed(p) for p in range(LONGER)]),
    )
    for i, (name, places) in enumerate(rows):
        y = 54 + i * high
        if s.narrow:
            s.text(x - 0.8 * r, y - 22 + 2 * (i == 0), name, kind="small strong", at="start")
        else:
            s.text(x - 34, y, name, kind="strong", at="end")
        for p, place in enumerate(places):
            known = place <= TRAINED - squeezed(1)
            s.sign(x + place * unit, y, f"{p}", r=r, role="position" if known else "mask")
    y = 54 + 2 * high
    last = x + squeezed(LONGER - 1) * unit
    s.text(
        last + r + 10,
        y,
        f"token {LONGER - 1} at place {squeezed(LONGER - 1):.1f},",
        kind="small quiet",
        at="start",
    )
    s.text(last + r + 10, y + 16, f"{squeezed(1):.1f} apart", kind="small quiet", at="start")


@drawing(
    f"""A query is a token vector plus a position vector, and so is a key. Multiplied out, the score
    has four terms, one in each cell of a table of two by two: token with token
    {TERMS["tt"]}, token with position {TERMS["tp"]}, position with token {TERMS["pt"]} and position
    with position minus {-TERMS["pp"]}. Their sum {sum(TERMS.values())} is the product of the two
    sums.""",
    numbers=lambda: [*TERMS.values(), sum(TERMS.values())],
)
def four_terms_of_a_score(s: Sketch) -> None:
    p = Page(s)
    c, w, h = p.of(34, 30), p.of(104, 84), 46

    def vectors(role: str, letter: str, at: str) -> list[Part]:
        i = ("query", "key").index(role)
        return [
            p.cells(rows[i], each, w=c, h=28, name=f"*{name}*_{{{letter}}}", shape="", at=at)
            for name, each, rows in (("x", role, TOKENS), ("p", "position", CODES))
        ]

    rows, columns = vectors("query", "m", "left"), vectors("key", "n", "above")
    names = (("tt", "tp"), ("pt", "pp"))
    terms = [[f"{name}: {TERMS[name]}".replace("-", "−") for name in row] for row in names]
    table = p.cells(terms, "step", w=w, h=h, thick=True)
    total = p.text(f"sum {sum(TERMS.values())}", kind="strong")
    p.link(table, total)
    above, left = p.row(*columns, gap=w - 2 * c), p.column(*rows, gap=h - 28)
    grid = p.grid((None, above), (left, table), gap=(p.of(30, 12), 14), turn=False)
    p.done(grid, total)
