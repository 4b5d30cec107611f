"""Where a result comes from: hardware, versions, commit, and the time that it took."""

import os
import platform
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import torch

import course_lib

_ROOT = Path(course_lib.__file__).resolve().parent


def hardware(device: torch.device) -> dict[str, str | int | float]:
    """Kind of device, processor, cores, threads and memory; never the machine's name."""
    found: dict[str, str | int | float] = {
        "device": device.type,
        "processor": _processor(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "threads": torch.get_num_threads(),
        "bfloat16": multiplies_bfloat16(device),
    }
    cores = _cores()
    if cores:
        found["cores"] = cores
    memory = _memory_gib()
    if memory:
        found["memory_gib"] = memory
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found["gpu"] = properties.name
        found["gpu_memory_gib"] = round(properties.total_memory / 2**30, 1)
    return found


def multiplies_bfloat16(device: torch.device) -> bool:
    """Tell whether a device has instructions for products of bfloat16 numbers.

    A processor without them is still asked by PyTorch to make such products, number by number: an
    epoch then takes 12 to 20 times as long as in float32.
    """
    return device.type != "cpu" or bool(torch.cpu.get_capabilities().get("avx512_bf16"))


def versions() -> dict[str, str]:
    """Versions of Python, the course and the libraries that numbers depend on."""
    names = {"course": "attention-course", "numpy": "numpy", "torch": "torch"}
    found = {label: version(package) for label, package in names.items()}
    # The build tag (+cpu, +cu128) matters for numbers; the package's metadata leaves it out.
    found["torch"] = torch.__version__
    return {"python": platform.python_version(), **found}


def parent_commit() -> str:
    """The checkout's last commit, or "" where there is none."""
    return _git("rev-parse", "HEAD") or ""


def is_clean() -> bool | None:
    """Tell whether the library is as committed; nothing outside a checkout."""
    changed = _git("status", "--porcelain", "--", ".")
    return None if changed is None else not changed


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


class Clock:
    """Seconds since the last lap, on the wall and on the device.

    On a CPU, device seconds are those of all threads together, so that other work on the machine
    does not count; on a GPU they are the wall's, as the GPU is the run's own.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._last = self._now()

    def lap(self) -> dict[str, float]:
        """Wall and device seconds since the last lap, or since the clock was made."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        now = self._now()
        wall, device = (b - a for a, b in zip(self._last, now, strict=True))
        self._last = now
        return {"wall_seconds": round(wall, 3), "device_seconds": round(device, 3)}

    def _now(self) -> tuple[float, float]:
        wall = time.perf_counter()
        return wall, wall if self._device.type == "cuda" else time.process_time()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _cores() -> int:
    # The cores that this process may use, which a container may have cut.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 0


def _memory_gib() -> float:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return 0.0
