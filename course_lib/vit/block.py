"""The block of a vision transformer, whose parts can be taken out one by one."""

from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention, Rotate
from course_lib.layers import FeedForward


class VisionBlock(nn.Module):
    """A pre-norm :class:`~course_lib.layers.EncoderBlock`, complete or without some of its parts.

    What is taken out leaves no weights behind; what is left keeps its names.

    Args:
        residual: Whether each sub-layer adds to its input, or replaces it.
        layer_norm: Whether each sub-layer sees its input normalised.
        feed_forward: Whether a feed-forward sub-layer follows attention.

    Example:
        >>> bare = VisionBlock(8, 2, 16, feed_forward=False)
        >>> sorted({name.split(".")[0] for name, _ in bare.named_parameters()})
        ['attention', 'attention_norm']
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        eps: float = 1e-5,
        residual: bool = True,
        layer_norm: bool = True,
        feed_forward: bool = True,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.residual = residual
        self.attention_norm = _norm(d_model, eps, layer_norm)
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.feed_forward: FeedForward | None = None
        if feed_forward:
            self.feed_forward_norm = _norm(d_model, eps, layer_norm)
            self.feed_forward = FeedForward(d_model, d_ff, activation="gelu", dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, *, rotate: Rotate | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Transform tokens ``(B, T, D)``; weights ``(B, H, T, T)``, before dropout."""
        weights = None
        out = self.attention(self.attention_norm(x), rotate=rotate, return_weights=return_weights)
        if return_weights:
            out, weights = out
        x = self._join(x, out)
        if self.feed_forward is not None:
            x = self._join(x, self.feed_forward(self.feed_forward_norm(x)))
        return x if weights is None else (x, weights)

    def _join(self, x: Tensor, out: Tensor) -> Tensor:
        out = self.dropout(out)
        return x + out if self.residual else out


def _norm(d_model: int, eps: float, wanted: bool) -> nn.Module:
    return nn.LayerNorm(d_model, eps=eps) if wanted else nn.Identity()
