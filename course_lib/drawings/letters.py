"""The letters of drawings: how a text is marked up, how wide it is, how a number is written."""

import html
import math
import re
from collections.abc import Iterable

# Arial's widths in thousandths; what is not named has 556, and Hangul 1000.
_WIDTHS = {
    191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft", 333: "()-`r{}·", 355: '"', 389: "*",
    469: "^", 500: "Jckzsvxy", 584: "+<=>~−×÷", 611: "FTZ", 667: "&ABEKPSVXY", 713: "∞",
    722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "→…", 1015: "@",
}  # fmt: skip
_WIDTH = {character: width for width, some in _WIDTHS.items() for character in some}
# No letter is smaller, so that a phone, which shows 344 units in 342 pixels, shows it with nine.
_LEAST = 9.12
_PIECE = re.compile(r"\*(?P<math>[^*]+)\*|_\{(?P<low>[^}]*)\}|\^\{(?P<high>[^}]*)\}")


def written(said: str, size: float, stretch: float) -> tuple[str, float]:
    """Mark a text up for a ``text`` element, and measure its width.

    ``said``: ``*q*`` is mathematics, ``_{t}`` is lower, ``^{2}`` higher; ``size``: height of plain
    letters, which are ``stretch`` times as wide as usual.
    """
    parts, wide, shift = "", 0.0, 0.0
    for piece, form in _pieces(said):
        part = size * (1.12 if form == "math" else 1)
        if form in ("low", "high"):
            part = max(0.76 * size, _LEAST)
        move = {"low": 0.22, "high": -0.38}.get(form, 0.0) * size - shift
        shift += move
        how = f' dy="{move:.3g}"' if move else ""
        how += f' font-size="{part:.4g}"' if form else ""
        how += ' class="math"' if form == "math" else ""
        parts += f"<tspan{how}>{html.escape(piece)}</tspan>" if how else html.escape(piece)
        widths = sum(_WIDTH.get(c, 1000 if "가" <= c <= "힣" else 556) for c in piece)
        wide += widths * part / 1000 * stretch
    return parts, wide


def plain(said: str) -> str:
    """The text as a reader says it.

    Example:
        >>> plain("*q*_{t} and *k*^{2}")
        'qt and k2'
    """
    return _PIECE.sub(lambda piece: piece[piece.lastgroup or 0], said)


def number(value: object, digits: int) -> str:
    """Contents of a cell: a float with so many digits, all else as it is.

    Example:
        >>> number(-0.5, 2), number(float("-inf"), 2), number(-3, 2), number("a", 2)
        ('−0.50', '−∞', '−3', 'a')
    """
    if isinstance(value, float):
        value = f"{value:.{digits}f}" if math.isfinite(value) else f"{value:g}".replace("inf", "∞")
    return str(value).replace("-", "−")


def _pieces(said: str) -> Iterable[tuple[str, str]]:
    """A text cut where its form changes, each piece with its form."""
    done = 0
    for found in _PIECE.finditer(said):
        yield said[done : found.start()], ""
        form = found.lastgroup or ""
        yield found[form], form
        done = found.end()
    yield said[done:], ""
