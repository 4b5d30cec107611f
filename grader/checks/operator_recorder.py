"""Recorder of the calls of torch's operators that no right answer needs, below Python.

``operator_list.txt`` beside this module lists the operators that the references, the alternatives
and the model answers of all exercises run; ``tests/grader/checks/operator_list.py`` adds to it.
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from operator import methodcaller
from pathlib import Path
from typing import Any

from grader.base.tensors import torch
from grader.checks.forbidden import ALL_BACKENDS, FORBIDDEN, keep, overriding, refuses, shortcuts

EVERYDAY = Path(__file__).with_name("operator_list.txt")
# Keys at which kernels for a CPU are registered, and one at which torch finds each of them.
_KEYS = {"CPU": "CPU"} | dict.fromkeys(ALL_BACKENDS, "PrivateUse3")


@cache
def recorder() -> Callable[[], dict[str, int]]:
    """Record from now on, for good; what is returned tells how often each operator has run.

    Around each kernel is a counter of Python's own in C, where every thread ends and whatever
    switches off torch's modes. Torch alone knows the counters, whose numbers an operator tells.
    """
    counter: Any = functools._lru_cache_wrapper
    names, counters, kernels = [], [], defaultdict[str, dict[str, Any]](dict)
    for name, forms in _operators().items():
        for full in forms if _may_ask(name) else ():
            for key, place in _KEYS.items():
                if torch._C._dispatch_has_kernel_for_dispatch_key(full, key):
                    kernel = torch.library.get_kernel(full, place).call_boxed
                    # The most of hits, misses and sizes: it keeps no result, so each call misses.
                    kernels[key][full] = counter(kernel, 0, False, max)
                    keep(kernel)
                    names.append(name)
                    counters.append(kernels[key][full])
    for key, counted in kernels.items():
        keep(*overriding((key,), counted, with_keyset=True))
    library = torch._C._dispatch_library("DEF", "grader", "", __file__, 0)
    library.define("calls() -> int[]")
    every = tuple(counters)
    told = partial(map, methodcaller("cache_info"), every)
    library.impl("calls", "CPU", told)
    keep(library, every, told, *counters)
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    calls = partial(torch.library.get_kernel("grader::calls", "CPU").call_boxed, keys)

    def ran() -> dict[str, int]:
        sums = Counter[str]()
        for name, times in zip(names, calls(), strict=True):
            sums[name] += times
        return dict(+sums)

    return ran


def _may_ask(name: str) -> bool:
    """Tell whether a person may be asked about it in any exercise."""
    kinds = tuple(FORBIDDEN)
    return bool(shortcuts(kinds, [name])) or not (refuses(kinds, name) or _usual(name))


def unusual(names: Iterable[str]) -> list[str]:
    """Operators that no right answer runs.

    Torch's own tags settle most of the others: what works number by number, and the core to which
    all else can be traced back, is no shortcut to any exercise that does not forbid it.
    """
    return sorted(name for name in names if not _usual(name))


@cache
def _operators() -> Mapping[str, list[str]]:
    """Every operator with its overloads."""
    found = defaultdict[str, list[str]](list)
    for full in torch._C._dispatch_get_all_op_names():
        found[full.partition(".")[0]].append(full)
    return found


@cache
def _known() -> frozenset[str]:
    return frozenset(EVERYDAY.read_text(encoding="utf-8").split())


@cache
def _usual(name: str) -> bool:
    library, _, operator = name.partition("::")
    if library != "aten":
        return library == "profiler"
    if operator.rstrip("_") in _known() or operator.startswith(("_foreach_", "_fused_adam")):
        return True
    # A name that the answer's process has made up is there in no form. What works in place has
    # fewer tags than the other one.
    forms = [*_operators().get(name, []), *_operators().get(name.rstrip("_"), [])]
    parts = (form.partition(".") for form in forms)
    overload = torch._C._get_operation_overload
    tags = {tag for base, _, last in parts for tag in overload(base, last)[2]}
    return bool(tags & {torch.Tag.pointwise, torch.Tag.core})
