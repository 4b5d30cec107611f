"""The map below the title of a chapter's page."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [page.stem for page in sorted((ROOT / "book" / "chapters").glob("*.md"))]


def test_every_chapter_has_its_place_below_its_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    testing = pytest.importorskip("sphinx.testing.util")
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    import course_map

    (tmp_path / "chapters").mkdir()
    for page in PAGES:
        (tmp_path / "chapters" / f"{page}.md").write_text("# Page\n\nWords.\n")
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\n:glob:\nchapters/*\n```\n")
    (tmp_path / "conf.py").write_text("extensions = ['myst_parser', 'course_map']\n")
    app = testing.SphinxTestApp("html", srcdir=tmp_path, builddir=tmp_path / "out")
    app.build()
    app.cleanup()
    for page in PAGES:
        named = course_map.subject(page)
        assert named and set(named) <= set(course_map.PARTS), page
        written = (tmp_path / "out" / "html" / "chapters" / f"{page}.html").read_text()
        assert written.index("<h1>") < written.index("you-are-here") < written.index("Words.")
        assert written.count('class="layer here"') == len(named) + 1  # and the key
        assert all(f">{name}</text>" in written for name in named.values()), page
    assert {row[:2] for row in course_map.PLACES} == {page[:2] for page in PAGES}
    assert "attention (here: lookup)" in course_map.picture("02_lookup")
    with pytest.raises(course_map.ExtensionError, match=r"map\.yml has no row for 99_none"):
        course_map.subject("99_none")
    assert "you-are-here" not in (tmp_path / "out" / "html" / "index.html").read_text()
