"""``course data``, ``course run`` and ``course results``."""

import argparse
import dataclasses
import functools
from pathlib import Path
from textwrap import fill, shorten

from grader.base.errors import Refused
from grader.cli.common import FOUND_WRONG, Add, add_json, checkout, emit, jobs


def register(add: Add) -> None:
    """Add the commands."""
    data = add("data", run_data, "list the data sets, or download one")
    data.add_argument("name", nargs="?", help="download this one if it is missing")

    run = add("run", run_experiment, "run an experiment and write its records")
    run.add_argument("experiment", nargs="?", help="name of an experiment (default: list all)")
    run.flags(all="run whatever all experiments lack, cheapest first")
    run.option("--minutes M", "with --all: stop after this many minutes", type=float)
    run.option(
        "--size",
        "minutes on one core, hours on one core, or the documents' own size (default: cpu)",
        "cpu",
        choices=("cpu", "day", "full"),
    )
    run.option("--threads N", "threads of torch (default: 1)", 1)
    run.option("--jobs N", "parallel runs (default: 1)", 1)
    run.option(
        "--device", "default: a GPU if there is one, except for --size cpu", choices=("cpu", "cuda")
    )
    run.option("--seeds SEED", "only these seeds", type=int, nargs="+")
    run.option("--arms ARM", "only these settings", nargs="+")
    run.flags(
        dry_run="print what it would take, run nothing",
        stale="also repeat records whose training code has changed",
    )
    run.option("--results", "folder of the records (default: book/results)", type=Path)

    results = add(
        "results",
        run_results,
        "print the documents' claims beside the measured results",
    )
    results.option("--document D", "only this document, by its name in --json")
    results.option("--results", "folder of the records (default: book/results)", type=Path)
    results.flags(
        stale="list the records whose training code has changed",
        pack="move records that lie loose into the archives of their experiments",
    )
    results.option(
        "--verify NAME",
        "repeat one recorded run, for example extrapolation/alibi-cpu-0, and compare the numbers",
    )
    add_json(results)


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
    """Run the missing runs and print the conclusions, or list the experiments."""
    import torch

    from course_lib import experiments

    if arguments.threads < 1:
        raise Refused(f"--threads is {arguments.threads}: at least 1 is needed")
    jobs(arguments)
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise Refused("--device cuda: torch finds no GPU")
    torch.set_num_threads(arguments.threads)
    unattended = arguments.all or arguments.minutes is not None
    if unattended and (not arguments.all or arguments.minutes is None):
        raise Refused("--all and --minutes belong together: `course run --all --minutes M`")
    if unattended and (arguments.experiment or arguments.seeds or arguments.arms):
        raise Refused("--all takes no experiment, seeds or arms: leave them out")
    if not unattended and arguments.experiment is None:
        for experiment in experiments.EXPERIMENTS.values():
            print(f"{experiment.name:22} {experiment.title}")
        return 0
    root = checkout()
    results = arguments.results or root / "book" / "results"
    how = {name: getattr(arguments, name) for name in ("dry_run", "device", "stale", "jobs")}
    how |= {"results_dir": results, "runs_dir": root / "_build" / "runs"}
    if unattended:
        flushed = functools.partial(print, flush=True)
        done = experiments.run_all(
            experiments.EXPERIMENTS, arguments.minutes, arguments.size, report=flushed, **how
        )
        print(done)
        return FOUND_WRONG if done.failed else 0
    experiment = experiments.get(arguments.experiment)
    experiments.run(experiment, arguments.size, arguments.seeds, arguments.arms, **how)
    if not arguments.dry_run:
        records = experiments.load_records(results)
        for one in experiments.settle(experiment, records):
            if arguments.size in one.found:
                print(f"{one.question.document}: {one.question.claim}\n    {one}")
    return 0


def run_results(arguments: argparse.Namespace) -> int:
    """Print each table, or all rows as JSON."""
    from course_lib.book.document_rows import load_known, load_reported, rows
    from course_lib.book.results import OTHERS, beside, cards, tally, text
    from course_lib.claims.ledger import DOCUMENTS
    from course_lib.experiments import EXPERIMENTS, pack_records

    book = checkout() / "book"
    folder = arguments.results or book / "results"
    if not folder.is_dir():
        raise Refused(f"no records in {folder}: run `course run EXPERIMENT`, or name their folder")
    if arguments.stale:
        return run_stale(arguments, folder)
    if arguments.pack:
        packed = [path.relative_to(folder).as_posix() for path in pack_records(folder)]
        emit(arguments, {"packed": packed}, *packed, f"packed {len(packed)}")
        return 0
    if arguments.verify is not None:
        return run_verify(arguments, folder)
    records = load_known(folder)
    printed = load_reported(book / "results.yml", records)
    documents = list(dict.fromkeys(entry.document for entry in printed))
    if arguments.document is not None:
        if arguments.document not in documents:
            raise Refused(f"no document {arguments.document!r}; there are {', '.join(documents)}")
        printed = [entry for entry in printed if entry.document == arguments.document]
    results = rows(printed, records)
    shown = []
    for key, members in cards([*EXPERIMENTS.values()], records, results).items():
        if arguments.document in (None, key) and (key in documents or key == OTHERS):
            head = f"{DOCUMENTS.get(key, key)}: {tally(members)}"
            shown += [fill(head, 100), *map(text, members), ""]
    printed_alone = [row for row in results if row.conclusion is None]
    shown += ["Printed in the documents, with no counterpart here:"] if printed_alone else []
    shown += [shorten(f"  {beside(row)}", 100) for row in printed_alone]
    emit(arguments, [row.data() for row in results], *shown, f"rows {len(results)}")
    return 0


def run_stale(arguments: argparse.Namespace, folder: Path) -> int:
    """Print the names of the records whose training code has changed."""
    from course_lib import experiments

    records = experiments.load_records(folder)
    current = [r for r in records if r.experiment in experiments.EXPERIMENTS]
    outdated = experiments.stale(experiments.EXPERIMENTS, current)
    names = [f"{record.experiment}/{record.file_name}" for record in outdated]
    newer = sum(record.schema > 1 for record in current)
    line = f"stale {len(outdated)} of {newer}; {len(current) - newer} are too old to tell"
    emit(arguments, {"stale": names, "told": newer}, *names, line)
    return FOUND_WRONG if outdated else 0


def run_verify(arguments: argparse.Namespace, folder: Path) -> int:
    """Repeat a recorded run, and print each number beside the new one."""
    from course_lib import experiments

    name, _, run = arguments.verify.removesuffix(".json").partition("/")
    build = checkout() / "_build" / "verify"
    rows = experiments.verify(experiments.get(name), run, folder, build)
    head = ["metric", "recorded", "now", "standard deviations apart"]
    table = _aligned([head, *(row.cells() for row in rows)])
    equal = sum(row.recorded == row.now for row in rows)
    most = max((row.apart or 0.0 for row in rows), default=0.0)
    line = f"verified {name}/{run}: {equal} of {len(rows)} numbers equal"
    far = f"at most {most:.2g} standard deviations apart"
    emit(arguments, [dataclasses.asdict(row) for row in rows], table, f"{line}, {far}")
    return 0


def _aligned(table: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(map(str.ljust, line, widths)) for line in table)
    return "\n".join(f"  {line.rstrip()}" for line in lines)
