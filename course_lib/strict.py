"""Dataclasses that pydantic holds to their types, with the course's own error in one line."""

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from functools import wraps
from textwrap import shorten
from typing import Annotated, Any, TypeVar, dataclass_transform

import pydantic.dataclasses
from pydantic import ConfigDict, Field, ValidationError, WrapValidator

from grader.base.errors import Refused

T = TypeVar("T")


def _as_it_came(value: Any, check: Callable[[Any], object]) -> Any:
    check(value)
    return value


Number = Annotated[float, Field(allow_inf_nan=False), WrapValidator(_as_it_came)]
"""A finite number; a whole one stays an ``int``."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def strict(kind: type[Refused] = Refused) -> Callable[[type[T]], type[T]]:
    """Make a frozen dataclass that refuses what does not fit its types; nothing is converted.

    ``kind`` is raised, with a line that names each field at fault.

    >>> @strict()
    ... class Cake:
    ...     slices: Annotated[int, Field(ge=1)]
    >>> Cake(0)
    Traceback (most recent call last):
    ...
    grader.base.errors.Refused: slices is 0: input should be greater than or equal to 1
    """

    def decorate(plain: type[T]) -> type[T]:
        config = ConfigDict(strict=True, extra="forbid")
        made: Any = pydantic.dataclasses.dataclass(plain, frozen=True, config=config)
        init, names = made.__init__, [each.name for each in fields(made)]

        @wraps(init)
        def refusing(self: T, /, *args: Any, **kwargs: Any) -> None:
            try:
                # By name, so that a message has a name and no number.
                init(self, *args[len(names) :], **dict(zip(names, args, strict=False)), **kwargs)
            except ValidationError as error:
                raise kind("; ".join(map(_told, error.errors(include_url=False)))) from None

        made.__init__ = refusing
        return made

    return decorate


# Messages of pydantic for a field that is not there, or for one too many.
_SHORT = {"missing": "missing", "unexpected_keyword_argument": "unknown"}


def _told(fault: Mapping[str, Any]) -> str:
    """Fault of a field, as the course's messages have it."""
    where, message = ".".join(map(str, fault["loc"])), fault["msg"]
    if fault["type"] in _SHORT:
        return f"{where} is {_SHORT[fault['type']]}"
    reason = fault.get("ctx", {}).get("error") or message[0].lower() + message[1:]
    return f"{where} is {shorten(repr(fault['input']), 80)}: {reason}" if where else str(reason)
