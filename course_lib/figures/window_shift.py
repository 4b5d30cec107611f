"""Windows on a grid of tokens, moved step by step: who attends to whom, and what a mask stops."""

from dataclasses import dataclass
from typing import Any

import ipywidgets

from course_lib.figures.base import Description, widget_box
from course_lib.swin import Layout, grid_connections

__all__ = ["COLUMNS", "ROWS", "WINDOW", "Options", "describe", "widget", "window_shift"]

ROWS = 8
"""Rows of the grid."""

COLUMNS = 12
"""Its columns."""

WINDOW = 4
"""Side of a window."""

_COLOURS = ("59,130,196", "217,119,6", "5,150,105", "147,51,234", "190,24,93", "107,114,128")


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        shift: By how much the windows are moved, from 0 to 3.
        masked: Whether the mask is applied.
        rolled: Whether the grid is drawn as it lies in memory, after the roll.
        row: The token that is picked.
        column: The token that is picked.
    """

    shift: int = 2
    masked: bool = True
    rolled: bool = False
    row: int = 0
    column: int = 0


def window_shift(
    shift: int = 2, masked: bool = True, row: int = 0, column: int = 0
) -> dict[str, Any]:
    """Say for each token its window, and whom one of them attends to.

    Args:
        shift: By how much the windows are moved, from 0 to 3.
        masked: Whether the mask is applied.
        row: The token that is picked.
        column: The token that is picked.

    Returns:
        ``windows``, the number of each token's window (nested lists, where the tokens are in the
        picture); ``attends``, whom the picked token attends to; ``strangers``, those in its window
        that came round another edge than it did; and ``blocked``, the pairs of the whole grid that
        the mask forbids.

    Raises:
        ValueError: If the shift or the place is out of range.

    Example:
        The top left token shares its moved window with all three other corners.

        >>> found = window_shift(2, True, 0, 0)
        >>> found["attends"], len(found["strangers"])
        ([[0, 0], [0, 1], [1, 0], [1, 1]], 12)
        >>> [0, 11] in found["strangers"], [7, 0] in found["strangers"]
        (True, True)
    """
    if not 0 <= shift < WINDOW:
        raise ValueError(f"shift is {shift}, wanted 0 to {WINDOW - 1}")
    if not (0 <= row < ROWS and 0 <= column < COLUMNS):
        raise ValueError(f"the place is ({row}, {column}), wanted one in {ROWS} x {COLUMNS}")
    layout = Layout((ROWS, COLUMNS), (WINDOW, WINDOW), (shift, shift))
    allowed, shared = (grid_connections(layout, masked=m) for m in (True, False))
    mine = row * COLUMNS + column
    strangers = shared & ~allowed
    attends = allowed[mine] if masked else shared[mine]
    return {
        "windows": [
            [
                (r - shift) % ROWS // WINDOW * (COLUMNS // WINDOW) + (c - shift) % COLUMNS // WINDOW
                for c in range(COLUMNS)
            ]
            for r in range(ROWS)
        ],
        "attends": attends.view(ROWS, COLUMNS).nonzero().tolist(),
        "strangers": strangers[mine].view(ROWS, COLUMNS).nonzero().tolist(),
        "blocked": int(strangers.sum()),
    }


def readout(shift: int, masked: bool, row: int, column: int, found: dict[str, Any]) -> str:
    """Say the state in a sentence or three; the script says the same.

    Args:
        shift: By how much the windows are moved.
        masked: Whether the mask is applied.
        row: The token that is picked.
        column: The token that is picked.
        found: What :func:`window_shift` returned.

    Returns:
        Plain text.
    """
    name = chr(ord("A") + found["windows"][row][column])
    strangers = len(found["strangers"])
    told = "out of sight" if masked else "attended to as well"
    return (
        f"Windows moved by {shift}. Token ({row}, {column}) is in window {name} and attends to "
        f"{len(found['attends'])} tokens; {strangers} in it from elsewhere in the picture are "
        f"{told}. The mask forbids {found['blocked']} pairs of the grid."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    shown = (options.shift, options.masked, options.row, options.column)
    return Description(
        "Windows that move.",
        "Letters and colours are windows. Pick a token by a click, a tap or the arrow keys: dark "
        "tokens are those it attends to, and × marks those in its window that the mask hides. "
        "Move the windows, take the mask away, and look at the grid after the roll.",
        readout(*shown, window_shift(*shown)),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    controls = {
        "shift": ipywidgets.IntSlider(options.shift, min=0, max=WINDOW - 1, description="shift"),
        "masked": ipywidgets.Checkbox(options.masked, description="with the mask"),
        "rolled": ipywidgets.Checkbox(options.rolled, description="after the roll"),
        "row": ipywidgets.IntSlider(options.row, min=0, max=ROWS - 1, description="row"),
        "column": ipywidgets.IntSlider(
            options.column, min=0, max=COLUMNS - 1, description="column"
        ),
    }

    def render(shift: int, masked: bool, rolled: bool, row: int, column: int) -> str:
        found = window_shift(shift, masked, row, column)
        table = _table(found, row, column, shift if rolled else 0)
        return f"{table}<p>{readout(shift, masked, row, column, found)}</p>"

    return widget_box(describe(options), controls, render)


def _table(found: dict[str, Any], row: int, column: int, roll: int) -> str:
    lines = []
    for y in range(ROWS):
        cells = []
        for x in range(COLUMNS):
            r, c = (y + roll) % ROWS, (x + roll) % COLUMNS
            number = found["windows"][r][c]
            attended = [r, c] in found["attends"]
            hidden = [r, c] in found["strangers"] and not attended
            mark = "×" if hidden else chr(ord("A") + number)
            border = "3px solid #000" if (r, c) == (row, column) else "1px solid #767676"
            cells.append(
                f"<td title='({r}, {c})' style='background:rgba({_COLOURS[number]},"
                f"{0.9 if attended else 0.25});border:{border};width:2em;height:2em;"
                f"text-align:center'>{mark}</td>"
            )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"
