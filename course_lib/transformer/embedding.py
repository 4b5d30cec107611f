"""From tokens to vectors that know their place."""

import torch
from torch import Tensor, nn

from course_lib.layers import TiedEmbedding
from course_lib.positions import keep_in_step, sinusoidal_positions
from course_lib.transformer.config import Positions


class PositionedEmbedding(nn.Module):
    """Look tokens up and add a vector for the position.

    Source: Vaswani et al. (2017), sections 3.4 and 3.5.

    Args:
        positions: ``"sinusoidal"`` or ``"learned"``; any other adds nothing.
        scaled: Whether embeddings are multiplied by ``sqrt(D)`` before positions are added.

    Example:
        >>> embed = PositionedEmbedding(10, 4, max_len=8, positions="sinusoidal").eval()
        >>> embed(torch.tensor([[5, 5, 5]])).unique(dim=1).shape  # the same word, three vectors
        torch.Size([1, 3, 4])
    """

    positions: Tensor | None

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        max_len: int,
        positions: Positions,
        scaled: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.max_len = max_len
        self.tokens = TiedEmbedding(vocab_size, d_model, scaled=scaled)
        if positions == "learned":
            self.positions = nn.Parameter(torch.empty(max_len, d_model))
            nn.init.normal_(self.positions, std=0.02)
        else:
            fixed = positions == "sinusoidal"
            table = sinusoidal_positions(max_len, d_model) if fixed else None
            self.register_buffer("positions", table, persistent=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, *, offset: int = 0) -> Tensor:
        """Embed integers ``(B, T)``, the first at position ``offset``, as vectors ``(B, T, D)``."""
        if tokens.ndim != 2 or tokens.is_floating_point() or tokens.dtype == torch.bool:
            raise ValueError(
                f"tokens have shape {tuple(tokens.shape)} and dtype {tokens.dtype}, "
                "wanted integers (B, T)"
            )
        end = offset + tokens.shape[1]
        if end > self.max_len:
            raise ValueError(f"got {end} positions, wanted at most max_len {self.max_len}")
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions[offset:end]
        return self.dropout(x)

    def logits(self, x: Tensor) -> Tensor:
        """Inner products of vectors ``(..., D)`` with all tokens ``(..., V)``, positions aside."""
        return self.tokens.logits(x)


keep_in_step(
    PositionedEmbedding,
    lambda embed: {"positions": sinusoidal_positions(embed.max_len, embed.tokens.embedding_dim)},
)
