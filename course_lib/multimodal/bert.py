"""A text encoder that reads both ways, with a token in front that stands for the whole text."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.attention import check_heads
from course_lib.layers import EncoderBlock


@dataclass(frozen=True)
class BertTextConfig:
    """Configuration of a :class:`BertText`.

    ``max_len`` counts the token in front; ``n_segments``: number of texts that can be told apart.
    """

    n_words: int = 100
    max_len: int = 64
    n_segments: int = 2
    d_model: int = 64
    n_layers: int = 2
    n_heads: int = 4
    d_ff: int = 256
    dropout: float = 0.0
    pad: int = 0
    eps: float = 1e-12

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
        check_heads(self.d_model, self.n_heads)


class BertText(nn.Module):
    """Post-norm encoder blocks over words, positions and segments; a summary from token 0.

    Source: Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language
    Understanding (2019), section 3 and figure 2.

    Example:
        A later word changes what an earlier one becomes: nothing is causal here.

        >>> model = BertText(BertTextConfig()).eval()
        >>> hidden, summary = model(torch.tensor([[1, 7, 8, 9]]))
        >>> other, _ = model(torch.tensor([[1, 7, 8, 5]]))
        >>> bool((hidden[:, 1] == other[:, 1]).all())
        False
    """

    def __init__(
        self,
        config: BertTextConfig,
        *,
        fused: bool = True,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        d_model = config.d_model
        self.embedding = nn.Embedding(config.n_words, d_model)
        self.positions = nn.Parameter(torch.empty(config.max_len, d_model))
        self.segments = nn.Embedding(config.n_segments, d_model)
        self.in_norm = nn.LayerNorm(d_model, eps=config.eps)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                d_model,
                config.n_heads,
                config.d_ff,
                dropout=config.dropout,
                norm="post",
                eps=config.eps,
                fused=fused,
            )
            for _ in range(config.n_layers)
        )
        self.summary_proj = nn.Linear(d_model, d_model)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=0.02, generator=generator)
                nn.init.zeros_(module.bias)
        for table in (self.embedding.weight, self.positions, self.segments.weight):
            nn.init.normal_(table, std=0.02, generator=generator)

    def forward(self, tokens: Tensor, segments: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Encode texts ``(B, T)`` as tokens ``(B, T, D)`` and, of the first, summaries ``(B, D)``.

        ``segments``: to which text each token belongs, ``(B, T)``; 0 for all if not given.
        """
        if tokens.ndim != 2 or tokens.shape[1] > self.config.max_len:
            raise ValueError(
                f"tokens have shape {tuple(tokens.shape)}, wanted (B, T) with T at most "
                f"{self.config.max_len}"
            )
        if segments is not None and segments.shape != tokens.shape:
            raise ValueError(
                f"segments have shape {tuple(segments.shape)}, wanted that of the tokens "
                f"{tuple(tokens.shape)}"
            )
        kind = self.segments.weight[0] if segments is None else self.segments(segments)
        x = self.embedding(tokens) + kind + self.positions[: tokens.shape[1]]
        x = self.dropout(self.in_norm(x))
        keep = (tokens != self.config.pad)[:, None, None, :]
        for block in self.blocks:
            x = block(x, mask=keep)
        return x, self.summary_proj(x[:, 0]).tanh()
