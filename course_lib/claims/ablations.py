"""Claims of the ablation report about steps, Legendre positions and its tables on ETTh1."""

from math import comb

import torch

from course_lib.claims.finding import Finding
from course_lib.positions import (
    legendre_polynomials,
    sinusoidal_encoding,
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
