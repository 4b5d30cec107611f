"""What the experiments of the book have used, estimated from their records."""

from collections.abc import Sequence

from course_lib.experiments import Record

# Assumptions, stated on the page: a busy core of a server with its share of memory, fans and power
# supply, and a data-centre GPU at full load. Neither was measured.
WATTS_PER_THREAD = 10.0
WATTS_PER_GPU = 700.0


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
