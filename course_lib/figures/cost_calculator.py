"""What six kinds of attention multiply and hold, as bars on a logarithmic scale."""

import html
import math
from dataclasses import dataclass
from typing import Any

import ipywidgets

from course_lib.efficient import KINDS, attention_costs
from course_lib.figures.base import Description, widget_box

__all__ = ["Options", "cost_calculator", "describe", "widget"]

LENGTHS = tuple(2**power for power in range(6, 18))
"""The lengths that can be chosen."""

WIDTHS = (64, 128, 256, 512, 1024)
"""The widths of a model that can be chosen."""

HEADS = (1, 2, 4, 8, 16)
"""The numbers of heads that can be chosen."""

RADII = tuple(2**power for power in range(11))
"""The radii of a window that can be chosen."""

RANKS = tuple(2**power for power in range(4, 11))
"""The numbers of mixtures and of features that can be chosen."""


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        length: A power of 2 from 64 to 131,072.
        d_model: Width, a power of 2 from 64 to 1,024.
        n_heads: A power of 2 from 1 to 16.
        radius: Of window and Longformer, a power of 2 from 1 to 1,024.
        rank: Mixtures of Linformer and features of Performer, a power of 2 from 16 to 1,024.
    """

    length: int = 1024
    d_model: int = 512
    n_heads: int = 8
    radius: int = 64
    rank: int = 128

    def __post_init__(self) -> None:
        """Refuse what no control can show."""
        known = {
            "length": LENGTHS,
            "d_model": WIDTHS,
            "n_heads": HEADS,
            "radius": RADII,
            "rank": RANKS,
        }
        for name, choices in known.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)}, wanted one of {choices}")


def cost_calculator(
    length: int, d_model: int, n_heads: int, radius: int, rank: int
) -> dict[str, dict[str, int]]:
    """Count multiplications and numbers held, for one sequence and one layer.

    Args:
        length: Sequence length T.
        d_model: Width D.
        n_heads: Number of heads H.
        radius: Neighbours on each side, of window and Longformer.
        rank: Mixtures of Linformer and features of Performer.

    Returns:
        ``multiplications`` and ``numbers``, each with an entry for each kind of attention.

    Example:
        >>> found = cost_calculator(1024, 512, 8, 64, 128)
        >>> found["multiplications"]["full"] == found["multiplications"]["tiled"]
        True
        >>> found["numbers"]["full"] // found["numbers"]["tiled"]
        56
    """
    costs = attention_costs(length, d_model, n_heads, radius=radius, rank=rank)
    return {
        "multiplications": {kind: cost.multiplications for kind, cost in costs.items()},
        "numbers": {kind: cost.numbers for kind, cost in costs.items()},
    }


def short(value: int) -> str:
    """Say a large number with three digits.

    Args:
        value: At least 1.

    Returns:
        Such as ``"1.07 billion"``.

    Example:
        >>> short(1_073_741_824), short(320)
        ('1.07 billion', '320')
    """
    names = ("", " thousand", " million", " billion", " trillion")
    power = min((len(str(value)) - 1) // 3, len(names) - 1)
    return f"{float(f'{value / 1000**power:.3g}'):g}{names[power]}"


def readout(length: int, found: dict[str, dict[str, int]]) -> str:
    """Say the state in two sentences; the script says the same ones.

    Args:
        length: Sequence length T.
        found: What :func:`cost_calculator` returned.

    Returns:
        Plain text.
    """
    work, held = found["multiplications"], found["numbers"]
    least_work, least_held = min(KINDS, key=work.__getitem__), min(KINDS, key=held.__getitem__)
    return (
        f"Length {length}: full attention multiplies {short(work['full'])} times and holds "
        f"{short(held['full'])} numbers. Fewest multiplications: {least_work}, "
        f"{short(work[least_work])}. Fewest numbers: {least_held}, {short(held[least_held])}."
    )


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    found = cost_calculator(
        options.length, options.d_model, options.n_heads, options.radius, options.rank
    )
    return Description(
        "What does a layer cost?",
        "One sequence, one layer, without the four projections that all six have. Move the length "
        "and watch which bars grow twice as fast; from line to line is a factor of 1,000.",
        readout(options.length, found),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """

    def choice(values: tuple[int, ...], value: int, label: str) -> Any:
        return ipywidgets.SelectionSlider(options=values, value=value, description=label)

    controls = {
        "length": choice(LENGTHS, options.length, "length"),
        "d_model": choice(WIDTHS, options.d_model, "width"),
        "n_heads": choice(HEADS, options.n_heads, "heads"),
        "radius": choice(RADII, options.radius, "radius of the window"),
        "rank": choice(RANKS, options.rank, "rank or features"),
    }

    def render(length: int, d_model: int, n_heads: int, radius: int, rank: int) -> str:
        found = cost_calculator(length, d_model, n_heads, radius, rank)
        parts = []
        for title, values, low, high in (
            ("multiplications", found["multiplications"], 5, 14),
            ("numbers held", found["numbers"], 2, 12),
        ):
            parts.append(f"<p>{title}</p><table>")
            for kind in KINDS:
                share = max(0.0, (math.log10(values[kind]) - low) / (high - low))
                parts.append(
                    f"<tr><th style='text-align:left'>{kind}</th><td style='width:16em'>"
                    f"<div style='background:#3B82C4;height:.9em;width:{100 * share:.1f}%'></div>"
                    f"</td><td>{short(values[kind])}</td></tr>"
                )
            parts.append("</table>")
        return f"{''.join(parts)}<p>{html.escape(readout(length, found))}</p>"

    return widget_box(describe(options), controls, render)
