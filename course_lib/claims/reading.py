"""Claims about reading attention: what maps look like, and what they show."""

import torch

from course_lib.attention_maps import diagonality, stripe_score
from course_lib.claims.finding import Finding


def columns_are_hubs() -> Finding:
    """Two heads with one map, a single column: the value there is large, or nothing."""
    generator = torch.Generator().manual_seed(0)
    weights = torch.full((8, 8), 0.02)
    weights[:, 0] = 0.86
    brought = {}
    for name, scale in (("hub", 3.0), ("sink", 0.0)):
        values = torch.randn(8, 4, generator=generator)
        values[0] = scale * values[0].sign()
        share = (weights[:, :1] * values[:1]).norm() / (weights[:, 1:] @ values[1:]).norm()
        brought[name] = float(share)
    stripe = float(stripe_score(weights))
    hub = brought["hub"] > 5
    return Finding(
        holds=None if hub and brought["sink"] < 1e-6 and stripe > 0.8 else hub,
        evidence=f"{stripe:.0%} of the attention goes to one column in both; it brings "
        f"{brought['hub']:.0f} times what all others bring in the one, "
        f"{brought['sink']:.0f} times in the other",
    )


def diagonality_counts_neighbours() -> Finding:
    """A head that looks at the previous token: its share on the diagonal, and near it."""
    previous = torch.eye(8).roll(-1, dims=1)
    previous[0] = torch.eye(8)[0]
    exact, near = float(diagonality(previous)), float(diagonality(previous, 1))
    return Finding(
        holds=exact > 0.9,
        corrected=exact < 0.2 and near > 0.99,
        evidence=f"a previous-token head over 8 tokens has {exact:.3f} on the diagonal and "
        f"{near:.3f} within one place of it",
    )


def weights_do_not_explain() -> Finding:
    """Look for quite other weights that give a query the same output."""
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(12, 4, generator=generator, dtype=torch.float64)
    weights = torch.randn(12, generator=generator, dtype=torch.float64).softmax(0)
    # Additions that do not change the output, or the sum.
    fixed = torch.cat([values, torch.ones(12, 1, dtype=torch.float64)], dim=1)
    free = torch.linalg.svd(fixed.T).Vh[5:]
    apart, change = 0.0, 0.0
    for direction in torch.randn(500, 7, generator=generator, dtype=torch.float64) @ free:
        # As far as no weight gets negative.
        reach = (weights / -direction)[direction < 0].min()
        moved = weights + reach * direction
        if float((moved - weights).abs().sum() / 2) > apart:
            apart = float((moved - weights).abs().sum() / 2)
            change = float((moved @ values - weights @ values).abs().max())
    return Finding(
        holds=apart > 0.25 and change < 1e-9,
        evidence=f"of 12 keys of width 4, {apart:.0%} of the attention can be moved elsewhere, and "
        f"the output changes by {change:.0e}",
    )
