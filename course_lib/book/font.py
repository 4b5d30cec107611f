"""The web font for formulas, cut from STIX Two Math.

The font is licensed under the SIL Open Font License 1.1; what comes out here is a modified version
and therefore carries a name of its own, ``Course Math``.
"""

from importlib.resources import files
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.pens.transformPen import TransformPen
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTFont

__all__ = ["FAMILY", "math_font"]

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


def math_font() -> bytes:
    """Cut and pack the font.

    Returns:
        A WOFF2 file with the ``MATH`` table, for the characters that formulas use.

    Example:
        >>> math_font()[:4]
        b'wOF2'
    """
    source = files("ziamath").joinpath("fonts", "STIXTwoMath-Regular.ttf").read_bytes()
    font = TTFont(BytesIO(source))
    options = subset.Options()
    # ssty: smaller letters for scripts; dtls, flac: dotless and flattened under accents.
    options.layout_features = ["ssty", "dtls", "flac", "ccmp", "mark", "mkmk", "kern"]
    options.hinting = False
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
    options.notdef_outline = True
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[code for first, last in _RANGES for code in range(first, last + 1)])
    cutter.subset(font)
    _narrow_radicals(font)
    for record in font["name"].names:
        if record.nameID in (1, 3, 4, 6):
            record.string = FAMILY.replace(" ", "") if record.nameID == 6 else FAMILY
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


def write_math_font(folder: Path) -> Path:
    """Write the font into a folder, unless the same one lies there.

    Args:
        folder: Where to write it.

    Returns:
        Path of the file.
    """
    path = folder / "course-math.woff2"
    recipe = Path(__file__)
    if not path.exists() or path.stat().st_mtime < recipe.stat().st_mtime:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(math_font())
    return path
