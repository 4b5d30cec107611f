"""Claims of the ablation report about steps, Legendre positions and its tables on ETTh1."""

from itertools import permutations
from math import comb

import torch

from course_lib.claims.finding import Finding
from course_lib.positions import (
    legendre_polynomials,
    legendre_positions,
    literal_delta_value,
    sinusoidal_encoding,
)


def _tokens() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, 8, generator=generator, dtype=torch.float64)


def steps_know_the_order() -> Finding:
    """The first output for each order of four tokens."""
    x = _tokens()
    outputs = torch.stack([literal_delta_value(x[list(p)]) for p in permutations(range(4))])
    nearest = float(torch.pdist(outputs).min())
    return Finding(
        holds=nearest > 1e-6,
        evidence=f"24 orders of four tokens have 24 results, the nearest two {nearest:.2f} apart",
    )


def steps_cure_translation() -> Finding:
    """Change of the tokens when a constant is added to all, and when two change places."""
    x = _tokens()
    added = float((x.diff(dim=0) - (x + 5).diff(dim=0)).abs().max())
    swapped = float((x.diff(dim=0) - x[[1, 0, 2, 3]].diff(dim=0)).abs().max())
    return Finding(
        holds=added > 1e-6,
        corrected=swapped > 1e-6,
        evidence=f"a constant added to all tokens changes steps by {added:.0e}, an exchange of two "
        f"tokens by {swapped:.1f}",
    )


def far_codes_are_correlated() -> Finding:
    """Correlations of the codes of 10 and 100, over all channels and over the last quarter."""
    codes = sinusoidal_encoding(torch.tensor([10.0, 100.0]).double(), 512)
    whole, last = (
        float(torch.corrcoef(codes[:, part])[0, 1]) for part in (slice(None), slice(384, None))
    )
    return Finding(
        holds=whole > 0.999,
        corrected=last > 0.999,
        evidence=f"positions 10 and 100 at width 512: {whole:.3f} over all channels, {last:.4f} "
        "over the last quarter",
    )


def rodrigues_gives_legendre() -> Finding:
    """Rodrigues' formula multiplied out, beside the recurrence."""
    x = torch.linspace(-1, 1, 11, dtype=torch.float64)
    known = legendre_polynomials(x, 60)

    def error(n: int) -> float:
        powers = sum(
            ((-1) ** k * comb(n, k) * comb(2 * n - 2 * k, n) / 2**n) * x ** (n - 2 * k)
            for k in range(n // 2 + 1)
        )
        return float((known[n] - powers).abs().max())

    small = max(error(n) for n in range(9))
    return Finding(
        holds=small < 1e-12,
        evidence=f"up to order 8 it agrees with the recurrence to {small:.0e}; at order 60, "
        f"computed in powers of x, it is {error(60):.0e} off",
    )


def orders_vary() -> Finding:
    """Polynomial of each row of the code, and the length of the rows."""
    table = legendre_positions(96, 64, dtype=torch.float64)
    points = torch.arange(64, dtype=torch.float64) / 32 - 1
    same = torch.allclose(table, legendre_polynomials(points, 96)[1:])
    first, last = table.norm(dim=1)[[0, -1]].tolist()
    return Finding(
        holds=same and first > 2 * last,
        evidence=f"row n is the polynomial of order n; the rows get shorter, from {first:.1f} to "
        f"{last:.1f} over 96 positions",
    )
