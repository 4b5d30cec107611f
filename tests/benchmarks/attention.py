"""Every mechanism's fast path against its fastest peer, and how its cost grows with the length.

One record a mechanism, written when it is measured; what has a record of the same source is not
measured again.
"""

import argparse
import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import TypeAdapter

from course_lib.efficient.block_sparse import fused_block_sparse_attention, random_blocks
from course_lib.efficient.linformer import linformer_attention
from course_lib.experiments.provenance import Clock, hardware, parent_commit, versions
from course_lib.experiments.record import DataUse, Record, load_records, write_record
from course_lib.experiments.source import digest as digest_of
from course_tests.benchmarks.timing import Ratio, compare, forward_pass, peak_memory, training_pass
from course_tests.parity.peers import Lambda, Mechanism, floats, mechanisms
from course_tests.parity.peers.contract import HEADS
from grader.base.errors import Refused

EXPERIMENT = "attention-speed"
_PASSES = (("forward", forward_pass), ("forward + backward", training_pass))
_CPU = torch.device("cpu")
# How the growth is measured: lengths, and calls at each.
_LENGTHS, _REPEATS = (512, 1024, 2048, 4096), 5
_SIZES = dict(batch=1, n_heads=2, d_head=64, radius=32, n_features=64)


def _blocks(*, fast: bool, length: int, n_heads: int, **sizes: int) -> Lambda:
    generator = torch.Generator().manual_seed(length)
    blocks = random_blocks(length // 32, 3, n_heads=n_heads, generator=generator)
    return Lambda(fused_block_sparse_attention, blocks=blocks)


def _linformer(*, fast: bool, length: int, **sizes: int) -> Lambda:
    generator = torch.Generator().manual_seed(length)
    mixes = [torch.randn(64, length, generator=generator) / length**0.5 for _ in range(2)]
    return Lambda(lambda *qkv: linformer_attention(*qkv, *mixes)[0])


# Functions of queries, keys and values, and the powers of the length in their time and memory.
SCALING: dict[str, tuple[int, str, dict[str, Any]]] = {
    "full": (2, "scaled_dot_product", {"fast": False}),
    "windowed": (1, "sliding_window", {}),
    "block": (1, "block_sparse", {"build": _blocks, "inputs": HEADS}),
    "linformer": (1, "linformer", {"build": _linformer, "inputs": HEADS}),
    "performer": (1, "performer", {}),
}


@dataclass(frozen=True)
class Measured:
    """One mechanism's numbers."""

    name: str
    peer: str
    ratios: dict[str, Ratio]
    peak_bytes: dict[str, int]
    seconds: dict[str, float]

    @property
    def bound(self) -> float:
        """The largest lower bound among its ratios; 0 without a peer."""
        return max((ratio.low for ratio in self.ratios.values()), default=0.0)


def worst(measured: Sequence[Measured]) -> str:
    """The last line of a report: the largest lower bound and whose it is."""
    with_peer = [m for m in measured if m.ratios]
    if not with_peer:
        return "worst ratio none (no peer)"
    largest = max(with_peer, key=lambda m: m.bound)
    return f"worst ratio {largest.bound:.2f} ({largest.name})"


def bench(
    results_dir: Path, names: Sequence[str] = (), *, repeats: int = 30, again: bool = False
) -> Iterator[Measured]:
    """Measure mechanisms one after the other; a record each, written at once."""
    known = mechanisms()
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise Refused(f"no mechanism {', '.join(unknown)}; there are {', '.join(known)}")
    kept = {} if again else {record.arm: record for record in load_records(results_dir, EXPERIMENT)}
    for name, mechanism in known.items():
        if names and name not in names:
            continue
        digest = digest_of([(mechanism.module, "*")])
        arm = name.replace("_", "-")
        old = kept.get(arm)
        if old and old.source_sha256 == digest and old.config["repeats"] >= repeats:
            whose = {"name": name, "peer": old.config["peer"]}
            yield TypeAdapter(Measured).validate_python(whose | old.results)
            continue
        clock = Clock(_CPU)
        measured = _measure(mechanism, repeats)
        config = {"repeats": repeats, "dtype": "float32", **mechanism.row()}
        results = {k: v for k, v in asdict(measured).items() if k not in ("name", "peer")}
        write_record(_record(arm, config, results, digest, clock), results_dir)
        yield measured


def _measure(mechanism: Mechanism, repeats: int) -> Measured:
    ratios: dict[str, Ratio] = {}
    peak_bytes: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for shape in ("small", "large"):
        module, inputs = mechanism.make(getattr(mechanism, shape), fast=True)
        reference = mechanism.peer(module, inputs) if mechanism.peer else None
        if reference:
            _agree(mechanism, module(*inputs), reference.call(*reference.inputs))
        for label, prepare in _PASSES[: 2 if mechanism.trains else 1]:
            key = f"{shape} {label}"
            ours = prepare(module, inputs)
            peak_bytes[f"{key} ours"] = peak_memory(ours)
            if reference:
                theirs = prepare(reference.call, reference.inputs)
                ratios[key] = compare(ours, theirs, repeats)
                peak_bytes[f"{key} peer"] = peak_memory(theirs)
                seconds[key] = ratios[key].seconds
            else:
                seconds[key] = compare(ours, ours, max(2, repeats // 10)).seconds
    return Measured(mechanism.name, mechanism.peer_name, ratios, peak_bytes, seconds)


def _agree(mechanism: Mechanism, ours: Any, theirs: Any) -> None:
    """A benchmark of two different things says nothing."""
    for a, b in zip(floats(ours), floats(theirs), strict=True):
        scale = max(1.0, b.abs().max().item())
        difference = (a - b).abs().max().item()
        if not difference <= 100 * mechanism.tolerance * scale:
            raise Refused(
                f"{mechanism.name} differs from its peer by {difference:.2g}, wanted equality"
            )


def _record(
    arm: str, config: dict[str, Any], results: dict[str, Any], digest: str, clock: Clock
) -> Record:
    packages = {}
    if "==" in str(config.get("package", "")):
        package = config["package"].split("==")[0]
        packages[package] = version(package)
    data = DataUse("sizes", "shapes", hashlib.sha256(repr(config).encode()).hexdigest())
    return Record(
        experiment=EXPERIMENT,
        arm=arm,
        size="cpu",
        seed=0,
        config=config,
        data=[data],
        metrics=[{"epoch": 1, **results["seconds"]}],
        results=results,
        **clock.lap(),
        hardware=hardware(_CPU),
        versions={**versions(), **packages},
        commit=parent_commit(),
        source_sha256=digest,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def exponents(results_dir: Path) -> dict[str, dict[str, float]]:
    clock = Clock(_CPU)
    found = {}
    for name, (power, base, changes) in SCALING.items():
        scaling = replace(mechanisms()[base], **changes)
        times, bytes_held = [], []
        for length in _LENGTHS:
            sizes = _SIZES | {"length": length}
            call = forward_pass(*scaling.make(sizes, fast=scaling.fast, seed=length))
            times.append(compare(call, call, _REPEATS).seconds)
            bytes_held.append(peak_memory(call))
        found[name] = {
            "time": _slope(_LENGTHS, times),
            "memory": _slope(_LENGTHS, bytes_held),
            "time in theory": float(power),
            "memory in theory": float(power),
        }
    seconds = {f"{name} {kind}": v for name, row in found.items() for kind, v in row.items()}
    config = {"lengths": list(_LENGTHS), "repeats": _REPEATS}
    digest = digest_of([(__name__, "SCALING")])
    results = {"seconds": seconds, "exponents": found}
    write_record(_record("exponents", config, results, digest, clock), results_dir)
    return found


def _slope(lengths: Sequence[int], values: Sequence[float]) -> float:
    # The last doubling alone would be noise, the whole range bends at the short end.
    x = [math.log(n) for n in lengths]
    return round(float(np.polyfit(x, [math.log(max(v, 1e-12)) for v in values], 1)[0]), 3)


def report(asked: argparse.Namespace, results: Path) -> tuple[dict[str, Any], list[str]]:
    torch.set_num_threads(1)  # a second one is at the mercy of whatever else the machine does
    found = []
    for row in bench(results, asked.mechanisms, repeats=asked.repeats or 30, again=asked.again):
        found.append(row)
        if not asked.json:
            said = (f"\n  {_line(row, key, seconds)}" for key, seconds in row.seconds.items())
            print(f"{row.name}: {row.peer or 'no peer'}", *said, sep="", flush=True)
    growth = {} if asked.mechanisms else exponents(results)
    lines = [
        f"{name}: time T^{values['time']:.2f} (theory {values['time in theory']:.1f}),"
        f" memory T^{values['memory']:.2f} (theory {values['memory in theory']:.1f})"
        for name, values in growth.items()
    ]
    data = {
        "bounds": {row.name: row.bound for row in found if row.ratios},
        "without peer": [row.name for row in found if not row.ratios],
        "exponents": growth,
    }
    return data, [*lines, worst(found)]


def _line(row: Measured, key: str, seconds: float) -> str:
    memory = row.peak_bytes.get(f"{key} ours", 0) / 2**20
    line = f"{key:26} {1e3 * seconds:9.3f} ms {memory:9.2f} MiB"
    if key in row.ratios:
        ratio = row.ratios[key]
        peer = row.peak_bytes[f"{key} peer"] / 2**20
        line += f"  {ratio.ratio:6.2f} x [{ratio.low:.2f}, {ratio.high:.2f}]  peer {peer:.2f} MiB"
    return line
