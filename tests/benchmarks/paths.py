"""What the course's own choices cost: explicit or fused attention, one process or two."""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from course_lib.attention import fused_attention, scaled_dot_product_attention
from course_lib.masks import causal_mask
from course_tests.benchmarks.recording import Report
from course_tests.benchmarks.timing import compare


@dataclass(frozen=True)
class Comparison:
    """How many times as long the first way takes as the second."""

    name: str
    says: str
    ratio: float


def _ratio(
    name: str, says: str, slow: Callable[[], object], fast: Callable[[], object]
) -> Comparison:
    return Comparison(name, says, compare(slow, fast, repeats=7).ratio)


def measure() -> list[Comparison]:
    """All benchmarks."""
    return [*_attention_paths(), *_transports()]


def _attention_paths() -> Iterator[Comparison]:
    """Explicit against fused attention, as sequences grow."""
    generator = torch.Generator().manual_seed(0)
    for length in (64, 256, 1024):
        x = torch.randn(4, 8, length, 32, generator=generator)
        keep = causal_mask(length)
        yield _ratio(
            f"explicit-over-fused-{length}",
            f"explicit over fused causal attention, {length} tokens",
            lambda x=x, keep=keep: scaled_dot_product_attention(x, x, x, keep),  # type: ignore[misc]
            lambda x=x, keep=keep: fused_attention(x, x, x, keep),  # type: ignore[misc]
        )


def _transports() -> Iterator[Comparison]:
    """What it costs to grade an answer outside the grader's process."""
    from course_lib.checks.exercise import find
    from course_lib.checks.grading import grade_source
    from course_tests.checks.worker_grader import worker_grader

    exercise = find("attention.scaled_dot_product")
    source = exercise.alternatives[0].source
    with tempfile.TemporaryDirectory() as folder, worker_grader(Path(folder)) as over_worker:
        yield _ratio(
            "worker-over-local",
            "one exercise over a worker process, over the same in this process",
            lambda: over_worker(exercise, source, "1"),
            lambda: grade_source(exercise, source, "1"),
        )


def report(asked: argparse.Namespace, root: Path, results: Path) -> Report:
    """What ``course bench`` prints: each ratio, and how many there were."""
    rows = measure()
    lines = [f"  {row.ratio:8.2f} x  {row.says}" for row in rows]
    ratios = {row.name: row.ratio for row in rows}
    return {"ratios": ratios}, [*lines, f"benchmarks {len(rows)}"], False
