"""Bringing two sequences together: by looking across, by queries that ask, and what each costs."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import FeedForward


class GatedCrossAttention(nn.Module):
    """Look at an image from inside a language model that must not forget what it knows.

    ``y = x + tanh(a) cross(norm(x), memory)``, then ``y + tanh(b) ffn(norm(y))``. Both gates start
    at ``gate`` = 0, so the layer is the identity and a frozen language model around it speaks as
    before. Then only the gates have a gradient; once they have moved, everything else follows.
    Source: Alayrac et al., Flamingo (2022), section 2.2 and figure 4.

    Example:
        >>> layer = GatedCrossAttention(8, n_heads=2, d_ff=16)
        >>> x = torch.randn(1, 3, 8, generator=torch.Generator().manual_seed(0))
        >>> torch.equal(layer(x, torch.ones(1, 5, 8)), x)
        True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        d_memory: int | None = None,
        gate: float = 0.0,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = MultiHeadAttention(
            d_model, n_heads, d_memory=d_memory, dropout=dropout, bias=False, fused=fused
        )
        self.attention_gate = nn.Parameter(torch.tensor(float(gate)))
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(
            d_model, d_ff, activation="gelu", dropout=dropout, bias=False
        )
        self.feed_forward_gate = nn.Parameter(torch.tensor(float(gate)))

    def forward(
        self, x: Tensor, memory: Tensor, *, mask: Tensor | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Add to text ``(B, T, D)`` what it finds in image tokens ``(B, S, d_memory)``.

        A word whose mask lets it see no image only passes the feed-forward sub-layer.
        """
        out = self.attention(
            self.attention_norm(x), memory, mask=mask, return_weights=return_weights
        )
        weights = None
        if return_weights:
            out, weights = out
        x = x + self.attention_gate.tanh() * out
        x = x + self.feed_forward_gate.tanh() * self.feed_forward(self.feed_forward_norm(x))
        return x if weights is None else (x, weights)


def preceding_image_mask(is_image: Tensor, tokens_per_image: int) -> Tensor:
    """Let each token see the last image before it and no other: boolean ``(B, 1, T, I N)``.

    Through the language model's own self-attention a word still learns of earlier images; a model
    trained on few images a text works with many. ``is_image`` ``(B, T)`` marks tokens that stand
    for an image, which see their own. Each of I images has N tokens in the memory. Source: Alayrac
    et al. (2022), section 2.3.

    Example:
        >>> is_image = torch.tensor([[False, True, False, True, False]])
        >>> preceding_image_mask(is_image, tokens_per_image=1)[0, 0].int().tolist()
        [[0, 0], [1, 0], [1, 0], [0, 1], [0, 1]]
    """
    if is_image.ndim != 2 or is_image.dtype != torch.bool:
        raise ValueError(
            f"is_image is {is_image.dtype} {tuple(is_image.shape)}, wanted boolean (B, T)"
        )
    if tokens_per_image < 1:
        raise ValueError(f"tokens_per_image is {tokens_per_image}, wanted at least 1")
    seen = is_image.long().cumsum(dim=1)
    n_images = int(seen.max()) if seen.numel() else 0
    numbers = torch.arange(1, n_images + 1, device=is_image.device)
    keep = seen[:, :, None] == numbers
    return keep.repeat_interleave(tokens_per_image, dim=-1)[:, None]


Layout = Literal["towers", "joint", "cross", "slots"]


def search_scores(
    layout: Layout,
    n_words: int,
    n_patches: int,
    n_layers: int,
    *,
    n_images: int = 1,
    n_texts: int = 1,
    n_slots: int = 16,
) -> int:
    """Count the attention scores of a head, over all layers, to compare N images with M texts.

    What depends on an image or a text alone is computed once and kept; what depends on both, once
    for each of the N M pairs. T words, P patches, L layers for each stack; masks save nothing here.

    - ``"towers"``: an encoder each, which meet in a dot product: ``L (N P^2 + M T^2)``.
    - ``"joint"``: one encoder over both: ``L N M (T + P)^2``.
    - ``"cross"``: an image encoder, and text blocks of self-attention and cross-attention:
      ``L (N P^2 + N M (T^2 + T P))``.
    - ``"slots"``: an image encoder, K learned queries that read it once, and one encoder over
      words and slots: ``N (L P^2 + K P) + L N M (T + K)^2``.
    """
    numbers = (n_words, n_patches, n_layers, n_images, n_texts, n_slots)
    if min(numbers) < 1:
        raise ValueError(f"got the numbers {numbers}, wanted at least 1 each")
    if layout not in get_args(Layout):
        raise ValueError(f"layout is {layout!r}, wanted one of {get_args(Layout)}")
    pairs, image_tower = n_images * n_texts, n_images * n_layers * n_patches**2
    if layout == "towers":
        return image_tower + n_texts * n_layers * n_words**2
    if layout == "joint":
        return pairs * n_layers * (n_words + n_patches) ** 2
    if layout == "cross":
        return image_tower + pairs * n_layers * n_words * (n_words + n_patches)
    read_once = n_images * n_slots * n_patches
    return image_tower + read_once + pairs * n_layers * (n_words + n_slots) ** 2
