"""Claims about sparse queries, forecasts, and attention over time and space."""

from math import comb

import torch
from torch import Tensor

from course_lib.claims.finding import Finding
from course_lib.informer import (
    Informer,
    InformerConfig,
    InformerEncoderLayer,
    informer,
)
from course_lib.multimodal import factorised_mask, video_positions
from course_lib.positions import (
    legendre_polynomials,
    sinusoidal_encoding,
)


def _draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def informer_is_a_set_model() -> Finding:
    """Exchange steps in the middle of what an Informer without positions and calendar reads."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        config = InformerConfig(
            seq_len=24, label_len=12, pred_len=6, d_model=16, n_heads=2, d_ff=32,
            positions="none", time="none", attention="full",
        )  # fmt: skip
        model = Informer(config).double().eval()
        layer = InformerEncoderLayer(config).double().eval()
        x, order = _draw(1, 24, 7), torch.randperm(24)
        moved = float((model(x[:, order]) - model(x)).abs().max())
        tokens = _draw(1, 24, 16)
        alone = float((layer(tokens[:, order]) - layer(tokens)[:, order]).abs().max())
    return Finding(
        holds=moved < 1e-6,
        evidence=f"with its steps in another order the forecast changes by {moved:.2f}; a layer of "
        f"it alone is equivariant to {alone:.0e}",
    )


def defaults_with_64_steps() -> Finding:
    """Compare the report's sizes with those of the published script."""
    with torch.device("meta"):
        config = informer().config
    same = (config.d_model, config.n_encoder_layers, config.n_decoder_layers) == (512, 2, 1)
    same &= config.time == "features" and config.distil and config.label_len == 48
    return Finding(
        holds=same and config.seq_len == 64,
        corrected=same and config.seq_len == 96,
        evidence=f"width {config.d_model}, {config.n_encoder_layers} + {config.n_decoder_layers} "
        f"layers, label {config.label_len}, and windows of {config.seq_len} steps",
    )


def video_in_two_steps() -> Finding:
    """Reach of both steps with and without a causal mask, and whether places have codes."""
    frames, places = 4, 6
    frame = torch.arange(frames * places) // places
    reach = []
    for causal in (False, True):
        time, space = factorised_mask(frames, places, causal=causal)
        reach.append(space.float() @ time.float() > 0)
    codes = video_positions(frames, 2, 3, 12).flatten(0, 1)
    apart = len(codes.unique(dim=0))
    whole = bool(reach[0].all()) and torch.equal(reach[1], frame[:, None] >= frame)
    share = (frames + places) / (frames * places)
    return Finding(
        holds=whole and apart == frames * places,
        evidence=f"two steps reach every token with {share:.0%} of the scores, and under the mask "
        f"every one that isn't later; {apart} of {frames * places} tokens have own codes",
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
