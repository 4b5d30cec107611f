"""The call on which a property failed, small enough to read, without code and seed."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grader.base.tensors import Tensor
from grader.checks.answer_proxy import Failure
from grader.checks.compare import difference, equal, kind, name

ROWS, COLUMNS = 4, 5
# An argument with more numbers is told by its shape alone.
FEW = 20


@dataclass(frozen=True)
class Shown:
    """A value as a student is shown it."""

    name: str  # with the index of the slice that is shown
    form: str  # dtype and shape of a tensor, or what else it is
    # numbers as text of equal width, and whether each is wrong
    rows: tuple[tuple[tuple[str, bool], ...], ...] = ()


@dataclass(frozen=True)
class Example:
    """A failing call: its arguments, what came back and what was expected, as far as known."""

    call: str
    arguments: tuple[Shown, ...]
    got: Shown | None = None
    wanted: Shown | None = None


@dataclass(frozen=True)
class Pair:
    """Result and expected value, where they differ first."""

    what: str
    got: Any
    want: Any


def first_pair(got: Any, want: Any, what: str, names: Sequence[str] = ()) -> Pair:
    """The innermost values that differ."""
    if isinstance(want, (list, tuple)) and isinstance(got, (list, tuple)):
        for index, (g, w) in enumerate(zip(got, want, strict=False)):
            if difference(g, w):
                part = names[index] if index < len(names) else f"{what}[{index}]"
                return first_pair(g, w, part)
    if isinstance(want, dict) and isinstance(got, dict):
        for key, w in want.items():
            if key in got and difference(got[key], w):
                return first_pair(got[key], w, f"{what}[{key!r}]")
    return Pair(what, got, want)


def example(
    function: Callable[..., Any],
    called: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    value: Any,
    pair: Pair | None,
) -> Example:
    """Show a call; a value ``...`` shows nothing, and ``pair`` is where it is wrong."""
    named = list(zip(parameters(function, len(args)), args, strict=True))
    named += list(kwargs.items())
    arguments = tuple(show(n, a, few=True) for n, a in named)
    call = f"{called}({', '.join(n for n, _ in named)})"
    if isinstance(value, Failure):
        return Example(call, arguments, Shown("an exception", str(value)))
    if value is ...:
        return Example(call, arguments)
    if pair is None:
        return Example(call, arguments, show("the result", value))
    wrong = _wrong(pair.got, pair.want)
    place = tuple(wrong.nonzero()[0].tolist()) if wrong is not None and wrong.any() else None
    got = show(pair.what, pair.got, wrong=wrong, place=place)
    return Example(call, arguments, got, show(pair.what, pair.want, place=place))


def show(
    what: str,
    value: Any,
    *,
    few: bool = False,
    wrong: Tensor | None = None,
    place: tuple[int, ...] | None = None,
) -> Shown:
    """Show a value: of a tensor at most a few rows and columns, around a place if one is given.

    With ``few``, numbers are shown only of a tensor that has few of them.

    Example:
        >>> import torch
        >>> show("w", torch.zeros(3, 9, 9), place=(2, 8, 0)).name
        'w[2, 5:9, 0:5]'
    """
    if not isinstance(value, Tensor):
        if isinstance(value, (list, tuple)):
            return Shown(what, f"{len(value)} values: " + ", ".join(_form(v) for v in value[:6]))
        return Shown(what, _form(value))
    form = _form(value)
    if value.numel() == 0 or (few and value.numel() > FEW):
        return Shown(what, form)
    at = place or (0,) * value.dim()
    leading, index = at[:-2], [str(i) for i in at[:-2]]
    part = value[leading] if leading else value
    off = wrong[leading] if wrong is not None and leading else wrong
    for axis, most in zip(range(part.dim()), (ROWS, COLUMNS)[-part.dim() :], strict=False):
        size = part.shape[axis]
        start = max(0, min(at[len(leading) + axis] - most // 2, size - most))
        index.append(":" if size <= most else f"{start}:{start + most}")
        part = part.narrow(axis, start, min(most, size))
        off = off.narrow(axis, start, min(most, size)) if off is not None else None
    while part.dim() < 2:
        part = part.unsqueeze(0)
        off = off.unsqueeze(0) if off is not None else None
    texts = [[str(v) if isinstance(v, bool) else f"{v:.4g}" for v in row] for row in part.tolist()]
    width = max(len(t) for row in texts for t in row)
    marks = off.tolist() if off is not None else [[False] * len(row) for row in texts]
    rows = tuple(
        tuple((t.rjust(width), bool(m)) for t, m in zip(row, mark, strict=True))
        for row, mark in zip(texts, marks, strict=True)
    )
    whole = all(i == ":" for i in index)
    return Shown(what if whole else f"{what}[{', '.join(index)}]", form, rows)


def parameters(function: Callable[..., Any], count: int) -> list[str]:
    """Names of a function's first arguments; those without a name are numbered."""
    known = [p for p in inspect.signature(function).parameters if p != "self"][:count]
    return [*known, *(f"argument {n + 1}" for n in range(len(known), count))]


def _wrong(got: Any, want: Any) -> Tensor | None:
    if not (isinstance(got, Tensor) and isinstance(want, Tensor)):
        return None
    if got.shape != want.shape or got.is_complex() != want.is_complex():
        return None
    return equal(got, want).logical_not()


def _form(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{name(value)} {tuple(value.shape)}"
    if value is None:
        return "None"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (bool, int, str)):
        return f"{value!r:.60}"
    return kind(value)
