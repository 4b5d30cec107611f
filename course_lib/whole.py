"""A GPT and a vision transformer on one page, made of the same block.

Nothing here is imported from the rest of the course, checks its arguments or is fast: it is for
reading. A model trained by :class:`course_lib.transformer.DecoderOnly` or
:class:`course_lib.vit.ViT` can be loaded (:func:`load`), and computes the same. Shapes: B examples,
T tokens, S keys, D channels, H heads, N patches.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["GPT", "Attention", "Block", "FeedForward", "VisionTransformer", "load"]


class Attention(nn.Module):
    """Tokens look at tokens, through several heads.

    Source: Vaswani et al., Attention Is All You Need (2017), section 3.2.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, causal: bool, past: list[Tensor] | None = None) -> Tensor:
        """Mix the values of the tokens that each token may see, ``(B, T, D)``."""
        # Cut D channels into H heads of D / H: (B, T, D) -> (B, H, T, D / H).
        q, k, v = (
            proj(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        if past:  # the keys and values of the tokens before these
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        if past is not None:
            past[:] = [k, v]
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5  # (B, H, T, S)
        if causal:  # the last query is the token of the last key
            n_queries, n_keys = scores.shape[-2:]
            seen = scores.new_ones(n_queries, n_keys, dtype=torch.bool).tril(n_keys - n_queries)
            scores = scores.masked_fill(~seen, -torch.inf)
        mixed = scores.softmax(dim=-1) @ v  # (B, H, T, D / H)
        return self.out_proj(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """Each token is transformed on its own."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.in_proj = nn.Linear(d_model, d_ff)
        self.out_proj = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """Two linear maps with a GELU between them, ``(B, T, D)``."""
        return self.out_proj(F.gelu(self.in_proj(x)))


class Block(nn.Module):
    """Attention, then feed-forward; each reads a normalised stream and adds to it.

    Source: Xiong et al., On Layer Normalization in the Transformer Architecture (2020), figure 1b.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(d_model)
        self.attention = Attention(d_model, n_heads)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, d_ff)

    def forward(self, x: Tensor, causal: bool, past: list[Tensor] | None = None) -> Tensor:
        """Read and add twice, ``(B, T, D)``."""
        x = x + self.attention(self.attention_norm(x), causal, past)
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPT(nn.Module):
    """Predict each next token from those before it.

    Source: Liu et al., Generating Wikipedia by Summarizing Long Sequences (2018), section 4.2. The
    norms are where Radford et al. (2019), section 2.3, put them.

    Example:
        >>> model = GPT(n_words=20, max_len=16, d_model=8, n_heads=2, d_ff=32, n_layers=2)
        >>> model(torch.zeros(3, 10, dtype=torch.long)).shape
        torch.Size([3, 10, 20])
    """

    def __init__(
        self, n_words: int, max_len: int, d_model: int, n_heads: int, d_ff: int, n_layers: int
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_words, d_model)
        self.positions = nn.Parameter(torch.zeros(max_len, d_model))
        self.blocks = nn.ModuleList(Block(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, tokens: Tensor, pasts: list[list[Tensor]] | None = None) -> Tensor:
        """Logits of the next token after each of the tokens ``(B, T)``: ``(B, T, n_words)``."""
        start = pasts[0][0].shape[2] if pasts and pasts[0] else 0
        x = self.tokens(tokens) + self.positions[start : start + tokens.shape[1]]
        for layer, block in enumerate(self.blocks):
            x = block(x, causal=True, past=pasts[layer] if pasts is not None else None)
        # The table that made vectors of words compares vectors with words.
        return self.norm(x) @ self.tokens.weight.T

    def loss(self, tokens: Tensor) -> Tensor:
        """Mean cross-entropy of each token given those before it; tokens ``(B, T + 1)``."""
        logits = self(tokens[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    @torch.no_grad()
    def generate(self, tokens: Tensor, n: int, temperature: float = 1.0) -> Tensor:
        """Continue texts ``(B, T)`` by n sampled tokens each; greedy at temperature 0."""
        pasts: list[list[Tensor]] = [[] for _ in self.blocks]
        new = tokens
        for _ in range(n):
            logits = self(new, pasts)[:, -1]
            if temperature == 0:
                new = logits.argmax(dim=-1, keepdim=True)
            else:
                new = (logits / temperature).softmax(dim=-1).multinomial(1)
            tokens = torch.cat([tokens, new], dim=1)
        return tokens


class VisionTransformer(nn.Module):
    """Cut an image into patches, read them as tokens, classify by one more token.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (2021), equations 1 to 4.

    Example:
        >>> model = VisionTransformer(32, 4, 10, d_model=8, n_heads=2, d_ff=32, n_layers=2)
        >>> model(torch.zeros(3, 3, 32, 32)).shape
        torch.Size([3, 10])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        n_classes: int,
        d_model: int,
        n_heads: int,
        d_ff: int,
        n_layers: int,
    ) -> None:
        super().__init__()
        self.patch_size = patch_size
        n_patches = (image_size // patch_size) ** 2
        self.patch_proj = nn.Linear(3 * patch_size**2, d_model)
        self.cls_token = nn.Parameter(torch.zeros(1, d_model))
        self.positions = nn.Parameter(torch.zeros(1 + n_patches, d_model))
        self.blocks = nn.ModuleList(Block(d_model, n_heads, d_ff) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, n_classes)
        nn.init.normal_(self.cls_token, std=0.02)
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, images: Tensor) -> Tensor:
        """Logits of the classes of images ``(B, 3, height, width)``: ``(B, n_classes)``."""
        # A column of unfold is one patch, channel by channel: (B, 3 P P, N) -> (B, N, D).
        x = self.patch_proj(F.unfold(images, self.patch_size, stride=self.patch_size).mT)
        x = torch.cat([self.cls_token.expand(len(x), 1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x, causal=False)
        return self.head(self.norm(x[:, 0]))


def load(model: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Take the weights of the library's model of the same sizes.

    Args:
        model: A :class:`GPT` or a :class:`VisionTransformer`.
        state: ``state_dict()`` of a ``DecoderOnly`` or of a ``ViT``, both with learned positions.

    Raises:
        RuntimeError: If names or sizes differ; the message lists them.
    """
    shorter = ("embedding.", ""), ("blocks.blocks.", "blocks."), ("blocks.norm.", "norm.")

    def renamed(name: str) -> str:
        for long, short in shorter:
            name = short + name.removeprefix(long) if name.startswith(long) else name
        return name

    model.load_state_dict({renamed(name): weights for name, weights in state.items()})
