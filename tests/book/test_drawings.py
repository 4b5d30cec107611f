"""The directive: a numbered figure in a page, a picture in an EPUB."""

from html import unescape
from pathlib import Path

import pytest

from course_lib.drawings import drawings

ROOT = Path(__file__).parents[2]
NAME = "attention-by-hand"
PAGE = f"# Page\n\n```{{drawing}} {NAME}\nWhere *love* asks.\n```\n\nSee {{numref}}`draw-{NAME}`.\n"


def made(folder, builder, page=PAGE):
    pytest.importorskip("sphinx")
    from sphinx.testing.util import SphinxTestApp

    (folder / "index.md").write_text(page)
    (folder / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\nversion = '1'\n"
        "extensions = ['myst_parser', 'course_drawings']\nnumfig = True\nexclude_patterns = []\n"
    )
    app = SphinxTestApp(builder, srcdir=folder, builddir=folder / "out")
    app.build()
    app.cleanup()
    return app


def test_a_page_holds_both_layouts_and_one_style(tmp_path):
    app = made(tmp_path, "html")
    assert "WARNING" not in app.warning.getvalue()
    html = (tmp_path / "out" / "html" / "index.html").read_text()
    assert html.count('<svg class="wide"') == html.count('<svg class="narrow"') == 1
    assert unescape(html).count(drawings()[NAME].alt) == 1
    assert f'href="#draw-{NAME}"><span class="std std-numref">Fig. 1' in html
    assert html.count("course-drawings.css") == 1 and "<style" not in html
    assert "@container" in (tmp_path / "out/html/_static/course-drawings.css").read_text()


def test_a_changed_module_makes_the_page_anew(tmp_path):
    app = made(tmp_path, "html")
    watched = {Path(app.srcdir, path).name for path in app.env.dependencies["index"]}
    assert {"attention.py", "letters.py", "sketch.py", "style.py"} <= watched


def test_an_epub_holds_a_picture(tmp_path):
    made(tmp_path, "epub")
    page = (tmp_path / "out" / "epub" / "index.xhtml").read_text()
    assert f'src="_images/drawing-{NAME}.svg"' in page and "<svg" not in page
    assert unescape(page).count(drawings()[NAME].alt) == 1
    picture = (tmp_path / "out" / "epub" / "_images" / f"drawing-{NAME}.svg").read_text()
    assert "softmax" in picture and "var(" not in picture
    assert f"drawing-{NAME}.svg" in (tmp_path / "out" / "epub" / "content.opf").read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (f"}} {NAME}", "} atention", "no drawing atention; there are "),
        ("Where *love* asks.\n", "", f"the drawing {NAME} needs a caption"),
    ],
)
def test_what_is_missing_is_named(tmp_path, old, new, said):
    assert said in made(tmp_path, "html", PAGE.replace(old, new)).warning.getvalue()
