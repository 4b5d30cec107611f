"""Right values without the right function, and mistakes that are known without their code.

The tree that students get (:mod:`grader.student.handout`) holds neither. In the place of an
exercise's answers lies a file of records: what the reference returned for the samples of a few
seeds, and of each known mistake the verdicts under these seeds and a sketch of all it returned.
"""

import copy
import gzip
import hashlib
import inspect
import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from grader.base.tensors import Tensor, torch
from grader.checks.answer_proxy import Failure
from grader.checks.compare import ROUNDING, TOLERANCES, is_half, name
from grader.checks.protocol import pack, unpack

SUFFIX = ".records"
# Record of an exercise's reference where no more than slices of it are asked for.
SLICES = "slices"
# As many as a student may meet the samples of; in grading every hand-in has its own.
SEEDS = tuple(f"{n:032x}" for n in (1, 2, 3))
# Weighted sums of a tensor: two wrong tensors agree in all of them by chance only.
_SUMS = 3
_LOOSEST = (1e-2, 2e-3)


class Unrecorded(Exception):
    """The reference was asked for what it returns on arguments of which there is no record."""


@dataclass(frozen=True)
class Sketch:
    """Digest of values: too little to have them back, enough to know them again."""

    form: str  # a digest of kinds, shapes, dtypes, and of all that is no real number
    numbers: bytes  # weighted sums of the real ones, and how far each may be off, ``(n, 2)``

    @classmethod
    def of(cls, values: Any) -> "Sketch":
        """The sketch of a structure of values."""
        form: list[str] = []
        sums: list[tuple[float, float]] = []
        _draw(values, form, sums)
        digest = hashlib.sha256("\n".join(form).encode(errors="replace")).hexdigest()[:16]
        return cls(digest, np.array(sums, "<f8").tobytes())

    @property
    def table(self) -> Any:
        """The numbers as two arrays, ``(2, n)``."""
        return np.frombuffer(self.numbers, "<f8").reshape(-1, 2).T

    def far(self, other: "Sketch") -> float:
        """Measure how far another one of the same form is, in units of what is allowed."""
        (sums, within), others = self.table, other.table[0]
        return float((np.abs(sums - others) / np.maximum(within, 1e-300)).max(initial=0))

    def fits(self, other: "Sketch", slack: float = 1) -> bool:
        """Tell whether the other is one of the same values, as far as rounding can tell."""
        return self.form == other.form and self.far(other) <= slack

    def rounded(self) -> "Sketch":
        """The same with no more digits than a comparison can tell; what is left takes less room."""
        sums, within = self.table
        step = np.exp2(np.floor(np.log2(within)) - 4)
        fewer = np.stack([np.round(sums / step) * step, np.ceil(within / step) * step], axis=1)
        return Sketch(self.form, fewer.tobytes())


def returned_sketch(values: Any) -> Sketch:
    """The sketch of what came back, by which a mistake is known, of no half precision."""

    def bare(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return list(map(bare, value))
        half = isinstance(value, Tensor) and is_half(value)
        return f"half precision {tuple(value.shape)}" if half else value

    return Sketch.of(bare(list(values)))


def _draw(value: Any, form: list[str], sums: list[tuple[float, float]]) -> None:
    if isinstance(value, Tensor) and value.dim() == 0:
        value = value.item()
    if isinstance(value, Failure):
        form.append(f"raised {value.type}")
    elif isinstance(value, Tensor):
        _draw_tensor(value.detach(), form, sums)
    elif isinstance(value, (list, tuple)):
        form.append(f"{len(value)} values")
        for part in value:
            _draw(part, form, sums)
    elif isinstance(value, Mapping):
        form.append(f"keys {list(value)}")
        for part in value.values():
            _draw(part, form, sums)
    elif isinstance(value, float) and abs(value) < float("inf"):
        form.append("number")
        sums.append((value, 1e-6 + 1e-4 * abs(value)))
    elif torch and isinstance(value, torch.Generator):
        form.append(f"generator {zlib.crc32(value.get_state().numpy().tobytes())}")
    elif callable(value):
        form.append(f"function {getattr(value, '__qualname__', type(value).__name__)}")
    else:
        form.append(f"{type(value).__name__} {value!r}")


def _draw_tensor(value: Tensor, form: list[str], sums: list[tuple[float, float]]) -> None:
    real = value.is_floating_point() or value.is_complex()
    # One dtype of whole numbers is as good as another.
    kind = name(value) if real or value.dtype == torch.bool else "whole"
    form.append(f"{kind} {tuple(value.shape)}")
    if not real:
        form.append(str(zlib.crc32(value.long().contiguous().numpy().tobytes())))
        return
    rtol, atol = TOLERANCES.get(value.dtype, _LOOSEST)
    flat = (torch.view_as_real(value.resolve_conj()) if value.is_complex() else value).flatten()
    flat = flat.double()
    odd = flat.isfinite().logical_not()
    if odd.any():
        form.append(str(zlib.crc32(flat[odd].sign().nan_to_num(2).numpy().tobytes())))
        form.append(str(zlib.crc32(odd.numpy().tobytes())))
        flat = flat.masked_fill(odd, 0)
    if len(flat):
        weights, off = _weights(len(flat)), atol + rtol * flat.abs()
        within = (weights.square() @ off.square()).sqrt()
        sums += zip((weights @ flat).tolist(), within.tolist(), strict=True)


@lru_cache(maxsize=64)
def _weights(length: int) -> Tensor:
    """Whole numbers that are the same on every machine, ``(_SUMS, length)``."""
    generator = torch.Generator().manual_seed(length)
    size = torch.randint(1, 9, (_SUMS, length), generator=generator)
    sign = torch.randint(0, 2, (_SUMS, length), generator=generator) * 2 - 1
    return (size * sign).double()


@dataclass
class Records:
    """Record of one exercise: calls of what answers, and what mistakes came to."""

    # Names and kinds of functions' arguments; the reference comes first.
    parameters: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    # Mistakes by name, what they assume, and their hints.
    named: list[tuple[str, str, str]] = field(default_factory=list)
    calls: dict[str, list[tuple[Sketch, Any]]] = field(default_factory=lambda: defaultdict(list))
    mistakes: dict[tuple[str, str], list[tuple[bool | None, Sketch]]] = field(default_factory=dict)

    def keep(self, called: str, args: Sequence[Any], kwargs: Mapping[str, Any], value: Any) -> None:
        """Record a call of a function, once."""
        asked = Sketch.of([called, list(args), dict(kwargs)])
        known = self.calls[asked.form]
        if all(asked != sketch for sketch, _ in known):
            known.append((asked, copy.deepcopy(value)))

    def value(self, called: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Value of a function on these arguments."""
        asked = Sketch.of([called, list(args), dict(kwargs)])
        # Arguments a millionth apart are asked for, too, where gradients are measured.
        near = min(self.calls.get(asked.form, ()), key=lambda e: asked.far(e[0]), default=None)
        if near is None or not asked.fits(near[0]):
            raise Unrecorded
        return copy.deepcopy(near[1])

    def functions(self) -> Iterator[Callable[..., Any]]:
        """In the place of functions without bodies: each returns what it is known to return."""
        return map(self._known, self.parameters)

    def _known(self, called: str) -> Callable[..., Any]:
        def known(*args: Any, **kwargs: Any) -> Any:
            return self.value(called, args, kwargs)

        known.__name__ = called
        kinds = {int(kind): kind for kind in inspect._ParameterKind}
        given = [inspect.Parameter(n, kinds[kind]) for n, kind in self.parameters[called]]
        vars(known)["__signature__"] = inspect.Signature(given)
        return known

    def seed(self, seed: str) -> str:
        """The one of the known seeds that stands for another one, always the same."""
        known = sorted({seed for seed, _ in self.mistakes})
        place = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8])
        return seed if seed in known or not known else known[place % len(known)]

    def seen(
        self, seed: str, returned: Sequence[Sequence[Any]]
    ) -> dict[str, list[tuple[bool | None, bool]]]:
        """Of each mistake its verdict on each property, and whether it returned the same there.

        The seed may be any: the known one that stands for it is looked up.
        """
        known = self.seed(seed)
        sketches = [returned_sketch(values) for values in returned]
        return {
            mistake: [
                (own, drawn.fits(sketch, ROUNDING))
                for (own, sketch), drawn in zip(parts, sketches, strict=True)
            ]
            for (under, mistake), parts in self.mistakes.items()
            if under == known
        }

    def write(self) -> bytes:
        """The bytes of a file that :func:`records` reads."""
        frames = [pack({"parameters": self.parameters, "named": self.named})]
        frames += [
            pack({"asked": vars(sketch), "value": value})
            for known in self.calls.values()
            for sketch, value in known
        ]
        frames += [
            pack(
                {
                    "seed": seed,
                    "mistake": mistake,
                    "parts": [(passed, vars(sketch)) for passed, sketch in parts],
                }
            )
            for (seed, mistake), parts in self.mistakes.items()
        ]
        sized = b"".join(struct.pack(">I", len(frame)) + frame for frame in frames)
        return gzip.compress(sized, mtime=0)

    @classmethod
    def read(cls, content: bytes) -> "Records":
        """Record that :meth:`write` has written."""
        records, frames, start = cls(), gzip.decompress(content), 0
        while start < len(frames):
            (size,) = struct.unpack_from(">I", frames, start)
            entry = unpack(frames[start + 4 : start + 4 + size])
            if "parameters" in entry:
                records.parameters, records.named = entry["parameters"], entry["named"]
            elif "mistake" in entry:
                parts = [(passed, Sketch(**sketch)) for passed, sketch in entry["parts"]]
                records.mistakes[entry["seed"], entry["mistake"]] = parts
            else:
                asked = Sketch(**entry["asked"])
                records.calls[asked.form].append((asked, entry["value"]))
            start += 4 + size
        return records
