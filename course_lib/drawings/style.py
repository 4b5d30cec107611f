"""One colour for each role, everywhere in the book, and the style sheet of all drawings.

All texts reach a contrast of 4.5 and all lines one of 3, on light pages and on dark ones; the roles
differ for colour-blind readers, too, and each has its letter or form besides.
"""

import re
from collections.abc import Callable
from pathlib import Path

# The seven syllables that drawings use, for machines without a Korean font.
HANGUL = Path(__file__).with_name("hangul.css").read_text(encoding="utf-8").strip()

# Text, line and fill: on a light page, then on a dark one.
ROLES = {
    "layer": ("#222832 #3d4650 #ffffff", "#e6eaef #b9c2cd #121212"),
    "query": ("#14507f #1d5c8f #dcebf8", "#a9d6f7 #4a9bd9 #17324a"),
    "key": ("#863a00 #d55e00 #fde9da", "#ffc094 #f0904d #47260f"),
    "value": ("#0b5c43 #1a9870 #d9f1e7", "#8be2c0 #4cc79b #0f382b"),
    "weight": ("#7d2f66 #b5629b #f7e5f1", "#f3bbdf #e09cc8 #45213a"),
    "position": ("#4d3a00 #5c4a00 #f8efcb", "#f3e2a6 #f0dd98 #3b3312"),
    "mask": ("#4a4f57 #8a919c #eceef1", "#c3c9d2 #8a93a0 #262d36"),
    "state": ("#222832 #6b7480 #eef1f5", "#e6eaef #98a2ae #252d38"),
    "step": ("#222832 #6b7480 #f7f8fa", "#e6eaef #98a2ae #1d232b"),
}
# Ink, quiet ink and arrows, the panel behind what belongs together, the page.
_BASE = ("#222832 #4a5260 #59626e #f5f7f9 #ffffff", "#e6eaef #b4bcc7 #a3adb9 #1b2129 #121212")
# Arial's widths, which Liberation Sans and Helvetica share: text takes the same room everywhere.
# A cut font with a `unicode-range` is first: further back, Chromium may leave empty boxes.
_SANS = (
    '"Course Hangul",Arial,"Liberation Sans",Helvetica,Roboto,"Malgun Gothic",'
    '"Apple SD Gothic Neo","Noto Sans KR","Noto Sans CJK KR",sans-serif'
)
_SERIF = '"Times New Roman","Liberation Serif",Times,serif'


def _colours(dark: bool) -> dict[str, str]:
    names = ("ink", "quiet", "arrow", "panel", "page")
    found = dict(zip(names, _BASE[dark].split(), strict=True))
    for role, both in ROLES.items():
        parts = zip(("ink", "line", "fill"), both[dark].split(), strict=True)
        found |= {f"{role}-{part}": colour for part, colour in parts}
    return found


def rules(markup: str = "", *, dark: bool | None = None) -> str:
    """The rules by which a drawing is coloured; those for roles that its markup lacks are left out.

    ``dark``: which colours are written out; if not given, the page's variables are there.

    Example:
        >>> ".key .line{fill:none;stroke:#d55e00}" in rules(dark=False)
        True
    """
    known = _colours(bool(dark))
    colour: Callable[[str], str] = known.__getitem__ if dark is not None else "var(--d-{})".format
    told = [
        f"text{{font-family:{_SANS};fill:{colour('ink')};stroke:none}}",
        f".math{{font-family:{_SERIF};font-style:italic}}.strong{{font-weight:700}}",
        f".quiet{{fill:{colour('quiet')}}}.tip{{fill:{colour('arrow')}}}",
        f".flow{{fill:none;stroke:{colour('arrow')};stroke-width:1.5}}",
        f".stream{{stroke:{colour('state-line')};stroke-width:4}}.dashed{{stroke-dasharray:4 3}}",
        f".panel{{fill:{colour('panel')};stroke:none}}.bar{{stroke:none;opacity:.3}}",
        ".grid{stroke-width:.75;opacity:.55}.hatch{stroke-width:1.1;opacity:.8}",
        f".cut{{fill:none;stroke:{colour('ink')};stroke-dasharray:2 3}}",
        f".halo{{paint-order:stroke;stroke:{colour('mask-fill')};stroke-width:4px}}",
    ]
    for role in ROLES:
        if not markup or re.search(rf'class="(?:[^"]* )?{role}[ "]', markup):
            told += [
                f".{role} text{{fill:{colour(f'{role}-ink')}}}",
                f".{role} .shape{{fill:{colour(f'{role}-fill')};stroke:{colour(f'{role}-line')}}}",
                f".{role} .line{{fill:none;stroke:{colour(f'{role}-line')}}}",
                f".{role} .bar{{fill:{colour(f'{role}-line')}}}",
            ]
    told += [".position .shape{stroke-dasharray:5 2}.layer .shape{stroke-width:1.75}"]
    told += [".shape.thick{stroke-width:2.5}"]
    return "\n".join(re.sub(r"(^|\})(?=[.\w])", r"\1.drawing ", rule) for rule in told)


def page_style() -> str:
    """The style sheet of the pages: colours by theme, and the layout for the room there is."""
    light, dark = (
        ";".join(f"--d-{name}:{value}" for name, value in _colours(theme).items())
        for theme in (False, True)
    )
    return f"""\
{HANGUL}
html{{{light}}}
html[data-theme=dark]{{{dark}}}
@media print{{html,html[data-theme=dark]{{{light}}}}}
{rules()}
div.drawing{{container-type:inline-size;width:100%;margin:0 auto}}
div.drawing svg{{display:block;width:100%;height:auto;margin:0 auto;max-width:45rem}}
div.drawing svg.narrow{{display:none;max-width:26rem}}
@container (max-width:36rem){{
div.drawing svg.wide{{display:none}}div.drawing svg.narrow{{display:block}}}}
"""
