"""What all figures share: their state, the page fragment of the book, the widget of a notebook."""

import html
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.resources import files
from inspect import signature
from types import SimpleNamespace
from typing import Any, ClassVar

import ipywidgets
import numpy as np

__all__ = ["Control", "Figure", "Page", "bars", "cell", "choice", "curve", "dials", "script"]
__all__ += ["mulberry32", "slider", "switch", "table"]


@dataclass(frozen=True)
class Control:
    """What a reader may do to one field of a figure."""

    label: str  # what the control is called
    low: Any = None  # smallest number of a slider
    high: Any = None  # largest number of a slider, or a function of the state
    step: float = 1  # from number to number
    choices: Any = None  # values, or a text for each value, or a function of the state
    page: bool = True  # whether the page, too, is told the field; otherwise only a notebook has it

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
            raise ValueError(f"{name} is {value!r}, wanted one of {tuple(self.choices)}")
        elif self.high is not None and value is not None and not self.low <= value <= self.high:
            raise ValueError(f"{name} is {value}, wanted {self.low} to {self.high}")

    def widget(self, value: Any, number: str = "") -> ipywidgets.Widget:
        """Make the control of a live notebook, at a value."""
        told: dict[str, Any] = {"description": self.label + number}
        if isinstance(self.choices, Mapping):
            texts = [(text, key) for key, text in self.choices.items()]
            return ipywidgets.Dropdown(options=texts, value=value, **told)
        if self.choices is not None:
            return ipywidgets.SelectionSlider(options=self.choices, value=value, **told)
        if self.high is None:
            return ipywidgets.Checkbox(value, **told)
        told |= {"min": self.low, "max": self.high, "step": self.step}
        value = self.high if value is None else value
        if isinstance(self.step, int):
            return ipywidgets.IntSlider(value, **told)
        digits = ".3f" if self.step < 0.01 else ".2f"
        return ipywidgets.FloatSlider(value, readout_format=digits, **told)


def slider(
    default: Any, label: str, low: float, high: Any, step: float = 1, page: bool = True
) -> Any:
    """Make a field of :class:`Figure` that a slider moves; see :class:`Control`.

    A field that is a sequence gets a slider for each of its numbers.
    """
    control = Control(label, low, high, step, page=page)
    return field(default=default, metadata={"control": control})


def choice(default: Any, label: str, choices: Any) -> Any:
    """Make a field of :class:`Figure` that is chosen from a few; see :class:`Control`."""
    return field(default=default, metadata={"control": Control(label, choices=choices)})


def switch(default: bool, label: str) -> Any:
    """Make a field of :class:`Figure` that is switched on and off; see :class:`Control`."""
    return field(default=default, metadata={"control": Control(label)})


@dataclass(frozen=True)
class Figure(ABC):
    """A figure in one state.

    A figure's module derives ``Options`` from it: the fields are what the figure shows at first,
    and those made by :func:`slider`, :func:`choice` and :func:`switch` are what a reader changes.
    Book and notebook are made of the same class. A limit that depends on another field (a place
    in a sentence of some length) is a function of the state, and its field stands after that one.
    """

    title: ClassVar[str]
    use: ClassVar[str]  # how to use it, in a sentence or two

    def __post_init__(self) -> None:
        """Refuse what no control can show."""
        for name, control in self.controls().items():
            control.at(self).check(name, getattr(self, name))

    def find(self) -> Any:
        """Compute what the state shows, by the function that the page's script repeats.

        Unless a figure says otherwise, it is the function with the name of its module, and takes
        the fields that have the names of its parameters.
        """
        module = sys.modules[type(self).__module__]
        compute = getattr(module, module.__name__.rpartition(".")[2])
        return compute(**{name: getattr(self, name) for name in signature(compute).parameters})

    @abstractmethod
    def say(self, found: Any) -> str:
        """Say what was found in plain text; the page's script says the same sentences."""

    @abstractmethod
    def draw(self, found: Any) -> str:
        """Draw what was found as HTML, for a notebook."""

    @property
    def heading(self) -> str:
        """Heading and use as HTML."""
        return f"<strong>{html.escape(self.title)}</strong> {html.escape(self.use)}"

    @property
    def text(self) -> str:
        """What the state shows; all that a reader without script gets."""
        return self.say(self.find())

    @property
    def scripts(self) -> tuple[str, ...]:
        """What its own script needs on a page, as :func:`script` names it."""
        return ("common",)

    @property
    def still(self) -> str:
        """What stands on a page, as HTML, until a script draws more, and in a PDF or an EPUB."""
        return ""

    @classmethod
    def controls(cls) -> dict[str, Control]:
        """Look up what a reader may change, by field."""
        return {f.name: f.metadata["control"] for f in fields(cls) if f.metadata}

    def widget(self) -> ipywidgets.VBox:
        """Make the live version: heading, controls, and a picture that follows them."""
        head, picture = ipywidgets.HTML(self.heading), ipywidgets.HTML()
        parts = {}
        for name, control in self.controls().items():
            value, now = getattr(self, name), control.at(self)
            parts[name] = (
                [now.widget(part, f" {i}") for i, part in enumerate(value, 1)]
                if isinstance(value, list | tuple)
                else [now.widget(value)]
            )

        def refresh(_change: object = None) -> None:
            state = SimpleNamespace(**vars(self))
            for name, control in self.controls().items():
                values = []
                for part in parts[name]:
                    if callable(control.high):
                        part.max = control.high(state)
                    values.append(part.value)
                many = isinstance(getattr(self, name), list | tuple)
                setattr(state, name, values if many else values[0])
            shown = type(self)(**vars(state))
            found = shown.find()
            picture.value = f"{shown.draw(found)}<p>{html.escape(shown.say(found))}</p>"

        every = [part for several in parts.values() for part in several]
        for part in every:
            part.observe(refresh, names="value")
        refresh()
        return ipywidgets.VBox([head, *every, picture])


def script(name: str) -> str:
    """Read the script that stands beside a figure's module.

    Returns JavaScript, safe to stand inside a ``<script>`` element.
    """
    source = files("course_lib.figures").joinpath(f"{name.replace('-', '_')}.js")
    return source.read_text(encoding="utf-8").replace("</", "<\\/")


class Page:
    """A figure as a fragment of a rendered page: it computes in the reader's browser."""

    def __init__(self, name: str, shown: Figure) -> None:
        self.name = name
        self.shown = shown

    def _repr_html_(self) -> str:
        shown, data = self.shown, asdict(self.shown)
        for name, control in shown.controls().items():
            if not control.page:
                del data[name]
        told = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
        needed = "\n".join(map(script, shown.scripts))
        return (
            f'<figure class="course-figure" data-figure="{self.name}">'
            f"<figcaption>{shown.heading}</figcaption>"
            f"<noscript><p>{html.escape(shown.text)}</p></noscript>{shown.still}</figure>"
            f"<script>{needed}\n({script(self.name).strip().removesuffix(';')})"
            f"(document.currentScript.previousElementSibling, {told}, window.courseFigure);"
            "</script>"
        )

    def __repr__(self) -> str:
        """Say in words what the figure shows."""
        return f"{self.shown.title}. {self.shown.text}"


def bars(labels: Iterable[str], values: Iterable[float], texts: Iterable[str] = ()) -> str:
    """Draw numbers between 0 and 1 as horizontal bars.

    ``texts``: what stands beside each bar, the number if not given. Returns an HTML table whose
    cells hold the numbers too.
    """
    values = [*values]
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th><td style='width:16em'>"
        f"<div style='background:#3B82C4;height:.9em;width:{100 * value:.1f}%'></div></td>"
        f"<td>{text}</td></tr>"
        for label, value, text in zip(
            labels, values, texts or [f"{value:.3f}" for value in values], strict=True
        )
    )
    return f"<table>{rows}</table>"


def cell(
    text: object, share: float, border: str = "", width: float = 2.0, rgb: str = "59,130,196"
) -> str:
    """Make a coloured cell for :func:`table`. ``border``: its style, if it stands out."""
    return (
        f"<td style='background:rgba({rgb},{share:.3f});border:{border or '1px solid #767676'};"
        f"width:{width}em;height:2em;text-align:center'>{text}</td>"
    )


def table(rows: Iterable[Iterable[str]]) -> str:
    """Put cells into an HTML table."""
    return "<table>" + "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows) + "</table>"


def dials(
    first: Sequence[tuple[float, float]],
    second: Sequence[tuple[float, float]],
    labels: Sequence[str],
) -> str:
    """Draw pairs of hands on dials, an SVG.

    ``first``: tips ``(x, y)`` of the blue hands, on a circle of radius 1, one for each dial.
    """
    parts = []
    for number, (label, *tips) in enumerate(zip(labels, second, first, strict=True)):
        parts.append(f"<g transform='translate({24 + 46 * number} 26)'>")
        parts.append("<circle r='18' fill='none' stroke='#999'/>")
        for (x, y), color in zip(tips, ("#D55E00", "#2B7BBA"), strict=True):
            end = f"{18 * x:.2f}", f"{-18 * y:.2f}"
            parts.append(f"<line x2='{end[0]}' y2='{end[1]}' stroke='{color}' stroke-width='2'/>")
            parts.append(f"<circle cx='{end[0]}' cy='{end[1]}' r='3.5' fill='{color}'/>")
        parts.append(f"<text y='34' font-size='10' text-anchor='middle'>{label}</text></g>")
    return f"<svg width='{46 * len(labels) + 4}' height='66'>{''.join(parts)}</svg>"


def curve(values: Sequence[float], place: int, largest: float) -> str:
    """Draw numbers over a line at zero, with a point at one of them, an SVG."""
    points = [(5 * k + 5, 60 - 50 * value / largest) for k, value in enumerate(values)]
    line = " ".join(f"{x},{y:.2f}" for x, y in points)
    x, y = points[place]
    return (
        f"<br><svg width='{5 * len(values) + 10}' height='120'>"
        f"<line x1='5' x2='{points[-1][0]}' y1='60' y2='60' stroke='#999'/>"
        f"<polyline points='{line}' fill='none' stroke='#2B7BBA' stroke-width='2'/>"
        f"<circle cx='{x}' cy='{y:.2f}' r='5' fill='#D55E00'/></svg>"
    )


def mulberry32(seed: int, n: int) -> np.ndarray:
    """Draw numbers as the scripts of a page draw them.

    Source: T. Ettinger, mulberry32, a generator of 32 bits (2017, in the public domain). Returns
    the numbers in [0, 1), ``(n,)``.
    """
    now = np.uint32(seed) + np.arange(1, n + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
    mixed = (now ^ (now >> np.uint32(15))) * (now | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    return (mixed ^ (mixed >> np.uint32(14))) / 2.0**32
