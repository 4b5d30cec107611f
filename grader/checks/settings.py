"""Settings of a whole process: a check computes without them, its answer with them."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from grader.base.tensors import torch

# Reader, setter and default of each setting.
_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any], Any], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    (torch.is_grad_enabled, torch.set_grad_enabled, True),
    (torch.is_anomaly_enabled, torch.set_anomaly_enabled, False),
    (numpy.geterr, lambda found: numpy.seterr(**found), numpy.geterr()),
)[0 if torch else 3 :]


class Aside:
    """The notebook's settings while a check runs; use it as a context manager."""

    def __enter__(self) -> "Aside":
        """Compute as if nothing had been set."""
        self.values = [read() for read, _, _ in _SETTINGS]
        self.filters = warnings.filters[:]
        self.device = torch.get_default_device() if torch else None
        self._usual()
        return self

    def __exit__(self, *_: object) -> None:
        """Compute as the notebook does."""
        self._theirs()

    @contextlib.contextmanager
    def back(self) -> Iterator[None]:
        """While this lasts, which may change them, the notebook's settings are those that hold."""
        with warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.filters.extend(self.filters)  # type: ignore[attr-defined]
            self._theirs()
            try:
                yield
            finally:
                self.values = [read() for read, _, _ in _SETTINGS]
                self._usual()

    def _usual(self) -> None:
        for _, put, usual in _SETTINGS:
            put(usual)
        if self.device and self.device.type != "cpu":
            torch.set_default_device(None)

    def _theirs(self) -> None:
        for (_, put, _), value in zip(_SETTINGS, self.values, strict=True):
            put(value)
        if self.device and self.device.type != "cpu":
            torch.set_default_device(self.device)
