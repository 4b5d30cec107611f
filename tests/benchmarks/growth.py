"""Time and peak memory of every cheaper attention beside full attention, as the text grows.

Each length has both measured in turn, in seconds of the processor, so that what else the machine
does hardly counts and meets both. A record a variant, written when it is measured.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from pydantic import TypeAdapter

from course_lib.experiments.generated import sha256_of
from course_lib.experiments.provenance import Clock
from course_lib.experiments.record import DataUse, write_record
from course_lib.experiments.source import digest as digest_of
from course_tests.benchmarks.recording import Report, kept, speed_record
from course_tests.benchmarks.timing import Ratio, compare, forward_pass, peak_memory, training_pass
from course_tests.parity.growth import D_MODEL, N_HEADS, VARIANTS
from course_tests.parity.peers import Mechanism
from grader.base.errors import Refused

EXPERIMENT = "cost-growth"
LENGTHS = (64, 256, 1024, 4096)
PASSES = {"forward": forward_pass, "training": training_pass}
"""What is measured of each: a call without gradients, and a call with the way back."""


@dataclass(frozen=True)
class Growth:
    """One variant's numbers, by length and pass, such as ``"1024 forward"``."""

    name: str
    against: str
    ratios: dict[str, Ratio]
    seconds: dict[str, float]
    peak_bytes: dict[str, int]
    peak_against: dict[str, int]

    def line(self, key: str) -> str:
        """One length and pass in a line."""
        ratio, mib = self.ratios[key], 2**20
        return (
            f"{key}: {ratio.ratio:.2f} x [{ratio.low:.2f}, {ratio.high:.2f}] the time of "
            f"{self.against}, {self.peak_bytes[key] / mib:.2f} MiB and not "
            f"{self.peak_against[key] / mib:.2f}"
        )


def bench_growth(
    results_dir: Path,
    names: Sequence[str] = (),
    *,
    lengths: Sequence[int] = LENGTHS,
    repeats: int = 15,
    again: bool = False,
) -> Iterator[Growth]:
    """Measure variants one after the other; a record each, written at once."""
    unknown = sorted(set(names) - set(VARIANTS))
    if unknown:
        raise Refused(f"no variant {', '.join(unknown)}; there are {', '.join(VARIANTS)}")
    digest = digest_of([("course_tests.parity.growth", "*")])
    for name, variant in VARIANTS.items():
        if names and name not in names:
            continue
        config = {
            "lengths": list(lengths), "repeats": repeats, "d_model": D_MODEL, "n_heads": N_HEADS,
            "clock": "processor", "against": variant.against, "power": variant.power,
            "causal": variant.causal,
        }  # fmt: skip
        old = None if again else kept(results_dir, EXPERIMENT, name, digest)
        if old and old.config == config:
            known = {"name": name, "against": variant.against}
            yield TypeAdapter(Growth).validate_python(known | old.results)
            continue
        clock = Clock(torch.device("cpu"))
        growth = _measure(variant, lengths, repeats)
        results = {k: v for k, v in asdict(growth).items() if k not in ("name", "against")}
        tokens = [variant.grown(length)[1][0] for length in lengths]
        data = DataUse("tokens", f"generated, width {D_MODEL}", sha256_of(tokens))
        record = speed_record(EXPERIMENT, name, config, data, results, digest, clock)
        write_record(record, results_dir)
        yield growth


def _measure(variant: Mechanism, lengths: Sequence[int], repeats: int) -> Growth:
    ratios: dict[str, Ratio] = {}
    peaks: dict[str, int] = {}
    peaks_against: dict[str, int] = {}
    for length in lengths:
        fewer = max(min(repeats, 5), min(repeats, repeats * 1024 // length))
        ours, rival = variant.grown(length), VARIANTS[variant.against].grown(length)
        for label, prepare in PASSES.items():
            key = f"{length} {label}"
            first, second = prepare(*ours), prepare(*rival)
            ratios[key] = compare(first, second, fewer, time.process_time)
            peaks[key], peaks_against[key] = peak_memory(first), peak_memory(second)
    seconds = {key: ratio.seconds for key, ratio in ratios.items()}
    return Growth(variant.name, variant.against, ratios, seconds, peaks, peaks_against)


def report(asked: argparse.Namespace, root: Path, results: Path) -> Report:
    torch.set_num_threads(1)  # a second one is at the mercy of whatever else the machine does
    found = {}
    repeats = asked.repeats or 15
    for growth in bench_growth(results, asked.mechanisms, repeats=repeats, again=asked.again):
        found[growth.name] = {key: ratio.ratio for key, ratio in growth.ratios.items()}
        if not asked.json:
            print(growth.name, *map(growth.line, growth.ratios), sep="\n  ", flush=True)
    return {"ratios": found}, [f"variants {len(found)}"], False
