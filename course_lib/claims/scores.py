"""Claims about scaled dot products and about what self-attention knows of order."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.attention import scaled_dot_product_attention
from course_lib.claims.finding import Finding
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_positions
from course_lib.transformer import Encoder


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


def _encoder() -> Encoder:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Encoder(16, 2, 32, 2).double()


def appended_and_invariant() -> Finding:
    """Shuffle the tokens of a whole encoder, without positions and with added ones."""
    encoder, order = _encoder(), torch.tensor([3, 0, 5, 1, 4, 2])
    random = torch.Generator().manual_seed(0)
    x = torch.randn(1, 6, 16, generator=random, dtype=torch.float64)
    stays, along = [], []
    with torch.no_grad():
        for codes in (torch.zeros(6, 16), sinusoidal_positions(6, 16)):
            out, moved = encoder(x + codes), encoder(x[:, order] + codes)
            stays.append(float((moved - out).abs().max()))
            along.append(float((moved - out[:, order]).abs().max()))
    width = (x + codes).shape[-1]
    return Finding(
        holds=stays[0] < 1e-9 and width > 16,
        corrected=along[0] < 1e-9 < stays[0] and along[1] > 0.1 and width == 16,
        evidence=f"shuffled tokens change the outputs by {stays[0]:.2f}, and give shuffled outputs "
        f"up to {along[0]:.0e}; with added positions, which leave the width at {width}, these "
        f"differ by {along[1]:.2f}",
    )


def _exchanged(name: str, weight: Tensor, order: Tensor) -> Tensor:
    """A weight of the encoder whose input has its channels in another order."""
    if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "in_proj.weight")):
        return weight[:, order]
    reads_only = name.endswith(("q_proj.bias", "k_proj.bias", "v_proj.bias", "in_proj.bias"))
    return weight if reads_only else weight[order]


def training_commutes_with_exchange() -> Finding:
    """Train on data, on the same with tokens exchanged, and with channels exchanged."""
    random = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 4, 6, 16, generator=random, dtype=torch.float64)
    tokens, channels = (torch.randperm(n, generator=random) for n in (6, 16))

    def trained(x: Tensor, y: Tensor, order: Tensor | None = None) -> dict[str, Tensor]:
        model = _encoder()
        if order is not None:
            state = model.state_dict()
            model.load_state_dict({n: _exchanged(n, w, order) for n, w in state.items()})
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
        return {name: w.detach() for name, w in model.named_parameters()}

    def gap(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
        return max(float((one[name] - other[name]).abs().max()) for name in one)

    plain = trained(x, y)
    wanted = {name: _exchanged(name, w, channels) for name, w in plain.items()}
    inter = gap(plain, trained(x[:, tokens], y[:, tokens]))
    same_start = gap(wanted, trained(x[..., channels], y[..., channels]))
    moved_start = gap(wanted, trained(x[..., channels], y[..., channels], channels))
    return Finding(
        holds=max(inter, same_start) < 1e-9,
        corrected=max(inter, moved_start) < 1e-9 < same_start,
        evidence=f"after five steps weights differ by {inter:.0e} if tokens were exchanged; if "
        f"channels were, by {same_start:.2f} from the same start and by {moved_start:.0e} from one "
        "with its rows and columns exchanged likewise",
    )
