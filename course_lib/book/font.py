"""The web font for formulas, cut from STIX Two Math.

The font is licensed under the SIL Open Font License 1.1; what comes out here is a modified version
and therefore carries a name of its own, ``Course Math``.
"""

import re
from collections.abc import Collection, Iterable
from html import unescape
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

FAMILY = "Course Math"
_RANGES = [
    (0x20, 0x17F),  # Latin
    (0x2B0, 0x36F),  # accents
    (0x370, 0x3FF),  # Greek
    (0x2000, 0x206F),  # spaces and punctuation
    (0x20D0, 0x20FF),  # combining arrows
    (0x2100, 0x214F),  # letterlike
    (0x2190, 0x21FF),  # arrows
    (0x2200, 0x22FF),  # operators
    (0x2300, 0x23FF),  # ceilings, floors, braces
    (0x27C0, 0x27EF),  # angle brackets
    (0x2A00, 0x2A0F),  # large operators
    (0x1D400, 0x1D7FF),  # mathematical letters
]
# A root has no character of its own in the text, a single letter is drawn by its italic sibling,
# and figures compute their numbers.
_ALWAYS = [*range(0x20, 0x7F), 0x210E, 0x2212, 0x221A]
_ALWAYS += [*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C)]
_FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def math_font(characters: Collection[int] | None = None) -> bytes:
    """Cut and pack the font. Returns a WOFF2 file with the ``MATH`` table."""
    source = files("ziamath").joinpath("fonts", "STIXTwoMath-Regular.ttf").read_bytes()
    font = TTFont(BytesIO(source))
    options = subset.Options()
    # ssty: smaller letters for scripts; dtls, flac: dotless and flattened under accents.
    options.layout_features = ["ssty", "dtls", "flac", "ccmp", "mark", "mkmk", "kern"]
    options.hinting = False
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    cutter = subset.Subsetter(options)
    every = {code for first, last in _RANGES for code in range(first, last + 1)}
    cutter.populate(unicodes=sorted(every if characters is None else every & {*characters}))
    cutter.subset(font)
    _narrow_radicals(font)
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6):
            record.string = FAMILY.replace(" ", "") if record.nameID == 6 else FAMILY
    return woff2(font)


def woff2(font: TTFont) -> bytes:
    """Pack a font for the web. Returns what a WOFF2 file holds."""
    font.flavor = "woff2"
    packed = BytesIO()
    font.save(packed)
    return packed.getvalue()


def _narrow_radicals(font: TTFont) -> None:
    """Make tall radical signs as narrow as the ordinary one.

    Chromium reserves the width of the widest variant for every root, which leaves a gap after each.
    """
    math = font["MATH"].table.MathVariants
    base = font.getBestCmap()[0x221A]
    construction = math.VertGlyphConstruction[math.VertGlyphCoverage.glyphs.index(base)]
    width = font["hmtx"][base][0]
    names = {record.VariantGlyph for record in construction.MathGlyphVariantRecord} - {base}
    names |= {part.glyph for part in construction.GlyphAssembly.PartRecords}
    glyphs = font["glyf"]
    drawn = font.getGlyphSet()
    for name in sorted(names):
        advance = font["hmtx"][name][0]
        pen = TTGlyphPen(None)
        drawn[name].draw(TransformPen(pen, (width / advance, 0, 0, 1, 0, 0)))
        glyph = pen.glyph()
        glyph.recalcBounds(glyphs)
        glyphs[name] = glyph
        font["hmtx"][name] = (width, glyph.xMin)


def used(pages: Iterable[Path]) -> set[int]:
    """The code points that formulas on these pages are drawn with."""
    points = {*_ALWAYS}
    for page in pages:
        for formula in _FORMULA.findall(page.read_text(encoding="utf-8")):
            points |= set(map(ord, unescape(_TAG.sub("", formula))))
    return points
