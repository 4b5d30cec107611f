"""Detection of constant answers: what comes back of every call is compared with what went in.

An answer that hands back its first argument, or zeros, has the right shape and dtype, finite
entries and a perfect gradient. None of that is work, so that none of it earns points.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from grader.base.tensors import Tensor
from grader.checks.answer_proxy import Failure
from grader.checks.compare import kind
from grader.checks.example import parameters
from grader.checks.protocol import leaves

# Arguments, named arguments, and what came back.
Call = tuple[Sequence[Any], Mapping[str, Any], Any]


def idle(calls: Sequence[Call], reference: Callable[..., Any]) -> str:
    """Values that an answer returns whatever it is given; empty if it computes something.

    Example:
        >>> idle([((2, 3), {}, 2), ((4, 5), {}, 4)], lambda a, b: a + b)
        'every call returns `a` as it came'
    """
    failed = [call for call in calls if isinstance(call[2], Failure)]
    calls = [call for call in calls if not isinstance(call[2], Failure)]
    common = _common(iter(calls))
    # Where nothing is given, as for an input that is asked for, every answer is always the same.
    if not common or not any(args or kwargs for args, kwargs, _ in calls):
        return ""
    # To fail where a value is wanted is no work; to refuse what is to be refused is some.
    if any(_refuses(reference, args, kwargs) for args, kwargs, _ in failed):
        return ""
    with contextlib.suppress(Exception):
        if _common((a, k, reference(*a, **k)) for a, k, _ in calls):
            return ""
    kinds = list(dict.fromkeys(min(part, key=str) for part in common))
    handed = [*parameters(reference, len(calls[0][0])), *calls[0][1]]
    names = [
        f"`{handed[value]}` as it came"
        if from_where == "argument"
        else f"{_told(value)}, whatever is given"
        for from_where, value in kinds
    ]
    return f"every call returns {' and '.join(names)}"


def _told(value: Any) -> str:
    kinds = {str: f"the str {value!r}", type(None): kind(value)}
    return kinds.get(type(value), str(value))


def _refuses(reference: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        reference(*args, **kwargs)
    except Exception:
        return True
    return False


def _common(calls: Iterator[Call]) -> list[set[tuple[str, Any]]]:
    common: list[set[tuple[str, Any]]] = []
    for args, kwargs, value in calls:
        for index, part in enumerate(leaves(value)):
            kinds = _kinds(part, [*args, *kwargs.values()])
            if index == len(common):
                common.append(kinds)
            common[index] = common[index] & kinds
            if not common[index]:
                return []
    return common


def _kinds(part: Any, handed: Sequence[Any]) -> set[tuple[str, Any]]:
    same: set[tuple[str, Any]] = {
        ("argument", i) for i, other in enumerate(handed) if _equal(part, other)
    }
    if isinstance(part, Tensor):
        if part.numel() and bool((part == part.flatten()[0]).all()):
            same.add(("constant", part.flatten()[0].item()))
    elif part is None or isinstance(part, (int, float, str)):
        same.add(("constant", part))
    return same


def _equal(part: Any, other: Any) -> bool:
    if isinstance(part, Tensor) and isinstance(other, Tensor):
        same = part.shape == other.shape
        return same and bool(((part == other) | ((part != part) & (other != other))).all())
    plain = (int, float, str)
    return isinstance(part, plain) and isinstance(other, plain) and part == other
