"""Claims about relative positions and about the terms of a score."""

from functools import partial

import torch
from torch import Tensor, nn

from course_lib.claims.finding import Finding
from course_lib.positions import (
    TERMS,
    FourTermAttention,
    RelativeBias,
    sinusoidal_encoding,
    sinusoidal_positions,
)
from course_lib.positions.previous import accuracy_by_place, train_previous


def _draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def bias_by_distance_alone() -> Finding:
    """Change the query, and see by how much what is added for each distance changes."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        bias = RelativeBias(2)(12).detach()
    codes = sinusoidal_encoding(torch.arange(11, -12, -1).double(), 16)
    rows = _draw(2, 16) @ (codes @ _draw(16, 16, seed=1) / 4).T
    diagonal = float((bias[:, 1:, 1:] - bias[:, :-1, :-1]).abs().max())
    moved = float((rows[0] - rows[1]).abs().max())
    return Finding(
        holds=diagonal < 1e-6 and moved < 1e-6,
        corrected=diagonal < 1e-6 and moved > 0.1,
        evidence=f"T5's bias differs along diagonals by {diagonal:.0e}, whatever the tokens are; "
        f"the product of query and distance, as in Transformer-XL, moves by up to {moved:.2f}",
    )


class _Terms(nn.Module):
    """A layer with some of the four terms, at the same temperature."""

    def __init__(self, terms: tuple[str, ...]) -> None:
        super().__init__()
        self.attention = FourTermAttention(32, 4, terms=terms, rescale=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.attention(x, sinusoidal_positions(x.shape[1], 32))
        return out


def cross_terms_are_fundamental() -> Finding:
    """Learn a task of places alone with all terms, without cross terms, and with them alone."""
    reached = {}
    for name, terms in (
        ("all terms", TERMS),
        ("no cross terms", ("tt", "pp")),
        ("cross terms alone", ("tp", "pt")),
    ):
        model, _ = train_previous(attention=partial(_Terms, terms), length=12, steps=200)
        reached[name] = float(accuracy_by_place(model, 12).mean())
    needed = reached["no cross terms"] < 0.9 * reached["all terms"]
    listed = ", ".join(f"{share:.0%} with {name}" for name, share in reached.items())
    return Finding(
        holds=needed and reached["cross terms alone"] > 0.9,
        corrected=not needed and reached["cross terms alone"] < 0.5,
        evidence=f"previous tokens named after 200 steps: {listed}",
    )


def closer_positions_attend_more() -> Finding:
    """The term of two positions by distance, for the identity and for 300 random maps."""
    p = sinusoidal_encoding(torch.arange(101).double(), 64)
    identity = p[0] @ p.T
    maps = _draw(300, 64, 64) / 8
    drawn = torch.einsum("c,wcd,nd->wn", p[0], maps, p)
    near, far = drawn[:, 1:11].mean(1), drawn[:, 91:].mean(1)
    falling = float((near > far).double().mean())
    means = [float(drawn.mean(0)[n]) for n in (0, 100)]
    return Finding(
        holds=falling > 0.9,
        corrected=bool(identity[0] > 1.5 * identity[100]) and 0.3 < falling < 0.7,
        evidence=f"from distance 0 to 100 the term falls from {identity[0]:.0f} to "
        f"{identity[100]:.0f} for the identity; over 300 random maps its means are {means[0]:.2f} "
        f"and {means[1]:.2f}, and {falling:.0%} of them prefer near positions to far ones",
    )
