"""Torch where it is installed, for all that is about tensors; without it no value is one."""

from typing import Any, NoReturn

from grader.base.errors import Refused


class TorchMissing(Refused):
    """A course asks for tensors where there is no torch."""


class Missing:
    """In torch's place: false, has all names, and refuses whoever calls one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> "Missing":
        """A name that may be mentioned where it is of no use."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        raise TorchMissing(f"{self.name} is needed: pip install 'course-grader[torch]'")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[()]:
        return ()


try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    torch = Missing("torch")  # type: ignore[assignment]
    Tensor = type("Tensor", (), {})  # type: ignore[assignment,misc]
