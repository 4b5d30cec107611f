"""Modules that look up what could be computed anew in each call."""

from collections.abc import Callable
from typing import Self

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

    Example:
        >>> class Thirds(ComputedTables):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.keep_tables()
        ...
        ...     def compute_tables(self):
        ...         return {"thirds": torch.arange(3, dtype=torch.float64) / 3}
        >>> thirds = Thirds()
        >>> cast = thirds.thirds.double()[1].item()
        >>> cast == 1 / 3, thirds.double().thirds[1].item() == 1 / 3
        (False, True)
        >>> thirds.state_dict()
        OrderedDict()
    """

    least = torch.float32

    def compute_tables(self) -> dict[str, Tensor]:
        """The tables by name, as precise as possible.

        Returns:
            Tensors of any shape, float64.
        """
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
