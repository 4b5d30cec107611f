"""Three groups of heads on one grid of tokens: which they sample, and what a key is fused of."""

from dataclasses import dataclass
from typing import Any

import torch

from course_lib.favit import group_survey, tokens_read
from course_lib.favit.sampling import sampled
from course_lib.figures.base import Figure, choice, slider, switch

SIDE = 15
"""Rows and columns of the grid."""

WINDOW = 3
"""Samples along a side of a window."""

DILATIONS = (1, 2, 4)
"""Gaps of the groups between their samples."""


@dataclass(frozen=True)
class Options(Figure):
    title = "Windows with holes."
    use = (
        "Numbers are places in a window. Pick a token by a click, a tap or the arrow keys: the "
        "samples of its area are darker, and the tokens that share its key with it are framed. "
        "Choose another group of heads, and let each sample look around."
    )

    dilation: int = choice(2, "dilation", DILATIONS)
    around: bool = switch(False, "look around")
    row: int = slider(0, "row", 0, SIDE - 1)
    column: int = slider(4, "column", 0, SIDE - 1)

    def say(self, found: dict[str, Any]) -> str:
        if mine := found["places"][self.row][self.column]:
            told = f"is at place {mine} and is fused with {len(found['fused']) - 1} others"
        else:
            told = "lies between the samples"
        looking = "With their neighbours" if self.around else "By themselves"
        return (
            f"Dilation {self.dilation}: {found['windows']} areas of {found['size']} x "
            f"{found['size']} with {WINDOW**2} samples each. Token ({self.row}, {self.column}) "
            f"{told}. {looking}, the samples read {found['read']} of {SIDE**2} tokens, those of "
            f"both dilated groups {found['together']}."
        )


def dilation_groups(
    dilation: int = 2, around: bool = False, row: int = 0, column: int = 4
) -> dict[str, Any]:
    """Say which tokens a group samples, and what the key of one of them is fused of.

    ``dilation``: one of :data:`DILATIONS`. Returns ``size`` and ``windows``, side and number of the
    areas; ``places``, for each token the number of its place in a window, from 1, or 0 if it isn't
    sampled (nested lists); ``area``, the samples of the area that the picked token lies in;
    ``fused``, the tokens that are at its place in all areas; ``read``, how many tokens the group
    reads; and ``together``, how many the dilated groups read, without the local one.
    """
    size, windows, _ = group_survey(SIDE, SIDE, WINDOW, dilation)
    line = sampled(SIDE, WINDOW, dilation).tolist()
    place = {token: index % WINDOW for index, token in enumerate(line)}
    places = [
        [place[r] * WINDOW + place[c] + 1 if r in place and c in place else 0 for c in range(SIDE)]
        for r in range(SIDE)
    ]
    down, across = (line[x // size * WINDOW :][:WINDOW] for x in (row, column))
    mine = places[row][column]
    radius = int(around)
    dilated = [tokens_read(SIDE, SIDE, WINDOW, d, radius=radius) for d in DILATIONS[1:]]
    return {
        "size": size,
        "windows": windows,
        "places": places,
        "area": sorted([r, c] for r in down for c in across),
        "fused": (torch.tensor(places) == mine).nonzero().tolist() if mine else [],
        "read": int(tokens_read(SIDE, SIDE, WINDOW, dilation, radius=radius).sum()),
        "together": int(torch.stack(dilated).any(0).sum()),
    }
