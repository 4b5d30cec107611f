"""Ratios of speed: two ways of doing the same, measured in turn in one run.

Seconds say more about the machine than about the code; a ratio from one run says what one way costs
compared with the other.
"""

from course_lib.benchmarks.attention import Measured, bench, exponents, worst
from course_lib.benchmarks.growth import Growth, bench_growth
from course_lib.benchmarks.paths import measure
from course_lib.benchmarks.timing import Ratio, compare, peak_memory

__all__ = [
    "Growth", "Measured", "Ratio", "bench", "bench_growth", "compare", "exponents", "measure",
    "peak_memory", "worst",
]  # fmt: skip
