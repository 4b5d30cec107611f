"""``course bench``: speed and memory beside others'."""

import argparse
import os
from pathlib import Path

from grader.cli.common import Add, add_json, checkout, emit, instrument


def register(add: Add) -> None:
    """Add the command."""
    bench = add("bench", run_bench, "compare speed and memory with other libraries")
    bench.add_argument(
        "topic",
        choices=("attention",),
        # Minutes of the book's records: of the processor, and by the clock of a busy machine.
        help="`attention`: every mechanism beside its fastest peer, and the growth of its cost (7"
        " to 18 minutes)",
    )
    bench.add_argument("mechanisms", nargs="*", metavar="MECHANISM", help="default: all")
    bench.option("--repeats N", "of each comparison (default: 30)", type=int)
    bench.flags(again="also repeat what has been measured already")
    place = bench.add_mutually_exclusive_group()
    place.add_argument("--results", type=Path, help="folder of the records (default: _build/bench)")
    place.add_argument(
        "--record", action="store_true", help="keep them with the records that the book shows"
    )
    add_json(bench)


def run_bench(arguments: argparse.Namespace) -> int:
    """Print what the module of the topic measured."""
    # Read when torch is loaded; else the profiler prints two lines a measurement.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    root = checkout()
    # Trials of a user change no file of the checkout.
    own = Path("book", "results") if arguments.record else Path("_build", "bench")
    topic = instrument(f"benchmarks.{arguments.topic}")
    data, lines = topic.report(arguments, arguments.results or root / own)
    emit(arguments, data, *lines)
    return 0
