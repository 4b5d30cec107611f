"""Comparing what an answer returned with what was expected, in words a student can act on."""

from typing import Any

import numpy as np

from grader.base.tensors import Tensor, torch
from grader.checks.answer_proxy import Failure
from grader.checks.protocol import Opaque, mapped

# Relative and absolute tolerance: wide enough for another order of the same sums.
TOLERANCES = {
    torch.float16: (1e-2, 2e-3),
    torch.bfloat16: (5e-2, 1e-2),
    torch.float32: (1e-4, 1e-5),
    torch.float64: (1e-7, 1e-9),
}

# Factor on the tolerance by which a mistake is known again.
ROUNDING = 10


def difference(
    got: Any,
    want: Any,
    what: str = "the result",
    *,
    exact: bool = False,
    names: tuple[str, ...] = (),
) -> str | None:
    """Say how ``got`` differs from ``want``; None when it doesn't.

    What is needed decides type, shape and tolerance. Unless ``exact``, one dtype of a tensor is as
    good as another that holds the same numbers; ``names`` are those of a returned tuple's values.

    Example:
        >>> difference(torch.zeros(2, 3), torch.zeros(3, 2), "weights")
        'weights has shape (2, 3), expected (3, 2)'
    """
    if isinstance(want, Tensor):
        return _tensor_difference(got, want, what, exact)
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)):
            return f"{what} is {kind(got)}, expected {len(want)} values"
        if len(got) != len(want):
            values = "value" if len(got) == 1 else "values"
            return f"{what} has {len(got)} {values}, expected {len(want)}"
        for index, (g, w) in enumerate(zip(got, want, strict=True)):
            part = names[index] if index < len(names) else f"{what}[{index}]"
            if wrong := difference(g, w, part, exact=exact):
                return wrong
        return None
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            keys = sorted(got) if isinstance(got, dict) else kind(got)
            return f"{what} has {keys}, expected the keys {sorted(want)}"
        for key, w in want.items():
            if wrong := difference(got[key], w, f"{what}[{key!r}]", exact=exact):
                return wrong
        return None
    if isinstance(want, float) and not isinstance(want, bool):
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if isinstance(got, bool) or not isinstance(got, (int, float)):
            return f"{what} is {kind(got)}, expected a number"
        close = np.isclose(float(got), want, rtol=1e-4, atol=1e-6, equal_nan=True)
        return None if close else f"{what} is {_apart(got, want)}"
    if isinstance(got, Tensor) and got.dim() == 0 and isinstance(want, int):
        got = got.item()
    if type(got) is not type(want):
        wanted = "a whole number" if type(want) is int else f"{want!r:.80}"
        return f"{what} is {kind(got)}, expected {wanted}"
    if got != want:
        return f"{what} is {got!r:.80}, expected {want!r:.80}"
    return None


def _tensor_difference(got: Any, want: Tensor, what: str, exact: bool) -> str | None:
    if not isinstance(got, Tensor):
        elsewhere = isinstance(got, Opaque) and "on the device" in got.type_name
        wanted = "one on the cpu, as the arguments are" if elsewhere else "a tensor"
        return f"{what} is {kind(got)}, expected {wanted}"
    if got.shape != want.shape:
        return f"{what} has shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    dtypes = f"{what} has dtype {name(got)}, expected {name(want)}"
    if got.dtype != want.dtype and (exact or got.is_complex() != want.is_complex()):
        return dtypes
    same = equal(got, want)
    if same.all():
        return None
    place = tuple(same.logical_not().nonzero()[0].tolist())
    if got.isnan().any() and not want.isnan().any():
        place = tuple(got.isnan().nonzero()[0].tolist())
        return f"{what} has NaN at {place}, expected {want[place].item():.4g}"
    # The dtype of what came can't hold what is needed.
    if got.dtype != want.dtype and torch.promote_types(got.dtype, want.dtype) != got.dtype:
        return dtypes
    at = f" at {place}" if place else ""
    wrong = int(same.logical_not().sum())
    return (
        f"{what}{at} is {_apart(got[place].item(), want[place].item())}"
        f" ({wrong} of {same.numel()} entries differ)"
    )


def equal(got: Tensor, want: Tensor, slack: float = 1) -> Tensor:
    """Where tensors of one shape agree within the tolerance of what is needed, times ``slack``.

    Single precision is as good as double to its own digits: whether it is enough is another
    question than whether the numbers are right.
    """
    if not want.is_floating_point():
        return got.eq(want)
    single = got.dtype == torch.float32 and want.dtype == torch.float64
    rtol, atol = (slack * t for t in TOLERANCES[got.dtype if single else want.dtype])
    return torch.isclose(got.double(), want.double(), rtol=rtol, atol=atol, equal_nan=True)


def _apart(got: complex, want: complex) -> str:
    shown = next((d for d in (6, 9, 17) if f"{got:.{d}g}" != f"{want:.{d}g}"), 6)
    return f"{got:.{shown}g}, expected {want:.{shown}g}"


def alike(a: Any, b: Any) -> bool:
    """Tell whether two outcomes (values or failures) are the same mistake's; for fingerprints.

    Rounding is nobody's misconception: the numbers of half precision count for nothing, and fewer
    digits than else. A dtype that was not expected is no name's.
    """
    if isinstance(a, Failure) or isinstance(b, Failure):
        return isinstance(a, Failure) and isinstance(b, Failure) and a.type == b.type
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape:
        if a.is_complex() or b.is_complex():
            return bool((a == b).all())
        if is_half(a) or is_half(b):
            return is_half(a) and is_half(b)
        return bool(equal(a, b, ROUNDING).all())
    a, b = (x.item() if isinstance(x, Tensor) and x.dim() == 0 else x for x in (a, b))
    if isinstance(b, float) and isinstance(a, int):
        a = float(a)
    return type(a) is type(b) and difference(a, b) is None


def is_half(value: Tensor) -> bool:
    """Tell whether a tensor is in half precision."""
    return value.dtype in (torch.float16, torch.bfloat16)


def name(tensor: Tensor) -> str:
    """The dtype of a tensor as one word."""
    return str(tensor.dtype).removeprefix("torch.")


def kind(value: Any) -> str:
    """Description of a value, in words."""
    if value is None:
        return "None (is a `return` missing?)"
    if isinstance(value, Opaque):
        word = {"ndarray": "numpy array"}.get(value.type_name, value.type_name)
    elif isinstance(value, Tensor):
        word = f"{name(value)} tensor of shape {tuple(value.shape)}"
    elif isinstance(value, (list, tuple)):
        word = f"{type(value).__name__} of {len(value)} value{'s' * (len(value) != 1)}"
    else:
        word = type(value).__name__
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def misfit(got: Any, want: Any, names: tuple[str, ...] = (), *, exact: bool = False) -> str | None:
    """Say how ``got`` differs from ``want`` in kind, number, shape and dtype of its values."""
    blank, needed = mapped(_blank, got), mapped(_blank, want)
    return difference(blank, needed, exact=exact, names=names)


def _blank(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.zeros_like(value)
    if type(value) in (bool, str):
        return type(value)()
    return 0.0 if type(value) in (int, float) else value
