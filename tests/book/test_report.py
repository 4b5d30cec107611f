"""The report finds what a page loads from elsewhere, and nothing else."""

import json

import pytest

from course_lib.book import report


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
