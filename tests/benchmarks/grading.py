"""How fast a class is graded: stock nbgrader and ``course grade`` in turn, on the same submissions.

A made-up class is graded by both, each from nothing, as commands of their own. Both draw samples
from the same seed, so that every cell must have the same score; times of graders that disagree are
not worth comparing.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import torch

from course_lib.experiments import provenance
from course_lib.experiments.record import DataUse, Record, write_record
from course_lib.experiments.source import digest as digest_of
from course_tests.benchmarks.recording import Report, speed_record
from course_tests.benchmarks.submissions import make
from grader import authoring
from grader.base.errors import Refused
from grader.checks import seeds
from grader.cli.common import say
from grader.records import gradebook

EXPERIMENT = "grading-speed"
ASSIGNMENT = "03_attention"
_SEED = "c0ffee"
_CGROUP = Path("/sys/fs/cgroup/cpuacct")
_IMMEDIATE = "--ExecutePreprocessor.shutdown_kernel=immediate"

Scores = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Run:
    """One grader, once over a whole class."""

    grader: str
    students: int
    seconds: float
    cpu: float
    stages: dict[str, float] = field(default_factory=dict)
    scores: Scores = field(default_factory=dict, repr=False)

    @property
    def each(self) -> float:
        """Seconds a submission."""
        return self.seconds / self.students


@dataclass
class Comparison:
    """All runs of one benchmark; numbers are medians over the runs of a grader."""

    runs: list[Run]

    def of(self, grader: str) -> list[Run]:
        """The runs of one grader over the class."""
        return [run for run in self.runs if run.grader == grader]

    def each(self, grader: str) -> float | None:
        """Seconds a submission; None where the grader did not run."""
        found = [run.each for run in self.of(grader)]
        return median(found) if found else None

    def cpu(self, grader: str) -> float | None:
        """Processor seconds a submission."""
        found = [run.cpu / run.students for run in self.of(grader)]
        return median(found) if found else None

    def ratio(self, grader: str = "stock") -> float | None:
        theirs, ours = self.each(grader), self.each("ours")
        return theirs / ours if theirs and ours else None

    def differences(self) -> list[str]:
        """Cells whose score is not the same in all runs: who, which, and what each gave."""
        found = []
        first, *others = self.runs
        for run in others:
            for student in sorted(set(first.scores) | set(run.scores)):
                one, two = first.scores.get(student, {}), run.scores.get(student, {})
                for cell in sorted(set(one) | set(two)):
                    a, b = one.get(cell, "none"), two.get(cell, "none")
                    # nbgrader keeps the float that a cell printed.
                    equal = a == b or (
                        isinstance(a, float) and isinstance(b, float) and abs(a - b) < 1e-9
                    )
                    if not equal:
                        what = f"{first.grader} {a}, {run.grader} {b}"
                        found.append(f"{student}, {cell}: {what}")
        return list(dict.fromkeys(found))

    def data(self) -> dict[str, Any]:
        """Everything but the scores themselves, as plain data."""
        runs = [{k: v for k, v in asdict(run).items() if k != "scores"} for run in self.runs]
        return {
            "runs": [_rounded(run) for run in runs],
            "ratio": _rounded(self.ratio()),
            "ratio to tuned stock": _rounded(self.ratio("tuned stock")),
            "scores differ": self.differences(),
        }

    def line(self) -> str:
        """The last line of a report."""
        stock, ours, ratio = self.each("stock"), self.each("ours"), self.ratio()
        if stock is None or ratio is None:
            return f"ours {ours:.3f} s/sub, without stock"
        equal = "no" if self.differences() else "yes"
        return (
            f"stock {stock:.2f} s/sub, ours {ours:.3f} s/sub, ratio {ratio:.1f},"
            f" scores equal: {equal}"
        )

    def table(self) -> str:
        lines = [f"{'':14}{'s/sub':>9}{'CPU-s/sub':>11}{'ratio to ours':>15}   runs"]
        for grader in ("stock", "tuned stock", "ours"):
            each, cpu, ratio = self.each(grader), self.cpu(grader), self.ratio(grader)
            if each is not None and cpu is not None:
                seconds = ", ".join(f"{run.seconds:.1f} s" for run in self.of(grader))
                lines.append(f"{grader:14}{each:9.3f}{cpu:11.3f}{ratio or 0:15.1f}   {seconds}")
        for grader in ("stock", "ours"):
            if runs := self.of(grader):
                shares = ", ".join(
                    f"{name} {median(run.stages[name] for run in runs):.1f} s"
                    for name in runs[0].stages
                )
                lines.append(f"{grader}: {shares}")
        return "\n".join(lines)


def bench(
    root: Path,
    students: int = 60,
    *,
    blocks: int = 1,
    stock: bool = True,
    tuned: bool = True,
    results_dir: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Comparison:
    """Grade a class with both, in turn."""
    if students < 1 or blocks < 1:
        raise Refused(f"students {students} and blocks {blocks}: wanted at least 1 of each")
    clock = provenance.Clock(torch.device("cpu"))
    comparison = Comparison([])
    with tempfile.TemporaryDirectory(prefix="course-bench-") as folder:
        assignment = authoring.named(root, ASSIGNMENT)
        made = make(Path(folder, "class"), assignment, students)
        say(f"class of {students}: " + ", ".join(f"{n} {kind}" for kind, n in made.items()))
        order = ["ours", "stock", "ours"] if stock else ["ours"]
        plan = order * blocks + (["tuned stock"] if stock and tuned else [])
        for number, grader in enumerate(plan):
            course = Path(folder, f"run-{number}")
            shutil.copytree(Path(folder, "class"), course)
            run = (
                _ours(course, root, students)
                if grader == "ours"
                else _stock(course, root, assignment, students, tuned=grader != "stock")
            )
            comparison.runs.append(run)
            stages = ", ".join(f"{stage} {took:.1f}" for stage, took in run.stages.items())
            say(f"{grader}: {run.seconds:.1f} s ({stages}), {run.cpu:.1f} CPU-s")
            shutil.rmtree(course)
    if results_dir is not None:
        write_record(_record(comparison, students, blocks, clock), results_dir)
    return comparison


def _ours(course: Path, root: Path, students: int) -> Run:
    command = [sys.executable, "-m", "course_lib.cli", "grade", ASSIGNMENT]
    with _processor_time() as cpu:
        start = time.time()
        _run([[*command, "--course", str(course)]], root)
        ended = time.time()
    verdicts = _written(course / "autograded", "verdict.json")
    began = (course / ".grading.lock").stat().st_mtime
    last = max(_written(course / "feedback", "*.html"))
    stages = {
        "imports": began - start,
        "until the first is graded": verdicts[0] - began,
        "the others": verdicts[-1] - verdicts[0],
        "end": ended - last,
    }
    scores = gradebook.scores(course, ASSIGNMENT)
    return Run("ours", students, last - start, cpu[0], stages, scores)


def _stock(
    course: Path, root: Path, assignment: authoring.Assignment, students: int, *, tuned: bool
) -> Run:
    name = assignment.name
    source = course / "solutions" / name / f"{name}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(authoring.text(assignment.solution), encoding="utf-8")
    shutil.copy(root / "nbgrader_config.py", course)
    nbgrader = str(Path(sys.executable).with_name("nbgrader"))
    _run([[nbgrader, "generate_assignment", name]], course)
    # Half of the names begin with each of the two letters.
    halves = [["--student=a*"], ["--student=b*"]] if tuned and students > 1 else [[]]
    faster = [_IMMEDIATE] if tuned else []
    with _processor_time() as cpu:
        start = time.time()
        _run([[nbgrader, "autograde", name, *half, *faster] for half in halves], course)
        autograded = time.time()
        _run([[nbgrader, "generate_feedback", name, *half] for half in halves], course)
    last = max(_written(course / "feedback", "*.html"))
    stages = {"autograde": autograded - start, "generate_feedback": last - autograded}
    scores = gradebook.scores(course, name)
    return Run("tuned stock" if tuned else "stock", students, last - start, cpu[0], stages, scores)


def _written(folder: Path, pattern: str) -> list[float]:
    return sorted(path.stat().st_mtime for path in folder.rglob(pattern))


def _run(commands: Sequence[Sequence[str]], where: Path) -> None:
    """Run commands at the same time, with the environment that a user's shell would give them."""
    threads = {f"{library}_NUM_THREADS" for library in ("OMP", "MKL", "OPENBLAS")}
    environment = {k: v for k, v in os.environ.items() if k not in threads}
    environment[seeds.ENVIRONMENT] = _SEED
    # nbgrader calls `alembic`, which sits beside this interpreter.
    here = Path(sys.executable).parent
    environment["PATH"] = f"{here}{os.pathsep}{environment.get('PATH', '')}"

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=where,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    with ThreadPoolExecutor() as pool:
        for command, done in zip(commands, pool.map(run, commands), strict=True):
            if done.returncode:
                said = done.stdout[-3000:]
                raise Refused(f"{' '.join(command[1:])} ended with {done.returncode}\n{said}")


@contextmanager
def _processor_time() -> Iterator[list[float]]:
    """Processor seconds of everything started inside, in the list when it has ended."""
    used = [0.0]
    group = _CGROUP / f"course-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        with suppress(OSError):
            group.rmdir()
        before = os.times()
        yield used
        after = os.times()
        used[0] = sum(after[2:4]) - sum(before[2:4])
        return
    try:
        own = sum(os.times()[:2])
        yield used
        own = sum(os.times()[:2]) - own
        used[0] = int((group / "cpuacct.usage").read_text()) / 1e9 - own
    finally:
        (_CGROUP / "cgroup.procs").write_text(str(os.getpid()))
        with suppress(OSError):
            group.rmdir()


def _record(comparison: Comparison, students: int, blocks: int, clock: provenance.Clock) -> Record:
    scores = repr(comparison.runs[0].scores)
    numbers = {
        f"{grader} {what}": round(value, 4)
        for grader in ("stock", "tuned stock", "ours")
        for what, of in (("seconds", comparison.each), ("cpu", comparison.cpu))
        if (value := of(grader)) is not None
    }
    return speed_record(
        EXPERIMENT,
        f"class-{students}",
        {"assignment": ASSIGNMENT, "students": students, "blocks": blocks},
        DataUse("class", "generated", hashlib.sha256(scores.encode()).hexdigest()),
        comparison.data(),
        digest_of([("grader.classroom", "*")]),
        clock,
        {"nbgrader": version("nbgrader")},
        numbers,
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return value


def report(asked: argparse.Namespace, root: Path, results: Path) -> Report:
    stock = not asked.without_stock
    sizes = {asked.students: stock}
    if asked.growth:
        sizes = {10: stock, **sizes, 300: False}
    found = {
        students: bench(
            root, students, blocks=asked.blocks, stock=with_stock,
            tuned=with_stock and students == asked.students, results_dir=results, say=say,
        )
        for students, with_stock in sizes.items()
    }  # fmt: skip
    wanted = found[asked.students]
    differences = wanted.differences()
    lines = [wanted.table()]
    if asked.growth:
        lines += [f"class of {students}: {each.line()}" for students, each in found.items()]
    lines += [f"DIFFERS {difference}" for difference in differences]
    data = {str(students): comparison.data() for students, comparison in found.items()}
    return data, [*lines, wanted.line()], bool(differences)
