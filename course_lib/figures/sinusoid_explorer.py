"""Two positions as hands on the dials of their codes, and how alike the codes are."""

from dataclasses import dataclass
from typing import Any

import torch

from course_lib.figures.base import Figure, choice, slider, switch
from course_lib.positions import sinusoidal_encoding, wavelengths

SPAN = 64
"""The largest distance that is drawn."""


@dataclass(frozen=True)
class Options(Figure):
    title = "Clocks for two positions."
    use = (
        "Each dial is a pair of channels, with its wavelength below: the filled hand is the first "
        "token, the open one the second. Drag the point on the curve, or focus it and use the "
        "arrow keys, to move the second token; then move both, and take the cosines away."
    )

    position: int = slider(5, "position", 0, SPAN)
    distance: int = slider(3, "distance", 0, SPAN)
    d_model: int = choice(16, "width", [4, 8, 16, 32])
    base: int = choice(10_000, "base", [10, 100, 1_000, 10_000])
    cosines: bool = switch(True, "with cosines")

    def say(self, found: dict[str, Any]) -> str:
        return (
            f"Positions {self.position} and {self.position + self.distance}: inner product "
            f"{found['product']:.2f}, of the first with itself {found['curve'][0]:.2f}; "
            f"the codes are {found['gap']:.2f} apart. "
            f"Wavelengths from {found['waves'][0]:.1f} to {found['waves'][-1]:.1f} positions."
        )


def sinusoid_explorer(
    position: int, distance: int, d_model: int = 16, base: float = 10_000, cosines: bool = True
) -> dict[str, Any]:
    """Make the codes of two positions and compare them.

    Returns the codes ``here`` and ``there`` (lists, sine and cosine by turns), their ``product``
    and their ``gap`` (Euclidean distance), the product at all distances from 0 to :data:`SPAN` as
    ``curve``, and the ``waves`` of the pairs, in positions.
    """
    places = torch.tensor(position, dtype=torch.float64) + torch.arange(SPAN + 1)
    codes = sinusoidal_encoding(places, d_model, base=base)
    if not cosines:
        codes = codes[:, 0::2]
    curve = codes @ codes[0]
    return {
        "here": codes[0].tolist(),
        "there": codes[distance].tolist(),
        "product": float(curve[distance]),
        "gap": float((codes[distance] - codes[0]).norm()),
        "curve": curve.tolist(),
        "waves": wavelengths(d_model, base=base).tolist(),
    }
