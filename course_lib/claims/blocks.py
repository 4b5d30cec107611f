"""Claims about the parts of a Transformer block and what surrounds them."""

import math

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.claims.finding import Finding
from course_lib.layers import DecoderBlock, EncoderBlock, layer_norm, xavier_init
from course_lib.transformer.depth import depth_profile
from course_lib.transformer.mirror import train_mirror


def _randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@torch.no_grad()
def cross_attention_roles() -> Finding:
    """Weights of a decoder block that change with the memory, and the output without memory."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        block = DecoderBlock(32, 4, 64, bias=False)
    x, memory = _randn(1, 4, 32), _randn(1, 6, 32, seed=1)
    _, own, cross = block(x, memory, return_weights=True)
    _, own_then, cross_then = block(x, memory.flip(1) * 2, return_weights=True)
    shift_own, shift = float((own - own_then).abs().max()), float((cross - cross_then).abs().max())
    silent = float(block.cross_attention(x, torch.zeros_like(memory)).abs().max())
    return Finding(
        holds=shift_own == 0 and shift > 0.01 and silent == 0 and cross.shape[-2:] == (4, 6),
        evidence=f"4 tokens ask a memory of 6: weights {tuple(cross.shape[-2:])}; with another "
        f"memory they move by up to {shift:.2f}, those of the masked self-attention by "
        f"{shift_own:g}; a memory of zeros gives an output of {silent:g}",
    )


def cross_attention_paths() -> Finding:
    """Gradients of a decoder block's loss, with everything of the decoder frozen but its input."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        block = DecoderBlock(32, 4, 64).requires_grad_(False)
    x, memory = _randn(1, 4, 32).requires_grad_(), _randn(1, 6, 32, seed=1).requires_grad_()
    block(x, memory).square().mean().backward()
    assert x.grad is not None and memory.grad is not None
    decoder, encoder = float(x.grad.norm()), float(memory.grad.norm())
    attend = block.cross_attention
    through = {}
    for name, k, v in (("keys", memory, memory.detach()), ("values", memory.detach(), memory)):
        out = attend(x.detach(), k, v)
        through[name] = float(torch.autograd.grad(out.square().mean(), memory)[0].norm())
    return Finding(
        holds=min(decoder, encoder, *through.values()) > 1e-5,
        evidence=f"with the block frozen, a gradient of norm {decoder:.2f} reaches its input and "
        f"{encoder:.3f} the memory; through the keys of the cross-attention alone "
        f"{through['keys']:.4f}, through its values {through['values']:.4f}",
    )


def four_times_as_wide() -> Finding:
    """Widths and shares of weights of the usual block and of the report's own configuration."""
    ratios, shares = [], []
    for d_model, d_ff in ((512, 2048), (400, 512)):
        block = EncoderBlock(d_model, 8, d_ff)
        inner = sum(p.numel() for p in block.feed_forward.parameters())
        ratios.append(d_ff / d_model)
        shares.append(inner / sum(p.numel() for p in block.parameters()))
    return Finding(
        holds=min(ratios) >= 4,
        corrected=ratios[0] == 4 and ratios[1] < 1.5,
        evidence=f"widths 512 and 2048: {ratios[0]:g} times as wide, {shares[0]:.0%} of the "
        f"weights of a block; 400 and 512, as configured: {ratios[1]:g} times, {shares[1]:.0%}",
    )


def pre_norm_is_stabler() -> Finding:
    """Eight blocks learn to read backwards at one learning rate, in both orders."""
    losses = {}
    for norm in ("pre", "post"):
        run = train_mirror(norm, 8, steps=60)
        losses[norm] = sum(run[-10:]) / 10
    return Finding(
        holds=losses["pre"] < 0.5 * losses["post"],
        evidence=f"loss of 8 blocks after 60 steps without warm-up: {losses['pre']:.2f} in "
        f"pre-norm, {losses['post']:.2f} in post-norm, {math.log(10):.2f} by guessing",
    )


def residuals_are_dispensable() -> Finding:
    """Reading backwards without residual connections, and what is left of six blocks' tokens."""
    losses = {}
    for n_layers in (1, 6):
        run = train_mirror("norm", n_layers, steps=80)
        losses[n_layers] = sum(run[-10:]) / 10
    diversity = float(depth_profile("norm", 6).diversity[-1])
    shallow, deep = losses[1] < 1.0, losses[6] < 1.0
    return Finding(
        holds=None if shallow != deep else shallow,
        evidence=f"loss without residual connections: {losses[1]:.2f} with 1 block and "
        f"{losses[6]:.2f} with 6, {math.log(10):.2f} by guessing; before training the tokens "
        f"behind 6 blocks differ by {diversity:.0e} of their length",
    )


def xavier_variance() -> Finding:
    """Variance of an initialised matrix of widths 400 and 512, for weights and a layer."""
    layer = nn.Linear(400, 512)
    xavier_init(layer, generator=torch.Generator().manual_seed(0))
    wanted, found = 2 / 912, float(layer.weight.detach().var())
    attend = MultiHeadAttention(8, 2)
    xavier_init(attend, generator=torch.Generator().manual_seed(0))
    biases = float(attend.q_proj.bias.detach().abs().max())
    return Finding(
        holds=abs(found / wanted - 1) < 0.02 and biases == 0,
        evidence=f"variance {found:.6f} of 400 x 512 weights, 2/(400 + 512) = {wanted:.6f}; as a "
        f"standard deviation that number would be {wanted**0.5 / wanted:.0f} times too small",
    )


def tiny_epsilon() -> Finding:
    """Value of 1e-12 in half precision, and its effect on a token that hardly varies."""
    half = float(torch.tensor(1e-12, dtype=torch.float16))
    nearly_constant = 123.4 + 1e-5 * _randn(1, 256)
    out = {
        eps: float(layer_norm(nearly_constant, eps=eps).std(correction=0)) for eps in (1e-12, 1e-5)
    }
    constant = float(layer_norm(torch.full((1, 256), 0.5), eps=1e-12).abs().max())
    return Finding(
        holds=half > 0 and out[1e-12] < 0.1,
        corrected=half == 0 and constant == 0 and out[1e-12] > 0.1 > out[1e-5],
        evidence=f"1e-12 is {half:g} in float16; rounding noise around 123.4 comes out with a "
        f"standard deviation of {out[1e-12]:.2f}, with 1e-5 of {out[1e-5]:.4f}; a constant token "
        f"gives {constant:g}",
    )
