"""The font of the formulas keeps what formulas need."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from course_lib.book.font import FAMILY, math_font, used


@pytest.fixture(scope="module")
def packed() -> bytes:
    return math_font()


@pytest.fixture(scope="module")
def font(packed: bytes) -> TTFont:
    return TTFont(BytesIO(packed))


def test_it_is_a_small_renamed_math_font(packed: bytes, font: TTFont) -> None:
    assert font.flavor == "woff2" and "MATH" in font
    assert {str(record) for record in font["name"].names if record.nameID == 1} == {FAMILY}
    licence = next(str(record) for record in font["name"].names if record.nameID == 13)
    assert "SIL Open Font License" in licence
    assert len(packed) < 300_000


def test_it_has_the_characters_of_formulas(font: TTFont) -> None:
    characters = "aZ09+=()[]{}|αΩ∑∏∫√∞≤≠∈⊤⊙→ℝ𝐖𝟏𝛉ℒ𝒩⟨⌊"
    assert {c for c in characters if ord(c) not in font.getBestCmap()} == set()


def test_every_root_sign_has_the_width_of_the_small_one(font: TTFont) -> None:
    variants = font["MATH"].table.MathVariants
    base = font.getBestCmap()[0x221A]
    construction = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(base)]
    names = [record.VariantGlyph for record in construction.MathGlyphVariantRecord]
    names += [part.glyph for part in construction.GlyphAssembly.PartRecords]
    assert len(names) > 3
    assert {font["hmtx"][name][0] for name in names} == {font["hmtx"][base][0]}


def test_it_is_cut_to_what_pages_use(tmp_path: Path, packed: bytes) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>ℝ</p><math><mi>x</mi><mo>&#x2264;</mo><msqrt><mn>2</mn></msqrt></math>")
    characters = used([page])
    small = TTFont(BytesIO(math_font(characters)))
    assert {ord(c) for c in "x≤2√𝑥ℎ"} <= set(small.getBestCmap())
    assert ord("ℝ") not in small.getBestCmap()
    assert len(math_font(characters)) < len(packed) / 2
