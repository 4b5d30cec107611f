"""A layout knows where everything stands, and names every kind of collision."""

import re

import pytest

from course_lib.drawings import Sketch
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
