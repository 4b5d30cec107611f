"""While an answer is graded, pictures draw nothing."""

from collections.abc import Iterator
from typing import Any

import numpy

# CONSTANTS of the real module stand here.


class Picture:
    """Takes whatever is done to a picture or its axes, and shows a word in its place."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __repr__(self) -> str:
        return "[a picture: not drawn while an answer is graded]"


def canvas(rows: int = 1, columns: int = 1, **size: Any) -> Any:
    """A picture and an array of axes, as the real one returns."""
    axes = numpy.empty((rows, columns), dtype=object)
    for place in numpy.ndindex(rows, columns):
        axes[place] = Picture()
    return Picture(), axes


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return Picture()
