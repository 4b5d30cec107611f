"""The results page as data: what the records say, and what a document said before."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from course_lib.book.printed import OUTCOMES, Printed, Row
from course_lib.claims.ledger import DOCUMENTS
from course_lib.experiments import Experiment, Record

__all__ = ["HEADINGS", "by_table", "cells", "number", "scalar_table", "summary", "tables", "tally"]

HEADINGS = ("Row", "Number", "The document's", "Ours", "Runs", "Arm", "Outcome")
"""Of the cells that :func:`cells` makes."""


def number(value: float) -> str:
    """Write a number short enough to be read.

    Args:
        value: Any number.

    Returns:
        Whole numbers with separators, others with four digits.

    Example:
        >>> number(1234567), number(0.87654), number(1.0)
        ('1,234,567', '0.8765', '1')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:.4g}"


def by_table(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Rows of the same table together, in the order in which tables are first met.

    Args:
        rows: Rows of any documents.

    Returns:
        Rows by document and table, both as a reader calls them.
    """
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        key = DOCUMENTS[row.printed.document], row.printed.table
        found.setdefault(key, []).append(row)
    return found


def cells(row: Row) -> list[str]:
    """A row of a document's table as text.

    Args:
        row: The row.

    Returns:
        Cells under :data:`HEADINGS`; what nothing has measured stays empty.

    Example:
        >>> printed = Printed("lecture", "Table 1", "plain", "mse", 0.5, "", "toy", "small")
        >>> cells(Row(printed, 0.25, 0.125, 3, "cpu", "does not"))
        ['plain', 'mse', '0.5', '0.25 ± 0.12', '3 cpu', 'toy small', 'does not stand']
    """
    printed = row.printed
    claimed = "" if printed.value is None else number(printed.value)
    ours = "" if row.mean is None else number(row.mean)
    if row.std:
        ours += f" ± {row.std:.2g}"
    runs = f"{row.n} {row.size}" if row.n else ""
    arm = f"{printed.experiment} {printed.arm}".strip()
    return [printed.row, words(printed.metric), claimed, ours, runs, arm, OUTCOMES[row.verdict]]


def tally(rows: Sequence[Row]) -> str:
    """How many rows have which outcome.

    Args:
        rows: Rows of any tables.

    Returns:
        A line.
    """
    counts = Counter(row.verdict for row in rows)
    said = [f"{OUTCOMES[key]} {counts[key]}" for key in OUTCOMES if counts[key]]
    return f"rows {len(rows)}: {', '.join(said)}" if rows else "rows 0"


def scalar_table(
    experiment: Experiment, records: Sequence[Record], printed: Sequence[Printed]
) -> list[list[str]]:
    """One row per arm and number: ours over the seeds, the document's beside it.

    Args:
        experiment: The experiment.
        records: Its records of one size, at least one.
        printed: Numbers of documents.

    Returns:
        Rows of the cells: arm, number, mean, lowest to highest, seeds, the document's.
    """
    rows = []
    for arm in (arm for arm in experiment.arms if any(r.arm == arm for r in records)):
        runs = [record for record in records if record.arm == arm]
        for metric, first in runs[0].results.items():
            # What is nested has its own table, and a name has no mean.
            if not isinstance(first, int | float):
                continue
            values = [float(record.results[metric]) for record in runs]
            # One number may stand in several tables.
            said = {
                f"{number(p.value)} ({DOCUMENTS[p.document]}: {p.setting})": None
                for p in printed
                if (p.experiment, p.arm, p.metric) == (experiment.name, arm, metric)
                and p.value is not None
            }
            low, high = number(min(values)), number(max(values))
            spread = "" if low == high else f"{low} to {high}"
            seeds = ", ".join(str(record.seed) for record in runs)
            cells = [
                arm,
                words(metric),
                number(mean(values)),
                spread,
                seeds,
                "; ".join(dict.fromkeys(said)),
            ]
            rows.append(cells)
    return rows


def tables(experiment: Experiment, records: Sequence[Record]) -> dict[str, list[list[str]]]:
    """The nested results, such as an accuracy for each length, as means over the seeds.

    Args:
        experiment: The experiment.
        records: Its records of one size, at least one.

    Returns:
        For each nested result a table whose first row holds the arms; names are left out.
    """
    arms = [arm for arm in experiment.arms if any(r.arm == arm for r in records)]
    runs = [(record.arm, dict(_nested(record.results))) for record in records]
    made = {}
    for name, first in runs[0][1].items():
        table = [["of", *arms]]
        for key in first:
            cells = []
            for arm in arms:
                found = [groups.get(name, {}) for its, groups in runs if its == arm]
                values = [numbers[key] for numbers in found if key in numbers]
                cells.append(number(mean(values)) if values else "")
            table.append([key, *cells])
        made[name] = table
    return made


def _nested(results: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, float]]]:
    """The numbers of each nested result, by its name, however deep it lies."""
    for key, value in results.items():
        if isinstance(value, Mapping):
            name = f"{above}, {key}" if above else words(key)
            numbers = {str(k): float(v) for k, v in value.items() if isinstance(v, int | float)}
            if numbers:
                yield name, numbers
            yield from _nested(value, name)


def summary(records: Sequence[Record]) -> str:
    """How many runs there are, how long they took and on what.

    Args:
        records: Records of one experiment and size, at least one.

    Returns:
        A sentence.
    """
    # Wall time tells as much about what else ran on the machine.
    minutes = sum(record.device_seconds for record in records) / 60
    machines = sorted({_machine(record.hardware) for record in records})
    data = sorted({f"{use.name} ({use.variant})" for record in records for use in record.data})
    shown = data if len(data) <= 3 else [re.sub(r", seed \d+", "", data[0]), "and other seeds"]
    return (
        f"{len(records)} runs, together {minutes:,.0f} minutes of computing on "
        f"{'; '.join(machines)}. "
        f"Data: {', '.join(shown)}."
    )


def words(name: str) -> str:
    """Turn a key of a record into words.

    Args:
        name: Such as ``n_parameters``.

    Returns:
        Such as "number of parameters"; a name within a nested result comes behind a comma.

    Example:
        >>> words("n_parameters"), words("exact_by_length.3")
        ('number of parameters', 'exact by length, 3')
    """
    name = re.sub("^n_", "number of ", name).replace("_", " ")
    return name.replace(".", ", ", 1)


def _machine(hardware: Mapping[str, Any]) -> str:
    if "gpu" in hardware:
        return str(hardware["gpu"])
    cores = hardware.get("threads", hardware.get("cores", ""))
    threads = "1 thread" if cores == 1 else f"{cores} threads"
    return f"{threads} of {hardware.get('processor', hardware.get('device'))}"
