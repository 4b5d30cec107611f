"""The theme's icons, cut down to those that the book shows.

The theme draws its icons twice, by a script of one and a half megabytes and by fonts; either would
do. What is left is the fonts, with the few icons that any page, style or script names.
"""

import re
from io import BytesIO
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

from course_lib.book.font import woff2

_NAME = re.compile(r"fa-[\w-]+")
_RULE = re.compile(r'((?:\.fa-[\w-]+::?before,?)+)\{content:"[^"]*"\}')
_ESCAPE = re.compile(r"\\([0-9a-fA-F]{2,6})")
_SECOND_CHOICE = re.compile(r',url\([^)]*\.ttf\) format\("truetype"\)')


def cut_icons(html_dir: Path) -> None:
    """Take what no page needs out of a built book's ``_static`` folder."""
    static = html_dir / "_static"
    shown = [*html_dir.rglob("*.html"), *static.glob("*.js"), *static.glob("*.css")]
    names = {name for path in shown for name in _NAME.findall(path.read_text(encoding="utf-8"))}
    (static / "scripts" / "fontawesome.js").write_text("// Icons come from fonts.\n")
    characters = {ord(" ")}
    for path in static.rglob("*.css"):
        style = path.read_text(encoding="utf-8")
        cut = _RULE.sub(lambda rule: rule[0] if names & set(_NAME.findall(rule[1])) else "", style)
        cut = _SECOND_CHOICE.sub("", cut)
        if cut != style:
            path.write_text(cut, encoding="utf-8")
        characters |= {int(code, 16) for code in _ESCAPE.findall(cut)} | set(map(ord, cut))
    for path in (static / "vendor" / "fontawesome" / "webfonts").iterdir():
        if path.suffix == ".woff2":
            path.write_bytes(_cut(path.read_bytes(), characters))
        else:
            path.unlink()


def _cut(font: bytes, characters: set[int]) -> bytes:
    opened = TTFont(BytesIO(font))
    cutter = subset.Subsetter(subset.Options(drop_tables=["FFTM"], notdef_outline=True))
    cutter.populate(unicodes=sorted(characters))
    cutter.subset(opened)
    return woff2(opened)
