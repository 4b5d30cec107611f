"""The documents' tables: what each row says, and which of our records stands beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import yaml

from course_lib.claims.ledger import DOCUMENTS
from course_lib.errors import Refused
from course_lib.experiments import (
    EXPERIMENTS,
    Experiment,
    Record,
    RecordError,
    conclusions,
    load_records,
)

__all__ = [
    "BENCHMARKS",
    "OUTCOMES",
    "Printed",
    "Row",
    "load_known",
    "load_printed",
    "measured",
    "rows",
]

BENCHMARKS = ("attention-speed", "cluster-speed", "cost-growth", "grading-speed")
"""Folders of records that `course bench` writes: measurements of speed, no experiments."""

OUTCOMES = {
    "stands": "stands",
    "does not": "does not stand",
    "undecided": "undecided at this size",
    "reference": "printed for comparison, not judged",
    "not run": "not run",
}
"""What can be said of a row, and how it is put to a reader."""


@dataclass(frozen=True)
class Printed:
    """A row of a document's table, or a statement of a document, and where it is measured again.

    Attributes:
        document: Key of :data:`course_lib.claims.ledger.DOCUMENTS`.
        table: Its name in the document; for a statement, what it is about.
        row: Label of the row; for a statement, the statement.
        metric: What the number is. Where there are records, the key of their results; a dot leads
            into a nested one.
        value: The number, in the record's unit; None where the document prints none.
        setting: Under which conditions the document got the number.
        experiment: Name of the experiment that measures it again, or nothing where none does.
        arm: Its arm.
        conclusion: Key of the experiment's conclusion that decides; nothing where the row is what
            others are compared with.
    """

    document: str
    table: str
    row: str
    metric: str = ""
    value: float | None = None
    setting: str = ""
    experiment: str = ""
    arm: str = ""
    conclusion: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a document's table beside what this course measured, at one size.

    Attributes:
        printed: The document's side.
        mean: Our mean over the seeds; None where nothing was run.
        std: Standard deviation over the seeds; None for fewer than two.
        n: Number of runs.
        size: Size of the runs; nothing where there are none.
        verdict: Key of :data:`OUTCOMES`.
    """

    printed: Printed
    mean: float | None
    std: float | None
    n: int
    size: str
    verdict: str

    def data(self) -> dict[str, Any]:
        """The row as JSON knows it."""
        printed = self.printed
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
        }


def load_known(
    results_dir: Path, experiments: Mapping[str, Experiment] = EXPERIMENTS
) -> list[Record]:
    """Read all records, each of an experiment and an arm that exist, or of a benchmark.

    Args:
        results_dir: Folder of the records.
        experiments: By their names.

    Returns:
        The records, in the order of their names.

    Raises:
        RecordError: If a record is not valid, or of something unknown; it names the file.
    """
    records = load_records(results_dir)
    for record in records:
        if record.experiment in BENCHMARKS:
            continue
        path = results_dir / record.experiment / record.file_name
        if record.experiment not in experiments:
            known = ", ".join((*experiments, *BENCHMARKS))
            raise RecordError(f"{path}: experiment {record.experiment!r} is none of {known}")
        arms = experiments[record.experiment].arms
        if record.arm not in arms:
            raise RecordError(f"{path}: arm {record.arm!r} is none of {', '.join(arms)}")
    return records


def load_printed(
    path: Path,
    records: Sequence[Record] = (),
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> list[Printed]:
    """Read the rows of the documents.

    Args:
        path: A YAML list with one mapping per row and number.
        records: Those that shall stand beside them; metrics and conclusions are looked up there.
        experiments: By their names.

    Returns:
        The rows, in the order of the file.

    Raises:
        ValueError: If an entry misses something, or names something that is not there.
    """
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    made: list[Printed] = []
    decided = _Decided(records, experiments)
    for i, entry in enumerate(entries, 1):
        name = f"{path.name}, entry {i} ({_name(entry)})"
        for problem in _problems(entry):
            raise Refused(f"{name}: {problem}")
        printed = Printed(**entry)
        for problem in _unknown(printed, records, decided):
            raise Refused(f"{name}: {problem}")
        made.append(printed)
    return made


def rows(
    printed: Sequence[Printed],
    records: Sequence[Record],
    experiments: Mapping[str, Experiment] = EXPERIMENTS,
) -> list[Row]:
    """Put our numbers beside the documents'.

    Args:
        printed: Rows of the documents.
        records: Of all experiments.
        experiments: By their names.

    Returns:
        One row for each size that was run, and one that says so where none was.
    """
    decided = _Decided(records, experiments)
    made: list[Row] = []
    for entry in printed:
        runs = [r for r in records if (r.experiment, r.arm) == (entry.experiment, entry.arm)]
        for size in sorted({run.size for run in runs}):
            values = [measured(run, entry.metric) for run in runs if run.size == size]
            spread = stdev(values) if len(values) > 1 else None
            verdict = "reference"
            if entry.conclusion:
                verdict = decided(entry.experiment, size).get(entry.conclusion, "undecided")
            made.append(Row(entry, mean(values), spread, len(values), size, verdict))
        if not runs:
            made.append(Row(entry, None, None, 0, "", "not run"))
    return made


def measured(record: Record, metric: str) -> float:
    """A number of a record.

    Args:
        record: The record.
        metric: Key of its results; a dot leads into a nested one, whose keys may hold dots, too.

    Raises:
        ValueError: If there is no such number.

    Example:
        >>> from course_lib.experiments import load_records
        >>> from course_lib.experiments.vit_rivals import RESULTS
        >>> record = load_records(RESULTS, "seq2seq-bottleneck")[0]
        >>> measured(record, "n_by_length.3") == record.results["n_by_length"]["3"]
        True
    """
    value = _dig(record.results, metric)
    if isinstance(value, bool) or not isinstance(value, int | float):
        known = ", ".join(record.results)
        raise Refused(
            f"{record.experiment} {record.arm} has no number {metric!r}; its results: {known}"
        )
    return float(value)


def _dig(results: Any, path: str) -> Any:
    if not isinstance(results, Mapping):
        return None
    if path in results:
        return results[path]
    parts = path.split(".")
    for i in range(1, len(parts)):
        head = ".".join(parts[:i])
        if head in results:
            return _dig(results[head], ".".join(parts[i:]))
    return None


def _name(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return repr(entry)
    return ", ".join(str(entry[k]) for k in ("document", "table", "row") if k in entry) or "?"


def _problems(entry: Any) -> Iterator[str]:
    """What is wrong with an entry, whatever there is to be measured."""
    if not isinstance(entry, Mapping):
        yield "wanted a mapping"
        return
    known = {field.name for field in fields(Printed)}
    needed = {field.name for field in fields(Printed) if field.default is MISSING}
    missing, unknown = sorted(needed - set(entry)), sorted(set(entry) - known, key=str)
    if missing or unknown:
        yield f"missing keys {missing}, unknown keys {unknown}; known are {sorted(known)}"
        return
    for key, value in entry.items():
        if key == "value":
            if isinstance(value, bool) or not isinstance(value, int | float):
                yield f"value is {value!r}, wanted a number"
        elif not isinstance(value, str) or not value:
            yield f"{key} is {value!r}, wanted text"
    if entry["document"] not in DOCUMENTS:
        yield f"document is {entry['document']!r}, wanted one of {[*DOCUMENTS]}"
    if "value" in entry and not {"metric", "setting"} <= set(entry):
        yield "a value needs its metric and its setting"
    if "experiment" in entry and not {"arm", "metric"} <= set(entry):
        yield "an experiment needs an arm and a metric"
    if "experiment" not in entry and {"arm", "conclusion"} & set(entry):
        yield "an arm or a conclusion needs its experiment"


class _Decided:
    """Outcomes of an experiment's conclusions, each judged once."""

    def __init__(self, records: Sequence[Record], experiments: Mapping[str, Experiment]) -> None:
        self.experiments = experiments
        self.records = records
        self.found: dict[tuple[str, str], dict[str, str]] = {}

    def __call__(self, name: str, size: str) -> dict[str, str]:
        if (name, size) not in self.found:
            found = conclusions(self.experiments[name], self.records, size)
            self.found[name, size] = {c.key: c.verdict.outcome for c in found}
        return self.found[name, size]


def _unknown(printed: Printed, records: Sequence[Record], decided: _Decided) -> Iterator[str]:
    """What an entry names that is not there."""
    if not printed.experiment:
        return
    if printed.experiment not in decided.experiments:
        yield f"experiment is {printed.experiment!r}, wanted one of {[*decided.experiments]}"
        return
    experiment = decided.experiments[printed.experiment]
    if printed.arm not in experiment.arms:
        yield f"arm is {printed.arm!r}, {experiment.name} has {[*experiment.arms]}"
    runs = [r for r in records if r.experiment == experiment.name]
    for run in runs:
        if run.arm == printed.arm:
            try:
                measured(run, printed.metric)
            except ValueError as error:
                yield str(error)
    # A folder with only some of the arms has only some of the conclusions.
    whole = [s for s in experiment.sizes if _arms(runs, s) == set(experiment.arms)]
    if printed.conclusion and whole:
        keys = {key for size in whole for key in decided(experiment.name, size)}
        if printed.conclusion not in keys:
            yield f"conclusion is {printed.conclusion!r}, {experiment.name} has {sorted(keys)}"


def _arms(records: Sequence[Record], size: str) -> set[str]:
    return {record.arm for record in records if record.size == size}
