"""Parts of the results pages: tables of numbers, claims with a strip, and remarks said once."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from statistics import stdev
from string import ascii_lowercase
from typing import Any

import yaml

from course_lib.book.document_rows import DocumentRow
from course_lib.book.results import Card, aside, details, interval, notes, number, theirs
from course_lib.experiments import Conclusion, Experiment, measured
from course_lib.experiments.reach import FAR, Reach
from course_lib.experiments.verdict import PAIRS, t_quantile

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

SHARED = 3
"""Claims of a page of which a remark is true, for it to be said once above them."""

_ORDER: tuple[Reach, ...] = ("own", "own but", "two sizes", "two lengths", "small", "own, too few")
"""Run of a row that its line shows; others are in the claim below the table."""

_QUANTITIES = {"mse": "squared error", "mae": "absolute error", "loss": "training loss"}
_QUANTITIES |= {"test_loss": "validation loss"}
_COLUMNS = ("row", "document", "ours", "setting", "verdict")


def lines(rows: Sequence[DocumentRow]) -> dict[str, list[list[DocumentRow]]]:
    """The rows of each table in the document's order: for each line, what it shows.

    That is the run nearest to the document; where that is one reading of a training, the others of
    it as well; and of what the others are compared with, the runs of each experiment and size.
    """
    groups: dict[str, dict[tuple[Any, ...], list[DocumentRow]]] = {}
    for row in rows:
        printed = row.printed
        key = printed.row, printed.metric if printed.value is None else printed.value
        groups.setdefault(printed.table, {}).setdefault(key, []).append(row)
    made = {}
    for name, its in groups.items():
        shown = [_shown(group) for group in its.values()]
        bases = {
            (row.printed.experiment, row.size)
            for group in shown
            for row in group
            if row.conclusion and row.n
        }
        for group, its_rows in zip(shown, its.values(), strict=True):
            if not any(row.printed.conclusion for row in its_rows):
                near = [r for r in its_rows if (r.printed.experiment, r.size) in bases]
                own = [row for row in group if row.reach == "own" and row not in near]
                group[:] = [*own, *near] or group
        made[name] = shown
    return made


def by_table(
    members: Sequence[Card], rows: Sequence[DocumentRow]
) -> Iterator[tuple[str, list[list[DocumentRow]], list[Card]]]:
    """Each table's name, lines and claims; then the claims that no table prints."""
    left = [*members]
    for name, its in lines(rows).items():
        asked = {
            (row.printed.experiment, row.printed.conclusion)
            for row in rows
            if row.printed.table == name and row.printed.conclusion
        }
        cards = [c for c in left if (c.experiment, c.settled.question.key) in asked]
        left = [card for card in left if card not in cards]
        yield name, its, cards
    if left:
        yield "Asked beside it", [], left


def _shown(rows: Sequence[DocumentRow]) -> list[DocumentRow]:
    best = min(rows, key=_near)
    near = [row for row in rows if best.n and row.reach == best.reach == "own" and _reading(row)]
    return near if best in near else [best]


def _near(row: DocumentRow) -> tuple[float, ...]:
    few = row.conclusion is None or 0 < row.conclusion.verdict.n < PAIRS
    weights = row.runs[0].results.get("n_parameters", 0) if row.n else 0
    open_ = bool(row.printed.conclusion) and few
    best = row.settled is None or row.size == row.settled.best
    return not row.n, open_, _ORDER.index(row.reach), not best, -weights, -row.n


def _reading(row: DocumentRow) -> str:
    return row.conclusion.question.reading if row.conclusion else ""


def table(shown: Iterable[Sequence[DocumentRow]], marks: Mapping[str, str]) -> str:
    """One table of a document: its number, ours, at which setting, and the verdict."""
    groups = [*shown]
    labels = Counter(group[0].printed.row for group in groups)
    body = []
    for row in (row for group in groups for row in group):
        label = row.printed.row
        if labels[label] > 1:
            label += f", {_quantity(row.printed.metric)}"
        cells = (_document(row), _ours(row), _setting(row, marks), _typed(row.verdict))
        data = zip(_COLUMNS[1:], cells, strict=True)
        columns = "".join(f'<td data-label="{name}">{cell}</td>' for name, cell in data)
        body.append(f'<tr><th scope="row">{_typed(label)}</th>{columns}</tr>')
    head = "".join(f'<th scope="col">{name}</th>' for name in _COLUMNS)
    return (
        f'<table class="result-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def _quantity(metric: str) -> str:
    name = re.split("[.@]", metric.removeprefix("stop_").removeprefix("six_"))[0]
    if "@" in metric and name == "accuracy":
        name = "validation accuracy"
    return _QUANTITIES.get(name, name.replace("_", " "))


def said(value: float, metric: str) -> str:
    """A number as a reader reads it: accuracies in percent."""
    if "accuracy" in metric:
        return f"{100 * value:.1f} %"
    return number(value) if float(value).is_integer() else f"{value:.3g}"


def _document(row: DocumentRow) -> str:
    printed, difference = row.printed, row.signed(row.difference)[0]
    if printed.value is None:
        return "–"
    by = "" if difference is None else f"<small>difference {_change(difference, row)}</small>"
    return _typed(said(printed.value, printed.metric)) + _typed_html(by)


def _ours(row: DocumentRow) -> str:
    if row.mean is None:
        return "not run"
    metric, n = row.printed.metric, row.n
    text = said(row.mean, metric)
    if n >= PAIRS:
        values = [measured(run, metric) for run in row.runs]
        half = t_quantile(0.975, n - 1) * stdev(values) / math.sqrt(n)
        text += f" ± {said(half, metric)}" if half else ""
    made = f"{text}, n = {n}" if n > 1 else f"{text}, one run"
    found = row.conclusion.verdict if row.conclusion else None
    if row.printed.value is None:
        # A statement does not say what its number is.
        made += f"<small>{escape(_quantity(metric))}</small>"
    if found is None or not found.n:
        return _typed_html(made)
    low, high = (_change(end or 0.0, row) for end in row.signed(found.low, found.high))
    middle = _change(row.signed(found.mean)[0] or 0.0, row).removesuffix(" points")
    ends = f" ({low.removesuffix(' points')} to {high}), {found.n} pairs"
    pairs = ends if found.n > 1 else ", one pair"
    return _typed_html(f"{made}<small>difference {middle}{pairs}</small>")


def _change(value: float, row: DocumentRow) -> str:
    if "accuracy" in row.printed.metric:
        return f"{100 * value:+.1f} points"
    return f"{value:+.3g}"


def _setting(row: DocumentRow, marks: Mapping[str, str]) -> str:
    if not row.n:
        return "–"
    settled, label = row.settled, row.reach
    away = settled.away.get(row.size, "") if settled else ""
    if label == "own but" and settled:
        label = f"own but for the {' and '.join(settled.but)}"  # type: ignore[assignment]
    if reading := _reading(row):
        label = f"{label}, {reading}"  # type: ignore[assignment]
    letters = [marks[note] for note in (notes(settled) if settled else ()) if note in marks]
    mark = f"<sup>{' '.join(letters)}</sup>" if letters and settled and row.conclusion else ""
    of = f"{row.printed.experiment}, {row.size}"
    return _typed(label) + mark + f"<small>{_typed(f'{of}: {away}' if away else of)}</small>"


def shared(members: Sequence[Card]) -> dict[str, str]:
    """Remarks that are true of several claims, each with the letter that stands for it."""
    counts = Counter(note for card in members for note in notes(card.settled))
    often = [note for note, n in counts.most_common() if n >= SHARED]
    return dict(zip(often, ascii_lowercase, strict=False))


def lead(rows: Sequence[DocumentRow]) -> Iterator[str]:
    """Opening of a page: accuracies at the document's own setting."""
    for row in rows:
        printed = row.printed
        if row.setting and printed.metric == "accuracy" and printed.value is not None and row.n:
            runs = "one run" if row.n == 1 else f"{row.n} runs"
            yield (
                f"{printed.row}: the document prints {said(printed.value, printed.metric)}; at its "
                f"setting ours has {said(row.mean or 0.0, printed.metric)} ({runs})."
            )


def above(members: Sequence[Card]) -> Iterator[str]:
    """Remarks that are true of many claims of a page, said once."""
    asked = Counter(
        (card.experiment, card.settled.question.other)
        for card in members
        if card.settled.question.other
    )
    for (experiment, arm), n in asked.most_common(1):
        if n > 2 * SHARED:
            yield (
                f"{n} claims have one baseline in common, the arm {arm} of {experiment}. Those "
                f"with the same seeds share its runs, so they are not {n} separate tests."
            )
    for note, letter in shared(members).items():
        yield f"{letter}: {note}."


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
            x, n = place(other.verdict.mean / unit), other.verdict.n
            # A size at the document's setting is a diamond.
            form = f"M{x:.1f} 13m-3 0l3 -3l3 3l-3 3z" if size in settled.own else ""
            dot = f'<circle class="other" cx="{x:.1f}" cy="13" r="2"/>'
            parts.append(f'<path class="other" d="{form}"/>' if form else dot)
            parts.append(f'<text x="{x:.1f}" y="8" text-anchor="middle">{n}</text>' if n else "")
    parts.append(_MARK[settled.outcome].format(x=place(judged.mean / unit)))
    if card.difference is not None:
        parts.append(f'<path class="document" d="M{place(card.difference / unit):.1f} 3v20"/>')
    label = f"{interval(best)}. {theirs(card)}"
    # Conclusions of a small size alone are drawn open, and without the colours of an answer.
    kind = settled.outcome.replace(" ", "-") if settled.reach in FAR else "small"
    return _svg(f"strip strip-{kind}", label, "".join(parts))


def _svg(classes: str, label: str, parts: str) -> str:
    return (
        f'<svg class="{classes}" role="img" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'aria-label="{_typed(label.strip())}">{parts}</svg>'
    )


def _unit(conclusion: Conclusion) -> float:
    # Any difference counts where there is no margin.
    return conclusion.verdict.margin or abs(conclusion.verdict.mean) / 10 or 1.0


def claims(members: Sequence[Card], marks: Mapping[str, str] | None = None) -> Iterator[str]:
    """Each claim as a part that unfolds; ``marks``: letters of remarks that are said elsewhere."""
    marks = marks or {}
    for card in members:
        settled, best = card.settled, card.settled.conclusion
        others = "".join(f"<li>{_typed(line)}</li>" for line in aside(settled))
        facts = "".join(f"<dt>{_typed(a)}</dt><dd>{_typed(b)}</dd>" for a, b in details(card))
        its = notes(settled)
        letters = " ".join(marks[note] for note in its if note in marks)
        rest = [note for note in its if note not in marks]
        remarks = " ".join(f"{n[0].upper()}{n[1:]}." for n in [*rest, theirs(card)] if n)
        yield (
            f'<details class="result reach-{re.sub("[^a-z]+", "-", settled.reach)}" '
            f'id="{card.experiment}-{re.sub("[^a-z0-9]", "-", settled.question.key)}"><summary>'
            f'<span class="result-claim">{_typed(settled.question.claim)}</span>{strip(card)}'
            f'<span class="result-said"><b>{_typed(settled.word)}</b>'
            f"{letters and f'<sup>{letters}</sup>'}: "
            f"{_typed(interval(best))}. {_typed(remarks)}</span></summary>"
            f"{others and f'<ul>{others}</ul>'}<dl>{facts}</dl></details>"
        )


def margins(experiments: Iterable[Experiment], book: Path) -> list[tuple[str, str, int, str]]:
    """Each margin, of what it is, how many questions have it, and why."""
    reasons = yaml.safe_load((book / "margins.yml").read_text(encoding="utf-8"))
    counts: Counter[int] = Counter()
    for experiment in experiments:
        for question in experiment.questions:
            if question.margin is None or question.document == "control":
                continue
            name = f"{experiment.name}/{question.key}"
            fits = [
                i
                for i, reason in enumerate(reasons)
                if reason["margin"] == question.margin and re.fullmatch(reason["questions"], name)
            ]
            if len(fits) != 1:
                raise ValueError(
                    f"{len(fits)} reasons for the margin {question.margin:g} of {name}"
                )
            counts[fits[0]] += 1
    return [
        (f"{reason['margin']:g}", reason["of"], counts[i], reason["why"])
        for i, reason in enumerate(reasons)
    ]


def margins_table(found: Sequence[tuple[str, str, int, str]]) -> str:
    """The margins for HTML."""
    heads = ("margin", "of", "questions", "why")
    body = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{head}">{_typed(str(cell))}</td>'
            for head, cell in zip(heads, row, strict=True)
        )
        + "</tr>"
        for row in found
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        '<div class="results"><table class="result-table margin-table">'
        f"<thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _typed_html(text: str) -> str:
    """Minus signs in text that holds tags."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", text)


def _typed(text: str) -> str:
    """For HTML, with minus signs."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", escape(text))
