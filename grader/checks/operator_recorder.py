"""Recorder of torch's operators, and of those that no right answer needs.

``operator_list.txt`` beside this module lists the operators that the references, the alternatives
and the model answers of all exercises run; ``tests/grader/checks/operator_list.py`` adds to it.
"""

import _thread
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from grader.base.tensors import torch
from grader.checks.forbidden import refuses

# Ways to start a thread, with and without a mark before them; the last one of later Pythons.
_STARTS = "start_new start_new_thread start_joinable_thread".split()
EVERYDAY = Path(__file__).with_name("operator_list.txt")


class Recorder(torch.utils._python_dispatch.TorchDispatchMode):
    """Keeps the names of the operators that run while it is entered, backward ones, too."""

    def __init__(self, without: Sequence[str] = ()) -> None:
        super().__init__()
        self.without = tuple(without)
        self.names: set[str] = set()

    def in_threads(self) -> None:
        """Keep those of every thread that this process starts from now on, too."""
        for module, mark, name in product((_thread, threading), ("", "_"), _STARTS):
            if begin := getattr(module, mark + name, None):
                setattr(module, mark + name, self._recorded(begin))

    def _recorded(self, begin: Callable[..., Any]) -> Callable[..., Any]:
        def start(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            def run(*given: Any, **named: Any) -> None:
                its_own = Recorder(self.without)
                its_own.names = self.names
                with its_own:
                    function(*given, **named)

            return begin(run, *args, **kwargs)

        return start

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Keep the name, without its overload, and go on; of a compound, keep its parts."""
        if _compound(function) and not refuses(self.without, function._schema.name):
            with self:
                return function._op_dk(_COMPOUND, *args, **(kwargs or {}))
        self.names.add(function._schema.name)
        return function(*args, **(kwargs or {}))


_COMPOUND = torch._C.DispatchKey.CompositeImplicitAutograd


@cache
def _compound(function: Any) -> bool:
    """Tell whether an operator falls into others below Python, whose own ways are not asked."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), _COMPOUND)


def unusual(names: Iterable[str]) -> list[str]:
    """Operators that no right answer runs.

    Torch's own tags settle most of the others: what works number by number, and the core to which
    all else can be traced back, is no shortcut to any exercise that does not forbid it.
    """
    return sorted(name for name in names if not _usual(name))


@cache
def _operators() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names())


@cache
def _usual(name: str) -> bool:
    library, _, operator = name.partition("::")
    if library != "aten":
        return library == "profiler"
    known = EVERYDAY.read_text(encoding="utf-8").split()
    if operator.rstrip("_") in known or operator.startswith(("_foreach_", "_fused_adam")):
        return True
    if name not in _operators():
        return False  # a name that the answer's process has made up
    packet = getattr(torch.ops.aten, operator)
    tags = {tag for form in packet.overloads() for tag in getattr(packet, form).tags}
    return bool(tags & {torch.Tag.pointwise, torch.Tag.core})
