"""Queries that belong to nothing ask an image what is in it."""

from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward


class QueryDecoderLayer(nn.Module):
    """One layer of a set decoder: slots talk to each other, then to the image, then think.

    Each slot, or object query, is a learned vector that is added to queries and keys in every
    layer but never to values: it says who asks, not what is known. The image's places are added to
    its keys in the same way. All slots are decoded at once, without a causal mask, and in another
    order give the same answers in that order. N slots and M image tokens cost O(N M); an encoder in
    front of them still pays O(M^2).

    Source: Carion et al., End-to-End Object Detection with Transformers (2020), figure 10.
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

        What the slots know so far is ``x`` ``(B, N, D)``, zeros before the first layer; the memory
        holds image tokens ``(B, M, D)``. ``slots`` and ``places``, who asks and where each image
        token is, broadcast to these shapes; the mask, for images of several sizes, to
        ``(B, H, N, M)``.
        """
        asks = x if slots is None else x + slots
        x = self.slot_norm(x + self.dropout(self.slot_attention(asks, asks, x)))
        asks = x if slots is None else x + slots
        where = memory if places is None else memory + places
        out = self.image_attention(asks, where, memory, mask=mask, return_weights=return_weights)
        weights = None
        if return_weights:
            out, weights = out
        x = self.image_norm(x + self.dropout(out))
        x = self.feed_forward_norm(x + self.dropout(self.feed_forward(x)))
        return x if weights is None else (x, weights)
