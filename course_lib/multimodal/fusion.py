"""Bringing two sequences together: side by side, by looking across, or only in the end."""

import torch
from torch import Tensor, nn

from course_lib.attention import MultiHeadAttention
from course_lib.layers import EncoderBlock, FeedForward


class ConcatenationBlock(nn.Module):
    """One encoder block over both sequences at once, at a cost of O((T + S)^2).

    A query's softmax runs over T + S keys, so what it gives to one sequence it takes from the
    other: it gets its self-attention and its cross-attention, mixed in the ratio of their softmax
    sums. Source: Liu et al., Visual Instruction Tuning (2023), section 4.1, for the projection of
    image tokens into the space of words; Kim et al., ViLT (2021), for bidirectional attention over
    both.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        d_memory: int | None = None,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__()
        self.memory_proj = nn.Linear(d_model if d_memory is None else d_memory, d_model)
        self.block = EncoderBlock(d_model, n_heads, d_ff, dropout=dropout, fused=fused)

    def forward(
        self, x: Tensor, memory: Tensor, *, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Let text ``(B, T, D)`` and memory ``(B, S, d_memory)`` inform each other.

        Both are returned, D wide. The memory comes first, as an image does before the text about
        it: the mask is broadcastable to ``(B, H, S + T, S + T)``.
        """
        if x.ndim != 3 or memory.ndim != 3 or len(x) != len(memory):
            raise ValueError(
                f"x has shape {tuple(x.shape)} and memory {tuple(memory.shape)}, wanted (B, T, D) "
                "and (B, S, d_memory)"
            )
        n_memory = memory.shape[1]
        both = self.block(torch.cat([self.memory_proj(memory), x], dim=1), mask=mask)
        return both[:, n_memory:], both[:, :n_memory]


class GatedCrossAttention(nn.Module):
    """Look at an image from inside a language model that must not forget what it knows.

    ``y = x + tanh(a) cross(norm(x), memory)``, then ``y + tanh(b) ffn(norm(y))``. Both gates start
    at ``gate`` = 0, so the layer is the identity and a frozen language model around it speaks as
    before. Then only the gates have a gradient; once they have moved, everything else follows.
    Source: Alayrac et al., Flamingo: a Visual Language Model for Few-Shot Learning (2022), section
    2.2 and figure 4.

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
        self.attention_gate = nn.Parameter(torch.tensor(gate))
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(
            d_model, d_ff, activation="gelu", dropout=dropout, bias=False
        )
        self.feed_forward_gate = nn.Parameter(torch.tensor(gate))

    def forward(
        self, x: Tensor, memory: Tensor, *, mask: Tensor | None = None, return_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Add to text ``(B, T, D)`` what it finds in image tokens ``(B, S, d_memory)``.

        A word whose mask lets it see no image only passes the feed-forward part.
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


class PooledFusion(nn.Module):
    """Join one vector of each modality, after both encoders have finished.

    Without a hidden layer (``d_hidden``, with a GELU) the result is a function of the image plus
    one of the text, which cannot say whether the two *match*: that takes the layer, or fusion
    before the end.
    """

    def __init__(self, d_image: int, d_text: int, d_out: int, *, d_hidden: int | None = None):
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(d_image + d_text, d_hidden or d_out)]
        if d_hidden:
            layers += [nn.GELU(), nn.Linear(d_hidden, d_out)]
        self.layers = nn.Sequential(*layers)

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        """Join ``(B, d_image)`` and ``(B, d_text)`` to ``(B, d_out)``."""
        return self.layers(torch.cat([image, text], dim=-1))


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
