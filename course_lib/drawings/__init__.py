"""Drawings of mechanisms, for the pages: one module for each topic, one function for each drawing.

A function that takes a :class:`Sketch` and is below :func:`drawing` is one; ``-`` takes the
place of ``_`` in its name. A page shows it with the directive ``drawing``.
"""

import base64
import functools
import html
import inspect
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from torch import Tensor

from course_lib.drawings.page import Page
from course_lib.drawings.parts import Part
from course_lib.drawings.shapes import Box
from course_lib.drawings.sketch import Sketch
from grader.base.errors import Refused

_ENGINE = ("sketch", "letters", "page", "parts", "shapes", "style")


@dataclass(frozen=True)
class Drawing:
    """A drawing in both layouts.

    ``draw``: draws one layout on an empty sheet; ``alt``: what it teaches, for a reader who cannot
    see it; ``numbers``: those that it must show, as a function of the library computes them.
    """

    name: str
    draw: Callable[[Sketch], None]
    alt: str
    numbers: Callable[[], Iterable[float]]

    def sketch(self, narrow: bool = False) -> Sketch:
        """One layout."""
        sheet = Sketch(narrow)
        self.draw(sheet)
        return sheet

    def inline(self) -> str:
        """Both layouts, for a page whose style sheet shows one of them."""
        layouts = "".join(self.sketch(narrow).svg() for narrow in (False, True))
        return (
            f'<div class="drawing" role="img" aria-label="{html.escape(self.alt)}">{layouts}</div>'
        )

    def image(self) -> str:
        """The wide layout as an ``img`` that holds it, for a notebook."""
        data = base64.b64encode(self.sketch().svg(alone=True).encode()).decode()
        return f'<img alt="{html.escape(self.alt)}" src="data:image/svg+xml;base64,{data}">'

    def files(self) -> list[Path]:
        """The modules that decide how it looks."""
        own = Path(inspect.getfile(self.draw))
        return [own, *(Path(__file__).with_name(f"{name}.py") for name in _ENGINE)]


def drawing(
    alt: str, numbers: Callable[[], Iterable[float | Tensor]] = tuple
) -> Callable[[Callable[[Sketch], None]], Drawing]:
    """Make a function a drawing; arguments as for :class:`Drawing`, without its name.

    Each number, or tensor of numbers, must be in both layouts, rounded as there.
    """

    def made(draw: Callable[[Sketch], None]) -> Drawing:
        def each() -> Iterator[float]:
            for part in numbers():
                yield from part.flatten().tolist() if isinstance(part, Tensor) else [part]

        return Drawing(draw.__name__.replace("_", "-"), draw, " ".join(alt.split()), each)

    return made


@functools.cache
def drawings() -> dict[str, Drawing]:
    """All drawings by their names, looked for in the modules beside this one."""
    found: dict[str, Drawing] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name == "__main__":
            continue
        for thing in vars(import_module(f"{__name__}.{module.name}")).values():
            if isinstance(thing, Drawing) and found.setdefault(thing.name, thing) is not thing:
                raise Refused(f"two drawings are called {thing.name}: rename one of them")
    return found
