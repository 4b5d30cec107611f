"""The results as sentences: what a document claims, and what the records of all sizes say."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Any

from course_lib.book.document_rows import DocumentRow
from course_lib.claims.ledger import DOCUMENTS
from course_lib.experiments import Conclusion, Experiment, Record, Settled, settle
from course_lib.experiments.one_seed import published
from course_lib.experiments.reach import FAR, Reach

OTHERS = "others"
"""The page of questions that no document asks: those of papers, guesses and the course's own."""

_PLACES: dict[Reach, str] = {
    "own": "at the document's setting",
    "own but": "at the document's setting but for something that it names",
    "two sizes": "at two sizes that agree",
    "two lengths": "at two lengths of training",
    "own, too few": "in our models, with too few pairs at the document's setting",
    "small": "in our models only",
}
"""Reach of a claim, the furthest first."""

_OUTCOMES = ("holds", "fails", "no difference", "undecided", "not testable")
_WIDE = 98


@dataclass(frozen=True)
class Card:
    """A claim with all that there is about it."""

    experiment: str  # which asks
    settled: Settled  # what all sizes say
    rows: tuple[DocumentRow, ...] = ()  # what a document prints of it, at each size
    also: tuple[Settled, ...] = ()  # the same claim by another measure
    ran: Mapping[str, dict[str, Any]] = field(default_factory=dict)  # by class, see published

    @property
    def document(self) -> str:
        """Key of the page on which it stands."""
        asked = self.settled.question.document.removeprefix("beside ")
        return next((key for key, name in DOCUMENTS.items() if name == asked), OTHERS)

    @property
    def difference(self) -> float | None:
        """The difference that the document prints."""
        return next((row.difference for row in self.rows if row.difference is not None), None)

    @property
    def inside(self) -> bool | None:
        """Tell whether that lies where one more pair of the best size would."""
        best = [row.inside for row in self.rows if row.size == self.settled.best]
        return next((inside for inside in best if inside is not None), None)


def number(value: float) -> str:
    """Write a number to be read: a whole one with separators, another with four digits."""
    return f"{value:,.0f}" if value == int(value) else f"{value:.4g}"


def cards(
    experiments: Sequence[Experiment], records: Sequence[Record], rows: Sequence[DocumentRow]
) -> dict[str, list[Card]]:
    """Every claim that has records, on the page of its document, best evidence first."""
    by_document: dict[str, list[Card]] = {}
    ran = published()
    for experiment in experiments:
        settled = {s.question.key: s for s in settle(experiment, records)}
        printed: dict[str, list[DocumentRow]] = {}
        for row in rows:
            if row.printed.experiment == experiment.name and row.n:
                printed.setdefault(row.printed.conclusion, []).append(row)
        for key, one in settled.items():
            # The absolute error's questions are those of the squared one again.
            if one.question.document == "control" or key.partition(", mae")[1]:
                continue
            also = [settled[k] for k in (f"{key}, mae",) if k in settled]
            its = (row for k in (key, f"{key}, mae") for row in printed.get(k, ()))
            by = ran.get(f"{experiment.name}/{key}", {})
            card = Card(experiment.name, one, tuple(its), tuple(also), by)
            by_document.setdefault(card.document, []).append(card)
    for members in by_document.values():
        members.sort(key=_rank)
    return by_document


def _rank(card: Card) -> tuple[int, int]:
    return [*_PLACES].index(card.settled.reach), _OUTCOMES.index(card.settled.outcome)


def notes(settled: Settled) -> list[str]:
    """Remarks beside an outcome: how far it reaches, and why it is in doubt."""
    apart = f"at size {' and '.join(settled.apart)} no pair is of one device"
    said = [settled.where, settled.remark, *settled.conclusion.verdict.remarks]
    return [*filter(None, said), *([apart] if settled.apart else [])]


def outcome_of(settled: Settled) -> str:
    """The outcome for a reader, how far it reaches, and what has to be known beside it."""
    first, *others = notes(settled)
    return "; ".join([f"{settled.word}, {first}", *others])


def interval(conclusion: Conclusion) -> str:
    """The mean difference and its interval, and that with other test items, if kept."""
    judged = conclusion.verdict
    if judged.n == 0:
        return f"{judged.mean:+.3g}, without chance"
    if judged.n == 1:
        return f"{judged.mean:+.3g}, one pair"
    line = f"{judged.mean:+.3g} ({judged.low:+.3g} to {judged.high:+.3g}), {judged.n} pairs"
    if conclusion.over_items:
        low, high = conclusion.over_items
        zero = judged.outcome in ("holds", "fails") and low <= 0 <= high
        line += f"; with other test items drawn as well: {low:+.3g} to {high:+.3g}"
        line += " (0 comes in)" if zero else ""
    return line


def aside(settled: Settled) -> Iterator[str]:
    """Conclusions of the other sizes, each in a few words."""
    for size, conclusion in settled.found.items():
        if size != settled.best:
            away = settled.away.get(size)
            far = f" ({away} of the document's)" if away else ""
            yield f"size {size}{far}: {interval(conclusion)}"


def theirs(card: Card) -> str:
    """Printed number of the document and its place; nothing where it prints nothing."""
    if card.difference is None:
        return ""
    lies = {None: "", True: ", where one more pair of ours would lie"}
    where = lies.get(card.inside, ", outside of where one more pair of ours would lie")
    return f"The document: {card.difference:+.3g}{where}"


def by_absolute_error(card: Card) -> Iterator[str]:
    """Outcomes of the absolute errors, with only those remarks that the card hasn't made."""
    made = notes(card.settled)
    for other in card.also:
        new = (note for note in notes(other) if note not in made)
        yield f"{'; '.join([other.word, *new])}: {interval(other.conclusion)}"


def details(card: Card) -> Iterator[tuple[str, str]]:
    """All else, as headings and texts."""
    settled, judged = card.settled, card.settled.conclusion.verdict
    question = settled.question
    yield "Asked by", question.document
    if judged.n > 1:
        low, high = judged.prediction_interval
        yield "One more pair of ours", f"{low:+.3g} to {high:+.3g} (prediction interval, 95 %)"
        adjusted = f"{settled.conclusion.p_adjusted:.2g} among the questions of {question.family}"
        yield "p", f"{judged.p:.2g}; adjusted, {adjusted}"
    if question.margin is not None:
        yield "Margin", f"{question.margin:g}"
    if differs := settled.conclusion.differs:
        yield "The arms differ in", ", ".join(name.replace("_", " ") for name in differs)
    for who, run in card.ran.items():
        yield f"Run by {who}", ", ".join([run["verdict"], *run["named"]])
    yield from (("By absolute error", said) for said in by_absolute_error(card))
    for row in card.rows:
        value = "" if row.printed.value is None else f"{number(row.printed.value)}; "
        ours = "" if row.mean is None else f"ours {number(row.mean)}"
        ours += f" ± {row.std:.2g}" if row.std else ""
        yield (
            f"{row.printed.table}, {row.printed.row}",
            (f"{_words(row.printed.metric)}: {value}{ours} ({ran(row.runs)})"),
        )


def text(card: Card) -> str:
    """A claim in some lines of at most 100 columns."""
    settled = card.settled
    sentences = [
        f"{outcome_of(settled)}: {interval(settled.conclusion)}",
        theirs(card),
        *aside(settled),
        *(f"by absolute error, {said}" for said in by_absolute_error(card)),
    ]
    lines = textwrap.wrap(
        settled.question.claim, _WIDE, initial_indent="  ", subsequent_indent="  "
    )
    for part in filter(None, sentences):
        lines += textwrap.wrap(part, _WIDE, initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)


def beside(row: DocumentRow) -> str:
    """A document's number beside ours, in a line."""
    claimed = "" if row.printed.value is None else number(row.printed.value)
    ours = "not run" if row.mean is None else number(row.mean)
    ours += f" ± {row.std:.2g}" if row.std else ""
    where = f" ({row.n} x {row.size}, {row.reach})" if row.n else ""
    name = f"{row.printed.row}, {_words(row.printed.metric)}".removesuffix(", ")
    return f"{name}: {claimed or 'no number'}; {ours}{where}"


def ran(records: Sequence[Record]) -> str:
    """Facts of a run: size of model and data, length, number of runs, and time of one."""
    record, config = records[0], records[0].config
    share = config.get("share", 1)
    parts = []
    if "n_parameters" in record.results:
        parts.append(f"{number(record.results['n_parameters'])} weights")
    if "n_train" in config:
        kind = "images" if record.data[0].name == "cifar10" else "examples"
        parts.append(f"{number(config['n_train'] * share)} {kind}")
    if "patience" in config:
        # The settings say when a run must end at the latest; the records, when it did.
        lasted, best = {len(r.metrics) for r in records}, {_best_round(r) for r in records}
        parts.append(f"{_span(lasted)} of {config['rounds']} epochs, tested as after {_span(best)}")
    elif "epochs" in config or "rounds" in config:
        parts.append(f"{number(config.get('epochs', config.get('rounds')) / share)} epochs")
    if "steps" in config:
        each = " each" if "epochs" in config or "rounds" in config else ""
        parts.append(f"{number(config['steps'])} steps{each}")
    minutes: dict[str, list[float]] = {}
    for r in records:
        on = "GPU" if "gpu" in r.hardware else "core"
        minutes.setdefault(on, []).append(r.device_seconds / 60)
    for on, times in sorted(minutes.items()):
        runs = f"{len(times)} run{'s' * (len(times) > 1)} of size {record.size}"
        parts.append(f"{runs}, {mean(times):.2g} {on}-minutes each")
    return f"{record.experiment} {record.arm}: {', '.join(parts)}"


def _best_round(record: Record) -> int:
    errors = [row["valid_mse"] for row in record.metrics]
    return errors.index(min(errors)) + 1


def _span(values: set[int]) -> str:
    return " to ".join(str(value) for value in sorted({min(values), max(values)}))


def tally(members: Sequence[Card]) -> str:
    """Count how many claims there are, and what the records say of them, in a sentence."""
    counts = Counter((card.settled.reach, card.settled.word) for card in members)
    parts = []
    for reach, where in _PLACES.items():
        counted = [f"{n} {word}" for (of, word), n in counts.items() if of == reach]
        parts += [f"{where}: {', '.join(counted)}"] if counted else []
    return "; ".join([f"{len(members)} claims", *parts]) + "."


def decided(by_page: Mapping[str, Sequence[Card]]) -> str:
    """Sentence on what runs decide about all documents together."""
    told = Counter(
        card.settled.word
        for page, members in by_page.items()
        for card in members
        if page != OTHERS and card.settled.reach in FAR
    )
    holds, fails = (told[word] or "no" for word in ("holds", "fails"))
    return f"By these runs {holds} claims of the documents hold, and {fails} claims fail."


def _words(name: str) -> str:
    """A key of a record in words; a name within a nested result comes behind a comma."""
    name = re.sub("^n_", "number of ", name).replace("_", " ")
    return name.replace(".", ", ", 1)
