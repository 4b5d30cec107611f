"""Parts stand where their neighbours leave room, and arrows find them, on a page and on a phone."""

import pytest

from course_lib.drawings import Page, Sketch
from course_lib.drawings.faults import faults

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
