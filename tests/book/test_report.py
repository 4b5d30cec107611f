"""What a built page loads, and what a page would lose."""

import json
from pathlib import Path

import pytest

from course_lib.book import report
from course_lib.book.lost import lost_cells, typed


@pytest.mark.parametrize(
    "markup",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<script src="//cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://cdn.example.org/a.css">',
        '<link rel="preload" as="font" href="http://cdn.example.org/a.woff2">',
        '<img src="https://cdn.example.org/a.png" alt="">',
        '<img srcset="https://cdn.example.org/a.png 2x" alt="">',
        '<iframe src="https://cdn.example.org/"></iframe>',
        '<video poster="https://cdn.example.org/a.png"></video>',
        "<style>@import 'https://cdn.example.org/a.css';</style>",
        "<style>p { background: url(https://cdn.example.org/a.png) }</style>",
    ],
)
def test_what_a_page_loads_is_found(tmp_path, markup):
    (tmp_path / "page.html").write_text(f"<p>text</p>{markup}")
    (found,) = report(tmp_path)["third_party"]
    assert found["file"] == "page.html" and "cdn.example.org" in found["url"]


def test_fonts_of_a_style_sheet_are_found(tmp_path):
    (tmp_path / "a.css").write_text('@font-face { src: url("https://fonts.example.org/a.woff2"); }')
    assert report(tmp_path)["third_party"][0]["url"] == "https://fonts.example.org/a.woff2"


def test_links_and_own_files_are_no_finding(tmp_path):
    (tmp_path / "page.html").write_text(
        '<a href="https://example.org">go</a><link rel="canonical" href="https://example.org/p">'
        '<script src="_static/a.js"></script><img src="data:image/png;base64,AA" alt="">'
    )
    assert report(tmp_path)["third_party"] == []


def test_sizes_and_seconds_are_told(tmp_path):
    html = tmp_path / "html"
    (html / "_static").mkdir(parents=True)
    (html / "index.html").write_text("12345")
    (html / "_static" / "a.js").write_text("123")
    (tmp_path / "execution.json").write_text('{"book/intro": 1.5, "book/chapters/01": 2.25}')
    facts = json.loads(json.dumps(report(html)))
    assert facts["pages"] == {"index.html": 5}
    assert (facts["bytes"], facts["static_bytes"]) == (8, 3)
    assert facts["execution_seconds"] == 3.8


def test_links_that_lead_nowhere_are_found(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.html").write_text('<h1 id="top">t</h1><a href="../one.html#x">one</a>')
    (tmp_path / "one.html").write_text(
        '<p id="x"></p><a href="#x">x</a><a href="b/two.html#top">t</a>'
        '<a href="b/two.html#no">n</a>'
        '<a href="gone.html">g</a><a href="https://example.org/gone">e</a><a href="#y">y</a>'
    )
    found = [(link["file"], link["url"]) for link in report(tmp_path)["broken_links"]]
    assert found == [("one.html", "b/two.html#no"), ("one.html", "gone.html"), ("one.html", "#y")]


def test_drawings_captions_and_links_to_the_glossary_are_counted(tmp_path):
    (tmp_path / "glossary.html").write_text('<p id="term-key">key</p>')
    (tmp_path / "page.html").write_text(
        '<figure class="mechanism align-default"><figcaption>1</figcaption></figure>'
        '<figure><figcaption>2</figcaption></figure><a href="glossary.html#term-key">key</a>'
    )
    facts = report(tmp_path)
    assert (facts["drawings"], facts["captions"], facts["glossary_links"]) == (1, 2, 1)


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
    [
        "~~gone~~",
        "H~2~O",
        "x^2^ here",
        "==seen==",
        "- [ ] a task",
        "1. [x] a task",
        "> [!NOTE]",
        "![fig](my figure.png)",
        "[text](my page.md)",
        "[[page]]",
        "it is :smile: here",
        "*[ML]: long",
        r"so \(x\) is",
        "costs $5 today and $6 then",
        "$5 or 6 to $x$ of it",
    ],
)
def test_a_mark_that_would_be_shown_as_typed_is_named_with_its_line(mark):
    assert [line for line, _ in typed(f"text\n\n{mark}\n\ntext\n")] == [3]
    for hidden in (f"```text\n{mark}\n```\n", f"say `{mark}` so\n"):
        assert list(typed(hidden)) == []


@pytest.mark.parametrize(
    "text",
    [
        r"a \$5 and \$6",
        "$x^{a}$ and $y^b$",
        "$a\n^b$ or $c^d$",
        "a ~ b ~ c",
        "[a](<b c.png>)",
        '[a](b.png "title")',
        "{ref}`x:y`",
        "a == b == c",
        "[x] is no list",
        "8:30:15",
        "$$\n[[1]]\n$$",
        "$5$ of $7 x$",
    ],
)
def test_what_is_no_such_mark_is_left_alone(text):
    assert list(typed(text)) == []
