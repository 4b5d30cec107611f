"""What a page loads is small: the font of formulas, icons, drawings."""

import base64
import io
import re
import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont
from PIL import Image

from course_lib.book.font import FAMILY, math_font, used
from course_lib.book.icons import cut_icons
from course_lib.book.svg_size import pack_pictures, plain, round_paths, shorten
from course_lib.plots import canvas


@pytest.fixture(scope="module")
def packed():
    return math_font()


@pytest.fixture(scope="module")
def font(packed):
    return TTFont(BytesIO(packed))


def test_it_is_a_small_renamed_math_font(packed, font):
    assert font.flavor == "woff2" and "MATH" in font
    assert {str(record) for record in font["name"].names if record.nameID == 1} == {FAMILY}
    licence = next(str(record) for record in font["name"].names if record.nameID == 13)
    assert "SIL Open Font License" in licence
    assert len(packed) < 300_000


def test_it_has_the_characters_of_formulas(font):
    characters = "aZ09+=()[]{}|αΩ∑∏∫√∞≤≠∈⊤⊙→ℝ𝐖𝟏𝛉ℒ𝒩⟨⌊"
    assert {c for c in characters if ord(c) not in font.getBestCmap()} == set()


def test_every_root_sign_has_the_width_of_the_small_one(font):
    variants = font["MATH"].table.MathVariants
    base = font.getBestCmap()[0x221A]
    construction = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(base)]
    names = [record.VariantGlyph for record in construction.MathGlyphVariantRecord]
    names += [part.glyph for part in construction.GlyphAssembly.PartRecords]
    assert len(names) > 3
    assert {font["hmtx"][name][0] for name in names} == {font["hmtx"][base][0]}


def test_it_is_cut_to_what_pages_use(tmp_path, packed):
    page = tmp_path / "a.html"
    page.write_text("<p>ℝ</p><math><mi>x</mi><mo>&#x2264;</mo><msqrt><mn>2</mn></msqrt></math>")
    characters = used([page])
    small = TTFont(BytesIO(math_font(characters)))
    assert {ord(c) for c in "x≤2√𝑥ℎ"} <= set(small.getBestCmap())
    assert ord("ℝ") not in small.getBestCmap()
    assert len(math_font(characters)) < len(packed) / 2


THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"


@pytest.fixture
def site(tmp_path):
    shutil.copytree(THEME, tmp_path / "_static")
    (tmp_path / "a.html").write_text('<i class="fa-solid fa-moon"></i><i class="fab fa-github">')
    return tmp_path


def test_what_is_shown_stays_and_the_rest_goes(site):
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


def test_twice_is_as_good_as_once(site):
    cut_icons(site)
    once = {p: p.read_bytes() for p in site.rglob("*.css")}
    cut_icons(site)
    assert once == {p: p.read_bytes() for p in site.rglob("*.css")}


def pictures(svg):
    found = re.findall(r"data:image/png;base64,([^\"]+)", svg)
    return [Image.open(io.BytesIO(base64.b64decode(encoded))) for encoded in found]


def drawing(colours):
    """A picture of 64 x 64 pixels of so many colours, some of them half transparent."""
    draw = np.random.default_rng(0)
    scale = draw.integers(0, 256, (colours, 4), dtype=np.uint8)
    pixels = scale[draw.permutation(64 * 64).reshape(64, 64) % colours]
    written = io.BytesIO()
    Image.fromarray(pixels, "RGBA").save(written, "PNG")
    encoded = base64.encodebytes(written.getvalue()).decode()
    return f'<svg><image xlink:href="data:image/png;base64,{encoded}" width="9"/></svg>'


def test_few_colours_are_written_shorter_and_look_the_same():
    svg = drawing(256)
    packed = pack_pictures(svg)
    assert len(packed) < len(svg) / 2
    (before,), (after,) = pictures(svg), pictures(packed)
    assert after.mode == "P"
    assert after.convert("RGBA").tobytes() == before.tobytes()
    assert packed.endswith('" width="9"/></svg>') and pack_pictures(packed) == packed


def test_many_colours_are_left_as_they_are():
    svg = drawing(257)
    assert pack_pictures(svg) == svg


def test_a_map_in_a_picture_of_the_course_has_a_pixel_for_each_number(tmp_path):
    picture, axes = canvas(height=3)
    axes[0, 0].imshow(np.random.default_rng(0).normal(size=(40, 50)), cmap="PuBu")
    svg = picture._repr_svg_()
    (shown,) = pictures(svg)
    assert shown.size == (50, 40) and "image-rendering:pixelated" in svg
    path = tmp_path / "a.svg"
    path.write_text(svg, encoding="utf-8")
    shorten(tmp_path)
    short = path.read_text(encoding="utf-8")
    assert short == pack_pictures(round_paths(plain(svg))) and len(short) < len(svg)
    assert "DOCTYPE" in svg and "DOCTYPE" not in short
    assert not re.search(r"<path(?![^>]* d=)", short)
    shorten(tmp_path)
    assert path.read_text(encoding="utf-8") == short
