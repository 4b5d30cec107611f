"""Costs of six kinds of attention, as bars on a logarithmic scale."""

from dataclasses import dataclass
from typing import Any

from course_lib.efficient import KINDS, attention_costs
from course_lib.figures.base import Figure, choice

__all__ = ["Options", "cost_calculator"]


@dataclass(frozen=True)
class Options(Figure):
    title = "What does a layer cost?"
    use = (
        "One sequence, one layer, without the four projections that all six have. Move the length "
        "and watch which bars grow twice as fast; from line to line is a factor of 1,000."
    )

    length: int = choice(1024, "length", [2**power for power in range(6, 18)])
    d_model: int = choice(512, "width", [64, 128, 256, 512, 1024])
    n_heads: int = choice(8, "heads", [1, 2, 4, 8, 16])
    radius: int = choice(64, "radius of the window", [2**power for power in range(11)])
    rank: int = choice(128, "rank or features", [2**power for power in range(4, 11)])

    def say(self, found: dict[str, Any]) -> str:
        work, held = found["multiplications"], found["numbers"]
        least_work, least_held = min(KINDS, key=work.__getitem__), min(KINDS, key=held.__getitem__)
        return (
            f"Length {self.length}: full attention multiplies {short(work['full'])} times and "
            f"holds {short(held['full'])} numbers. Fewest multiplications: {least_work}, "
            f"{short(work[least_work])}. Fewest numbers: {least_held}, {short(held[least_held])}."
        )


def cost_calculator(
    length: int, d_model: int, n_heads: int, radius: int, rank: int
) -> dict[str, dict[str, int]]:
    """Count ``multiplications`` and ``numbers`` held, by kind, for one sequence and one layer."""
    costs = attention_costs(length, d_model, n_heads, radius=radius, rank=rank)
    return {
        "multiplications": {kind: cost.multiplications for kind, cost in costs.items()},
        "numbers": {kind: cost.numbers for kind, cost in costs.items()},
    }


def short(value: int) -> str:
    """Say a large number with three digits. Such as ``"1.07 billion"``."""
    names = ("", " thousand", " million", " billion", " trillion")
    power = min((len(str(value)) - 1) // 3, len(names) - 1)
    return f"{float(f'{value / 1000**power:.3g}'):g}{names[power]}"
