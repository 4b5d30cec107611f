"""Running experiments: the bill first, then what is not done yet, each run into its record."""

import hashlib
import inspect
import json
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

import course_lib
from course_lib.experiments import provenance
from course_lib.experiments.record import (
    Record,
    load_records,
    pack_items,
    record_name,
    write_record,
)
from course_lib.experiments.registry import Experiment, Job
from course_lib.experiments.source import EARLIER, digest
from course_lib.training import CheckpointError, write_tensors
from grader.base.errors import Refused
from grader.base.reach import ROOT

Weights = tuple[Mapping[str, Tensor], Mapping[str, str]]
Work = tuple[Experiment, str, int]
"""Experiment, arm and seed."""
Run = Callable[[Experiment, str, int], tuple[Path, str]]

RESULTS_DIR = Path("book/results")
# Beside the package, which is the checkout's _build wherever one stands in it.
RUNS_DIR = Path(course_lib.__file__).resolve().parent.parent / "_build" / "runs"


@dataclass(frozen=True)
class Bill:
    """Plan of runs: to do, done, and the time it will take.

    ``each``: minutes that a run is expected to take, by arm: what the arm's records of that size
    took in computing, or else what the experiment says.
    """

    experiment: Experiment
    size: str
    todo: list[tuple[str, int]]  # arms and seeds still to be run
    done: list[tuple[str, int]]  # arms and seeds whose records are there
    each: dict[str, float]

    @property
    def minutes(self) -> float:
        """Expected time for what is still to be run."""
        return sum(self.each[arm] for arm, _ in self.todo)

    def __str__(self) -> str:
        lines = [f"{self.experiment.name} ({self.size}): {self.experiment.title}"]
        for arm in dict.fromkeys(arm for arm, _ in sorted(self.todo + self.done)):
            todo = [str(seed) for name, seed in self.todo if name == arm]
            done = [str(seed) for name, seed in self.done if name == arm]
            seeds = f"seeds {', '.join(todo) or '-'}; done: {', '.join(done) or '-'}"
            lines.append(f"  {arm:<20} to run: {seeds}; {self.each[arm]:.3g} min each")
        machine = self.experiment.sizes[self.size].machine
        lines.append(f"  {len(self.todo)} runs, about {self.minutes:.3g} min on {machine}")
        return "\n".join(lines)


def bill(
    experiment: Experiment,
    size: str = "cpu",
    seeds: Sequence[int] | None = None,
    arms: Sequence[str] | None = None,
    results_dir: Path = RESULTS_DIR,
    stale: bool = False,
) -> Bill:
    """Look what is to be run.

    A run is done when its record is there and was made with the settings of now. ``size``:
    ``"cpu"``, ``"day"`` or ``"full"``.
    """
    code = code_of(experiment) if stale else None
    records = {record.file_name: record for record in load_records(results_dir, experiment.name)}
    took: dict[str, list[float]] = {}
    for record in records.values():
        if record.size == size:
            took.setdefault(record.arm, []).append(record.device_seconds / 60)
    todo: list[tuple[str, int]] = []
    done: list[tuple[str, int]] = []
    # Seed by seed, so that an interrupted series leaves complete pairs.
    runs = experiment.committed(size)
    if seeds is not None or arms is not None:
        what = experiment.sizes[size]
        runs = [
            (arm, seed)
            for seed in (what.seeds if seeds is None else seeds)
            for arm in ((what.arms or experiment.arms) if arms is None else arms)
        ]
    for arm, seed in runs:
        if seed < 0:
            raise Refused(f"seeds must not be negative, got {seed}")
        config = experiment.config(arm, size)
        made = records.get(record_name(arm, size, seed))
        (done if made and _is_done(made, config, code) else todo).append((arm, seed))
    usual = [experiment.sizes[size].minutes]
    each = {arm: mean(took.get(arm, usual)) for arm, _ in todo + done}
    return Bill(experiment, size, todo, done, each)


def run(
    experiment: Experiment,
    size: str = "cpu",
    seeds: Sequence[int] | None = None,
    arms: Sequence[str] | None = None,
    results_dir: Path = RESULTS_DIR,
    runs_dir: Path = RUNS_DIR,
    dry_run: bool = False,
    progress: bool = True,
    device: torch.device | str | None = None,
    report: Callable[[str], None] = print,
    stale: bool = False,
    jobs: int = 1,
) -> list[Path]:
    """Run an experiment, one record a run; paths of the records written now.

    Interrupt it whenever you like: finished runs have their records, and a run that was cut off
    goes on from its last epoch. Of several side by side, one that fails lets the others end first.
    If a loss stops being finite, a FloatingPointError says at which step of which run, with which
    configuration, and where the last good checkpoint is.

    ``size``: ``"cpu"``, ``"day"`` or ``"full"``; ``device``: where to compute: a GPU if there is
    one, except for ``"cpu"``.
    """
    to_pay = bill(experiment, size, seeds, arms, results_dir, stale)
    report(str(to_pay))
    if dry_run:
        return []
    written: list[Path] = []
    failed: list[Exception] = []

    def begun(i: int, work: Work) -> None:
        report(f"[{i}/{len(to_pay.todo)}] {experiment.name} {work[1]} {size} seed {work[2]}")

    todo = [(experiment, arm, seed) for arm, seed in to_pay.todo]
    for _, made in each(todo, jobs, begun, size, results_dir, runs_dir, device, progress):
        if isinstance(made, Exception):
            if jobs == 1:
                raise made
            report(f"    FAILED {type(made).__name__}: {made}")
            failed.append(made)
        else:
            written.append(made[0])
            report(f"    {made[1]} -> {made[0]}")
    if failed:
        raise failed[0]
    return written


def each(
    todo: Sequence[Work],
    jobs: int,
    begun: Callable[[int, Work], None],
    size: str,
    results_dir: Path,
    runs_dir: Path,
    device: torch.device | str | None,
    progress: bool,
) -> Iterator[tuple[Work, tuple[Path, str] | Exception]]:
    """Do runs in turn, or several side by side.

    Whatever ends it before its end (Ctrl-C, the time, a caller that has enough) ends the runs under
    way; their checkpoints stay. ``todo``: what is to be run. Side by side, only experiments that
    have their name in ``EXPERIMENTS``: a process of its own finds them by it; ``begun``: takes
    number and run before each; side by side, before each that has ended; ``size``: as in
    :func:`run`, like what follows; side by side, progress is not shown. Yields each run as it ends,
    and what :func:`run_one` returned or what was raised.
    """
    if jobs < 1:
        raise Refused(f"jobs is {jobs}, wanted at least 1")
    show = progress and jobs == 1
    do: Run = partial(
        run_one, size=size, results_dir=results_dir, runs_dir=runs_dir, device=device, progress=show
    )
    if jobs == 1:
        for i, work in enumerate(todo, 1):
            begun(i, work)
            try:
                made: tuple[Path, str] | Exception = do(*work)
            except Exception as error:
                made = error
            yield work, made
        return
    others = multiprocessing.active_children()
    # Not forked: neither torch's threads nor a GPU outlive that.
    pool = ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context("spawn"),
        _prepare,
        (torch.get_num_threads(),),
    )
    try:
        waiting = {pool.submit(_by_name, do, work[0].name, *work[1:]): work for work in todo}
        for i, future in enumerate(as_completed(waiting), 1):
            begun(i, waiting[future])
            failure = future.exception()
            if failure is not None and not isinstance(failure, Exception):
                raise failure
            yield waiting[future], failure or future.result()
    except BaseException:
        for child in set(multiprocessing.active_children()) - set(others):
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare(threads: int) -> None:
    # Ctrl-C reaches all processes of a terminal: a child ends without a word, its parent tells.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Its own would be a semaphore that a child which is ended can't give back.
    tqdm.set_lock(threading.RLock())
    torch.set_num_threads(threads)


def _by_name(do: Run, name: str, arm: str, seed: int) -> tuple[Path, str]:
    # Questions are functions, which don't travel.
    return do(import_module("course_lib.experiments").get(name), arm, seed)


def run_one(
    experiment: Experiment,
    arm: str,
    seed: int,
    size: str = "cpu",
    results_dir: Path = RESULTS_DIR,
    runs_dir: Path = RUNS_DIR,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> tuple[Path, str]:
    """Do one run, whether it was done before or not; arguments and errors as in :func:`run`.

    Returns the path of its record, and its numbers in a line.
    """
    if device is None:
        device = "cuda" if size != "cpu" and torch.cuda.is_available() else "cpu"
    record, weights = _record(experiment, arm, size, seed, runs_dir, torch.device(device), progress)
    if weights is not None:
        # Before the record, which says that the run is done.
        path = results_dir / experiment.name / record.file_name
        write_tensors(path.with_suffix(".safetensors"), *weights)
    return write_record(record, results_dir), _summary(record)


def code_of(experiment: Experiment, root: Path = ROOT) -> str:
    """SHA-256 of the definitions that training reaches; the settings are in the record itself.

    Of an experiment that stands outside the library its function alone is looked at.
    """
    train = experiment.train
    if train.__module__.partition(".")[0] != "course_lib":
        return hashlib.sha256(inspect.getsource(train).encode()).hexdigest()
    name = train.__qualname__.partition(".")[0]
    return digest([(train.__module__, name if name.isidentifier() else "*")], root)


def _made(code: str, record: Record) -> bool:
    """Tell whether code made a record; of one of schema 1 that can't be told, and it may have."""
    return record.schema == 1 or record.source_sha256 in (code, EARLIER.get(code))


def stale(experiments: Mapping[str, Experiment], records: Sequence[Record]) -> list[Record]:
    """The records whose training has other code now; those of schema 1 can't be told, and are not.

    ``records``: of any experiments. Those of schema 1 can't be told and are left out.
    """
    told = [r for r in records if r.schema > 1 and r.experiment in experiments]
    now = {name: code_of(experiments[name]) for name in {r.experiment for r in told}}
    return [r for r in told if not _made(now[r.experiment], r)]


def _record(
    experiment: Experiment,
    arm: str,
    size: str,
    seed: int,
    runs_dir: Path,
    device: torch.device,
    progress: bool,
) -> tuple[Record, Weights | None]:
    config = experiment.config(arm, size)
    # Before training: what is edited meanwhile is not what runs.
    commit, clean = provenance.parent_commit(), provenance.is_clean()
    source = code_of(experiment)
    # A checkpoint of other settings or of other code must not be taken up.
    key = hashlib.sha256(f"{_canonical(config)}{source}".encode()).hexdigest()[:12]
    name = record_name(arm, size, seed).removesuffix(".json")
    checkpoint = runs_dir / experiment.name / f"{name}-{key}.safetensors"
    try:
        outcome = experiment.train(Job(arm, config, seed, device, checkpoint, progress))
    except FloatingPointError as error:
        raise FloatingPointError(
            f"{experiment.name} {arm} {size} seed {seed}: {error}; config {_canonical(config)}"
        ) from error
    except CheckpointError as error:
        raise Refused(str(error)) from error
    record = Record(
        experiment=experiment.name,
        arm=arm,
        size=size,
        seed=seed,
        config=json.loads(_canonical(config)),
        data=outcome.data,
        metrics=outcome.metrics,
        results=outcome.results,
        wall_seconds=round(sum(row["wall_seconds"] for row in outcome.metrics), 1),
        device_seconds=round(sum(row["device_seconds"] for row in outcome.metrics), 1),
        hardware=provenance.hardware(device),
        versions=provenance.versions(),
        commit=commit,
        source_sha256=source,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        clean=clean,
        items={name: pack_items(values) for name, values in outcome.items.items()},
    )
    checkpoint.unlink(missing_ok=True)
    return record, outcome.weights


def _is_done(record: Record, config: dict[str, Any], code: str | None) -> bool:
    same = record.config == json.loads(_canonical(config))
    return same and (code is None or _made(code, record))


def _canonical(config: dict[str, Any]) -> str:
    return json.dumps(config, sort_keys=True)


def _summary(record: Record) -> str:
    numbers = [f"{k} {v:.3f}" for k, v in record.results.items() if isinstance(v, float)]
    return f"{', '.join(numbers)}; {record.wall_seconds:.0f} s"
