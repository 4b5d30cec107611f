"""The results page as data: what the records say, and what a document said before."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import mean
from typing import Any

from course_lib.book.energy import cost, gpu_seconds, short, watt_hours
from course_lib.book.reported import OUTCOMES, Reported, Row
from course_lib.claims.ledger import DOCUMENTS
from course_lib.experiments import Conclusion, Experiment, Record

HEADINGS = (
    "Row",
    "Number",
    "The document's",
    "Ours",
    "Compared with",
    "Outcome",
    "Difference and 95 % interval",
    "The document's difference",
    "p, adjusted",
    "What was run",
)
"""Of the cells that :func:`cells` makes."""

PLAN_HEADINGS = ("Experiment", "What for", "Runs there, of those planned", "Core-minutes so far")
"""Of the cells that :func:`planned` makes."""


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
        >>> printed = Reported("lecture", "Table 1", "plain", "mse", 0.5, "", "toy", "small")
        >>> cells(Row(printed, 0.25, 0.125, 3, "cpu", "reference"))[:4]
        ['plain', 'mse', '0.5', '0.25 ± 0.12']
    """
    printed, found = row.printed, row.conclusion
    claimed = "" if printed.value is None else number(printed.value)
    ours = "" if row.mean is None else number(row.mean)
    if row.std:
        ours += f" ± {row.std:.2g}"
    name, other = row.compared_with
    compared = name if other is None or name == number(other) else f"{name}: {number(other)}"
    outcome = OUTCOMES[row.verdict]
    if row.missing:
        outcome += f": no record of {', '.join(row.missing)}"
    if row.inside is None:
        theirs = ""
    else:
        theirs = f"{row.difference:+.3g}, {'inside' if row.inside else 'outside'} the interval"
    return [
        printed.row,
        _words(printed.metric),
        claimed,
        ours,
        compared,
        outcome_of(found) if found else outcome,
        interval(found) if found else "",
        theirs,
        f"{found.p_adjusted:.2g}" if found else "",
        ran(row.runs) if row.runs else "",
    ]


def outcome_of(conclusion: Conclusion) -> str:
    """The outcome for a reader, with the margin and what has to be known beside it."""
    judged = conclusion.verdict
    said = OUTCOMES[judged.outcome].replace("the margin", f"{judged.margin or 0:g}")
    return "; ".join([said, *judged.remarks])


def interval(conclusion: Conclusion) -> str:
    """The mean difference and its interval, over seeds and, where kept, over test items, too."""
    judged = conclusion.verdict
    if judged.n == 1:
        return f"{judged.mean:+.3g}, one pair"
    said = f"{judged.mean:+.3g} ({judged.low:+.3g} to {judged.high:+.3g}), {judged.n} pairs"
    if conclusion.over_items:
        low, high = conclusion.over_items
        said += f"; over test items, too: {low:+.3g} to {high:+.3g}"
    return said


def ran(records: Sequence[Record]) -> str:
    """What was run: how large a model, on how much, how long, how often, and what one run cost.

    Args:
        records: The runs of one arm and size, at least one.
    """
    record, n = records[0], len(records)
    config = record.config
    share = config.get("share", 1)
    spent = cost(records)
    parts = []
    if spent.n_weights is not None:
        parts.append(f"{number(spent.n_weights)} weights")
    if "n_train" in config:
        kind = "pictures" if record.data[0].name == "cifar10" else "examples"
        parts.append(f"{number(config['n_train'] * share)} {kind}")
    if "epochs" in config or "rounds" in config:
        parts.append(f"{number(config.get('epochs', config.get('rounds')) / share)} epochs")
    if "steps" in config:
        each = " each" if "epochs" in config or "rounds" in config else ""
        parts.append(f"{number(config['steps'])} steps{each}")
    if spent.n_seen is not None:
        parts.append(f"{number(spent.n_seen)} seen in all")
    name = f"{record.experiment} {record.arm}"
    runs = f"{n} run{'s' * (n > 1)}, {record.size}; one takes {spent}"
    return f"{name}: {', '.join(parts)}; {runs}" if parts else f"{name}; {runs}"


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


def by_size(records: Sequence[Record]) -> str:
    """How many runs of each size there are, in a sentence.

    Args:
        records: Of experiments, without those of benchmarks.
    """
    counts = Counter(record.size for record in records)
    said = [
        f"{number(counts[size]) if counts[size] else 'none'} of size {size}"
        for size in ("cpu", "day", "full")
    ]
    return f"Runs so far: {', '.join(said)}."


def planned(
    experiments: Mapping[str, Experiment], records: Sequence[Record], size: str
) -> list[list[str]]:
    """How much of the runs that are planned at a size has been done, by experiment.

    Args:
        experiments: By their names; those without that size are left out.
        records: Of any experiments.
        size: Which.

    Returns:
        Rows of the cells under :data:`PLAN_HEADINGS`.
    """
    rows = []
    for name, what in experiments.items():
        if size not in what.sizes:
            continue
        there = _of_plan(what, records, size)
        minutes = sum(r.device_seconds for r in there) / 60
        rows.append([name, what.title, _progress(what, there, size), f"{minutes:,.0f}"])
    return rows


def larger_sizes(what: Experiment, records: Sequence[Record]) -> str:
    """How much of an experiment has run at sizes ``day`` and ``full``, in a line of Markdown.

    Args:
        what: The experiment.
        records: Of any experiments.

    Returns:
        A sentence for ``day``, and one for ``full`` where there is such a size.
    """
    said = {"day": "none planned"} | {
        size: _progress(what, _of_plan(what, records, size), size)
        for size in what.sizes
        if size != "cpu"
    }
    return " ".join(f"`{what.name}` at size *{size}*, {runs}." for size, runs in said.items())


def _of_plan(what: Experiment, records: Sequence[Record], size: str) -> list[Record]:
    """The records of the runs that are planned at a size."""
    wanted = what.committed(size)
    there = [r for r in records if (r.experiment, r.size) == (what.name, size)]
    return [r for r in there if (r.arm, r.seed) in wanted]


def _progress(what: Experiment, there: Sequence[Record], size: str) -> str:
    """How many of the planned runs are there, and how many seeds each arm has."""
    wanted = what.committed(size)
    if not there:
        return f"not run: 0 of {len(wanted)}"
    seeds = Counter(record.arm for record in there)
    arms: dict[int, list[str]] = {}
    for arm in dict.fromkeys(arm for arm, _ in wanted):
        arms.setdefault(seeds[arm], []).append(arm)
    said = []
    for n in sorted(arms, reverse=True):
        names = "each arm" if len(arms) == 1 else ", ".join(arms[n])
        said.append(f"{n} seed{'s' * (n > 1)} of {names}" if n else f"not run: {names}")
    return f"{len(there)} of {len(wanted)}: {'; '.join(said)}"


def scalar_table(
    experiment: Experiment, records: Sequence[Record], printed: Sequence[Reported]
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
            said = dict.fromkeys(
                f"{number(p.value)} ({DOCUMENTS[p.document]}: {p.setting})"
                for p in printed
                if (p.experiment, p.arm, p.metric) == (experiment.name, arm, metric)
                and p.value is not None
            )
            low, high = number(min(values)), number(max(values))
            spread = "" if low == high else f"{low} to {high}"
            seeds = ", ".join(str(record.seed) for record in runs)
            rows.append([arm, _words(metric), number(mean(values)), spread, seeds, "; ".join(said)])
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
            name = f"{above}, {key}" if above else _words(key)
            numbers = {str(k): float(v) for k, v in value.items() if isinstance(v, int | float)}
            if numbers:
                yield name, numbers
            yield from _nested(value, name)


def summary(records: Sequence[Record]) -> str:
    """How many runs there are, how long they took and on what, and what a GPU would take.

    Args:
        records: Records of one experiment and size, at least one.

    Returns:
        Some sentences.
    """
    # Wall time tells as much about what else ran on the machine.
    minutes = sum(record.device_seconds for record in records) / 60
    machines = sorted({_machine(record.hardware) for record in records})
    data = sorted({f"{use.name} ({use.variant})" for record in records for use in record.data})
    shown = data if len(data) <= 3 else [re.sub(r", seed \d+", "", data[0]), "and other seeds"]
    gpu = gpu_seconds(records)
    least = "" if gpu is None else f", and on a GPU at least {short(gpu / 60)} minutes"
    return (
        f"{len(records)} runs, together {minutes:,.0f} minutes of computing on "
        f"{'; '.join(machines)}. Estimated: {short(watt_hours(records))} Wh{least}. "
        f"Data: {', '.join(shown)}."
    )


def _words(name: str) -> str:
    """A key of a record in words; a name within a nested result comes behind a comma.

    Example:
        >>> _words("n_parameters"), _words("exact_by_length.3")
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
