"""Rows of tables that Markdown cuts otherwise than was meant, and marks that it leaves as typed."""

from pathlib import Path

import pytest

from course_lib.book.lost import lost_cells, typed

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
        page.name: found
        for page in pages
        if (found := [*lost_cells(text := page.read_text()), *typed(text)])
    } == {}


@pytest.mark.parametrize(
    "mark",
    ["~~gone~~", "H~2~O", "x^2^ here", "==seen==", "- [ ] a task", "1. [x] a task", "> [!NOTE]",
     "![fig](my figure.png)", "[text](my page.md)", "[[page]]", "it is :smile: here", "*[ML]: long",
     r"so \(x\) is", "costs $5 today and $6 then", "$5 or 6 to $x$ of it"],
)  # fmt: skip
def test_a_mark_that_would_be_shown_as_typed_is_named_with_its_line(mark):
    assert [line for line, _ in typed(f"text\n\n{mark}\n\ntext\n")] == [3]
    for hidden in (f"```text\n{mark}\n```\n", f"say `{mark}` so\n"):
        assert list(typed(hidden)) == []


@pytest.mark.parametrize(
    "text",
    [r"a \$5 and \$6", "$x^{a}$ and $y^b$", "$a\n^b$ or $c^d$", "a ~ b ~ c", "[a](<b c.png>)",
     "[a](b.png \"title\")", "{ref}`x:y`", "a == b == c", "[x] is no list", "8:30:15",
     "$$\n[[1]]\n$$", "$5$ of $7 x$"],
)  # fmt: skip
def test_what_is_no_such_mark_is_left_alone(text):
    assert list(typed(text)) == []
