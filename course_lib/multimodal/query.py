"""Queries that belong to nothing ask an image what is in it."""

from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward


class QueryDecoderLayer(nn.Module):
    """One layer of a set decoder: slots talk to each other, then to the image, then think.

    Each slot, or object query, is a learned vector that is added to queries and keys in every
    layer but never to values: it says who asks, not what is known. The places of the image are
    added to its keys in the same way. All slots are decoded at once, without a causal mask. With N
    slots and M image tokens the cross-attention costs O(N M); an encoder in front of it still pays
    O(M^2).

    Source: Carion et al., End-to-End Object Detection with Transformers (2020), figure 10.

    Args:
        d_model: Width D.
        n_heads: Number of heads, which divides D.
        d_ff: Hidden width of the feed-forward part.
        dropout: Probability of dropping weights and the output of each part while training.
        fused: Whether to use the fused attention kernel.

    Example:
        Slots are a set: in another order they give the same answers in that order.

        >>> import torch
        >>> layer = QueryDecoderLayer(8, n_heads=2, d_ff=16).eval()
        >>> slots = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(0))
        >>> memory, places = torch.ones(1, 5, 8), torch.arange(40.0).reshape(1, 5, 8) / 40
        >>> out = layer(torch.zeros(1, 3, 8), memory, slots, places)
        >>> out.shape
        torch.Size([1, 3, 8])
        >>> flipped = layer(torch.zeros(1, 3, 8), memory, slots.flip(1), places)
        >>> torch.allclose(flipped, out.flip(1), atol=1e-6)
        True
    """

    def __init__(
        self, d_model: int, n_heads: int, d_ff: int, *, dropout: float = 0.0, fused: bool = True
    ) -> None:
        super().__init__()
        self.slot_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.slot_norm = nn.LayerNorm(d_model)
        self.image_attention = MultiHeadAttention(d_model, n_heads, dropout=dropout, fused=fused)
        self.image_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff, activation="relu", dropout=dropout)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        slots: Tensor | None = None,
        places: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        return_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each slot collect what it is about.

        Args:
            x: What the slots know so far, ``(B, N, D)``; zeros before the first layer.
            memory: Image tokens ``(B, M, D)``.
            slots: Who asks, broadcastable to ``(B, N, D)``.
            places: Where each image token is, broadcastable to ``(B, M, D)``.
            mask: Boolean, broadcastable to ``(B, H, N, M)``; ``True`` = may attend. For images
                that were padded to one size.
            return_weights: Whether to return what each slot looks at, too.

        Returns:
            ``(B, N, D)``, and if asked for the weights on the image ``(B, H, N, M)``.

        Raises:
            ValueError: If the shapes don't fit together or the mask is not boolean.
        """
        asks = x if slots is None else x + slots
        x = self.slot_norm(x + self.dropout(self.slot_attention(asks, asks, x)))
        asks = x if slots is None else x + slots
        where = memory if places is None else memory + places
        found = self.image_attention(asks, where, memory, mask=mask, return_weights=return_weights)
        weights = None
        if return_weights:
            found, weights = found
        x = self.image_norm(x + self.dropout(found))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x if weights is None else (x, weights)
