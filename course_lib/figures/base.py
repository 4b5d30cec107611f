"""What all figures share: the page fragment of the book and the parts of a widget."""

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

import ipywidgets

__all__ = ["Description", "Page", "bars", "script", "widget_box"]


@dataclass(frozen=True)
class Description:
    """What a reader is told about a figure.

    Attributes:
        title: Its heading.
        use: How to use it, in a sentence or two.
        text: What it shows before it is touched; all that a reader without script gets.
    """

    title: str
    use: str
    text: str


def script(name: str) -> str:
    """Read the script that stands beside a figure's module.

    Args:
        name: Name of the figure, or ``common`` for what all of them share.

    Returns:
        JavaScript, safe to stand inside a ``<script>`` element.
    """
    source = files("course_lib.figures").joinpath(f"{name.replace('-', '_')}.js")
    return source.read_text(encoding="utf-8").replace("</", "<\\/")


class Page:
    """A figure as a fragment of a rendered page: it computes in the reader's browser."""

    def __init__(self, name: str, description: Description, options: Any) -> None:
        """Keep what is shown.

        Args:
            name: Name of the figure.
            description: Its title and texts.
            options: A dataclass; the figure's script receives its fields.
        """
        self.name = name
        self.description = description
        self.options = options

    def _repr_html_(self) -> str:
        data = json.dumps(asdict(self.options), ensure_ascii=False).replace("</", "<\\/")
        told = self.description
        return (
            f'<figure class="course-figure" data-figure="{self.name}">'
            f"<figcaption><strong>{html.escape(told.title)}</strong> {html.escape(told.use)}"
            f"</figcaption><noscript><p>{html.escape(told.text)}</p></noscript></figure>"
            f"<script>{script('common')}\n({script(self.name).strip().removesuffix(';')})"
            f"(document.currentScript.previousElementSibling, {data}, window.courseFigure);"
            "</script>"
        )

    def __repr__(self) -> str:
        """Say in words what the figure shows."""
        return f"{self.description.title}. {self.description.text}"


def widget_box(
    description: Description,
    controls: Mapping[str, ipywidgets.Widget],
    render: Callable[..., str],
) -> ipywidgets.VBox:
    """Make a widget whose picture follows its controls.

    Args:
        description: The figure's title and texts.
        controls: One widget for each argument of ``render``.
        render: Returns the picture and its readout as HTML for the present values.

    Returns:
        A box: heading, controls, picture.
    """
    head = ipywidgets.HTML(
        f"<strong>{html.escape(description.title)}</strong> {html.escape(description.use)}"
    )
    picture = ipywidgets.HTML()

    def refresh(_change: object = None) -> None:
        picture.value = render(**{name: control.value for name, control in controls.items()})

    for control in controls.values():
        control.observe(refresh, names="value")
    refresh()
    return ipywidgets.VBox([head, *controls.values(), picture])


def bars(labels: Sequence[str], values: Sequence[float]) -> str:
    """Draw numbers between 0 and 1 as horizontal bars.

    Args:
        labels: One text for each bar.
        values: Numbers in [0, 1].

    Returns:
        An HTML table whose cells hold the numbers too.
    """
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(label)}</th><td style='width:16em'>"
        f"<div style='background:#3B82C4;height:.9em;width:{100 * value:.1f}%'></div></td>"
        f"<td>{value:.3f}</td></tr>"
        for label, value in zip(labels, values, strict=True)
    )
    return f"<table>{rows}</table>"
