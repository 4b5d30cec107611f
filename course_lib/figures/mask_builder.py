"""A mask put together from its parts, and written in the conventions of five libraries."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.figures.base import Figure, choice, slider, switch
from course_lib.masks import (
    causal_mask,
    padding_mask,
    sliding_window_mask,
    to_additive,
    to_blocked,
    to_integers,
    to_lengths,
)

CONVENTIONS = {
    "may attend": "True = may attend: this course and F.scaled_dot_product_attention",
    "blocked": "True = blocked: nn.MultiheadAttention",
    "additive": "added to the scores: 0 or minus infinity",
    "integers": "1 and 0: tokenizers",
    "lengths": "valid lengths: one number per sequence",
}


@dataclass(frozen=True)
class Options(Figure):
    title = "One mask, five conventions."
    use = (
        "Rows are queries, columns are keys. Switch the parts on and off, move through the cells "
        "with the arrow keys, and watch what the same mask is called elsewhere."
    )

    length: int = 6
    causal: bool = switch(True, "causal")
    real: int | None = slider(None, "real tokens", 0, lambda now: now.length)
    side: str = choice("right", "padding", {side: side for side in ("right", "left")})
    radius: int | None = slider(None, "radius", 0, lambda now: now.length)
    convention: str = choice("may attend", "written as", CONVENTIONS)  # key of CONVENTIONS

    def say(self, found: dict[str, Any]) -> str:
        rows = ", ".join(map(str, found["empty"])) or "none"
        pairs = f"{found['pairs']} of {self.length**2} pairs allowed."
        text = f"{pairs} Queries that see nothing: {rows}."
        if self.convention != "lengths":
            return text
        value = found["values"]["lengths"]
        return f"{text} " + (f"Valid length: {value[0]}." if value else "No length says this mask.")


def mask_builder(
    length: int,
    causal: bool = True,
    real: int | None = None,
    side: str = "right",
    radius: int | None = None,
) -> dict[str, Any]:
    """Combine a causal, a padding and a window mask, and translate the result.

    ``real``: number of real tokens, all if not given; ``radius``: neighbours seen on each side; all
    if not given or at least T. Returns ``pairs``, the number of allowed ones; ``empty``, the
    queries (from 1) that may attend to nothing; and ``values``, the mask in each convention as
    nested lists, with ``-inf`` as a string and ``None`` where a convention cannot say it.
    """
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
