"""The whole set, unattended: as many of the missing runs as a given time allows."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import format_exception
from types import FrameType

import torch

from course_lib.experiments.registry import Experiment
from course_lib.experiments.runner import RESULTS_DIR, RUNS_DIR, Work, bill, each
from grader.base.errors import Refused


@dataclass(frozen=True)
class Missing:
    """A run that is still to be done."""

    experiment: Experiment
    arm: str
    seed: int
    minutes: float  # expected time


@dataclass(frozen=True)
class Report:
    """Runs that the time allowed."""

    written: list[Path]  # paths of the records written
    failed: list[str]  # what went wrong, a line for each run
    left: int  # runs still to be done, those that failed included
    cut_off: bool  # whether the time ended before the runs did

    def __str__(self) -> str:
        line = f"records written {len(self.written)}, failed {len(self.failed)}, left {self.left}"
        if self.cut_off:
            line += "; the time is up: run the same command again to resume"
        return line


class _TimeIsUp(BaseException):
    """No ``Exception``, so that nothing on its way takes it for an error of its own."""


def missing(
    experiments: Mapping[str, Experiment],
    size: str = "cpu",
    results_dir: Path = RESULTS_DIR,
    stale: bool = False,
) -> list[Missing]:
    """Runs that the committed sets lack: small steps first, then cheap ones, in pairs."""
    found: list[Missing] = []
    having = [e for e in experiments.values() if size in e.sizes]
    if not having:
        known = ", ".join(dict.fromkeys(s for e in experiments.values() for s in e.sizes))
        raise Refused(f"no experiment has the size {size!r}, expected one of {known}")
    for experiment in having:
        due = bill(experiment, size, results_dir=results_dir, stale=stale)
        found += [Missing(experiment, arm, seed, due.each[arm]) for arm, seed in due.todo]
    return sorted(found, key=lambda run: _turn(run, run.experiment.sizes[size].step))


def _turn(run: Missing, step: int) -> tuple[float, ...]:
    # Where a run takes hours, what a seed costs is no reason to leave another seed unpaired.
    return (step, run.seed, run.minutes) if step else (0, run.minutes)


def run_all(
    experiments: Mapping[str, Experiment],
    minutes: float,
    size: str = "cpu",
    results_dir: Path = RESULTS_DIR,
    runs_dir: Path = RUNS_DIR,
    dry_run: bool = False,
    progress: bool = True,
    device: torch.device | str | None = None,
    report: Callable[[str], None] = print,
    stale: bool = False,
    jobs: int = 1,
) -> Report:
    """Do what is missing until the time is up.

    The run under way is then cut off; its checkpoint stays, and the next call goes on from there.
    The same holds for Ctrl-C. A run that fails is reported and does not stop the others. Where a
    process can't set itself an alarm, the run under way is finished first.

    ``size``: ``"cpu"``, ``"day"`` or ``"full"``. Returns what was written, what failed, what is
    left.
    """
    if not minutes > 0:
        raise Refused(f"minutes is {minutes}, expected more than 0")
    todo = missing(experiments, size, results_dir, stale)
    for line in _bill(todo, minutes, size):
        report(line)
    written: list[Path] = []
    failed: list[str] = []
    if dry_run:
        return Report(written, failed, len(todo), cut_off=False)
    started = time.monotonic()
    cut_off = False

    def gone() -> float:
        return (time.monotonic() - started) / 60

    def begun(i: int, work: Work) -> None:
        report(f"[{i}/{len(todo)}, {gone():.1f} of {minutes:g} min] {_name(work, size)}")

    runs = [(run.experiment, run.arm, run.seed) for run in todo]
    try:
        with _alarm(60 * minutes):
            for work, made in each(
                runs, jobs, begun, size, results_dir, runs_dir, device, progress
            ):
                if isinstance(made, Exception):
                    failed.append(f"{_name(work, size)}: {type(made).__name__}: {made}")
                    report(f"    FAILED {failed[-1]}\n{''.join(format_exception(made))}")
                else:
                    written.append(made[0])
                    report(f"    {made[1]} -> {made[0]}")
                if gone() >= minutes and len(written) + len(failed) < len(todo):
                    raise _TimeIsUp
    except _TimeIsUp:
        cut_off = True
    return Report(written, failed, len(todo) - len(written), cut_off)


def _name(work: Work, size: str) -> str:
    return f"{work[0].name} {work[1]} {size} seed {work[2]}"


def _bill(todo: Sequence[Missing], minutes: float, size: str) -> Iterator[str]:
    """A line for each arm, and one for the whole."""
    arms: dict[tuple[str, str], list[Missing]] = {}
    for run in todo:
        arms.setdefault((run.experiment.name, run.arm), []).append(run)
    for (name, arm), runs in arms.items():
        seeds = ", ".join(str(run.seed) for run in runs)
        yield f"  {name} {arm}: seeds {seeds}, {runs[0].minutes:.3g} min each"
    total, fitting = 0.0, 0
    for run in todo:
        total += run.minutes
        fitting += total <= minutes
    yield (
        f"{len(todo)} runs of size {size} are missing, about {total:.0f} min; "
        f"{fitting} of them are expected to fit into {minutes:g} min"
    )


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise ``_TimeIsUp`` in this thread when the time is up, where a process can do so."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise _TimeIsUp

    able = hasattr(signal, "setitimer")
    if not able or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
