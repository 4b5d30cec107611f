"""What the runs of the book have cost, from their records, and about what a GPU would take."""

from collections.abc import Sequence
from dataclasses import dataclass

from course_lib.experiments import Record

# Assumptions, stated on the page: a busy core of a server with its share of memory, fans and power
# supply, and a data-centre GPU at full load. Neither was measured.
WATTS_PER_THREAD = 10.0
WATTS_PER_GPU = 700.0

GFLOPS_PER_CORE = 100.0
"""Assumed speed of a core in training, in billions of float32 operations a second. Networks for
pictures have 50 to 200 where a record is of size ``day``, and 15 to 30 in most of size ``cpu``."""

GFLOPS_PER_GPU, GFLOPS_PROMISED = 20_000.0, 67_000.0
"""Assumed speed of a data-centre GPU of 2023 (H100, SXM), and what its data sheet promises, both in
float32. Training of large models sustains about a third of the promise. Small ones don't fill a
GPU: their steps wait for memory and for the next kernel, so they take longer than estimated."""


@dataclass(frozen=True)
class Cost:
    """What one run has cost, the mean over several; None is what is not known or not asked.

    Attributes:
        n_weights: Weights of the network.
        n_seen: Training examples seen, each as often as it came.
        core_minutes: Busy time of processor cores, measured; 0 for a run on a GPU.
        watt_hours: Estimate of the energy.
        gpu_seconds: Least time that a GPU would take, an estimate; measured where the run had one.
            None where no network was trained.
        gpu_watt_hours: Estimate of its energy in that time.
    """

    n_weights: int | None = None
    n_seen: int | None = None
    core_minutes: float | None = None
    watt_hours: float | None = None
    gpu_seconds: float | None = None
    gpu_watt_hours: float | None = None

    def __str__(self) -> str:
        if self.core_minutes is None or self.watt_hours is None:
            return ""
        said = f"{short(self.core_minutes)} core-minutes, {short(self.watt_hours)} Wh"
        if self.gpu_seconds is None or self.gpu_watt_hours is None:
            return said
        gpu = f"{short(self.gpu_seconds)} s, {short(self.gpu_watt_hours)} Wh"
        return f"{said}; on a GPU at least {gpu}" if self.core_minutes else f"on a GPU {gpu}"


def cost(records: Sequence[Record]) -> Cost:
    """What one of some runs has cost.

    Args:
        records: Of one arm and size; without any, nothing is known.

    Example:
        >>> from course_lib.experiments import SHIPPED_RESULTS, load_records
        >>> str(cost(load_records(SHIPPED_RESULTS, "scan-orders")[:1]))
        '0.005 core-minutes, 0.00083 Wh'
        >>> cost([]).core_minutes
    """
    if not records:
        return Cost()
    n, gpu = len(records), gpu_seconds(records)
    return Cost(
        records[0].results.get("n_parameters"),
        n_seen(records[0]),
        sum(r.device_seconds for r in records if "gpu" not in r.hardware) / 60 / n,
        watt_hours(records) / n,
        None if gpu is None else gpu / n,
        None if gpu is None else gpu / 3600 * WATTS_PER_GPU / n,
    )


def n_seen(record: Record) -> int | None:
    """How many training examples a network saw, each as often as it came.

    Args:
        record: The run.

    Returns:
        None where no network was trained, or the settings don't tell.
    """
    config, epochs = record.config, len(record.metrics)
    if "n_parameters" not in record.results:
        return None
    if "steps" in config:
        size = config.get("batch_size")
        return None if size is None else epochs * config["steps"] * size
    if "n_train" in config:
        return epochs * round(config["n_train"] * config.get("share", 1))
    return None


def watt_hours(records: Sequence[Record]) -> float:
    """Estimate the energy that runs have used.

    Args:
        records: Records with ``device_seconds`` (processor time on a CPU, busy time on a GPU).

    Returns:
        Watt-hours.

    Example:
        >>> watt_hours([])
        0
    """
    return sum(
        record.device_seconds
        / 3600
        * (WATTS_PER_GPU if "gpu" in record.hardware else WATTS_PER_THREAD)
        for record in records
    )


def gpu_seconds(records: Sequence[Record]) -> float | None:
    """Estimate how long a GPU would take for runs, at the least.

    Args:
        records: Records with ``device_seconds``.

    Returns:
        Seconds, of those that trained a network; None where none did.
    """
    share = GFLOPS_PER_CORE / GFLOPS_PER_GPU
    times = [
        record.device_seconds * (1 if "gpu" in record.hardware else share)
        for record in records
        if "n_parameters" in record.results
    ]
    return sum(times) if times else None


def assumptions() -> str:
    """What the estimates assume, for the page on which they stand."""
    return (
        "Core-minutes are measured. Watt-hours (Wh) are an estimate: "
        f"{WATTS_PER_THREAD:.0f} watts for a busy core with its share of the machine, "
        f"{WATTS_PER_GPU:.0f} watts for a busy GPU; neither was measured. "
        "The time on a GPU is an estimate, too: no run was repeated on one. It assumes that "
        f"in training a core computes {GFLOPS_PER_CORE:.0f} billion operations per second, and "
        f"that a data-centre GPU of 2023 computes {GFLOPS_PER_GPU:,.0f} billion: "
        f"{100 * GFLOPS_PER_GPU / GFLOPS_PROMISED:.0f} % of what its data sheet promises for "
        "numbers of 32 bits, which nearly all of our runs use. "
        f"So the GPU is taken to be {GFLOPS_PER_GPU / GFLOPS_PER_CORE:.0f} times as fast. "
        "Small models do not fill a GPU and gain less from it, so the seconds and watt-hours on a "
        "GPU are the least that a run would take there."
    )


def short(value: float) -> str:
    """Two digits of a small number, and no fraction of a large one.

    Example:
        >>> short(0.01234), short(95.2), short(1234.5)
        ('0.012', '95', '1,234')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
