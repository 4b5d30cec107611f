"""Records: what an experiment leaves behind: JSON, a file a run, and later a member of an archive.

The book prints no number that is not in a record. So a record says all that is needed to judge the
number and to make it again, and nothing about whose machine it was.
"""

import base64
import dataclasses
import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
import torch
from pydantic import AfterValidator, Field
from torch import Tensor

from course_lib.packed import contents, pack
from course_lib.strict import Number, strict
from grader.base.errors import Refused
from grader.base.files import write_whole

SCHEMA: Final = 2
"""Of what is written now. In records of schema 1 the digest was over whole modules, the same for
all experiments: they can be read, and which code made them cannot be told."""

# An absolute path of two parts or more, a home folder, a drive.
_PATH = re.compile(r"(^|[\s\"'=:(])(/[^\s/]+/[^\s]*|~/|[A-Za-z]:\\)")


class RecordError(Refused):
    """A record does not satisfy the schema; the message names the file, if any, and the field."""


@dataclass(frozen=True)
class DataUse:
    """A data set that a run used.

    ``variant``: which edition: for CIFAR-10 whether it is the official one or a lossy copy, for
    generated data the settings that matter.
    """

    name: str
    variant: str
    sha256: str  # of its content


def _whole(use: DataUse) -> DataUse:
    if not (use.name and use.variant and re.fullmatch("[0-9a-f]{64}", use.sha256)):
        raise ValueError("expected a name, a variant and a SHA-256")
    return use


def _zoned(time: str) -> str:
    if datetime.fromisoformat(time).utcoffset() is None:
        raise ValueError("expected a time with its zone")
    return time


def _unpackable(items: str) -> str:
    unpack_items(items)
    return items


MIXED = ("image-data-curve", "image-models", "image-recipes", "vit-2026")
"""Experiments whose products are in bfloat16 where the device has them; a record that does not say
whether it has is of one that did."""

_Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
_Filled = Annotated[dict[str, Any], Field(min_length=1)]
_Seconds = Annotated[Number, Field(ge=0)]


@strict(RecordError)
class Record:
    """One finished run.

    Args:
        data: The data sets used.
        commit: The checkout's last commit before the run; empty outside a checkout.
        source_sha256: Of the definitions that training reaches, see ``experiments.source``.
        clean: Whether the library was as committed; nothing where that was not asked.
        items: What was found for each test item, by name, as :func:`pack_items` writes it: bits for
            right and wrong, half-precision numbers for errors.
    """

    experiment: _Name
    arm: _Name
    size: _Name  # "cpu" or "full"
    seed: Annotated[int, Field(ge=0)]
    config: _Filled
    data: Annotated[list[Annotated[DataUse, AfterValidator(_whole)]], Field(min_length=1)]
    metrics: Annotated[list[dict[str, Number]], Field(min_length=1)]  # one row an epoch
    results: _Filled  # final numbers; tables as nested mappings
    wall_seconds: _Seconds
    device_seconds: _Seconds  # time that processor (summed over its threads) or GPU worked
    hardware: _Filled  # kind of device, processor and memory
    versions: Annotated[dict[str, str], Field(min_length=1)]  # of Python and the libraries
    commit: Annotated[str, Field(pattern="^([0-9a-f]{40})?$")]
    source_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    finished: Annotated[str, AfterValidator(_zoned)]  # when, in UTC
    clean: bool | None = None
    items: dict[str, Annotated[str, AfterValidator(_unpackable)]] = field(default_factory=dict)
    schema: Literal[1, 2] = SCHEMA

    def __post_init__(self) -> None:
        for i, row in enumerate(self.metrics):
            if row.get("epoch") != i + 1:
                raise ValueError(f"metrics[{i}] has epoch {row.get('epoch')!r}, expected {i + 1}")
            if row.keys() != self.metrics[0].keys():
                raise ValueError(f"metrics[{i}] has other columns than the first row")
        # Packed numbers look like a path now and then, and unpack to numbers alone.
        if found := "; ".join(_private({**dataclasses.asdict(self), "items": None}, "record")):
            raise ValueError(found)

    @property
    def file_name(self) -> str:
        """Name of its file, unique within the experiment."""
        return record_name(self.arm, self.size, self.seed)

    @property
    def machine(self) -> dict[str, str]:
        """Kind of device, products of matrices and torch: in these, too, a pair must not differ."""
        ours = self.hardware
        named = (ours.get(key) for key in ("autocast", "products", "float32_products"))
        mixed = self.experiment in MIXED and ours.get("bfloat16", True)
        return {
            "device": ours.get("gpu") or ours.get("device", ""),
            "products": "bfloat16" if mixed else next(filter(None, named), "float32"),
            "torch": self.versions.get("torch", ""),
        }

    @cached_property
    def numbers(self) -> dict[str, float]:
        """All numbers of its results, by the keys by which :func:`measured` finds them."""
        return dict(_numbers(self.results))

    def to_json(self) -> str:
        """The record as JSON text, fields in a fixed order."""
        values = dataclasses.asdict(self)
        return json.dumps({"schema": values.pop("schema")} | values, indent=1) + "\n"


def record_name(arm: str, size: str, seed: int) -> str:
    """File name of a record.

    Example:
        >>> record_name("gru", "cpu", 0)
        'gru-cpu-0.json'
    """
    return f"{arm}-{size}-{seed}.json"


def validate(values: Mapping[str, Any]) -> Record:
    """Turn the content of a JSON file into a record."""
    if not isinstance(values, Mapping):
        raise RecordError(f"expected an object, got {type(values).__name__}")
    needed = {"schema", "clean", "items"} if values.get("schema") == SCHEMA else {"schema"}
    if missing := sorted(needed - set(values)):
        raise RecordError(f"missing fields {missing}")
    try:
        data = [DataUse(**use) for use in values.get("data", ())]
    except TypeError as error:
        raise RecordError(f"data: {error}") from error
    return Record(**{**values, "data": data})


def pack_items(values: Tensor) -> str:
    """One number for each test item as a short text.

    ``values``: booleans, a bit each, or numbers, two bytes each; ``(N,)``.
    """
    if values.ndim != 1:
        raise Refused(f"items are {tuple(values.shape)}, wanted one axis")
    if values.dtype == torch.bool:
        kind, raw = "bits", np.packbits(values.cpu().numpy())
    else:
        kind, raw = "half", values.cpu().half().numpy()
        if not np.isfinite(raw).all():
            raise Refused("an item is not finite in half precision")
    return f"{kind}:{len(values)}:{base64.b64encode(raw.tobytes()).decode()}"


def unpack_items(text: str) -> Tensor:
    """Contents that :func:`pack_items` wrote: booleans or floats ``(N,)``."""
    kind, _, rest = text.partition(":")
    count, _, packed = rest.partition(":")
    if kind not in ("bits", "half") or not count.isdigit():
        raise Refused(f"items begin with {text[:12]!r}, wanted 'bits:N:' or 'half:N:'")
    raw, n = base64.b64decode(packed, validate=True), int(count)
    if len(raw) != (-(-n // 8) if kind == "bits" else 2 * n):
        raise Refused(f"{len(raw)} bytes for {n} items of kind {kind}")
    if kind == "bits":
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=n)
        return torch.from_numpy(bits.astype(bool))
    return torch.from_numpy(np.frombuffer(raw, "<f2").astype(np.float32))


def load_record(path: Path) -> Record:
    """Read one record, from its own file or else from its experiment's archive."""
    archive = path.parent.with_suffix(".zip")
    found = _current(path if path.exists() or not archive.exists() else archive)
    if path not in found:
        raise RecordError(f"{path}: there is no such file, nor is it in {archive}")
    return found[path]


def load_records(results_dir: Path, experiment: str | None = None) -> list[Record]:
    """Read all records of a folder, or those of one experiment, in the order of their names."""
    name = experiment or "*"
    found: dict[Path, Record] = {}
    # What lies loose is younger than an archive, and takes the place of its like in there.
    for file in (*results_dir.glob(f"{name}.zip"), *results_dir.glob(f"{name}/*.json")):
        found |= _current(file)
    return [found[path] for path in sorted(found)]


def _current(file: Path) -> dict[Path, Record]:
    """The records of a file by their paths, which in an archive are those of loose ones."""
    try:
        stat = file.stat()
        return _unchanged(file, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise RecordError(f"{file}: {error}") from error


@cache
def _unchanged(file: Path, changed: int, size: int) -> dict[Path, Record]:
    """What was read already, until its file changes: one page asks for all records four times."""
    return {path: _parsed(text, path, file) for path, text in contents(file).items()}


def _parsed(text: bytes, path: Path, file: Path) -> Record:
    name = f"{path.parent.name}/{path.name}"
    place = f"{path}" if path == file else f"{file}, member {name} (`zip -d` takes it out)"
    try:
        record = validate(json.loads(text))
    except json.JSONDecodeError as error:
        told = f"{place}: no JSON, or cut off ({error}); delete it and run that arm again"
        raise RecordError(told) from error
    except ValueError as error:
        raise RecordError(f"{place}: {error}") from error
    if name != (wanted := f"{record.experiment}/{record.file_name}"):
        raise RecordError(f"{place}: holds the record {wanted}, which belongs under that name")
    return record


def write_record(record: Record, results_dir: Path) -> Path:
    """Write a record to its place; a file that is there is replaced in one step."""
    path = results_dir / record.experiment / record.file_name
    write_whole(path, record.to_json())
    return path


def pack_records(results_dir: Path) -> list[Path]:
    """Move loose records into the archives of their experiments; the files that lay there.

    One that a run writes anew meanwhile stays.
    """
    import fcntl  # Windows has none, and reads records

    lock = os.open(results_dir, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)  # a second packer waits
    packed = []
    try:
        for folder in sorted({path.parent for path in results_dir.glob("*/*.json")}):
            archive = folder.with_suffix(".zip")
            load_records(results_dir, folder.name)  # refuses what is no record
            loose = {path: path.read_bytes() for path in sorted(folder.glob("*.json"))}
            members = (contents(archive) if archive.exists() else {}) | loose
            pack(archive, {f"{folder.name}/{path.name}": text for path, text in members.items()})
            for path in (path for path, text in loose.items() if path.read_bytes() == text):
                path.unlink()
                packed.append(path)
    finally:
        os.close(lock)
    return packed


def pair_by_seed(
    records: Sequence[Record], larger: str, smaller: str, size: str = "cpu"
) -> list[tuple[Record, Record]]:
    """Records of two arms that share seed and machine, in the order of the seeds."""
    by_arm: dict[str, dict[int, Record]] = {larger: {}, smaller: {}}
    for record in records:
        if record.size == size and record.arm in by_arm:
            by_arm[record.arm][record.seed] = record
    seeds = sorted(by_arm[larger].keys() & by_arm[smaller].keys())
    pairs = [(by_arm[larger][seed], by_arm[smaller][seed]) for seed in seeds]
    return [(one, other) for one, other in pairs if one.machine == other.machine]


def measured(record: Record, metric: str) -> float:
    """A number of a record.

    ``metric``: key of its results; a dot leads into a nested one, whose keys may hold dots, too.
    ``column@10`` is what a column of the metrics holds after 10 epochs.
    """
    column, _, epoch = metric.partition("@")
    rows = record.metrics[int(epoch) - 1 : int(epoch)] if epoch else [record.numbers]
    if not rows or column not in rows[0]:
        known = ", ".join(record.results)
        raise Refused(
            f"{record.experiment} {record.arm} has no number {metric!r}; its results: {known}"
        )
    return float(rows[0][column])


def _numbers(results: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for key, value in results.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix + key, float(value)


def _private(value: Any, where: str) -> Iterator[str]:
    """Paths and the host's name: they say whose machine it was, and help nobody."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _private(part, f"{where}.{key}")
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from _private(part, f"{where}[{i}]")
    elif isinstance(value, str):
        if _PATH.search(value):
            yield f"{where} holds a path: {value!r}"
        host = platform.node()
        # A short name may be an ordinary word.
        if len(host) > 5 and host.lower() in value.lower():
            yield f"{where} holds this machine's name"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{where} is {value}, expected a finite number"
    elif not isinstance(value, bool | int | float | type(None)):
        yield f"{where} is of type {type(value).__name__}, which JSON does not have"
