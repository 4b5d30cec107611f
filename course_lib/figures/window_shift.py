"""Windows on a grid of tokens, moved step by step: who attends to whom, and what a mask stops."""

from dataclasses import dataclass
from typing import Any

from course_lib.figures.base import Figure, slider, switch
from course_lib.swin import Layout, grid_connections

ROWS = 8
"""Rows of the grid."""

COLUMNS = 12
"""Its columns."""

WINDOW = 4
"""Side of a window."""


@dataclass(frozen=True)
class Options(Figure):
    title = "Windows that move."
    use = (
        "Letters and colours are windows. Pick a token by a click, a tap or the arrow keys: dark "
        "tokens are those it attends to, and × marks those in its window that the mask hides. "
        "Move the windows, take the mask away, and look at the grid after the roll."
    )

    shift: int = slider(2, "shift", 0, WINDOW - 1)
    masked: bool = switch(True, "with the mask")
    rolled: bool = switch(False, "after the roll")
    row: int = slider(0, "row", 0, ROWS - 1)
    column: int = slider(0, "column", 0, COLUMNS - 1)

    def say(self, found: dict[str, Any]) -> str:
        name = chr(ord("A") + found["windows"][self.row][self.column])
        told = "out of sight" if self.masked else "attended to as well"
        return (
            f"Windows moved by {self.shift}. Token ({self.row}, {self.column}) is in window {name} "
            f"and attends to {len(found['attends'])} tokens; {len(found['strangers'])} in it from "
            f"elsewhere in the image are {told}. The mask forbids {found['blocked']} pairs of "
            "the grid."
        )


def window_shift(
    shift: int = 2, masked: bool = True, row: int = 0, column: int = 0
) -> dict[str, Any]:
    """Say for each token its window, and whom one of them attends to.

    Returns ``windows``, the number of each token's window (nested lists, where the tokens are in
    the image); ``attends``, whom the picked token attends to; ``strangers``, those in its window
    that came round another edge than it did; and ``blocked``, the pairs of the whole grid that the
    mask forbids.
    """
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
