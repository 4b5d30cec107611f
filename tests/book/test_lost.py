"""Rows of tables that Markdown cuts into other cells than were meant."""

from pathlib import Path

import pytest

from course_lib.book.lost import lost_cells

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("| $|x|$ | kept |", "4 cells in 2 columns"),
        ("| one | `a|b` |", "3 cells in 2 columns"),
        ("$p(x|y)$", "a bar ends the cell inside a formula"),
        ("> | $|x|$ | kept |", "4 cells in 2 columns"),
    ],
)
def test_a_bar_inside_a_cell_is_named_with_its_line(row, said):
    assert [
        (line, said in text) for line, text in lost_cells(f"| a | b |\n|:--|--:|\n{row}\n")
    ] == [(3, True)]


def test_heads_that_fit_no_columns_are_named():
    found = list(lost_cells("text\n\n| $|x|$ | b |\n|---|---|\n| 1 | 2 |\n"))
    assert [line for line, _ in found] == [3] and "4 heads above 2 columns" in found[0][1]


@pytest.mark.parametrize(
    "page",
    [
        "| a | b |\n|---|---|\n| $\\vert x \\vert$ | \\$5 or `$` |\n| one cell |\n",
        "| a |\n|---|\n| p \\| q |\n\nno | table | here |\n",
        "```python\n| a |\n|---|\n| b | c |\n```\n\n| a |\n|---|\n| b |\n",
        "```{code-cell}\n| a |\n|---|\n| b | c |\n```\n",
        "---\ntitle: x | y\n---\na | b\n",
    ],
)
def test_what_is_whole_is_left_alone(page):
    assert list(lost_cells(page)) == []


def test_tables_inside_directives_are_read():
    page = "````{note}\n```\n| a |\n```\n| a | b |\n|---|---|\n| $|x|$ | c |\n````\n"
    assert [line for line, _ in lost_cells(page)] == [7]


def test_no_page_of_the_book_loses_a_cell():
    pages = sorted((ROOT / "book").rglob("*.md"))
    assert len(pages) > 20
    assert {
        page.name: found for page in pages if (found := list(lost_cells(page.read_text())))
    } == {}
