"""Tokens and gradients on their way through a deep stack, and attention over its layers."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.layers import EncoderBlock, xavier_init
from course_lib.transformer.stacks import Encoder

Arrangement = Literal["neither", "residual", "norm", "post", "pre"]
ARRANGEMENTS: tuple[Arrangement, ...] = get_args(Arrangement)
"""Surroundings of each sub-layer f of a block: f(x); x + f(x); f(norm(x)); norm(x + f(x)); x +
f(norm(x)). The third and the last end with one more norm."""
Start = Literal["xavier", "torch"]


@dataclass(frozen=True)
class DepthProfile:
    """A stack of L blocks, seen at its entrance and after each block.

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
    """Share of the tokens ``(B, T, D)`` that is not common to all of their sequence, ``()``.

    It is 0 where all tokens of each sequence are equal, and 1 where their mean is 0. Source: Dong
    et al., Attention is Not All You Need (2021), in another matrix norm.
    """
    return (x - x.mean(dim=1, keepdim=True)).norm() / x.norm()


def depth_profile(
    arrangement: Arrangement,
    n_layers: int,
    *,
    d_model: int = 64,
    n_heads: int = 4,
    start: Start = "xavier",
    seed: int = 0,
) -> DepthProfile:
    """Send random tokens through a stack just initialised, and a gradient back.

    The arrangement is one of :data:`ARRANGEMENTS`, and matrices start by Xavier or as torch starts
    them. All is computed in double precision; ``seed`` decides weights, tokens and the loss's
    direction.

    Example:
        Without residual connections the tokens have become one after a few blocks.

        >>> depth_profile("norm", 6).diversity[-1] < 1e-5
        tensor(True)
        >>> depth_profile("pre", 6).diversity[-1] > 0.5
        tensor(True)
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        stack = arranged_stack(arrangement, n_layers, d_model, n_heads, start, generator).double()
    x, direction = torch.randn(2, 4, 16, d_model, generator=generator, dtype=torch.float64)
    seen = [x.requires_grad_()]
    for block in stack.blocks:
        seen.append(arranged_block(arrangement, block, seen[-1]))
    for x in seen:
        x.retain_grad()
    (stack.norm(seen[-1]) * direction).sum(dim=-1).mean().backward()
    gradients = [x.grad.norm() for x in seen if x.grad is not None]
    with torch.no_grad():
        return DepthProfile(
            torch.stack(gradients),
            torch.stack([x.var(correction=0) for x in seen]),
            torch.stack([token_diversity(x) for x in seen]),
        )


def arranged_stack(
    arrangement: Arrangement,
    n_layers: int,
    d_model: int,
    n_heads: int,
    start: Start = "xavier",
    generator: torch.Generator | None = None,
) -> Encoder:
    """A stack for :func:`arranged_block`.

    The arrangement decides whether there is a norm at the end; feed-forward layers are 4 D wide.
    """
    if arrangement not in ARRANGEMENTS:
        raise ValueError(f"arrangement is {arrangement!r}, wanted one of {ARRANGEMENTS}")
    norm: Literal["pre", "post"] = "pre" if arrangement in ("pre", "norm") else "post"
    stack = Encoder(d_model, n_heads, 4 * d_model, n_layers, norm=norm)
    if start == "xavier":
        xavier_init(stack, generator=generator)
    return stack


def arranged_block(arrangement: Arrangement, block: nn.Module, x: Tensor) -> Tensor:
    """Run a block on ``(B, T, D)`` with the norms and shortcuts of the arrangement alone."""
    assert isinstance(block, EncoderBlock)
    if arrangement in ("pre", "post"):
        return block(x)
    for part, norm in (
        (block.attention, block.attention_norm),
        (block.feed_forward, block.feed_forward_norm),
    ):
        out = part(norm(x) if arrangement == "norm" else x)
        x = x + out if arrangement == "residual" else out
    return x


def attend_over_depth(outputs: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
    """Mix what ``L`` layers have put out, ``(L, B, T, D)``, each token by itself.

    The outputs are the values; divided by their root mean squares they are the keys. One layer's
    learned query ``(D,)`` asks them; with 0 the mixture is the mean. Returns the mixture
    ``(B, T, D)`` and the weights ``(L, B, T)``.

    Source: Kimi Team, Attention Residuals (2026).
    """
    if outputs.ndim != 4 or len(outputs) == 0:
        raise ValueError(f"outputs are {tuple(outputs.shape)}, wanted (L, B, T, D) with L > 0")
    if query.shape != outputs.shape[-1:]:
        raise ValueError(f"query is {tuple(query.shape)}, wanted ({outputs.shape[-1]},)")
    weights = (F.rms_norm(outputs, query.shape) @ query).softmax(dim=0)
    return (weights[..., None] * outputs).sum(dim=0), weights
