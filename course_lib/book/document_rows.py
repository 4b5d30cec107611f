"""The documents' tables: what each row says, and which of our records stands beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isclose
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any

import yaml
from pydantic import Field

from course_lib.claims.ledger import DOCUMENTS
from course_lib.experiments import (
    EXPERIMENTS,
    Conclusion,
    Experiment,
    Record,
    RecordError,
    Settled,
    load_records,
    measured,
    settle,
)
from course_lib.experiments.questions import apart_by_machine
from course_lib.experiments.reach import Reach
from course_lib.strict import Number, strict
from grader.base.errors import Refused

BENCHMARKS = ("attention-speed", "cluster-speed", "cost-growth", "grading-speed")
"""Folders of records that `course bench` wrote: measurements of speed, no experiments."""

WORDS = {"seen as claimed": "as claimed", "seen the other way round": "the other way round"}
"""Short forms of sentences for a row."""
NO_PAIR, UNCOUNTED = "no pair on one device", "no pair counts"

_Text = Annotated[str, Field(min_length=1)]


@strict()
class Reported:
    """A row of a document's table, or a statement of a document, and where it is measured again.

    Attributes:
        experiment: Name of the experiment that measures it again, or nothing where none does.
        conclusion: Key of the experiment's question that decides; nothing where the row is what
            others are compared with.
        against: Row of the document with which the document compares, where that is not the one
            with which the question does.
    """

    document: _Text  # key of DOCUMENTS
    table: _Text  # its name in the document; for a statement, what it is about
    row: _Text  # label of the row; for a statement, the statement
    metric: str = ""
    value: Number | None = None
    setting: str = ""  # under which conditions the document got the number
    experiment: str = ""
    arm: str = ""
    conclusion: str = ""
    against: str = ""


@dataclass(frozen=True)
class DocumentRow:
    """A row of a document's table beside what this course measured, at one size.

    ``settled``: what all sizes say of the row's question; none where nothing does; ``difference``:
    the difference that the document prints, in the direction of the question's.
    """

    printed: Reported  # the document's side
    mean: float | None  # our mean over the seeds; None where nothing was run
    std: float | None  # standard deviation over the seeds; None for fewer than two
    n: int  # number of runs
    size: str  # size of the runs; nothing where there are none
    settled: Settled | None = None
    setting: bool = False  # whether the size is the document's own
    difference: float | None = None
    runs: tuple[Record, ...] = ()  # those that the mean is of
    missing: tuple[str, ...] = ()  # arms that the question needs and that have not run at this size
    apart: bool = False  # whether all pairs of this size are of two machines

    @property
    def conclusion(self) -> Conclusion | None:
        """Conclusion of this size."""
        return self.settled.found.get(self.size) if self.settled else None

    @property
    def reach(self) -> Reach:
        """Measure how far it reaches; what nobody has run reaches no document."""
        if self.settled and self.conclusion:
            return self.settled.reach_of(self.size)
        own: Reach = "own, too few" if self.printed.conclusion else "own"
        return own if self.setting else "small"

    @property
    def verdict(self) -> str:
        """The outcome: only what reaches the document *holds* or *fails*."""
        if self.conclusion is None:
            if not self.n or self.missing:
                return "not run"
            if self.apart:
                return NO_PAIR
            return UNCOUNTED if self.printed.conclusion else "reference"
        word = self.settled.word_of(self.size) if self.settled else ""
        return WORDS.get(word, word)

    @property
    def inside(self) -> bool | None:
        """True if the document's difference lies where one more pair of ours would, if any."""
        if self.conclusion is None or self.difference is None or self.conclusion.verdict.n < 2:
            return None
        low, high = self.conclusion.verdict.prediction_interval
        return low <= self.difference <= high

    @property
    def turned(self) -> bool:
        """Tell whether the row is what its question subtracts; its differences then change sign."""
        asked = (self.printed.arm, self.printed.metric)
        return self.conclusion is not None and asked == self.conclusion.question.sides[1]

    @property
    def compared_with(self) -> tuple[str, float | None]:
        """Other side of the row's comparison, and our number where the row's is the other side."""
        if self.conclusion is None:
            return "", None
        ours, theirs, sides = self.conclusion.ours, self.conclusion.theirs, self.conclusion.sides
        if self.turned:
            return sides[0], mean(ours)
        if self.mean is not None and not isclose(self.mean, mean(ours)):
            # The row's number is only a part of what is compared.
            return f"{sides[0]} {mean(ours):.4g} less {sides[1]} {mean(theirs):.4g}", None
        return sides[1], mean(theirs)

    def signed(self, *numbers: float | None) -> tuple[float | None, ...]:
        """A difference, or the ends of an interval of it, as this row less the other."""
        if not self.turned:
            return numbers
        return tuple(-x if x is not None else None for x in reversed(numbers))

    def data(self) -> dict[str, Any]:
        """The row as JSON knows it."""
        printed, runs = self.printed, self.runs
        return {
            "document": printed.document,
            "table": printed.table,
            "row": printed.row,
            "metric": printed.metric,
            "claimed": printed.value,
            "setting": printed.setting,
            "experiment": printed.experiment,
            "arm": printed.arm,
            "mean": self.mean,
            "std": self.std,
            "n": self.n,
            "size": self.size,
            "verdict": self.verdict,
            "missing": list(self.missing),
            "reach": self.reach,
            "away": self.settled.away.get(self.size, "") if self.settled else "",
            "n_weights": runs[0].results.get("n_parameters") if runs else None,
            "n_seen": _seen(runs[0]) if runs else None,
            "core_minutes": sum(r.device_seconds for r in runs) / 60 / len(runs) if runs else None,
            **self._decided(),
        }

    def _decided(self) -> dict[str, Any]:
        """Numbers and remarks beside a verdict; keys with None where there is none."""
        conclusion, other = self.conclusion, self.compared_with
        judged = conclusion.verdict if conclusion else None
        ends: tuple[float | None, ...] = (None, None)
        one_more: tuple[float | None, ...] | None = None
        # A single pair has no interval.
        if judged and judged.n > 1:
            ends = self.signed(judged.low, judged.high)
            one_more = self.signed(*judged.prediction_interval)
        items = conclusion.over_items if conclusion else None
        return {
            "compared_with": other[0],
            "compared_mean": other[1],
            "difference": self.signed(judged.mean)[0] if judged else None,
            "low": ends[0],
            "high": ends[1],
            "prediction_interval": one_more,
            "claim": conclusion.claim if conclusion else "",
            "settled": self.settled.told if self.settled else "",
            "differs": list(conclusion.differs) if conclusion else [],
            "differs_from_document": dict(self.settled.but) if self.settled else {},
            "machine": self.runs[0].machine if self.runs else None,
            "converged": conclusion.converged if conclusion else None,
            "margin": judged.margin if judged else None,
            "remarks": list(judged.remarks) if judged else [],
            "document_difference": self.signed(self.difference)[0],
            "document_inside": self.inside,
            "family": conclusion.question.family if conclusion else "",
            "p": judged.p if judged else None,
            "p_adjusted": conclusion.p_adjusted if conclusion else None,
            "over_items": self.signed(*items) if items else None,
            "seeds": list(conclusion.seeds) if conclusion else [],
        }


def load_known(results_dir: Path) -> list[Record]:
    """Read all records, each of an experiment and an arm that exist, or of a benchmark."""
    records = load_records(results_dir)
    for record in records:
        if record.experiment in BENCHMARKS:
            continue
        path = results_dir / record.experiment / record.file_name
        if record.experiment not in EXPERIMENTS:
            known = ", ".join((*EXPERIMENTS, *BENCHMARKS))
            raise RecordError(f"{path}: experiment {record.experiment!r} is none of {known}")
        arms = EXPERIMENTS[record.experiment].arms
        if record.arm not in arms:
            raise RecordError(f"{path}: arm {record.arm!r} is none of {', '.join(arms)}")
    return records


def load_reported(
    path: Path, records: Sequence[Record] = (), experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> list[Reported]:
    """Read the rows of the documents. Returns the rows, in the order of the file."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    made: list[Reported] = []
    for i, entry in enumerate(entries, 1):
        name = f"{path.name}, entry {i} ({_name(entry)})"
        if not isinstance(entry, Mapping):
            raise Refused(f"{name}: expected a mapping")
        try:
            printed = Reported(**entry)
        except Refused as error:
            raise Refused(f"{name}: {error}") from error
        for problem in [*_incomplete(printed), *_unknown(printed, records, experiments)]:
            raise Refused(f"{name}: {problem}")
        made.append(printed)
    return made


def rows(
    printed: Sequence[Reported],
    records: Sequence[Record],
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> list[DocumentRow]:
    """Put our numbers beside the documents'.

    Returns one row for each size that was run, and one that says so where none was. Where a
    question decides, the numbers are those of the seeds that decide it. A question of which an arm
    has not run at that size is not run, and not undecided.
    """

    @cache
    def settled(name: str) -> dict[str, Settled]:
        return {s.question.key: s for s in settle(experiments[name], records)}

    made: list[DocumentRow] = []
    for entry in printed:
        runs = [
            r
            for r in records
            if (r.experiment, r.arm) == (entry.experiment, entry.arm) and _reaches(r, entry.metric)
        ]
        what = settled(entry.experiment).get(entry.conclusion) if entry.experiment else None
        for size in sorted({run.size for run in runs}):
            conclusion = what.found.get(size) if what else None
            of_size = [run for run in runs if run.size == size]
            used = [run for run in of_size if conclusion is None or run.seed in conclusion.seeds]
            values = [measured(run, entry.metric) for run in used]
            missing, apart = _lacking(entry, experiments[entry.experiment], records, size)
            made.append(
                DocumentRow(
                    entry,
                    mean(values),
                    stdev(values) if len(values) > 1 else None,
                    len(values),
                    size,
                    what,
                    experiments[entry.experiment].sizes[size].own,
                    _difference(entry, conclusion, printed) if conclusion else None,
                    tuple(used),
                    missing,
                    apart and conclusion is None,
                )
            )
        if not runs:
            made.append(DocumentRow(entry, None, None, 0, "", what))
    return made


def _reaches(record: Record, metric: str) -> bool:
    """Tell whether a run was as long as its number is late."""
    return len(record.metrics) >= int(metric.partition("@")[2] or 0)


def _seen(record: Record) -> int | None:
    """Training examples that a network saw, each as often as it came, if the settings tell."""
    config, epochs = record.config, len(record.metrics)
    if "n_parameters" not in record.results:
        return None
    if "steps" in config:
        return epochs * config["steps"] * config["batch_size"] if "batch_size" in config else None
    if "n_train" in config:
        return epochs * round(config["n_train"] * config.get("share", 1))
    return None


def _lacking(
    entry: Reported, what: Experiment, records: Sequence[Record], size: str
) -> tuple[tuple[str, ...], bool]:
    """Needs of a row's question at one size: missing settings, and pairs of one machine."""
    runs = [r for r in records if (r.experiment, r.size) == (what.name, size)]
    asked = [question for question in what.questions if question.key == entry.conclusion]
    ran = {run.arm for run in runs}
    missing = [arm for q in asked for arm in q.arms if arm in what.arms and arm not in ran]
    return tuple(missing), any(apart_by_machine(question, runs) for question in asked)


def _difference(
    entry: Reported, conclusion: Conclusion, printed: Sequence[Reported]
) -> float | None:
    """The document's difference as the question asks for it, if the document prints both sides."""
    mine, sides = (entry.arm, entry.metric), conclusion.question.sides
    if mine not in sides or entry.value is None:
        return None
    second = mine == sides[1]
    other = sides[0] if second else sides[1]
    # The row that it names may stand in another table of the document.
    for row in sorted(printed, key=lambda row: row.table != entry.table):
        if row.document != entry.document or row.value is None:
            continue
        if entry.against:
            fits = (row.row, row.metric) == (entry.against, entry.metric)
        else:
            fits = (row.table, row.experiment) == (entry.table, entry.experiment)
            fits = fits and (row.arm, row.metric) == other
        if fits:
            return row.value - entry.value if second else entry.value - row.value
    return None


def _name(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return repr(entry)
    return ", ".join(str(entry[k]) for k in ("document", "table", "row") if k in entry) or "?"


def _incomplete(printed: Reported) -> Iterator[str]:
    """Faults of an entry, whatever there is to be measured."""
    if printed.document not in DOCUMENTS:
        yield f"document is {printed.document!r}, expected one of {[*DOCUMENTS]}"
    if printed.value is not None and not (printed.metric and printed.setting):
        yield "a value needs its metric and its setting"
    if printed.experiment and not (printed.arm and printed.metric):
        yield "an experiment needs an arm and a metric"
    if not printed.experiment and (printed.arm or printed.conclusion):
        yield "an arm or a conclusion needs its experiment"


def _unknown(
    printed: Reported, records: Sequence[Record], experiments: Mapping[str, Experiment]
) -> Iterator[str]:
    """Names in an entry that do not exist."""
    if not printed.experiment:
        return
    if printed.experiment not in experiments:
        yield f"experiment is {printed.experiment!r}, expected one of {[*experiments]}"
        return
    experiment = experiments[printed.experiment]
    if printed.arm not in experiment.arms:
        yield f"arm is {printed.arm!r}, {experiment.name} has {[*experiment.arms]}"
    for run in records:
        mine = (run.experiment, run.arm) == (experiment.name, printed.arm)
        if mine and _reaches(run, printed.metric):
            try:
                measured(run, printed.metric)
            except ValueError as error:
                yield str(error)
    questions = {question.key: question for question in experiment.questions}
    if printed.conclusion and printed.conclusion not in questions:
        yield f"conclusion is {printed.conclusion!r}, {experiment.name} has {sorted(questions)}"
    elif printed.conclusion:
        sides = questions[printed.conclusion].sides
        asked = (printed.arm, printed.metric)
        # Numbers made of several of a record can't be told from their name.
        if all(isinstance(metric, str) for _, metric in sides) and asked not in sides:
            yield f"conclusion {printed.conclusion!r} is about {[*sides]}, the row about {asked}"
