"""Icons that a page shows stay, and the rest of the theme's set goes."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont

from course_lib.book.icons import cut_icons

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    shutil.copytree(THEME, tmp_path / "_static")
    (tmp_path / "a.html").write_text('<i class="fa-solid fa-moon"></i><i class="fab fa-github">')
    return tmp_path


def test_what_is_shown_stays_and_the_rest_goes(site: Path) -> None:
    fonts = site / "_static" / "vendor" / "fontawesome" / "webfonts"
    before = sum(path.stat().st_size for path in site.rglob("*"))
    cut_icons(site)
    solid = TTFont(BytesIO((fonts / "fa-solid-900.woff2").read_bytes())).getBestCmap()
    brands = TTFont(BytesIO((fonts / "fa-brands-400.woff2").read_bytes())).getBestCmap()
    style = (site / "_static/styles/pydata-sphinx-theme.css").read_text(encoding="utf-8")
    assert 0xF186 in solid and ".fa-moon" in style
    assert 0xF09B in brands
    assert 0xF46A not in solid and ".fa-hat-cowboy" not in style
    assert ".fa-solid" in style and ".ttf" not in style
    assert sum(path.stat().st_size for path in site.rglob("*")) < before - 1_500_000


def test_twice_is_as_good_as_once(site: Path) -> None:
    cut_icons(site)
    once = {p: p.read_bytes() for p in site.rglob("*.css")}
    cut_icons(site)
    assert once == {p: p.read_bytes() for p in site.rglob("*.css")}
