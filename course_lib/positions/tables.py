"""Modules that look up what could be computed anew in each call."""

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import torch
from torch import Tensor, nn


class ComputedTables(nn.Module):
    """A module whose tables follow from its settings and are worth keeping.

    A table cast to another precision keeps the errors of the old one. Therefore the tables are
    computed anew, in double precision, whenever the module changes its type or device, and they
    stay in single precision at least. They are not saved with the weights.

    A subclass calls :meth:`keep_tables` once it knows its settings, and says in
    :meth:`compute_tables` what they are. If single precision is not enough for them, it says so in
    ``least``.
    """

    least = torch.float32

    def compute_tables(self) -> dict[str, Tensor]:
        """The tables ``(...)`` by name, as precise as possible, in float64."""
        raise NotImplementedError

    def keep_tables(self) -> None:
        """Compute the tables and keep them as buffers."""
        dtype = torch.promote_types(torch.get_default_dtype(), self.least)
        for name, table in self.compute_tables().items():
            self.register_buffer(name, table.to(dtype), persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        super()._apply(fn, recurse)
        for name, table in self.compute_tables().items():
            cast: Tensor = getattr(self, name)
            dtype = torch.promote_types(cast.dtype, self.least)
            setattr(self, name, table.to(cast.device, dtype))
        return self


def keep_in_step(
    kind: type[nn.Module],
    compute: Callable[[Any], dict[str, Tensor]],
    *,
    remember: Sequence[str] = (),
) -> None:
    """Have a class compute its tables anew when it changes type or device, or is loaded.

    As :class:`ComputedTables` does, for tables that take the type of the module: masks, indices,
    codes that are added to tokens. A model that was built on the meta device has no other source
    for what is not saved.

    Args:
        kind: The class; its tables are buffers that are not saved.
        compute: From a module to its tables ``(...)`` by name. One that is no buffer there is left
            alone.
        remember: Arguments of its constructor that become attributes, for ``compute``.
    """
    init, apply, load = kind.__init__, kind._apply, kind._load_from_state_dict
    signature = inspect.signature(init)

    def renew(self: Any, *, given: bool = False) -> None:
        if not any(buffer is not None for buffer in self._buffers.values()):
            return
        for name, table in compute(self).items():
            old = self._buffers.get(name)
            # On the meta device there is nothing to hold, unless weights were given for use.
            if old is not None and (given or not old.is_meta):
                device = table.device if old.is_meta else old.device
                self._buffers[name] = table.to(device, old.dtype)

    @functools.wraps(init)
    def remembering(self: Any, *args: Any, **options: Any) -> None:
        init(self, *args, **options)
        given = signature.bind(self, *args, **options)
        given.apply_defaults()
        vars(self).update({name: given.arguments[name] for name in remember})

    @functools.wraps(apply)
    def applied(self: Any, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        apply(self, fn, recurse)
        renew(self)
        return self

    @functools.wraps(load)
    def loaded(self: Any, state: Any, prefix: str, metadata: Any, *rest: Any) -> None:
        load(self, state, prefix, metadata, *rest)
        renew(self, given=metadata.get("assign_to_params_buffers", False))

    for method in (remembering, applied, loaded):
        setattr(kind, method.__name__, method)


def without_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Compute in the precision that the operands have, where autocast would round products."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
