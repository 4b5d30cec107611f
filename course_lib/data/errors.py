"""The one error that every loader raises when data is missing, damaged or not what it should be."""

from __future__ import annotations

from pathlib import Path

from grader.base.errors import Refused


class DataError(Refused, RuntimeError):
    """Data cannot be used: says what is wrong, where, and what to do about it."""

    def __init__(self, what: str, where: str | Path, remedy: str) -> None:
        super().__init__(f"{what}\n  where:      {where}\n  what to do: {remedy}")
        self.what = what
        self.where = str(where)
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str, str]]:
        # The default would rebuild the error from its one formatted message and fail.
        return type(self), (self.what, self.where, self.remedy)
