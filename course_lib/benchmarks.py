"""Ratios of speed: two ways of doing the same, measured in turn in one run.

Seconds say more about the machine than about the code; a ratio from one run says what one way costs
compared with the other.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from course_lib.attention import fused_attention, scaled_dot_product_attention
from course_lib.masks import causal_mask


@dataclass(frozen=True)
class Ratio:
    """How many times as long the first way takes as the second."""

    name: str
    says: str
    ratio: float


def ratio(
    name: str,
    says: str,
    slow: Callable[[], object],
    fast: Callable[[], object],
    repeats: int = 7,
    inner: int = 1,
) -> Ratio:
    """Median over interleaved repeats of the time of ``slow`` over that of ``fast``."""
    slow(), fast()
    quotients = []
    for _ in range(repeats):
        seconds = []
        for way in (slow, fast):
            start = time.perf_counter()
            for _ in range(inner):
                way()
            seconds.append(time.perf_counter() - start)
        quotients.append(seconds[0] / seconds[1])
    return Ratio(name, says, statistics.median(quotients))


def measure() -> list[Ratio]:
    """All benchmarks."""
    return [*attention_paths(), *transports()]


def attention_paths() -> Iterator[Ratio]:
    """Explicit against fused attention, as sequences grow."""
    generator = torch.Generator().manual_seed(0)
    for length in (64, 256, 1024):
        x = torch.randn(4, 8, length, 32, generator=generator)
        keep = causal_mask(length)
        yield ratio(
            f"explicit-over-fused-{length}",
            f"explicit over fused causal attention, {length} tokens",
            lambda x=x, keep=keep: scaled_dot_product_attention(x, x, x, keep),  # type: ignore[misc]
            lambda x=x, keep=keep: fused_attention(x, x, x, keep),  # type: ignore[misc]
        )


def transports() -> Iterator[Ratio]:
    """What it costs to grade an answer outside the grader's process."""
    from course_lib.checks.exercise import find
    from course_lib.checks.report import grade_source
    from course_lib.grading.relay import worker_grader

    exercise = find("attention.scaled_dot_product")
    source = exercise.alternatives[0].source
    with tempfile.TemporaryDirectory() as folder, worker_grader(Path(folder)) as over_worker:
        yield ratio(
            "worker-over-local",
            "one exercise over a worker process, over the same in this process",
            lambda: over_worker(exercise, source, "1"),
            lambda: grade_source(exercise, source, "1"),
        )
