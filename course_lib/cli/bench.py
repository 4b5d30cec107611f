"""``course bench``: what the course's own choices cost."""

import argparse
import os
from pathlib import Path
from typing import Any

from course_lib.cli.common import FOUND_WRONG, Add, add_json, checkout, emit, say


def register(add: Add) -> None:
    """Add the command."""
    bench = add("bench", run_bench, "measure ratios of speed on this machine")
    bench.add_argument(
        "topic",
        nargs="?",
        choices=("attention", "cluster", "grading", "growth", "paths"),
        default="paths",
        # Minutes of the book's records: of the processor, and by the clock of a busy machine.
        help="`attention`: every mechanism beside its fastest peer, and the growth of its cost (9"
        " to 21 minutes); `cluster`: a class graded by 1, 2 and 4 workers, and from where on more"
        " do not help (1 minute); `grading`: a class graded by stock nbgrader and by this grader in"
        " turn (8 minutes); `growth`: time and peak memory of every cheaper attention beside full"
        " attention, from 64 to 4,096 tokens (4 to 11 minutes); `paths` (when left out): what the"
        " course's own choices cost (half a minute to 3)",
    )
    bench.add_argument("mechanisms", nargs="*", metavar="MECHANISM", help="only these; all")
    bench.option("--repeats N", "of each comparison; 30, of growth 15", type=int)
    bench.option("--class N", "submissions; 60", 60, dest="students")
    bench.option("--blocks N", "how often; 1", 1)
    bench.flags(
        without_stock="time this grader alone",
        growth="also classes of 10 and, without stock, of 300",
        again="also what has been measured already",
    )
    place = bench.add_mutually_exclusive_group()
    place.add_argument("--results", type=Path, help="folder of the records (_build/bench)")
    place.add_argument(
        "--record", action="store_true", help="keep them with the records that the book shows"
    )
    add_json(bench)


def run_bench(arguments: argparse.Namespace) -> int:
    """Print each ratio, then the worst or how many there were."""
    topics = {"attention": bench_attention, "grading": bench_grading, "cluster": bench_cluster,
              "growth": bench_growth}  # fmt: skip
    if arguments.topic in topics:
        return topics[arguments.topic](arguments)
    from course_lib.benchmarks import measure

    rows = measure()
    lines = [f"  {row.ratio:8.2f} x  {row.says}" for row in rows]
    data = {"ratios": {row.name: row.ratio for row in rows}}
    emit(arguments, data, *lines, f"benchmarks {len(rows)}")
    return 0


def _bench_folder(arguments: argparse.Namespace) -> Path:
    """Where measurements go: what a user tries out changes no file of the checkout."""
    own = Path("book", "results") if arguments.record else Path("_build", "bench")
    return arguments.results or checkout() / own


def bench_attention(arguments: argparse.Namespace) -> int:
    """Print each mechanism as it is measured, the exponents, and the worst ratio."""
    _one_quiet_thread()
    from course_lib.benchmarks import bench, exponents, worst

    results = _bench_folder(arguments)
    rows = []
    for row in bench(
        results, arguments.mechanisms, repeats=arguments.repeats or 30, again=arguments.again
    ):
        rows.append(row)
        if not arguments.json:
            print(f"{row.name}: {row.peer or 'no peer'}", flush=True)
            for key, seconds in row.seconds.items():
                print(f"  {_bench_line(row, key, seconds)}", flush=True)
    growth = {} if arguments.mechanisms else exponents(results)
    lines = [
        f"{name}: time T^{values['time']:.2f} (theory {values['time in theory']:.1f}),"
        f" memory T^{values['memory']:.2f} (theory {values['memory in theory']:.1f})"
        for name, values in growth.items()
    ]
    data = {
        "bounds": {row.name: row.bound for row in rows if row.ratios},
        "without peer": [row.name for row in rows if not row.ratios],
        "exponents": growth,
    }
    emit(arguments, data, *lines, worst(rows))
    return 0


def bench_growth(arguments: argparse.Namespace) -> int:
    """Print each variant as it is measured, and how many there are."""
    _one_quiet_thread()
    from course_lib.benchmarks import bench_growth

    results = _bench_folder(arguments)
    ratios = {}
    for growth in bench_growth(
        results, arguments.mechanisms, repeats=arguments.repeats or 15, again=arguments.again
    ):
        ratios[growth.name] = {key: ratio.ratio for key, ratio in growth.ratios.items()}
        if not arguments.json:
            print(growth.name, *map(growth.line, growth.ratios), sep="\n  ", flush=True)
    emit(arguments, {"ratios": ratios}, f"variants {len(ratios)}")
    return 0


def _one_quiet_thread() -> None:
    # Read when torch is loaded; else the profiler prints two lines a measurement.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    import torch

    # One thread: a second one is at the mercy of whatever else the machine does.
    torch.set_num_threads(1)


def bench_grading(arguments: argparse.Namespace) -> int:
    """Print each run as it ends on stderr, then the table, how it grows, and the ratio."""
    from course_lib.benchmarks import grading

    root, results = checkout(), _bench_folder(arguments)
    stock = not arguments.without_stock
    sizes = {arguments.students: stock}
    if arguments.growth:
        sizes = {10: stock, **sizes, 300: False}
    comparisons = {
        students: grading.bench(
            root,
            students,
            blocks=arguments.blocks,
            stock=with_stock,
            tuned=with_stock and students == arguments.students,
            results_dir=results,
            say=say,
        )
        for students, with_stock in sizes.items()
    }
    asked = comparisons[arguments.students]
    differences = asked.differences()
    lines = [asked.table()]
    if arguments.growth:
        lines += [f"class of {students}: {each.line()}" for students, each in comparisons.items()]
    lines += [f"DIFFERS {difference}" for difference in differences]
    data = {str(students): comparison.data() for students, comparison in comparisons.items()}
    emit(arguments, data, *lines, asked.line())
    return FOUND_WRONG if differences else 0


def bench_cluster(arguments: argparse.Namespace) -> int:
    """Print each run as it ends on stderr, then the table, and what follows from it."""
    from course_lib.benchmarks import cluster

    root, results = checkout(), _bench_folder(arguments)
    measured = cluster.bench(root, arguments.students, results_dir=results, say=say)
    emit(arguments, measured.data(), measured.table(), measured.line())
    return 0


def _bench_line(row: Any, key: str, seconds: float) -> str:
    memory = row.peak_bytes.get(f"{key} ours", 0) / 2**20
    line = f"{key:26} {1e3 * seconds:9.3f} ms {memory:9.2f} MiB"
    if key in row.ratios:
        ratio = row.ratios[key]
        peer = row.peak_bytes[f"{key} peer"] / 2**20
        line += f"  {ratio.ratio:6.2f} x [{ratio.low:.2f}, {ratio.high:.2f}]  peer {peer:.2f} MiB"
    return line
