"""What surrounds attention in a Transformer block."""

from collections.abc import Callable
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention

__all__ = ["EncoderBlock", "FeedForward", "xavier_init"]

Activation = Literal["relu", "gelu"]
Norm = Literal["pre", "post"]

_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """Two linear maps with a nonlinearity between them, for each token on its own.

    ``FFN(x) = act(x W_1 + b_1) W_2 + b_2``. Source: Vaswani et al., Attention Is All You Need
    (2017), equation 2, with ReLU.

    Args:
        d_model: Width D of input and output.
        d_ff: Width F in between.
        activation: ``"relu"`` or ``"gelu"``.
        dropout: Probability of dropping a hidden channel while training.
        bias: Whether both maps add a bias vector.

    Raises:
        ValueError: If the activation is unknown.

    Example:
        >>> x = torch.randn(2, 5, 8)
        >>> feed_forward = FeedForward(8, d_ff=32)
        >>> out = feed_forward(x)
        >>> out.shape
        torch.Size([2, 5, 8])
        >>> torch.allclose(feed_forward(x[:, 3:4]), out[:, 3:4], atol=1e-6)  # no token sees others
        True
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = "relu",
        dropout: float = 0.0,
        bias: bool = True,
    ) -> None:
        """Make the two linear maps."""
        super().__init__()
        if activation not in get_args(Activation):
            raise ValueError(f"activation is {activation!r}, wanted one of {get_args(Activation)}")
        self.activation = activation
        self.in_proj = nn.Linear(d_model, d_ff, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.out_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each token.

        Args:
            x: Tokens ``(..., D)``.

        Returns:
            Tokens ``(..., D)``.
        """
        hidden = _ACTIVATIONS[self.activation](self.in_proj(x))
        return self.out_proj(self.dropout(hidden))


class EncoderBlock(nn.Module):
    """Self-attention, then feed-forward, each with a residual connection and a norm.

    Pre-norm, ``x + f(norm(x))``, leaves the residual path untouched and needs one more norm after
    the last block. Post-norm, ``norm(x + f(x))``, is the original order.

    Source: Vaswani et al. (2017), section 3.1, for post-norm; Xiong et al., On Layer Normalization
    in the Transformer Architecture (2020), for pre-norm.

    Args:
        d_model: Width D.
        n_heads: Number of heads, which divides D.
        d_ff: Hidden width of the feed-forward part.
        dropout: Probability of dropping weights, hidden channels and the output of each part.
        norm: ``"pre"`` or ``"post"``.
        activation: ``"relu"`` or ``"gelu"``.
        eps: Added to the variance in the norms.
        fused: Whether to use the fused attention kernel when no weights are asked for.

    Raises:
        ValueError: If the norm or activation is unknown or ``n_heads`` does not divide D.

    Example:
        >>> block = EncoderBlock(8, n_heads=2, d_ff=16)
        >>> out, weights = block(torch.randn(1, 5, 8), return_weights=True)
        >>> out.shape, weights.shape
        (torch.Size([1, 5, 8]), torch.Size([1, 2, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm: Norm = "pre",
        activation: Activation = "gelu",
        eps: float = 1e-5,
        fused: bool = True,
    ) -> None:
        """Make both parts and their norms."""
        super().__init__()
        if norm not in get_args(Norm):
            raise ValueError(f"norm is {norm!r}, wanted one of {get_args(Norm)}")
        self.norm = norm
        self.attention_norm = nn.LayerNorm(d_model, eps=eps)
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.feed_forward_norm = nn.LayerNorm(d_model, eps=eps)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens exchange information, then transform each.

        Args:
            x: Tokens ``(B, T, D)``.
            mask: Boolean, broadcastable to ``(B, H, T, T)``; ``True`` = may attend.
            bias: Added to the scaled scores, broadcastable to ``(B, H, T, T)``.
            return_weights: Whether to return the attention weights too.

        Returns:
            Tokens ``(B, T, D)``, and if asked for the weights ``(B, H, T, T)`` before dropout.

        Raises:
            ValueError: If the shapes don't fit together or the mask is not boolean.
        """
        weights = None
        before = self.attention_norm(x) if self.norm == "pre" else x
        out = self.attention(before, mask=mask, bias=bias, return_weights=return_weights)
        if return_weights:
            out, weights = out
        x = x + self.dropout(out)
        if self.norm == "pre":
            x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        else:
            x = self.attention_norm(x)
            x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x if weights is None else (x, weights)


def xavier_init(module: nn.Module, *, generator: torch.Generator | None = None) -> None:
    """Draw all linear weights from ``N(0, 2 / (n_in + n_out))`` and set their biases to 0.

    Norms keep scale 1 and shift 0; other parameters keep what they have.

    Source: Glorot and Bengio, Understanding the Difficulty of Training Deep Feedforward Neural
    Networks (2010).

    Args:
        module: Changed in place, with all modules inside it.
        generator: Source of the weights; torch's global one if not given.

    Example:
        >>> layer = nn.Linear(300, 500)
        >>> xavier_init(layer, generator=torch.Generator().manual_seed(0))
        >>> round(layer.weight.var().item() * 400, 2)
        1.0
    """
    for part in module.modules():
        if isinstance(part, nn.Linear):
            nn.init.xavier_normal_(part.weight, generator=generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
