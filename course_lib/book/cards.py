"""Claims as parts of a page: a sentence, a strip with the interval, and all else folded."""

import math
import re
from collections.abc import Iterator, Sequence
from html import escape

from course_lib.book.document_rows import DocumentRow
from course_lib.book.results import Card, aside, beside, details, interval, theirs
from course_lib.experiments import Conclusion

TICKS = (1, 3, 10, 30)
_WIDTH, _HEIGHT, _FAR = 260, 26, 60.0
"""Of a strip; and at how many margins from 0 it ends."""

_MARK = {
    "holds": '<circle cx="{x:.1f}" cy="13" r="4.2"/>',
    "fails": '<path d="M{x:.1f} 13m-4.6 -4h9.2l-4.6 8z"/>',
    "no difference": '<circle class="open" cx="{x:.1f}" cy="13" r="3.8"/>',
    "undecided": '<path class="open" d="M{x:.1f} 13m-3.4 -3.4h6.8v6.8h-6.8z"/>',
    "not testable": '<path class="open" d="M{x:.1f} 13m-3.4 -3.4l6.8 6.8m0 -6.8l-6.8 6.8"/>',
}


def place(margins: float) -> float:
    """Where so many margins lie: the scale is stretched around 0."""
    share = math.asinh(max(-_FAR, min(_FAR, margins))) / math.asinh(_FAR)
    return _WIDTH / 2 + (_WIDTH / 2 - 6) * share


def scale() -> str:
    """The axis of all strips with its numbers."""
    numbers = "".join(
        f'<text x="{place(m):.1f}" y="24" text-anchor="middle">{_typed(f"{m:+d}")}</text>'
        for tick in TICKS
        for m in (-tick, tick)
    )
    ends = '<text x="0" y="9">against</text>'
    ends += f'<text x="{_WIDTH}" y="9" text-anchor="end">as claimed</text>'
    return _svg("strip strip-scale", "The scale of the strips, in margins", ends + numbers)


def strip(card: Card) -> str:
    """The best size's interval and that of one more pair, the other sizes, the document's mark."""
    settled, best = card.settled, card.settled.conclusion
    unit = settled.question.sign * _unit(best)
    low, high = (place(m) for m in (-1.0, 1.0))
    parts = [f'<path class="margin" d="M{low:.1f} 2H{high:.1f}V24H{low:.1f}z"/>']
    ticks = "".join(f"M{place(s * tick):.1f} 20v4" for tick in TICKS for s in (-1, 1))
    parts.append(f'<path class="zero" d="M{place(0):.1f} 2V24{ticks}"/>')
    judged = best.verdict
    for name, (left, right) in (
        ("predicted", judged.prediction_interval),
        ("interval", (judged.low, judged.high)),
    ):
        if judged.n > 1:
            ends = sorted(place(end / unit) for end in (left, right))
            parts.append(f'<path class="{name}" d="M{ends[0]:.1f} 13H{ends[1]:.1f}"/>')
    for size, other in settled.found.items():
        if size != settled.best:
            x = place(other.verdict.mean / unit)
            parts.append(f'<circle class="other" cx="{x:.1f}" cy="13" r="2"/>')
    parts.append(_MARK[settled.outcome].format(x=place(judged.mean / unit)))
    if card.difference is not None:
        parts.append(f'<path class="document" d="M{place(card.difference / unit):.1f} 3v20"/>')
    label = f"{interval(best)}. {theirs(card)}"
    # What a small size says alone is drawn open, and without the colours of an answer.
    kind = "small" if settled.reach == "small" else settled.outcome.replace(" ", "-")
    return _svg(f"strip strip-{kind}", label, "".join(parts))


def _svg(classes: str, label: str, parts: str) -> str:
    return (
        f'<svg class="{classes}" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'aria-label="{_typed(label.strip())}">{parts}</svg>'
    )


def _unit(conclusion: Conclusion) -> float:
    # Any difference counts where there is no margin.
    return conclusion.verdict.margin or abs(conclusion.verdict.mean) / 10 or 1.0


def claims(members: Sequence[Card]) -> Iterator[str]:
    """Each claim as a part that unfolds."""
    for card in members:
        settled, best = card.settled, card.settled.conclusion
        others = "".join(f"<li>{_typed(line)}</li>" for line in aside(settled))
        facts = "".join(f"<dt>{_typed(a)}</dt><dd>{_typed(b)}</dd>" for a, b in details(card))
        notes = [settled.remark, *best.verdict.remarks]
        remarks = " ".join(
            f"{note[0].upper()}{note[1:]}." for note in [*notes, theirs(card)] if note
        )
        yield (
            f'<details class="result reach-{settled.reach.replace(" ", "-")}" '
            f'id="{card.experiment}-{re.sub("[^a-z0-9]", "-", settled.question.key)}"><summary>'
            f'<span class="result-claim">{_typed(settled.question.claim)}</span>{strip(card)}'
            f'<span class="result-said"><b>{_typed(settled.word)}</b>, {_typed(settled.where)}: '
            f"{_typed(interval(best))}. {_typed(remarks)}</span></summary>"
            f"{others and f'<ul>{others}</ul>'}<dl>{facts}</dl></details>"
        )


def _typed(text: str) -> str:
    """For HTML, with minus signs."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", escape(text))


def numbers(rows: Sequence[DocumentRow]) -> str:
    """All that the document prints, folded, with our number beside it."""
    tables: dict[str, list[str]] = {}
    for row in rows:
        tables.setdefault(row.printed.table, []).append(f"<li>{_typed(beside(row))}</li>")
    lists = "".join(
        f"<p><b>{escape(t)}</b></p><ul>{''.join(its)}</ul>" for t, its in tables.items()
    )
    head = "The numbers that the document prints, and ours"
    return f'<details class="result-numbers"><summary>{head}</summary>{lists}</details>'
