"""Structures of values: tuples, lists and dicts of tensors, numbers and words."""

from typing import Any

from grader.base.tensors import Tensor, torch
from grader.checks.protocol import Fixture, leaves, mapped


def has(value: Any, dtype: torch.dtype) -> bool:
    """Tell whether a tensor of this dtype is in a structure, or a fixture that makes one."""
    return any(
        leaf.params.get("dtype") == str(dtype).removeprefix("torch.")
        if isinstance(leaf, Fixture)
        else isinstance(leaf, Tensor) and leaf.dtype == dtype
        for leaf in leaves(value)
    )


def in_single(value: Any) -> Any:
    """The same with single precision in the place of double."""

    def single(leaf: Any) -> Any:
        double = isinstance(leaf, Tensor) and leaf.dtype == torch.float64
        return leaf.float() if double else leaf

    return mapped(single, value)


def is_real(value: Any) -> bool:
    """Tell whether there is a real number in an argument."""
    return any(
        type(leaf) is float or (isinstance(leaf, Tensor) and leaf.is_floating_point())
        for leaf in leaves(value)
    )


def is_data(value: Any) -> bool:
    """Tell whether an argument is data that comes back as it was sent: no fixture."""
    return not any(isinstance(leaf, Fixture) for leaf in leaves(value))


def copies(value: Any) -> Any:
    """A deep copy of the tensors in a structure; everything else as it is."""
    return mapped(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, value)
