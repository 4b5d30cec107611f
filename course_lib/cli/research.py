"""``course data``, ``course run`` and ``course bench``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from course_lib.cli import FOUND_WRONG, Refused, add_json, checkout, emit


def register(commands: Any) -> None:
    """Add the commands."""
    data = commands.add_parser("data", help="list the data sets, or fetch one")
    data.add_argument("name", nargs="?", help="fetch this one unless it is here")
    data.set_defaults(handler=run_data)

    run = commands.add_parser("run", help="run an experiment and write its records")
    run.add_argument("experiment", nargs="?", help="its name; all names when left out")
    run.add_argument("--size", choices=("cpu", "full"), default="cpu", help="cpu")
    run.add_argument("--seeds", type=int, metavar="N", help="only the first N seeds")
    run.add_argument("--dry-run", action="store_true", help="only say what it would take")
    run.add_argument("--results", type=Path, help="folder of the records (book/results)")
    run.set_defaults(handler=run_experiment)

    bench = commands.add_parser("bench", help="measure ratios of speed on this machine")
    add_json(bench)
    bench.set_defaults(handler=run_bench)


def run_data(arguments: argparse.Namespace) -> int:
    """Print the table, or fetch."""
    from course_lib.data import sources

    if arguments.name is None:
        print(sources.table())
        return 0
    status = sources.get(arguments.name)
    print(f"{status.source.name}: {status.note}" + (f"\n{status.path}" if status.path else ""))
    return 0 if status.ready else FOUND_WRONG


def run_experiment(arguments: argparse.Namespace) -> int:
    """Run, or list what can be run."""
    from course_lib import experiments

    if arguments.experiment is None:
        for name, says in experiments.catalogue().items():
            print(f"{name:24} {says}")
        return 0
    if arguments.experiment not in experiments.catalogue():
        known = ", ".join(experiments.catalogue())
        raise Refused(f"no experiment {arguments.experiment!r}; there are {known}")
    results = arguments.results or checkout() / "book" / "results"
    experiments.run(
        arguments.experiment,
        size=arguments.size,
        n_seeds=arguments.seeds,
        results=results,
        dry_run=arguments.dry_run,
    )
    return 0


def run_bench(arguments: argparse.Namespace) -> int:
    """Print each ratio, then how many there were."""
    from course_lib.benchmarks import measure

    rows = measure()
    if not arguments.json:
        for row in rows:
            print(f"  {row.ratio:8.2f} x  {row.says}")
    emit(
        arguments,
        {"ratios": {row.name: row.ratio for row in rows}},
        f"benchmarks {len(rows)}",
    )
    return 0
