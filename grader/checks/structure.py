"""Structures of values: tuples, lists and dicts of tensors, numbers and words."""

from typing import Any

import torch
from torch import Tensor

from grader.checks.protocol import Fixture, Handle


def has(value: Any, dtype: torch.dtype) -> bool:
    """Tell whether a tensor of this dtype is in a structure, or a fixture that makes one."""
    if isinstance(value, Fixture):
        value = value.params
        return value.get("dtype") == str(dtype).removeprefix("torch.") or has(value, dtype)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(has(part, dtype) for part in value)
    return isinstance(value, Tensor) and value.dtype == dtype


def in_single(value: Any) -> Any:
    """The same with single precision in the place of double."""
    if isinstance(value, dict):
        return {key: in_single(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(in_single, value))
    double = isinstance(value, Tensor) and value.dtype == torch.float64
    return value.float() if double else value


def is_real(value: Any) -> bool:
    """Tell whether there is a real number in an argument."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(map(is_real, value))
    return (isinstance(value, Tensor) and value.is_floating_point()) or type(value) is float


def is_data(value: Any) -> bool:
    """Tell whether an argument is data that comes back as it was sent: no handle, no fixture."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return all(map(is_data, value))
    return not isinstance(value, (Handle, Fixture))


def copies(value: Any) -> Any:
    """A deep copy of the tensors in a structure; everything else as it is."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copies(v) for v in value)
    if isinstance(value, dict):
        return {k: copies(v) for k, v in value.items()}
    return value
