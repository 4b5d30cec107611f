"""The picture of all judged rows: a dot with its interval each, and the document's number."""

import math
from collections.abc import Iterator, Sequence
from html import escape

from course_lib.book.reported import Row
from course_lib.book.results import interval, outcome_of, tally
from course_lib.experiments import Conclusion

_WIDTH, _LEFT, _LINE = 360, 172, 15
_FAR = 60.0
"""Margins from 0 at which the axis ends."""
_SHAPES = {
    "stands": '<circle cx="{x:.1f}" cy="{y}" r="3.6"/>',
    "does not": '<path d="M{x:.1f} {y}m-4 -3.4h8l-4 7z"/>',
    "no difference": '<circle class="open" cx="{x:.1f}" cy="{y}" r="3.2"/>',
    "undecided": '<path class="open" d="M{x:.1f} {y}m-3 -3h6v6h-6z"/>',
    "not testable": '<path class="open" d="M{x:.1f} {y}m-3 -3l6 6m0 -6l-6 6"/>',
}


def forest(rows: Sequence[Row]) -> str:
    """Draw every question behind the rows once.

    Differences are taken in units of the question's margin and turned so that the claimed direction
    is right; the axis is stretched around 0 and ends where numbers are large anyway.

    Args:
        rows: Rows of the documents' tables; those that nothing decides are left out.

    Returns:
        A drawing in SVG, in the colours of the text around it.
    """
    asked: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        if row.conclusion is not None:
            family = asked.setdefault((row.printed.experiment, row.size), {})
            family.setdefault(row.conclusion.key, row)
    parts: list[str] = []
    y = _LINE
    for (name, size), family in asked.items():
        y += _LINE + 4
        head = f'<text class="name" x="0" y="{y}">{escape(name)} ({size})</text>'
        parts.append(f'<a href="#results-{name}">{head}</a>')
        for row in family.values():
            y += _LINE
            parts += _line(row, y)
    low, zero, high = (_x(value) for value in (-1.0, 0.0, 1.0))
    head = (
        f'<path class="margin" d="M{low:.1f} {_LINE}H{high:.1f}V{y}H{low:.1f}z"/>'
        f'<path class="zero" d="M{zero:.1f} {_LINE}V{y}"/>'
        f'<text x="{_LEFT}" y="11">against</text>'
        f'<text x="{_WIDTH}" y="11" text-anchor="end">as claimed</text>'
    )
    n = sum(map(len, asked.values()))
    said = f"The questions behind the documents' rows, {n} in all. Of {tally(rows)}."
    return (
        f'<svg class="forest" role="group" viewBox="0 0 {_WIDTH} {y + _LINE}" '
        f'aria-label="{escape(said)}">{head}{"".join(parts)}</svg>'
    )


def _line(row: Row, y: int) -> Iterator[str]:
    found = row.conclusion
    assert found is not None
    judged = found.verdict
    unit = found.question.sign * _unit(found)
    ends = sorted(_x(value / unit) for value in (judged.low, judged.high))
    shape = _SHAPES[judged.outcome].format(x=_x(judged.mean / unit), y=y - 4)
    yield f'<g class="{judged.outcome.replace(" ", "-")}">'
    yield f"<title>{escape(f'{found.claim} {outcome_of(found)}: {interval(found)}')}</title>"
    yield f'<text x="8" y="{y}">{escape(found.key)}</text>'
    yield f'<path class="interval" d="M{ends[0]:.1f} {y - 4}H{ends[1]:.1f}"/>{shape}'
    if row.difference is not None:
        yield f'<path class="document" d="M{_x(row.difference / unit):.1f} {y - 10}v12"/>'
    yield "</g>"


def _unit(conclusion: Conclusion) -> float:
    # Any difference counts where there is no margin.
    return conclusion.verdict.margin or abs(conclusion.verdict.mean) / 10 or 1.0


def _x(value: float) -> float:
    """The place of a difference in margins, on the axis."""
    half = (_WIDTH - _LEFT) / 2
    share = math.asinh(max(-_FAR, min(_FAR, value))) / math.asinh(_FAR)
    return _LEFT + half + (half - 5) * share
