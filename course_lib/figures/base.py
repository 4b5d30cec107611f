"""Base of all figures: their state, and the fragment of a page that the book shows."""

import html
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.resources import files
from inspect import signature
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class Control:
    """Control of one field of a figure."""

    label: str  # what the control is called
    low: Any = None  # smallest number of a slider
    high: Any = None  # largest number of a slider, or a function of the state
    choices: Any = None  # values, or a text for each value, or a function of the state

    def at(self, state: Any) -> "Control":
        """Evaluate what depends on the state."""
        high, choices = (x(state) if callable(x) else x for x in (self.high, self.choices))
        return replace(self, high=high, choices=choices)

    def check(self, name: str, value: Any) -> None:
        """Refuse a value that the control cannot show; ``None`` is the end of a slider."""
        if isinstance(value, list | tuple):
            for number, part in enumerate(value, 1):
                self.check(f"{name} {number}", part)
        elif self.choices is not None and value not in self.choices:
            raise ValueError(f"{name} is {value!r}, expected one of {tuple(self.choices)}")
        elif self.high is not None and value is not None and not self.low <= value <= self.high:
            raise ValueError(f"{name} is {value}, expected {self.low} to {self.high}")


def slider(default: Any, label: str, low: float, high: Any) -> Any:
    """A field of :class:`Figure` that a slider moves; of a sequence, a slider for each number."""
    return field(default=default, metadata={"control": Control(label, low, high)})


def choice(default: Any, label: str, choices: Any) -> Any:
    """Make a field of :class:`Figure` that is chosen from a few; see :class:`Control`."""
    return field(default=default, metadata={"control": Control(label, choices=choices)})


def switch(default: bool, label: str) -> Any:
    """Make a field of :class:`Figure` that is switched on and off; see :class:`Control`."""
    return field(default=default, metadata={"control": Control(label)})


@dataclass(frozen=True)
class Figure(ABC):
    """First state of a page's figure; its module derives ``Options`` from it.

    A limit that depends on another field is a function of the state, and its field is after it.
    """

    title: ClassVar[str]
    use: ClassVar[str]  # how to use it, in a sentence or two

    def __post_init__(self) -> None:
        for name, control in self.controls().items():
            control.at(self).check(name, getattr(self, name))

    def find(self) -> Any:
        """Result of the state, by the function of the module's name, which the script repeats."""
        module = sys.modules[type(self).__module__]
        compute = getattr(module, module.__name__.rpartition(".")[2])
        return compute(**{name: getattr(self, name) for name in signature(compute).parameters})

    @abstractmethod
    def say(self, found: Any) -> str:
        """Say what was found in plain text; the page's script says the same sentences."""

    @property
    def heading(self) -> str:
        return f"<strong>{html.escape(self.title)}</strong> {html.escape(self.use)}"

    @property
    def text(self) -> str:
        """Text of the state; all that a reader without script gets."""
        return self.say(self.find())

    @property
    def scripts(self) -> tuple[str, ...]:
        """Data of its own script on a page, as :func:`script` names it."""
        return ("common",)

    @property
    def still(self) -> str:
        """HTML on a page until a script draws more, and in a PDF or an EPUB."""
        return ""

    @classmethod
    def controls(cls) -> dict[str, Control]:
        """Look up what a reader may change, by field."""
        return {f.name: f.metadata["control"] for f in fields(cls) if f.metadata}


def script(name: str) -> str:
    """The script beside a figure's module, safe to be inside a ``<script>`` element."""
    return asset(f"{name.replace('-', '_')}.js").replace("</", "<\\/")


def asset(name: str) -> str:
    """Read a file that is beside the figures' modules."""
    return files("course_lib.figures").joinpath(name).read_text(encoding="utf-8")


class Page:
    """A figure as a fragment of a rendered page: it computes in the reader's browser."""

    def __init__(self, name: str, shown: Figure) -> None:
        self.name = name
        self.shown = shown

    @property
    def data(self) -> str:
        """Data for the script, as JSON."""
        return json.dumps(asdict(self.shown), ensure_ascii=False).replace("</", "<\\/")

    def fragment(self, before: str = "") -> str:
        """The empty figure, or with what is there before the script runs."""
        return (
            f'<figure class="course-figure" data-figure="{self.name}">'
            f"<figcaption>{self.shown.heading}</figcaption>{before}</figure>"
        )

    @property
    def needed(self) -> str:
        """The scripts that the figure's own one uses."""
        return "\n".join(map(script, self.shown.scripts))

    @property
    def script(self) -> str:
        """The figure's own one: a function of the element, the data and what all figures share."""
        return script(self.name).strip().removesuffix(";")

    def _repr_html_(self) -> str:
        before = f"<noscript><p>{html.escape(self.shown.text)}</p></noscript>{self.shown.still}"
        return (
            f"{self.fragment(before)}<script>{self.needed}\n({self.script})"
            f"(document.currentScript.previousElementSibling, {self.data}, window.courseFigure);"
            "</script>"
        )

    def __repr__(self) -> str:
        return f"{self.shown.title} {self.shown.text}"


def cell(text: object, share: float) -> str:
    return (
        f"<td style='background:rgba(59,130,196,{share:.3f});border:1px solid #767676;"
        f"width:3em;height:2em;text-align:center'>{text}</td>"
    )


def table(rows: Iterable[Iterable[str]]) -> str:
    return "<table>" + "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows) + "</table>"


def mulberry32(seed: int, n: int) -> np.ndarray:
    """Numbers in [0, 1), ``(n,)``, as the scripts of a page draw them."""
    # T. Ettinger, mulberry32, a generator of 32 bits (2017, in the public domain).
    now = np.uint32(seed) + np.arange(1, n + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
    mixed = (now ^ (now >> np.uint32(15))) * (now | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    return (mixed ^ (mixed >> np.uint32(14))) / 2.0**32
