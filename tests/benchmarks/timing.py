"""What is timed: two ways in turn, forwards or in training, and how much memory one takes."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from course_tests.parity.peers import floats
from grader.base.errors import Refused

# A single timing should take at least this long, or the clock and the scheduler are measured.
_SHORTEST = 2e-3
_DRAWS = 2000


@dataclass(frozen=True)
class Ratio:
    """How many times as long the first way takes as the second."""

    ratio: float
    low: float
    high: float
    seconds: float


def compare(
    first: Callable[[], object],
    second: Callable[[], object],
    repeats: int = 30,
) -> Ratio:
    """Time two ways in turn, changing which goes first, and compare within each repetition."""
    if repeats < 2:
        raise Refused(f"repeats is {repeats}, wanted at least 2")
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
    """The most bytes that tensors made by one call hold at the same time."""
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


def forward_pass(call: Callable[..., Any], inputs: tuple[Any, ...]) -> Callable[[], object]:
    """A way to be timed: one call without gradients."""

    def run() -> object:
        with torch.no_grad():
            return call(*inputs)

    return run


def training_pass(call: Callable[..., Any], inputs: tuple[Any, ...]) -> Callable[[], object]:
    """A way to be timed: one call and the way back, to weights and floating-point arguments."""
    leaves = tuple(
        x.detach().requires_grad_() if torch.is_tensor(x) and x.is_floating_point() else x
        for x in inputs
    )

    def run() -> object:
        outputs = [out for out in floats(call(*leaves)) if out.requires_grad]
        torch.autograd.backward([out.sum() for out in outputs])
        # Within the call that made them: the profiler does not see the end of what is older.
        for leaf in leaves:
            if torch.is_tensor(leaf):
                leaf.grad = None
        return None

    return run
