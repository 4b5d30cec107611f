"""Sketches and pages of drawings."""

import re

import pytest

from course_lib.drawings import Page, Sketch
from course_lib.drawings.faults import faults
from course_lib.drawings.style import page_style, rules


def everything(s):
    s.panel(0, 0, s.width, 240, "head 1")
    grid = s.cells(40, 50, [[1, -2], [0.5, None]], "query", w=40, thick=True, cut=1)
    s.name(grid, "query *q*_{t}", "(2, 2)", role="query", side="below")
    weights = s.cells(160, 50, [[0.25, 0.75], [float("-inf"), 1.0]], "weight", w=40, bars=True,
                      hatched=[(1, 0)])  # fmt: skip
    s.arrow((grid.right, 62), (weights.x, 62))
    s.layer(70, 160, 60, 26, "*W*_{Q}")
    s.step(160, 160, 70, 26, "softmax")
    s.step(220, 160, 24, 80, "norm")
    for at, sign in enumerate("+×·σ"):
        s.sign(250 + 22 * at, 160, sign)
    s.pixels(280, 60, [[(0, 0, 0), (1, 0.5, 0)]], 10)
    s.curve([(280, 100), (300, 110), (310, 100)], "position", closed=True, dashed=True)
    s.arrow((140, 230), (200, 230), (200, 260), dashed=True, hop=250, label="next")
    s.arrow((20, 235), (20, 290), stream=True)


@pytest.mark.parametrize("narrow", [False, True])
def test_what_has_room_has_no_fault(narrow):
    sketch = Sketch(narrow)
    everything(sketch)
    assert list(faults(sketch)) == []
    svg = sketch.svg()
    assert {"head 1", "query qt", "(2, 2)", "−2", "0.50", "−∞", "softmax", "σ"} <= set(
        sketch.words()
    )
    assert "nan" not in svg and not re.search(r"\bid=", svg)
    assert svg.count("<g") == svg.count("</g>") and svg.count("<text") == len(sketch.texts)


def test_even_what_stands_low_in_small_words_is_legible_on_a_phone():
    sketch = Sketch(narrow=True)
    sketch.text(100, 50, "small *q*_{t}^{2}", kind="small")
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', sketch.svg())]
    assert len(sizes) == 4 and min(sizes) * 342 / sketch.width >= 9


def test_a_flow_runs_straight_from_box_to_box_and_back():
    sketch = Sketch()
    one, two = (sketch.step(x, 50, 60, 26, "step") for x in (50, 150))
    below = sketch.sign(150, 150, "+", r=10)
    sketch.flow(one, two, below)
    there = [((80, 50), (120, 50)), ((150, 63), (150, 140))]
    assert sketch.lines == there
    sketch.flow(below, two, one)
    assert sketch.lines[2:] == [(end, start) for start, end in reversed(there)]


def leaves(s):
    s.text(2, 50, "much too far to the left")


def touches(s):
    s.text(100, 50, "one")
    s.text(115, 50, "two")


def crosses(s):
    s.step(100, 50, 30, 26, "softmax of scores")


def lies(s):
    s.arrow((20, 20), (100, 100))
    s.text(60, 60, "slope")


def meets(s):
    s.cells(20, 20, [[1, 2]], "key")
    s.cells(70, 30, [[1, 2]], "value")


def is_out(s):
    s.cells(s.width - 30, 20, [[1, 2]], "key")


def runs(s):
    s.step(100, 50, 60, 26, "between")
    s.arrow((20, 20), (20, 50), (180, 50))


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (runs, "an arrow runs behind a shape at 70, 37"),
        (leaves, "leaves the sheet"),
        (touches, "'one' touches 'two'"),
        (crosses, "crosses the edge of a shape"),
        (lies, "'slope' lies on an arrow from 20, 20 to 100, 100"),
        (meets, "shapes meet at 20, 20 and 70, 30"),
        (is_out, "a shape leaves the sheet"),
    ],
)
def test_every_collision_is_named(draw, said):
    sketch = Sketch()
    draw(sketch)
    assert any(said in fault for fault in faults(sketch)), list(faults(sketch))


def test_what_stands_on_a_line_is_no_fault():
    sketch = Sketch()
    sketch.sign(100, 50, "·")
    sketch.arrow((20, 50), (180, 50))
    sketch.layer(100, 100, 60, 26, "norm")
    sketch.arrow((20, 100), (180, 100), stream=True)
    assert list(faults(sketch)) == []


def test_a_file_of_its_own_needs_no_page():
    sketch = Sketch()
    everything(sketch)
    alone = sketch.svg(alone=True)
    assert "var(" not in alone and 'fill="#fff"' in alone and "xmlns" in alone
    assert ".key" not in alone and ".query" in alone


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p < 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, two):
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["html{", "html[data-theme=dark]{"])
def test_every_text_and_line_is_seen(theme):
    told = next(line for line in page_style().splitlines() if line.startswith(theme))
    colour = dict(re.findall(r"--d-([\w-]+):(#\w+)", told))
    for ground in ("page", "panel"):
        assert contrast(colour["ink"], colour[ground]) > 4.5
        assert contrast(colour["quiet"], colour[ground]) > 4.5
        assert contrast(colour["arrow"], colour[ground]) > 3
        for role in [name.removesuffix("-line") for name in colour if name.endswith("-line")]:
            assert contrast(colour[f"{role}-ink"], colour[f"{role}-fill"]) > 4.5, role
            assert contrast(colour[f"{role}-ink"], colour[ground]) > 4.5, role
            assert contrast(colour[f"{role}-line"], colour[ground]) >= 2.9, role


def test_rules_hold_within_drawings_alone():
    for rule in re.findall(r"([^{}]+)\{[^{}]*\}", rules()):
        assert rule.strip().startswith(".drawing "), rule


BOTH = pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])


@BOTH
def test_a_line_follows_the_main_axis_and_a_stack_crosses_it(narrow):
    p = Page(Sketch(narrow))
    a, b, c, d = (p.layer(said) for said in ("one", "a longer one", "three", "four"))
    p.done(a, p.stack(b, c, gap=10), d, gap=20)
    if narrow:
        assert b.box.x == pytest.approx(c.box.x - 10 - b.box.w) and b.box.cy == pytest.approx(
            c.box.cy
        )
        assert b.box.y == pytest.approx(a.box.bottom + 20) and a.box.cx == pytest.approx(
            p.s.width / 2
        )
    else:
        assert c.box.y == pytest.approx(b.box.bottom + 10) and b.box.cx == pytest.approx(c.box.cx)
        assert b.box.x == pytest.approx(a.box.right + 20) and a.box.cy == pytest.approx(d.box.cy)


@BOTH
def test_what_does_not_turn_stands_alike_on_a_page_and_a_phone(narrow):
    p = Page(Sketch(narrow))
    a, b, c, d = (p.sign("+") for _ in range(4))
    p.done(p.row(a, p.column(b, c, d, gap=10, axle=2), gap=12))
    assert b.box.x - a.box.right == 12 and c.box.y - b.box.bottom == 10
    assert a.box.cy == d.box.cy > c.box.cy


@BOTH
def test_a_grid_aligns_rows_and_columns_and_turns_on_a_phone(narrow):
    p = Page(Sketch(narrow))
    a, b, c = p.layer("first"), p.cells([[1, 2]], "key"), p.step("a function")
    p.done(p.grid((a, b), (None, c)))
    one, two = (b, a) if not narrow else (a, b)
    assert a.box.cy == b.box.cy if not narrow else a.box.cx == b.box.cx
    assert c.box.cx == b.box.cx if not narrow else c.box.cy == b.box.cy
    assert not narrow or two.box.y > one.box.bottom


def test_a_name_takes_room_and_an_arrow_ends_before_it():
    p = Page(Sketch(narrow=True))
    a, b = p.cells([[1]], "key"), p.cells([[2]], "key", name="value *v*", shape="(1)")
    p.link(a, b)
    p.done(a, b, gap=20)
    (start, end), name = p.s.lines[0], p.s.texts[2][1]
    assert start == (a.box.cx, a.box.bottom) and a.box.bottom < end[1] <= name.y < b.box.y
    p = Page(Sketch())
    a = p.sign("+")
    free = p.named(p.cells([[1]], "key"), "a long name", at="left", free=True)
    p.done(a, free, gap=20)
    assert free.box.x == a.box.right + 20


@pytest.mark.parametrize(
    ("bend", "corners"), [("", 2), ("late", 1), ("early", 1), ("x", 1), ("yy", 2)]
)
def test_a_link_turns_as_it_is_told(bend, corners):
    p = Page(Sketch())
    a, b, c = p.layer("a"), p.layer("b"), p.layer("c")
    p.link(a, c, bend=bend)
    p.done(a, p.column(b, c, gap=60), gap=60)
    points, _ = p.s.ways[0]
    assert len(points) == corners + 2
    first_along = points[0][1] == points[1][1]
    assert first_along == (bend in ("", "late", "x"))
    assert list(faults(p.s)) == []
