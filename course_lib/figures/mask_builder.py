"""A mask put together from its parts, and written in the conventions of five libraries."""

from dataclasses import dataclass
from typing import Any

import ipywidgets
import torch
from torch import Tensor

from course_lib.figures.base import Description, widget_box
from course_lib.masks import (
    causal_mask,
    padding_mask,
    sliding_window_mask,
    to_additive,
    to_blocked,
    to_integers,
    to_lengths,
)

__all__ = ["CONVENTIONS", "Options", "describe", "mask_builder", "widget"]

CONVENTIONS = {
    "may attend": "True = may attend: this course and F.scaled_dot_product_attention",
    "blocked": "True = blocked: nn.MultiheadAttention",
    "additive": "added to the scores: 0 or minus infinity",
    "integers": "1 and 0: tokenizers",
    "lengths": "valid lengths: one number per sequence",
}


@dataclass(frozen=True)
class Options:
    """What the figure shows at first.

    Attributes:
        length: Number of positions.
        causal: Whether a query sees only itself and what comes before.
        real: How many positions are real tokens, all if not given; the rest is padding.
        side: Where the padding stands, ``right`` or ``left``.
        radius: How far a query sees to both sides, all the way if not given.
        convention: Key of :data:`CONVENTIONS`.
    """

    length: int = 6
    causal: bool = True
    real: int | None = None
    side: str = "right"
    radius: int | None = None
    convention: str = "may attend"


def mask_builder(
    length: int,
    causal: bool = True,
    real: int | None = None,
    side: str = "right",
    radius: int | None = None,
) -> dict[str, Any]:
    """Combine a causal, a padding and a window mask, and translate the result.

    Args:
        length: Number T of positions.
        causal: Whether a query sees only itself and what comes before.
        real: Number of real tokens, all if not given.
        side: Where the padding stands, ``right`` or ``left``.
        radius: Neighbours seen on each side; all if not given or at least T.

    Returns:
        ``pairs``, the number of allowed ones; ``empty``, the queries (from 1) that may attend to
        nothing; and ``values``, the mask in each convention as nested lists, with ``-inf`` as a
        string and ``None`` where a convention cannot say it.

    Raises:
        ValueError: If the side is neither left nor right.

    Example:
        >>> mask_builder(3, causal=True, real=2, side="left")["empty"]
        [1]
        >>> mask_builder(3, causal=False, real=2)["values"]["lengths"]
        [2]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}, wanted left or right")
    real = length if real is None else real
    padding = padding_mask(torch.tensor([real]), length)[0, 0].expand(length, length)
    mask = padding.flip(-1) if side == "left" else padding
    if causal:
        mask = mask & causal_mask(length)
    if radius is not None and radius < length:
        mask = mask & sliding_window_mask(length, radius)
    values: dict[str, Any] = {
        "may attend": mask.tolist(),
        "blocked": to_blocked(mask).tolist(),
        "additive": [["-inf" if x else 0 for x in row] for row in to_additive(mask).tolist()],
        "integers": to_integers(mask).tolist(),
        "lengths": _lengths(mask),
    }
    empty = (~mask.any(dim=-1)).nonzero().flatten() + 1
    return {"pairs": int(mask.sum()), "empty": empty.tolist(), "values": values}


def _lengths(mask: Tensor) -> list[int] | None:
    """The mask as a number of valid keys, if one number says it for all queries."""
    if not (mask == mask[:1]).all():
        return None
    try:
        return to_lengths(mask[:1, None, None]).tolist()
    except ValueError:
        return None


def readout(length: int, found: dict[str, Any], convention: str) -> str:
    """Say the state in a sentence; the script says the same one.

    Args:
        length: Number of positions.
        found: What :func:`mask_builder` returned.
        convention: Key of :data:`CONVENTIONS`.

    Returns:
        Plain text.
    """
    empty = found["empty"]
    rows = ", ".join(map(str, empty)) or "none"
    text = f"{found['pairs']} of {length**2} pairs allowed. Queries that see nothing: {rows}."
    if convention == "lengths":
        value = found["values"]["lengths"]
        said = f"Valid length: {value[0]}." if value else "No length says this mask."
        text += f" {said}"
    return text


def describe(options: Options) -> Description:
    """Describe the figure.

    Args:
        options: What it shows at first.

    Returns:
        Title, use and the readout of the first state.
    """
    found = mask_builder(options.length, options.causal, options.real, options.side, options.radius)
    return Description(
        "One mask, five conventions.",
        "Rows are queries, columns are keys. Switch the parts on and off, move through the cells "
        "with the arrow keys, and watch what the same mask is called elsewhere.",
        readout(options.length, found, options.convention),
    )


def widget(options: Options) -> Any:
    """Make the live version.

    Args:
        options: What it shows at first.

    Returns:
        A box of ipywidgets.
    """
    length = options.length
    controls = {
        "causal": ipywidgets.Checkbox(options.causal, description="causal"),
        "real": ipywidgets.IntSlider(
            length if options.real is None else options.real,
            min=0,
            max=length,
            description="real tokens",
        ),
        "side": ipywidgets.Dropdown(
            options=["right", "left"], value=options.side, description="padding"
        ),
        "radius": ipywidgets.IntSlider(
            length if options.radius is None else options.radius,
            min=0,
            max=length,
            description="radius",
        ),
        "convention": ipywidgets.Dropdown(
            options=[(text, name) for name, text in CONVENTIONS.items()],
            value=options.convention,
            description="written as",
        ),
    }

    def render(convention: str, **parts: Any) -> str:
        found = mask_builder(length, **parts)
        values, allowed = found["values"][convention], found["values"]["may attend"]
        if convention == "lengths":
            values = [[""] * length] * length
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td style='background:{'#3B82C4' if may else 'transparent'};"
                f"border:1px solid #767676;width:3.5em;text-align:center'>{value}</td>"
                for value, may in zip(row, seen, strict=True)
            )
            + "</tr>"
            for row, seen in zip(values, allowed, strict=True)
        )
        return f"<table>{rows}</table><p>{readout(length, found, convention)}</p>"

    return widget_box(describe(options), controls, render)
