"""What of a page becomes a slide, and what a presenter is told."""

from pathlib import Path

import pytest

from course_lib.book.slides import chapters, deck
from course_lib.cli import main
from grader.base.errors import Refused

CHAPTER = """<html><article><section id="a"><h1>1 · One<a class="headerlink" href="#a">#</a></h1>
<p><strong>Goal.</strong> To see.</p><p>Who asks?</p>
<figure class="mechanism" id="f"><div class="drawing"><svg class="wide" viewBox="0 0 668 200">
</svg></div><figcaption>First.</figcaption></figure><p>It is said of the picture.</p>
<section id="b"><h2>By hand</h2><p>It leads there.</p><ol><li>one</li><li>two</li></ol>
<div class="cell tag_no-slide"><div class="cell_output"><figure id="g"></figure></div></div>
<div class="dropdown"><ol><li>folded</li></ol></div><p class="slide">Marked by the page.</p>
</section>
<section id="c"><h2>Only a table</h2><p>Read it.</p><table><tr><td>42</td></tr></table></section>
<section id="predict"><h2>Predict</h2><form class="question"><fieldset><legend>Which?</legend>
<div class="question-option" data-misconception="too-many" data-right="false"><input><label>
more</label><div class="question-why">No.</div></div>
<div class="question-option" data-misconception="" data-right="true"><input><label>less</label>
<div class="question-why">Yes.</div></div></fieldset></form></section>
<section id="summary"><h2>Summary</h2><ul><li>So it is.</li></ul></section></section></article>"""
TEACHING = """<article><section><h1>Notes</h1><section><h2>01 · One#</h2><p>Goals: see.</p>
<ul><li><code>too_many</code>: ask for one.</li></ul><table><tr><td>half a point</td></tr></table>
</section><section><h2>02 · Two</h2><p>Of another.</p></section></section></article>"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "_toc.yml").write_text(
        "root: a\nparts: [{caption: P, chapters: [{file: book/chapters/01_one}]}]\n"
    )
    (tmp_path / "course.toml").touch()
    (tmp_path / "solutions").mkdir()
    html = tmp_path / "_build" / "html"
    (html / "book" / "chapters").mkdir(parents=True)
    (html / "book" / "chapters" / "01_one.html").write_text(CHAPTER, encoding="utf-8")
    (html / "book" / "teaching.html").write_text(TEACHING, encoding="utf-8")
    (html / "_static").mkdir()
    for name in ("pygments", "figures", "course", "course-drawings", "course-math"):
        (html / "_static" / f"{name}.css").write_text("a { color: red }")
    return tmp_path


def test_a_page_becomes_slides_in_its_order(root):
    page, count = deck(root, "01")
    sections = page.split("<section")[1:]
    assert len(sections) == count == 7
    wanted = (
        "Who asks?",
        "First.",
        '<li class="fragment">one',
        "Marked by the page.",
        "42",
        "Which?",
        "So it is.",
    )
    for section, shown in zip(sections, wanted, strict=True):
        assert shown in section.partition("<aside")[0]
    shown = "".join(sections)
    assert "folded" not in shown and 'href="#a"' not in shown


def test_the_rest_is_the_presenters(root):
    notes = [
        section.partition("<aside")[2] for section in deck(root, "01")[0].split("<section")[1:]
    ]
    assert "Goals: see." in notes[0] and "To see." in notes[0]
    assert "It is said of the picture." in notes[1] and "It leads there." in notes[2]
    assert "Right: B." in notes[5] and "too_many" in notes[5]
    assert "too_many" in notes[6]
    assert "Of another." not in "".join(notes) and "half a point" not in "".join(notes)


def test_without_notes_on_a_chapter_there_are_slides_all_the_same(root):
    (root / "_build" / "html" / "book" / "teaching.html").write_text(
        "<article><h2>New</h2></article>"
    )
    assert deck(root, "01")[1] == 7


def test_pictures_are_put_in_and_those_within_the_page_stay(root):
    folder = root / "_build" / "html" / "book" / "chapters"
    (folder / "drawn.svg").write_text('<svg viewBox="0 0 10 90"></svg>', encoding="utf-8")
    within = "data:image/png;base64,iVBORw0KGgo="
    figures = (
        f'<figure class="course-figure"><img src="{within}"></figure><script>go()</script>'
        f'<figure class="mechanism" id="still"><img src="{within}"></figure>'
        '<figure class="mechanism" id="tall"><img src="drawn.svg"></figure>'
    )
    page = CHAPTER.replace("<p>It leads there.</p>", figures)
    (folder / "01_one.html").write_text(page, encoding="utf-8")
    made, _ = deck(root, "01")
    assert made.count(within) == 2
    assert "data:image/svg+xml;base64,PHN2Zy" in made and "drawn.svg" not in made
    assert 'class="picture tall"' in made and "go()" in made


def test_what_is_missing_is_said(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    assert main(["slides", "7"]) == 2
    assert "there is no chapter '07': expected one of 01" in capsys.readouterr().err
    (root / "_build" / "html" / "book" / "chapters" / "01_one.html").unlink()
    with pytest.raises(Refused, match=r"not built: book/chapters/01_one.html; run `course book`"):
        deck(root, "01")
    assert main(["slides", "1", "01"]) == 2 and not (root / "_build" / "slides").exists()


def test_the_command_writes_a_file_for_each_chapter(root, monkeypatch, capsys):
    monkeypatch.chdir(root)
    assert main(["slides"]) == 0
    assert [path.name for path in (root / "_build" / "slides").iterdir()] == ["01.html"]
    assert "01.html: 7 slides" in capsys.readouterr().out


def test_every_chapter_has_its_pages():
    found = chapters(Path(__file__).parents[2])
    pages = [f"book/chapters/03_{name}.html" for name in ("attention", "learning", "scale")]
    assert found["03"] == pages
    assert list(found) == [f"{number:02}" for number in range(len(found))]
