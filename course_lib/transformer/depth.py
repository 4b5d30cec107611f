"""What becomes of tokens and gradients on their way through a deep stack, before any training."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from course_lib.layers import EncoderBlock, xavier_init
from course_lib.transformer.stacks import Encoder

__all__ = ["ARRANGEMENTS", "Arrangement", "DepthProfile", "depth_profile", "token_diversity"]

Arrangement = Literal["neither", "residual", "norm", "post", "pre"]
ARRANGEMENTS: tuple[Arrangement, ...] = get_args(Arrangement)
"""What surrounds each part f of a block: f(x); x + f(x); f(norm(x)); norm(x + f(x)); x +
f(norm(x)). The third and the last end with one more norm."""


@dataclass(frozen=True)
class DepthProfile:
    """A stack of L blocks, seen at its entrance and behind each block.

    Attributes:
        gradient: Norm of the gradient that arrives there, ``(L + 1,)``, for a loss that reads the
            output along a random direction.
        variance: Variance of the channels there, ``(L + 1,)``.
        diversity: :func:`token_diversity` there, ``(L + 1,)``.
    """

    gradient: Tensor
    variance: Tensor
    diversity: Tensor


def token_diversity(x: Tensor) -> Tensor:
    """Measure which share of the tokens is not common to all tokens of their sequence.

    Source: Dong et al., Attention is Not All You Need (2021), in another matrix norm.

    Args:
        x: Tokens ``(B, T, D)``.

    Returns:
        A number from 0, all tokens of each sequence are equal, to 1, their mean is 0.

    Example:
        >>> apart = torch.tensor([[[1.0, 0.0], [-1.0, 0.0]]])
        >>> token_diversity(apart), token_diversity(apart.abs())
        (tensor(1.), tensor(0.))
    """
    return (x - x.mean(dim=1, keepdim=True)).norm() / x.norm()


def depth_profile(
    arrangement: Arrangement,
    n_layers: int,
    *,
    d_model: int = 64,
    n_heads: int = 4,
    seed: int = 0,
) -> DepthProfile:
    """Send random tokens through a stack just initialised, and a gradient back.

    Args:
        arrangement: What surrounds each part, one of :data:`ARRANGEMENTS`.
        n_layers: Number L of blocks, of attention and feed-forward part.
        d_model: Width D.
        n_heads: Number of heads.
        seed: Decides weights, tokens and the direction of the loss.

    Returns:
        The profile, computed in double precision.

    Raises:
        ValueError: If there is no such arrangement.

    Example:
        Without residual connections the tokens have become one after a few blocks.

        >>> depth_profile("norm", 6).diversity[-1] < 1e-5
        tensor(True)
        >>> depth_profile("pre", 6).diversity[-1] > 0.5
        tensor(True)
    """
    if arrangement not in ARRANGEMENTS:
        raise ValueError(f"arrangement is {arrangement!r}, wanted one of {ARRANGEMENTS}")
    norm: Literal["pre", "post"] = "post" if arrangement == "post" else "pre"
    stack = Encoder(d_model, n_heads, 4 * d_model, n_layers, norm=norm).double()
    generator = torch.Generator().manual_seed(seed)
    xavier_init(stack, generator=generator)
    x, direction = torch.randn(2, 4, 16, d_model, generator=generator, dtype=torch.float64)
    seen = [x.requires_grad_()]
    for block in stack.blocks:
        assert isinstance(block, EncoderBlock)
        seen.append(_run(arrangement, block, seen[-1]))
    for x in seen:
        x.retain_grad()
    out = stack.norm(seen[-1]) if arrangement in ("norm", "pre") else seen[-1]
    (out * direction).sum(dim=-1).mean().backward()
    gradients = [x.grad.norm() for x in seen if x.grad is not None]
    with torch.no_grad():
        return DepthProfile(
            torch.stack(gradients),
            torch.stack([x.var(correction=0) for x in seen]),
            torch.stack([token_diversity(x) for x in seen]),
        )


def _run(arrangement: Arrangement, block: EncoderBlock, x: Tensor) -> Tensor:
    """One block with less around its parts than it has."""
    if arrangement in ("pre", "post"):
        return block(x)
    for part, norm in (
        (block.attention, block.attention_norm),
        (block.feed_forward, block.feed_forward_norm),
    ):
        out = part(norm(x) if arrangement == "norm" else x)
        x = x + out if arrangement == "residual" else out
    return x
