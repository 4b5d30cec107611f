"""The data-only protocol between a check and an answer: JSON and raw bytes, never pickle.

A message is a dict of plain values: ``None``, booleans, numbers, strings, bytes, lists, tuples,
dicts with string keys, tensors where torch is installed, and two stand-ins: :class:`Fixture` (built
on the answer's side from public code) and :class:`Opaque` (something that cannot cross, known only
by its type's name). ``pack`` and ``unpack`` are each other's inverse.
"""

import json
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.base.tensors import Tensor, torch

MAX_FRAME = 8 * 2**20
# All of a message but bytes and tensors. As Python objects it takes up to thirty times as much.
MAX_HEADER = 2**19
MAX_DEPTH = 20
MAX_TEXT = 20_000
# A number that numpy made is as good as Python's own.
NUMBERS = tuple(k for k in np.sctypeDict.values() if issubclass(k, (np.number, np.bool_)))
# Errors of whoever reads what nobody has packed.
_MALFORMED = LookupError, TypeError, ValueError, ArithmeticError, RuntimeError, struct.error
# Beyond this an integer is no float any more.
MAX_INT = 2**1000

DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64),
        *(torch.complex64, torch.complex128, torch.bool, torch.uint8),
        *(torch.int8, torch.int16, torch.int32, torch.int64),
    )
    if torch
}


# A layer's weights come back as well as what it computes; of other subclasses only the name.
TENSORS = (Tensor, torch.nn.Parameter)


# Of tensors, from before an answer could put something in its place.
if torch:
    _view, _reshape, _copy, _numpy = Tensor.view, Tensor.reshape, Tensor.copy_, Tensor.numpy
    _detach, _ne, _empty, _frombuffer = Tensor.detach, Tensor.ne, torch.empty, torch.frombuffer


class ProtocolError(ValueError):
    """A message that is too large, too deep, malformed or of an unknown kind."""


@dataclass(frozen=True)
class Fixture:
    """An argument that the answer's side builds itself, from public code, because it is large."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Opaque:
    """A returned object that is not data; only its type's name crosses."""

    type_name: str


def pack(message: dict[str, Any]) -> bytes:
    """Turn a message into bytes, unless it is too large or too deep.

    Example:
        >>> unpack(pack({"x": torch.arange(3), "y": (1, None)}))
        {'x': tensor([0, 1, 2]), 'y': (1, None)}
    """
    buffers: list[bytes] = []
    tree = _encode(message, buffers, 0)
    header = json.dumps({"tree": tree, "sizes": [len(b) for b in buffers]}).encode()
    if len(header) > MAX_HEADER:
        problem = f"{len(header):,} bytes without tensors, at most {MAX_HEADER:,} may cross"
        raise ProtocolError(problem)
    size = 4 + len(header) + sum(map(len, buffers))
    if size > MAX_FRAME:
        raise ProtocolError(f"message of {size:,} bytes, at most {MAX_FRAME:,} may cross")
    return b"".join([struct.pack(">I", len(header)), header, *buffers])


def unpack(frame: bytes) -> dict[str, Any]:
    """Turn bytes back into a message, trusting none of them."""
    try:
        (length,) = struct.unpack_from(">I", frame)
        if length > MAX_HEADER:
            raise ProtocolError(f"malformed message: {length:,} bytes without tensors")
        header = json.loads(frame[4 : 4 + length])
        buffers: list[bytes | None] = []
        start = 4 + length
        for size in header["sizes"]:
            if not isinstance(size, int) or size < 0 or start + size > len(frame):
                raise ProtocolError("buffer outside the message")
            buffers.append(frame[start : start + size])
            start += size
        if start != len(frame):
            raise ProtocolError(f"{len(frame) - start} bytes after the message")
        message = _decode(header["tree"], buffers, 0)
    except ProtocolError:
        raise
    except _MALFORMED as error:
        raise ProtocolError(f"malformed message: {error}") from None
    if not isinstance(message, dict):
        raise ProtocolError(f"a message is a dict, this is a {type(message).__name__}")
    return message


def items(value: Any) -> list[Any] | None:
    """The items of a list or tuple, or None; a subclass, such as a named tuple, is not asked."""
    for kind in (list, tuple):
        if issubclass(type(value), kind):
            return list(kind.__iter__(value))
    return None


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """A structure of lists, tuples and dicts with each of its values changed."""
    if isinstance(value, (list, tuple)):
        kind = list if isinstance(value, list) else tuple  # a named tuple becomes a plain one
        return kind(mapped(change, part) for part in value)
    if isinstance(value, dict):
        return {key: mapped(change, part) for key, part in value.items()}
    return change(value)


def normal(shape: list[int], seed: int, dtype: str = "float32") -> Tensor:
    """Standard normal numbers of this shape."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=getattr(torch, dtype))


FIXTURES = {"normal": normal}


def built(values: Any) -> Any:
    """A structure with what its fixtures stand for."""
    return mapped(lambda v: FIXTURES[v.name](**v.params) if isinstance(v, Fixture) else v, values)


def leaves(value: Any) -> Iterator[Any]:
    """The values in a structure of lists, tuples and dicts."""
    if isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    else:
        yield value


def weight(frame: bytes) -> int:
    """About how many bytes a message takes once it is unpacked."""
    return len(frame) + 30 * int(struct.unpack_from(">I", frame)[0])


def _encode(value: Any, buffers: list[bytes], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ProtocolError(f"nested deeper than {MAX_DEPTH} levels")
    deeper = depth + 1
    # `type(...) is` rather than isinstance: a subclass may lie about itself, and its methods are
    # the answer's own code, which could go on computing here.
    if type(value) in NUMBERS:
        value = value.item()
    if value is None or type(value) is bool:
        return value
    if type(value) is int or type(value) is float:
        if type(value) is float or abs(value) < 2**53:
            return value
        return {"int": str(value)} if abs(value) < MAX_INT else {"opaque": "huge int"}
    if type(value) is str:
        return value[:MAX_TEXT]
    if type(value) is bytes:
        buffers.append(value)
        return {"bytes": len(buffers) - 1}
    if type(value) in TENSORS:
        return _encode_tensor(value, buffers)
    if type(value) is Fixture:
        return {"fixture": value.name, "params": _encode(value.params, buffers, deeper)}
    if type(value) is Opaque:
        return {"opaque": value.type_name[:200]}
    if (parts := items(value)) is not None:
        kind = "list" if issubclass(type(value), list) else "tuple"
        return {kind: [_encode(item, buffers, deeper) for item in parts]}
    if issubclass(type(value), dict) and all(type(key) is str for key in dict.keys(value)):
        pairs = dict.items(value)
        return {"dict": {k[:MAX_TEXT]: _encode(v, buffers, deeper) for k, v in pairs}}
    return {"opaque": type(value).__name__[:200]}


def _encode_tensor(tensor: Tensor, buffers: list[bytes]) -> dict[str, Any]:
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu":
        return {"opaque": f"tensor on the device {tensor.device.type}"}
    if name not in DTYPES or tensor.layout != torch.strided:
        return {"opaque": f"{tensor.layout} tensor of {tensor.dtype}"}
    if tensor.numel() * tensor.element_size() > MAX_FRAME:
        raise ProtocolError(f"tensor of shape {tuple(tensor.shape)} is too large to cross")
    plain = _empty(tensor.shape, dtype=tensor.dtype)
    _copy(plain, _detach(tensor))
    raw = _numpy(_view(_reshape(plain, -1), torch.uint8)).tobytes() if plain.numel() else b""
    buffers.append(raw)
    return {"tensor": len(buffers) - 1, "dtype": name, "shape": list(tensor.shape)}


def _decode(tree: Any, buffers: list[bytes | None], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ProtocolError(f"nested deeper than {MAX_DEPTH} levels")
    deeper = depth + 1
    if tree is None or isinstance(tree, (bool, float)):
        return tree
    if isinstance(tree, int):
        if abs(tree) >= MAX_INT:
            raise ProtocolError("an integer of more than a thousand bits")
        return tree
    if isinstance(tree, str):
        return tree[:MAX_TEXT]
    if not isinstance(tree, dict):
        raise ProtocolError(f"unexpected {type(tree).__name__}")
    if "bytes" in tree:
        return _taken(tree["bytes"], buffers)
    if "tensor" in tree:
        return _decode_tensor(tree, buffers)
    if "list" in tree:
        return [_decode(item, buffers, deeper) for item in tree["list"]]
    if "tuple" in tree:
        return tuple(_decode(item, buffers, deeper) for item in tree["tuple"])
    if "dict" in tree:
        return {str(k): _decode(v, buffers, deeper) for k, v in tree["dict"].items()}
    if "fixture" in tree:
        return Fixture(str(tree["fixture"]), _decode(tree["params"], buffers, deeper))
    if "int" in tree and isinstance(tree["int"], str):
        return _decode(int(tree["int"]), buffers, deeper)
    if "opaque" in tree:
        return Opaque(str(tree["opaque"])[:200])
    raise ProtocolError(f"unknown kind {sorted(tree)[:3]}")


def _taken(place: Any, buffers: list[bytes | None]) -> bytes:
    raw, buffers[place] = buffers[place], None
    if raw is None:
        # Or a small message could fill the memory of whoever reads it.
        raise ProtocolError("two values of the same bytes")
    return raw


def _decode_tensor(tree: dict[str, Any], buffers: list[bytes | None]) -> Tensor:
    dtype = DTYPES.get(tree["dtype"])
    shape = tree["shape"]
    if dtype is None or not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 16:
        raise ProtocolError(f"tensor of dtype {tree['dtype']!r} and shape {shape!r}")
    raw = _taken(tree["tensor"], buffers)
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise ProtocolError(f"{len(raw)} bytes for a tensor of {tree['dtype']} and shape {shape}")
    if not raw:
        return _empty(shape, dtype=dtype)
    data = _frombuffer(bytearray(raw), dtype=torch.uint8)
    if dtype == torch.bool:
        # A byte other than 0 or 1 would make a bool that is neither.
        return _reshape(_ne(data, 0), shape)
    return _reshape(_view(data, dtype), shape)
