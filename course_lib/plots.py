"""Pictures in the book's style: readable on light and on dark pages, in colour or without.

Every function returns a :class:`Picture`, which shows itself as SVG where it stands last in a
cell. The background is transparent and the ink of middle tone; curves differ by marker and dash as
well as by colour. Nothing here touches matplotlib's global state.
"""

from collections.abc import Collection, Mapping, Sequence
from io import StringIO
from typing import Any, Literal

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogFormatterSciNotation

Numbers = torch.Tensor | np.ndarray | Sequence[Any]

INK = "#767676"
"""Text and axes: contrast of about 4 and more against white and against the dark page."""

PALETTE = ("#2B7BBA", "#D55E00", "#1A9870", "#B5629B", "#A07800", "#7A6FD0")
"""Colours that differ for colour-blind readers too; at least 3 against both pages."""

WIDEST = 5.2
"""Inches of the widest picture whose letters, of 10 points, have 9 pixels on a telephone still."""

_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)), ":", (0, (8, 2)))
_INKED = "axes.edgecolor axes.labelcolor axes.titlecolor grid.color legend.labelcolor text.color"
_STYLE: Any = {
    **dict.fromkeys([*_INKED.split(), "xtick.color", "ytick.color"], INK),
    **dict.fromkeys(["axes.facecolor", "figure.facecolor", "savefig.facecolor"], "none"),
    **dict.fromkeys(["axes.spines.top", "axes.spines.right", "legend.frameon"], False),
    "axes.titlesize": 11,
    "font.size": 10,
    "grid.alpha": 0.25,
    "svg.hashsalt": "course",
    "savefig.pad_inches": 0.02,
    "axes.formatter.min_exponent": 100,  # see _Powers
}
# One hue from nothing to full, so that an empty cell shows the page, whatever its colour.
_HEAT = LinearSegmentedColormap.from_list("heat", [(0.17, 0.48, 0.73, 0), (0.17, 0.48, 0.73, 1)])
# With a number in each cell the page must not show through: one of two inks can be read on any.
_CELLS = LinearSegmentedColormap.from_list("cells", ["#EEF5FB", "#2B7BBA", "#0E3A63"])
_INKS = ("#000000", "#FFFFFF")


class Picture:
    """A matplotlib figure that a notebook shows as SVG, the same bytes at every run."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    @property
    def axes(self) -> list[Axes]:
        """The axes, to add to them."""
        return self.figure.axes

    def _repr_svg_(self) -> str:
        text = StringIO()
        for image in (image for axes in self.figure.axes for image in axes.images):
            # One pixel for each number: a reader's screen enlarges them sharply, and smoothing
            # them here writes several for each.
            if image.get_interpolation() in ("auto", "antialiased"):
                image.set_interpolation("none")
        for axis in (axis for axes in self.figure.axes for axis in (axes.xaxis, axes.yaxis)):
            base = getattr(axis.get_transform(), "base", 10.0)
            if type(axis.get_major_formatter()) is LogFormatterSciNotation:
                axis.set_major_formatter(_Powers(base))
            if type(axis.get_minor_formatter()) is LogFormatterSciNotation:
                axis.set_minor_formatter(_Powers(base))
        about = {"Date": None, "Title": self.described()}
        with matplotlib.rc_context(_STYLE):
            self.figure.savefig(text, format="svg", metadata=about, bbox_inches="tight")
        return text.getvalue()

    def described(self) -> str:
        """Text of a plot for readers who hear it.

        These are titles, axes and legends; a colour bar comes as axes of its own.
        """
        parts = []
        for axes in self.figure.axes:
            over = " over ".join(filter(None, map(_said, (axes.yaxis, axes.xaxis))))
            names = ", ".join(axes.get_legend_handles_labels()[1])
            parts.append(": ".join(filter(None, (axes.get_title(), over, names))))
        return "; ".join(filter(None, (self.figure.get_suptitle(), *parts))) or "picture"


class _Powers(LogFormatterSciNotation):
    """Powers as Python takes them, 1e6: an exponent is smaller than all other letters."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        text: str = super().__call__(x, pos).removeprefix("$\\mathdefault{").removesuffix("}$")
        return text.replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = 4.8, height: float = 2.9
) -> tuple[Picture, np.ndarray]:
    """Make empty axes in the book's style: a picture and an array ``(rows, columns)``.

    Width and height are those of the whole in inches, for the book at most :data:`WIDEST`: rather
    one panel below the other, and no letters of less than 10 points.
    """
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return Picture(figure), axes


def attention_map(
    weights: Numbers,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    titles: Sequence[str] = (),
    numbers: bool | None = None,
) -> Picture:
    """Draw attention weights between words: a row per query, a column per key.

    Args:
        weights: Weights ``(T, S)``, or ``(N, T, S)`` for several maps side by side.
        queries, keys: The T words that look, and the S words that are looked at.
        titles: One for each map.
        numbers: Whether to print the weights; by default if a map has at most 80 cells, and all
            maps together ten columns.
    """
    given = _array(weights)
    maps = given[None] if given.ndim == 2 else given
    if maps.ndim != 3 or maps.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights have shape {given.shape}, wanted (T, S) or (N, T, S) with "
            f"T = {len(queries)} queries and S = {len(keys)} keys"
        )
    if titles and len(titles) != len(maps):
        raise ValueError(f"got {len(titles)} titles for {len(maps)} maps")
    n, rows, columns = maps.shape
    numbers = rows * columns <= 80 and columns * n <= 10 if numbers is None else numbers
    width = min(WIDEST, 1.2 + 0.6 * columns * n)
    picture, axes = canvas(1, n, width=width, height=0.9 + 0.42 * rows)
    for i, ax in enumerate(axes[0]):
        with matplotlib.rc_context(_STYLE):
            heat = _CELLS if numbers else _HEAT
            ax.imshow(maps[i], cmap=heat, vmin=0, vmax=1, aspect="auto")
            ax.set_xticks(range(columns), keys, rotation=45, ha="left", rotation_mode="anchor")
            ax.set_yticks(range(rows), queries if i == 0 else [""] * rows)
            ax.tick_params(top=True, bottom=False, labeltop=True, labelbottom=False, length=0)
            ax.spines[:].set_visible(True)
            if titles:
                ax.set_title(titles[i])
            for line, cells in ((ax.axhline, rows), (ax.axvline, columns)):
                for edge in range(0 if numbers else cells - 1):
                    line(edge + 0.5, color=INK, linewidth=0.5, alpha=0.4)
            for (t, s), weight in np.ndenumerate(maps[i]) if numbers else ():
                ink = _INKS[_luminance(heat(weight)) < _luminance(INK)]
                ax.text(s, t, f"{weight:.2f}", ha="center", va="center", color=ink)
    return picture


def _said(axis: Axis) -> str:
    """An axis by its label or, without one, by the words that were put at its ticks."""
    put = isinstance(axis.get_major_locator(), FixedLocator) and not axis.get_label_text()
    words = [tick.get_text() for tick in axis.get_ticklabels()] if put else [axis.get_label_text()]
    return ", ".join(filter(None, words))


def _luminance(colour: Any) -> float:
    """Measure how light a colour is, from 0 to 1: the relative luminance of WCAG 2."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))


def curves(
    x: Numbers,
    runs: Mapping[str, Numbers],
    *,
    xlabel: str,
    ylabel: str,
    spread: Literal["range", "std"] = "range",
    log: Literal["", "x", "y", "xy"] = "",
    title: str = "",
) -> Picture:
    """Draw one curve per name; several runs become their mean and a band.

    Args:
        x: Positions ``(N,)``.
        runs: For each name one curve ``(N,)``, or one per seed ``(R, N)``.
        xlabel, ylabel: What x and y are, with their units.
        spread: The band: the ``"range"`` from the lowest to the highest run, or one standard
            deviation (``"std"``, ddof 1).
        log: Axes to draw logarithmically: ``"x"``, ``"y"`` or ``"xy"``.

    Example:
        >>> picture = curves([1, 2], {"LSTM": [[0.9, 0.7], [0.8, 0.5]]}, xlabel="n", ylabel="acc")
        >>> [float(y) for y in picture.axes[0].lines[0].get_ydata().round(2)]
        [0.85, 0.6]
    """
    points = _array(x)
    if len(runs) > len(PALETTE):
        raise ValueError(f"got {len(runs)} curves, wanted at most {len(PALETTE)}")
    picture, axes = canvas()
    ax = axes[0, 0]
    with matplotlib.rc_context(_STYLE):
        for i, (name, values) in enumerate(runs.items()):
            several = np.atleast_2d(_array(values))
            if several.ndim != 2 or several.shape[1] != len(points):
                raise ValueError(f"{name!r} has shape {several.shape}, wanted (R, {len(points)})")
            middle = several.mean(axis=0)
            style = {"color": PALETTE[i], "marker": _MARKERS[i], "linestyle": _DASHES[i]}
            ax.plot(points, middle, label=name, markersize=4.5, linewidth=1.8, **style)
            if len(several) > 1:
                low, high = several.min(axis=0), several.max(axis=0)
                if spread == "std":
                    deviation = several.std(axis=0, ddof=1)
                    low, high = middle - deviation, middle + deviation
                ax.fill_between(points, low, high, color=PALETTE[i], alpha=0.2, linewidth=0)
        if "x" in log:
            ax.set_xscale("log")
        if "y" in log:
            ax.set_yscale("log")
        ax.grid(axis="y")
        ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
        if len(runs) > 1:
            ax.legend()
    return picture


def bars(
    values: Mapping[str, float | Numbers],
    *,
    ylabel: str,
    highlight: Collection[str] = (),
    title: str = "",
    label: str = "{:.3g}",
) -> Picture:
    """Draw one bar per name; several runs become their mean with a dot for each.

    ``highlight``: names whose bars get a second colour; ``label``: how to print each mean.
    """
    width = min(4.8, 1.6 + 0.9 * len(values))
    picture, axes = canvas(height=2.7, width=width)
    ax = axes[0, 0]
    # So many letters stand side by side; longer names are turned.
    longest = max(len(line) for name in values for line in name.split("\n"))
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    style: Any = turned if longest * len(values) > 10.5 * width else {}
    with matplotlib.rc_context(_STYLE):
        for i, (name, several) in enumerate(values.items()):
            runs = np.atleast_1d(_array(several))
            ax.bar(i, runs.mean(), width=0.6, color=PALETTE[name in highlight])
            if len(runs) > 1:
                ax.plot([i] * len(runs), runs, "o", color=INK, markersize=4)
            high = max(float(runs.max()), 0.0)
            text = label.format(runs.mean())
            ax.annotate(text, (i, high), (0, 3), textcoords="offset points", ha="center")
        ax.set_xticks(range(len(values)), list(values), **style)
        ax.tick_params(axis="x", length=0)
        ax.axhline(0, color=INK, linewidth=0.8)
        ax.set(ylabel=ylabel, title=title)
        ax.margins(y=0.12)
    return picture


def interval(
    ax: Axes,
    row: float,
    values: Sequence[float],
    ends: tuple[float, float],
    *,
    color: str,
    marker: str = "o",
    upright: bool = False,
    apart: float = 0.15,
) -> None:
    """Draw an interval and, beside it, the values that it is made from.

    Both are ``apart`` from ``row``, the bar above it and the dots below or, if ``upright`` and
    values go up, left and right.
    """
    side = -apart if upright else apart
    bar: dict[str, Any] = {"linewidth": 4, "solid_capstyle": "butt"}
    dots: dict[str, Any] = {"marker": marker, "linestyle": "", "markersize": 3, "alpha": 0.6}
    for numbers, place, style in ((list(ends), row + side, bar), (list(values), row - side, dots)):
        places = [place] * len(numbers)
        pair = (places, numbers) if upright else (numbers, places)
        ax.plot(*pair, color=color, **style)


class Table(str):
    """Markdown that a notebook shows as a table."""

    def _repr_markdown_(self) -> str:
        return str(self)


def table(head: Sequence[str], *rows: Sequence[object]) -> Table:
    """Show results as a table of the page instead of printed columns.

    Names of columns are followed by rows, with numbers rounded as they should be read. The first
    column stands left, the others right.
    """
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row has {len(row)} entries, wanted {len(head)}: {[*row]}")
    lines = [head, ["---"] + ["--:"] * (len(head) - 1), *rows]
    return Table("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


def _array(values: Any) -> np.ndarray:
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().double().numpy()
    return np.asarray(values, dtype=float)
