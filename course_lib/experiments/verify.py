"""Running a record again: how far its numbers are from those that come out now."""

import contextlib
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from course_lib.experiments.record import load_record, load_records, measured
from course_lib.experiments.registry import Experiment
from course_lib.experiments.runner import bill, run_one
from grader.base.errors import Refused


@dataclass(frozen=True)
class Again:
    """One number of a record beside the same of a second run."""

    metric: str  # its key, see measured
    recorded: float
    now: float
    # In standard deviations over the seeds of that arm, by which another processor's rounding is
    # told from another result; None where all seeds agree, or there is one only.
    apart: float | None

    def cells(self) -> list[str]:
        """A row of a table."""
        apart = "-" if self.apart is None else f"{self.apart:.2g}"
        return [self.metric, f"{self.recorded:.6g}", f"{self.now:.6g}", apart]


def verify(experiment: Experiment, run: str, results_dir: Path, build: Path) -> list[Again]:
    """Train once more what a record holds, with its arm, size, seed and number of threads.

    A run in ``build`` that was interrupted goes on from there.
    """
    records = load_records(results_dir, experiment.name)
    found = {record.file_name.removesuffix(".json"): record for record in records}
    if run not in found:
        known = ", ".join(found) or "none"
        raise Refused(f"no record {run!r} of {experiment.name}, there are {known}")
    kept = found[run]
    if not bill(experiment, kept.size, [kept.seed], [kept.arm], results_dir).done:
        raise Refused(f"the settings of {experiment.name} have changed since {run} was made")
    with by_threads(int(kept.hardware.get("threads", torch.get_num_threads()))):
        path, _ = run_one(experiment, kept.arm, kept.seed, kept.size, build, build / "runs")
    again = load_record(path)
    of_arm = [r for r in records if (r.arm, r.size) == (kept.arm, kept.size)]
    rows = []
    for metric, was in kept.numbers.items():
        now = measured(again, metric)
        seeds = [measured(record, metric) for record in of_arm]
        spread = statistics.stdev(seeds) if len(seeds) > 1 else 0.0
        rows.append(Again(metric, was, now, abs(now - was) / spread if spread else None))
    return rows


@contextlib.contextmanager
def by_threads(number: int) -> Iterator[None]:
    """Compute by so many threads: another number of them adds up in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
