"""Claims about scaled dot products and about what self-attention knows of order."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.claims.finding import Finding
from course_lib.masks import causal_mask

__all__ = [
    "formula",
    "permutation_equivariant",
    "permutation_invariant",
    "scaling_gives_variance_one_always",
    "unscaled_scores_saturate",
    "variance_of_dot_products",
]


def _products(width: int, generator: torch.Generator, std: float = 1.0) -> Tensor:
    q, k = std * torch.randn(2, 20_000, width, generator=generator)
    return (q * k).sum(dim=-1)


def formula() -> Finding:
    """Line by line against torch's own kernel."""
    q, k, v = torch.randn(3, 2, 5, 16, generator=torch.Generator().manual_seed(0))
    by_hand = (q @ k.transpose(-2, -1) / math.sqrt(16)).softmax(dim=-1) @ v
    error = float((by_hand - F.scaled_dot_product_attention(q, k, v)).abs().max())
    return Finding(
        holds=error < 1e-5, evidence=f"formula and torch's kernel differ by at most {error:.1g}"
    )


def variance_of_dot_products() -> Finding:
    """Variance of 20,000 dot products for widths from 16 to 256, before and after scaling."""
    random = torch.Generator().manual_seed(0)
    raw = {width: float(_products(width, random).var()) for width in (16, 64, 256)}
    ratios = [variance / width for width, variance in raw.items()]
    listed = ", ".join(f"{variance:.1f} at {width}" for width, variance in raw.items())
    return Finding(
        holds=all(abs(ratio - 1) < 0.04 for ratio in ratios),
        evidence=f"variances {listed}; divided by the width {min(ratios):.3f} to {max(ratios):.3f}",
    )


def unscaled_scores_saturate() -> Finding:
    """Largest weight and gradient with 64 keys of width 512, without and with scaling."""
    random = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 200, 64, 512, generator=random)
    scores = torch.einsum("bd,bsd->bs", q[:, 0], k)
    found = {}
    for name, logits in (("raw", scores), ("scaled", scores / math.sqrt(512))):
        weights = logits.softmax(dim=-1)
        slope = 1 - (weights**2).sum(dim=-1)
        found[name] = (float(weights.max(dim=-1).values.mean()), float(slope.mean()))
    return Finding(
        holds=found["raw"][0] > 0.8 and found["raw"][1] < found["scaled"][1] / 5,
        evidence=f"the largest of 64 weights is {found['raw'][0]:.2f} without and "
        f"{found['scaled'][0]:.2f} with scaling, the gradient that gets through "
        f"{found['raw'][1]:.2f} and {found['scaled'][1]:.2f}",
    )


def scaling_gives_variance_one_always() -> Finding:
    """Scaled products of unit, of wider and of identical vectors."""
    random = torch.Generator().manual_seed(0)
    unit = [float((_products(width, random) / math.sqrt(width)).var()) for width in (16, 256)]
    wide = float((_products(64, random, std=2.0) / 8).var())
    x = torch.randn(20_000, 64, generator=random)
    same = float(((x * x).sum(dim=-1) / 8).mean())
    independent = all(abs(variance - 1) < 0.05 for variance in unit)
    return Finding(
        holds=independent and abs(wide - 1) < 0.05 and abs(same) < 0.05,
        corrected=independent and abs(wide - 16) < 1 and abs(same - 8) < 0.1,
        evidence=f"variance {unit[0]:.2f} and {unit[1]:.2f} for independent entries of variance 1 "
        f"at widths 16 and 256, but {wide:.1f} for entries of variance 4, and at width 64 a mean "
        f"of {same:.1f} where query and key are equal",
    )


def _shuffled(mask: Tensor | None) -> tuple[float, float, float]:
    """How far shuffling the tokens moves: the outputs, the shuffled outputs, their mean."""
    random = torch.Generator().manual_seed(0)
    x = torch.randn(6, 16, generator=random)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    out, _ = scaled_dot_product_attention(x, x, x, mask)
    moved, _ = scaled_dot_product_attention(x[order], x[order], x[order], mask)
    return (
        float((moved - out).abs().max()),
        float((moved - out[order]).abs().max()),
        float((moved.mean(dim=0) - out.mean(dim=0)).abs().max()),
    )


def permutation_equivariant() -> Finding:
    """Shuffle the tokens, with and without a causal mask."""
    _, plain, _ = _shuffled(None)
    _, causal, _ = _shuffled(causal_mask(6))
    return Finding(
        holds=plain < 1e-5,
        evidence=f"shuffled tokens give shuffled outputs up to {plain:.1g}; under a causal mask "
        f"they differ by {causal:.2f}",
    )


def permutation_invariant() -> Finding:
    """Does the output stay, or does it move along with the tokens?"""
    stays, along, pooled = _shuffled(None)
    return Finding(
        holds=stays < 1e-5,
        corrected=along < 1e-5 and pooled < 1e-5,
        evidence=f"the output changes by {stays:.2f}; it moves along with the tokens up to "
        f"{along:.1g}, and only its mean over the tokens stays, up to {pooled:.1g}",
    )
