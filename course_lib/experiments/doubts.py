"""Why records may say less than they seem to: confounded, not trained, or asked too late."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from statistics import mean
from typing import Any

from course_lib.experiments.record import Record

MARGINS_NAMED = "2026-11-22T18:45:07+00:00"
"""When the margins were named: no earlier run can be closed by one."""

MEASURING = ("n_mapped", "n_test", "n_watched")
"""Settings on which nothing depends but how closely is looked."""


def differing(configs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The settings in which arms differ."""
    names = {name for config in configs for name in config} - {*MEASURING}
    # A missing value and None are two things.
    values = {name: {repr(c[name]) if name in c else "" for c in configs} for name in names}
    return tuple(sorted(name for name in names if len(values[name]) > 1))


def older(records: Sequence[Record], since: str) -> set[int]:
    """Seeds whose runs had all ended before something was named; none where no time is given."""
    if not since:
        return set()
    ended: dict[int, datetime] = {}
    for record in records:
        time = datetime.fromisoformat(record.finished)
        ended[record.seed] = max(time, ended.get(record.seed, time))
    return {seed for seed, time in ended.items() if time < datetime.fromisoformat(since)}


def moving(records: Sequence[Record], metric: object, unit: float) -> bool | None:
    """Tell whether an arm's curves still move when training ends.

    ``metric``: key of the number; its column, if there is one, is looked at beside the loss;
    ``unit``: by more than this in the last tenth, at least one epoch, in the mean over the records.
    Returns None where no record has a curve.
    """
    seen = [list(_moves(record, str(metric))) for record in records if len(record.metrics) > 1]
    columns = list(zip(*(moves for moves in seen if moves), strict=False))
    return any(abs(mean(moves)) > unit for moves in columns) if columns else None


def _moves(record: Record, metric: str) -> Iterator[float]:
    """By how much each column of a record moves in its last tenth."""
    rows = record.metrics
    last = max(1, round(len(rows) / 10))
    for name in ("loss", metric, f"valid_{metric}"):
        if name in rows[-1]:
            yield rows[-1][name] - rows[-1 - last][name]
