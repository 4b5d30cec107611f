"""How two ways are timed in turn, and how much memory one takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

__all__ = ["Ratio", "compare", "peak_memory"]

# A single timing should take at least this long, or the clock and the scheduler are measured.
_SHORTEST = 2e-3
_DRAWS = 2000


@dataclass(frozen=True)
class Ratio:
    """How many times as long the first way takes as the second.

    Args:
        ratio: Median over the repetitions.
        low: Lower end of the 95 % bootstrap interval of that median.
        high: Its upper end.
        seconds: Median time of one call of the first way.
    """

    ratio: float
    low: float
    high: float
    seconds: float


def compare(first: Callable[[], object], second: Callable[[], object], repeats: int = 30) -> Ratio:
    """Time two ways in turn, changing which goes first, and compare within each repetition.

    Args:
        first: Ours.
        second: What it is compared with.
        repeats: Repetitions; a call that is too short for the clock is repeated within one.

    Returns:
        The median of the quotients, with its interval.

    Raises:
        ValueError: If there are fewer than 2 repetitions.

    Example:
        >>> slow = lambda: sum(range(40_000))
        >>> fast = lambda: sum(range(10_000))
        >>> 2 < compare(slow, fast, repeats=5).ratio < 8
        True
    """
    if repeats < 2:
        raise ValueError(f"repeats is {repeats}, wanted at least 2")
    inner = max(_calls(first), _calls(second))
    quotients, seconds = [], []
    for repetition in range(repeats):
        order = (first, second) if repetition % 2 == 0 else (second, first)
        took = {way: _time(way, inner) for way in order}
        quotients.append(took[first] / took[second])
        seconds.append(took[first] / inner)
    low, high = _interval(np.array(quotients))
    return Ratio(float(np.median(quotients)), low, high, float(np.median(seconds)))


def _calls(way: Callable[[], object]) -> int:
    """How many calls make one timing long enough."""
    way()  # the first call loads, allocates and caches
    once = min(_time(way, 1) for _ in range(3))
    return max(1, round(_SHORTEST / max(once, 1e-7)))


def _time(way: Callable[[], object], inner: int) -> float:
    start = time.perf_counter()
    for _ in range(inner):
        way()
    return time.perf_counter() - start


def _interval(values: np.ndarray) -> tuple[float, float]:
    draws = np.random.default_rng(0).choice(values, size=(_DRAWS, len(values)))
    low, high = np.percentile(np.median(draws, axis=1), [2.5, 97.5])
    return float(low), float(high)


def peak_memory(way: Callable[[], object]) -> int:
    """The most bytes that tensors made by one call hold at the same time.

    Args:
        way: Called once before, so that what it caches is not counted, and once under the profiler.

    Returns:
        Bytes on the CPU above what was held at the start.

    Example:
        >>> x = torch.ones(1000)
        >>> peak_memory(lambda: x + 1) >= 4000
        True
    """
    way()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        way()
    held = most = 0
    results = recorded.profiler.kineto_results if recorded.profiler else None
    events = results.events() if results else []
    for event in sorted(events, key=lambda e: e.start_ns()):
        if event.name() == "[memory]" and event.device_type() == torch._C._autograd.DeviceType.CPU:
            held += event.nbytes()
            most = max(most, held)
    return most
