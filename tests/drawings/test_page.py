"""Parts stand where their neighbours leave room, and arrows find them, on a page and on a phone."""

from __future__ import annotations

import re

import pytest
import torch

from course_lib.drawings import Page, Sketch
from course_lib.drawings.faults import faults

BOTH = pytest.mark.parametrize("narrow", [False, True], ids=["wide", "narrow"])


@BOTH
def test_a_line_follows_the_main_axis_and_a_stack_crosses_it(narrow: bool) -> None:
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
def test_what_does_not_turn_stands_alike_on_a_page_and_a_phone(narrow: bool) -> None:
    p = Page(Sketch(narrow))
    a, b, c, d = (p.sign("+") for _ in range(4))
    p.done(p.row(a, p.column(b, c, d, gap=10, axle=2), gap=12))
    assert b.box.x - a.box.right == 12 and c.box.y - b.box.bottom == 10
    assert a.box.cy == d.box.cy > c.box.cy


@BOTH
def test_a_grid_aligns_rows_and_columns_and_turns_on_a_phone(narrow: bool) -> None:
    p = Page(Sketch(narrow))
    a, b, c = p.layer("first"), p.cells([[1, 2]], "key"), p.step("a function")
    p.done(p.grid((a, b), (None, c)))
    one, two = (b, a) if not narrow else (a, b)
    assert a.box.cy == b.box.cy if not narrow else a.box.cx == b.box.cx
    assert c.box.cx == b.box.cx if not narrow else c.box.cy == b.box.cy
    assert not narrow or two.box.y > one.box.bottom


def test_a_name_takes_room_and_an_arrow_ends_before_it() -> None:
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
def test_a_link_turns_as_it_is_told(bend: str, corners: int) -> None:
    p = Page(Sketch())
    a, b, c = p.layer("a"), p.layer("b"), p.layer("c")
    p.link(a, c, bend=bend)
    p.done(a, p.column(b, c, gap=60), gap=60)
    points, _ = p.s.ways[0]
    assert len(points) == corners + 2
    first_along = points[0][1] == points[1][1]
    assert first_along == (bend in ("", "late", "x"))
    assert list(faults(p.s)) == []


def test_rows_that_face_each_other_are_joined_one_by_one() -> None:
    p = Page(Sketch())
    a = p.rows(torch.eye(3), "key", words="abc", name="keys")
    b, soft = p.rows(torch.ones(3), "step"), p.step("softmax", beside=a)
    p.each(a, soft, b)
    p.done(a, soft, b)
    assert len(p.s.lines) == 6
    assert [start[1] for start, _ in p.s.lines[:3]] == [row.box.cy for row in a.each]
    assert soft.box.h > soft.box.w and p.s.words().count("softmax") == 1


@BOTH
def test_what_is_flush_begins_at_one_edge_in_any_font(narrow: bool) -> None:
    p = Page(Sketch(narrow))
    box, word, late = p.cells([[1, 2]], "key"), p.text("word", at="start"), p.text("x", at="end")
    p.done(p.column(p.flush(box), word, p.flush(p.sign("+"), "right"), late))
    (word_at,) = (at for said, at in p.s.texts if said == "word")
    assert box.box.x == word.box.x == word_at.x == late.box.right
    assert 'text-anchor="start">word' in p.s.svg()


@BOTH
def test_titles_stand_beside_rows_and_on_a_phone_above_them(narrow: bool) -> None:
    p = Page(Sketch(narrow))
    rows = [p.cells([[1, 2, 3]], "key"), p.cells([[4]], "key")]
    p.done(p.titled((["one", "a note"], rows[0]), (["two"], rows[1])))
    places = dict(p.s.texts)
    assert rows[0].box.x == rows[1].box.x
    for said, row in zip(("one", "two"), rows, strict=True):
        if narrow:
            assert places[said].bottom < row.box.y and places[said].x == row.box.x
        else:
            assert places[said].right < row.box.x
    assert list(faults(p.s)) == []


def test_grounds_and_layers_reach_over_parts_of_several_groups() -> None:
    p = Page(Sketch())
    places = [p.place(40, 20) for _ in range(2)]
    a, b = p.cells([[1]], "key", name="key *k*", at="below"), p.layer("b")
    p.over(places, "tower")
    p.behind(a, b)
    p.done(p.column(*places, gap=30), p.column(a, b, gap=40))
    tower = next(shape for shape in p.s.shapes if shape.h == 70)
    assert (tower.y, tower.w) == (places[0].box.y, 40)
    x, y, w, h = map(
        float,
        re.findall(r'class="panel" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', p.s.svg())[0],
    )
    assert x < a.box.x and x + w > b.box.right and y < a.box.y and y + h > b.box.bottom


@BOTH
def test_panels_fill_the_sheet(narrow: bool) -> None:
    p = Page(Sketch(narrow))
    panels = p.panels(("one", p.layer("a")), ("two", p.cells(torch.eye(3), "key")))
    p.done(panels)
    one, two = (part.box for part in panels.each)
    assert panels.box.x == 0 and panels.box.right == pytest.approx(p.s.width)
    assert one.w == two.w and (one.h == two.h) != narrow
    assert list(faults(p.s)) == []


def test_cells_may_have_a_role_and_an_edge_by_their_place() -> None:
    p = Page(Sketch())
    p.done(p.cells([[1, 2]], lambda i, j: "key" if j else "state", thick=[(0, 1)]))
    svg = p.s.svg()
    assert '<g class="key"><rect class="shape thick"' in svg and svg.count("shape thick") == 1
